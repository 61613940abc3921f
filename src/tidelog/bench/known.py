"""Checksums of the suite's results, by scale and program, which Soufflé found too when they were written down.

They hold for facts with the noted checksum only: another version of NumPy may generate others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from tidelog.bench.benchmark import Scale
from tidelog.bench.inputs.dataset import Dataset
from tidelog.bench.measure import PROGRAMS
from tidelog.bench.references.checksum import Checksum, checksum

KNOWN = PROGRAMS / "suite" / "known.json"


def known_results(name: str, scale: Scale, data: Dataset) -> dict[str, tuple[int, int]]:
    """Returns rows and sum of each result of a program; nothing if they are not known for these facts."""
    noted = _read().get(scale, {}).get(name)
    if noted is None or noted["facts"] != facts_sum(data):
        return {}
    return {relation: (rows, total) for relation, (rows, total) in noted["results"].items()}


def describe_results(data: Dataset, results: Mapping[str, Checksum]) -> dict[str, Any]:
    """Returns what `known.json` has of a program."""
    return {"facts": facts_sum(data), "results": {name: [each.rows, each.sum] for name, each in results.items()}}


def facts_sum(data: Dataset) -> int:
    """Returns one number for all facts."""
    return sum(checksum(table).sum * (2 * place + 1) for place, (_, table) in enumerate(sorted(data.tables.items())))


@cache
def _read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(KNOWN.read_text(encoding="utf-8"))
    return found
