"""Rows of one relation → rows of the relations that added clauses of a recomputed stratum read beside its inputs.

A row is a list of values: see `lower/lower_outside.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidelog.values.structs import Struct, field_values


def rows_of(outside: Iterable[Any]) -> dict[str, list[tuple[Any, ...]]]:
    """Returns the rows by relation."""
    found: dict[str, dict[tuple[Any, ...], None]] = {}
    for _, relation, row in outside:
        found.setdefault(relation, {})[_values(row)] = None
    return {relation: [*rows] for relation, rows in found.items()}


def _values(row: Struct) -> tuple[Any, ...]:
    values = []
    while parts := field_values(row):
        value, row = parts
        values.append(value)
    return tuple(values)
