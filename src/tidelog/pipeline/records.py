"""Records of a feed before their values are checked: names, raw values and the place in the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """One record; with `is_text` its values are the cells of a text file."""

    place: str
    values: Mapping[str, Any]
    is_text: bool = False

    @property
    def text(self) -> str:
        """The record on one line."""
        return json.dumps(self.values, ensure_ascii=False, default=str)
