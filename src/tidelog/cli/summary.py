"""The summary of a run → a table for people, or JSON for machines, on standard output."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich import box
from rich.console import Console
from rich.table import Table

from tidelog.cli.run_once import Summary
from tidelog.engine.interface import StratumReport

_WIDTH_IN_A_PIPE = 160


def print_table(summary: Summary) -> None:
    """Prints a line per relation; rounds and time of a stratum are beside the first of its relations."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("relation")
    table.add_column("role")
    for heading in ("rows", "rounds", "seconds"):
        table.add_column(heading, justify="right")
    if summary.skipped:
        table.add_column("skipped", justify="right")
    table.add_column("how")
    table.add_column("file")
    strata = {stratum.relations[0]: stratum for stratum in summary.report.strata if stratum.relations}
    for name, relation in summary.relations.items():
        stratum = _shown(strata.get(name))
        path = summary.files.get(name)
        table.add_row(
            name,
            relation.role.value,
            f"{summary.rows[name]:,}",
            str(stratum.rounds) if stratum else "",
            f"{stratum.seconds:.3f}" if stratum else "",
            *([f"{summary.skipped[name]:,}" if name in summary.skipped else ""] if summary.skipped else []),
            f"{stratum.strategy}, {stratum.place}" if stratum else "",
            str(path) if path else "",
        )
    console = Console()
    (console if console.is_terminal else Console(width=_WIDTH_IN_A_PIPE)).print(table)
    phases = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in summary.seconds.items())
    click.echo(f"{summary.engine} engine, epoch {summary.report.epoch}: {phases}")


def print_json(summary: Summary) -> None:
    """Prints an object with `relations`, `strata` and `seconds`; the file of a relation without one is null.

    Where bad rows are skipped, each input relation with a file has their number as `skipped`.
    """
    files = {name: str(path) for name, path in summary.files.items()}
    document = {
        "program": summary.program,
        "engine": summary.engine,
        "epoch": summary.report.epoch,
        "relations": [
            {"name": name, "role": relation.role.value, "rows": summary.rows[name], "file": files.get(name)}
            | ({"skipped": summary.skipped[name]} if name in summary.skipped else {})
            for name, relation in summary.relations.items()
        ],
        "strata": [asdict(stratum) for stratum in summary.report.strata],
        "seconds": dict(summary.seconds),
    }
    click.echo(json.dumps(document, indent=2))


def _shown(stratum: StratumReport | None) -> StratumReport | None:
    """Returns the stratum, or None for one without rules."""
    return stratum if stratum is not None and (stratum.rounds or stratum.instances) else None
