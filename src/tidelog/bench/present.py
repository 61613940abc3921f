"""The record of a run → tables for people, on standard output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from tidelog.bench.benchmark import Benchmark

_WIDTH_IN_A_PIPE = 160


def print_list(benchmarks: Sequence[Benchmark]) -> None:
    table = Table("name", "shows", "data", "cases", box=box.SIMPLE, pad_edge=False)
    for each in benchmarks:
        table.add_row(each.name, each.shows, each.data, "\n".join(each.cases))
    _console().print(table)


def print_record(record: dict[str, Any]) -> None:
    console = _console()
    for benchmark in record["benchmarks"]:
        console.print(_cases(benchmark))
        if benchmark["epochs"]:
            console.print(_epochs(benchmark))
        for epoch in benchmark["rounds"]:
            console.print(_rounds(epoch), highlight=False)
        if benchmark["updates"]:
            console.print(_updates(benchmark))
        for ratio in benchmark["ratios"]:
            spread = "" if ratio["spread"] is None else " ({:.2f} to {:.2f})".format(*ratio["spread"])
            console.print(f"{ratio['group']}: {ratio['name']} = {ratio['value']:.2f}{spread}", highlight=False)
        for name, memory in benchmark["memory_mb"].items():
            told = ", ".join(f"{what} {megabytes:,.0f} MB" for what, megabytes in memory.items())
            console.print(f"{name}: memory, {told}", highlight=False)
        console.print(f"{len(benchmark['checks'])} checks of results passed", highlight=False)
    versions = ", ".join(f"{name} ({version})" for name, version in record["peers"].items() if version)
    if versions:
        console.print(f"peers: {versions}", highlight=False)
    if record["missing"]:
        console.print(f"not installed, and so not run: {', '.join(record['missing'])}", highlight=False)
    machine = record["machine"]
    console.print(
        f"{machine['cores']} cores, {machine['processor']}, load {machine['load']}, scale {record['scale']}",
        highlight=False,
    )


def duration(seconds: float) -> str:
    """Formats seconds: from one second on as seconds, else as milliseconds, below 0.1 ms as microseconds."""
    if seconds < 0.0001:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.2f} ms"


def _cases(benchmark: dict[str, Any]) -> Table:
    table = Table(title=benchmark["name"], title_justify="left", box=box.SIMPLE, pad_edge=False)
    for heading in ("input", "case", "who"):
        table.add_column(heading)
    for heading in ("rows", "times", "median", "min", "max"):
        table.add_column(heading, justify="right")
    before = None
    for case in benchmark["cases"]:
        group = case["group"] if case["group"] != before else ""
        before = case["group"]
        rows = "" if case["rows"] is None else f"{case['rows']:,}"
        times = (duration(case[key]) for key in ("median", "min", "max"))
        table.add_row(group, case["name"], case["who"], rows, str(case["repetitions"]), *times)
    return table


def _epochs(benchmark: dict[str, Any]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("input")
    ways = list(benchmark["epochs"][0]["seconds"])
    for heading in ("epoch", "kind", "changed", *ways, "instances", "switch chose"):
        table.add_column(heading, justify="left" if heading in ("kind", "switch chose") else "right")
    for epoch in benchmark["epochs"]:
        changed = "" if epoch["changed"] is None else f"{epoch['changed']:+,}"
        times = (duration(epoch["seconds"][way]) for way in ways)
        first = epoch["group"] if epoch["epoch"] == 0 else ""
        counted = f"{epoch['instances']['switch']:,}"
        table.add_row(first, str(epoch["epoch"]), epoch["kind"], changed, *times, counted, epoch["chosen"])
    return table


def _updates(benchmark: dict[str, Any]) -> Table:
    table = Table(title="updates", title_justify="left", box=box.SIMPLE, pad_edge=False)
    for heading in ("program", "change"):
        table.add_column(heading)
    for heading in ("rows", "times", "median", "p99", "instances", "recompute"):
        table.add_column(heading, justify="right")
    before = None
    for each in benchmark["updates"]:
        group = each["group"] if each["group"] != before else ""
        before = each["group"]
        times = (duration(each[key]) for key in ("median", "p99"))
        counted = (f"{each['rows']:,}", str(each["repetitions"]))
        table.add_row(group, each["change"], *counted, *times, f"{each['instances']:,}", duration(each["recompute"]))
    return table


def _rounds(epoch: dict[str, Any]) -> str:
    rounds = ", ".join(f"{each['rows']:,} in {each['seconds']:.2f} s" for each in epoch["rounds"])
    how = f"{epoch['strategy']}, {epoch['jobs']} Spark jobs"
    return f"{epoch['group']}, epoch {epoch['epoch']}: {how}; rows by round: {rounds}"


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH_IN_A_PIPE)
