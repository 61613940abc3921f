"""Records of the benchmark `suite` → the tables of `docs/benchmarks.md`, as Markdown.

    tidelog bench run suite --scale full --peers souffle,duckdb --json suite.json
    python -m tidelog.bench.tabulate suite.json [MORE.json ...]

Of a program that is in several records, the last one counts.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tidelog.bench.present import duration

_LOADS = (
    "program", "rows", "instances", "1 thread", "2 threads", "Soufflé, 1", "Soufflé, 2", "reading", "ratio, 1",
    "ratio, 2", "DuckDB, 2", "ratio, 2", "bare loop", "memory", "Soufflé's",
)  # fmt: skip
_PATHWAY = ("program", "change", "rows", "Tidelog", "Pathway", "ratio")
_UPDATES = ("program", "change", "rows", "median", "p99", "first", "instances", "recompute")


def tabulate(records: Iterable[dict[str, Any]]) -> str:
    """Returns the tables of all programs in these records."""
    programs: dict[str, dict[str, Any]] = {}
    for record in records:
        for benchmark in record["benchmarks"]:
            if benchmark["name"] == "suite":
                for given in benchmark["inputs"]:
                    programs[given["name"]] = _of(benchmark, given)
    ratios = [each["souffle"] for each in programs.values() if each["souffle"]]
    lines = [*_table(_LOADS, [each["load"] for each in programs.values()]), ""]
    for place, threads in enumerate(("1 thread", "2 threads", "the better of both")):
        found = [pair[place] for pair in ratios if pair[place]]
        if found:
            mean = math.exp(sum(map(math.log, found)) / len(found))
            behind = sum(each < 1 for each in found)
            lines.append(
                f"Soufflé / Tidelog, {threads}: geometric mean {mean:.2f}; below 1 in {behind} of {len(found)}."
            )
    lines += ["", *_table(_UPDATES, [row for each in programs.values() for row in each["updates"]])]
    beside = [row for each in programs.values() for row in each["pathway"]]
    if beside:
        lines += ["", *_table(_PATHWAY, beside)]
    return "\n".join([*lines, ""])


def _of(benchmark: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Returns the lines of one program."""
    name = given["name"]
    medians = {(case["who"], case["name"]): case["median"] for case in benchmark["cases"] if case["group"] == name}
    loads = [f"Bootstrap, {threads}" for threads in ("1 thread", "2 threads")]
    ours = [medians.get(("tidelog", load)) for load in loads]
    souffle = [medians.get(("souffle", f"{load}, without reading"), medians.get(("souffle", load))) for load in loads]
    whole = medians.get(("souffle", loads[1]))
    reading = whole - souffle[1] if whole and souffle[1] else None
    duckdb = medians.get(("duckdb", loads[1]))
    (bare,) = [seconds for (who, _), seconds in medians.items() if who == "bare loop"] or [None]
    pairs = [_over(theirs, own) for own, theirs in zip(ours, souffle)]
    best = [min((each for each in times if each), default=None) for times in (souffle, ours)]
    memory = benchmark["memory_mb"]
    taken = memory.get(f"{name}: {loads[1]}", {}).get("peak beyond it")
    peak = memory.get(f"{name}: {loads[1]}, souffle", {}).get("peak")
    load = [
        name, f"{sum(rows for rows, _ in given['results'].values()):,}", f"{given['instances']:,}", *map(_time, ours),
        *map(_time, souffle), _time(reading), *map(_ratio, pairs), _time(duckdb), _ratio(_over(duckdb, ours[1])),
        _ratio(_over(ours[0], bare)), _size(taken), _size(peak),
    ]  # fmt: skip
    updates = [
        (
            name, each["change"], f"{each['rows']:,}", *(_time(each[key]) for key in ("median", "p99", "first")),
            f"{each['instances']:,}", _time(each["recompute"]),
        )
        for each in benchmark["updates"]
        if each["group"] == name
    ]  # fmt: skip
    pathway = [
        (name, each[1], each[2], each[3], _time(theirs), _ratio(_over(theirs, medians["tidelog", each[1]])))
        for each in updates
        if (theirs := medians.get(("pathway", each[1]))) is not None
    ]
    return {"load": load, "updates": updates, "souffle": [*pairs, _over(*best)], "pathway": pathway}


def _over(one: float | None, other: float | None) -> float | None:
    return one / other if one and other else None


def _time(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _size(megabytes: float | None) -> str:
    return "" if megabytes is None else f"{megabytes:,.0f} MB"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [headings, ["---", *["--:"] * (len(headings) - 1)], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


if __name__ == "__main__":
    print(tabulate(json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]))
