"""Records of a feed before their values are checked: names, raw values and the place in the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CLEAR = "clear"
"""The operation of a source that empties its table."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record; with `is_text` its values are the cells of a text file.

    A source that knows them gives the operation as `op`, and the place of the record among others as `order`.
    `unchanged` are columns whose value an update did not send: they are as in the row before, which has the key in
    `base`, or the same key.
    """

    place: str
    values: Mapping[str, Any]
    is_text: bool = False
    op: str | None = None
    order: int | None = None
    unchanged: frozenset[str] = frozenset()
    base: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The record on one line."""
        return json.dumps(self.values, ensure_ascii=False, default=str)
