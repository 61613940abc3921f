"""The records of a feed as they come, before anything is known of their values: what they say, and where they stand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.diagnostics.errors import DataError


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


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that cannot be taken, as far as it could be read, and why."""

    place: str
    text: str
    error: DataError
