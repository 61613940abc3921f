"""Who can reach what in a network that changes: a pipeline, from files to files, on Spark in local mode.

    python examples/network/demo.py [spark|local] [FOLDER]

A first load, then a day of changes. For every hour of the day files come into the feeds, and the pipeline of
`network.toml` is run once, as a timer would: it goes on where the last run ended. Each run prints what it changed; at
the end there is a table of what each epoch cost. Everything stays in the folder (`demo-out`) to be looked at.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table
from topology import ZONES, Network, both_ways, build

from tidelog import compile
from tidelog.pipeline.check_settings import check_settings
from tidelog.pipeline.read_settings import read_settings
from tidelog.pipeline.run import Listener, Step, run_pipeline

HERE = Path(__file__).parent
SITES, HOSTS_PER_SITE = 20, 20
COLUMNS = {
    "link": ("src", "dst"),
    "zone": ("host", "zone"),
    "allowed": ("src_zone", "dst_zone"),
    "service": ("host", "port"),
}
Change = tuple[str, str, Sequence[Any]]
"""The feed, the operation, and the row."""

console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def cut(left: str, right: str) -> list[Change]:
    return [("link", "-", link) for link in both_ways(left, right)]


def plug(left: str, right: str) -> list[Change]:
    return [("link", "+", link) for link in both_ways(left, right)]


DAY: list[tuple[str, list[Change]]] = [
    ("A backbone cable is cut. The ring leads round the other way: nothing is lost.", cut("gw-03", "gw-04")),
    ("A second cable is cut. The ring falls apart: half of the sites are dark.", cut("gw-13", "gw-14")),
    ("Somebody plugs a cable between two labs, one on each side.", plug("lab-04-01", "lab-16-02")),
    (
        "The policy changes: offices, labs and plants may talk to one another.",
        [("allowed", "+", (source, target)) for source in ZONES for target in ZONES],
    ),
    (
        "An ordinary hour: one host moves, one comes, one becomes a plant's, one leaves; a record is wrong.",
        [
            *cut("gw-05", "plant-05-02"),
            *plug("gw-06", "plant-05-02"),
            ("zone", "c", ("office-09-99", "office")),
            *plug("gw-09", "office-09-99"),
            ("service", "+", ("office-09-99", 5432)),
            ("service", "+", ("office-09-98", 543200)),
            ("zone", "u", ("lab-01-03", "plant")),
            *cut("gw-00", "office-00-01"),
            ("zone", "d", ("office-00-01", "office")),
        ],
    ),
    (
        "Both cables are mended, and the one between the labs is pulled.",
        [*cut("lab-04-01", "lab-16-02"), *plug("gw-03", "gw-04"), *plug("gw-13", "gw-14")],
    ),
]


def write_tables(folder: Path, network: Network) -> None:
    tables: list[list[Any]] = [network.links, network.zones, network.allowed, network.services]
    for (name, columns), rows in zip(COLUMNS.items(), tables, strict=True):
        (folder / "start" / name).mkdir(parents=True)
        (folder / "feed" / name).mkdir(parents=True)
        with (folder / "start" / name / "rows.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(rows)


def write_changes(folder: Path, hour: int, changes: Iterable[Change]) -> None:
    """One file per feed, renamed into its place when it is whole."""
    lines: dict[str, list[str]] = {}
    for place, (feed, op, row) in enumerate(changes):
        record = {"op": op, "at": hour * 1000 + place, **dict(zip(COLUMNS[feed], row, strict=True))}
        lines.setdefault(feed, []).append(json.dumps(record))
    for feed, found in lines.items():
        draft = folder / "feed" / feed / f".hour-{hour:02}.json"
        draft.write_text("\n".join(found) + "\n")
        draft.rename(draft.with_name(f"hour-{hour:02}.json"))


def main(engine: str = "spark", where: str = "demo-out") -> None:
    folder = Path(where)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    network = build(SITES, HOSTS_PER_SITE)
    write_tables(folder, network)
    for name in ("network.dl", "network.toml"):
        shutil.copy(HERE / name, folder / name)
    settings, spans = read_settings(folder / "network.toml", engine)
    program = compile(settings.program)
    check_settings(settings, spans, program.stages.rules)
    console.print(f"[bold]tidelog pipeline {folder / 'network.toml'} --once[/], once for the start and for every hour")
    console.print(f"{len(network.zones)} hosts, {len(network.links)} links; engine: {engine}\n", style="dim")

    started = perf_counter()
    steps: list[tuple[str, Step]] = []
    for hour, (title, changes) in enumerate([("The first load.", []), *DAY]):
        write_changes(folder, hour, changes)

        def done(step: Step, title: str = title) -> None:
            steps.append((title, step))
            tell(folder, title, step)

        run_pipeline(
            settings, program, listener=Listener(done=done, warn=lambda text: console.print(text, style="red"))
        )
    console.print()
    console.print(costs(steps))
    console.print(f"all in {perf_counter() - started:.1f} s; the tables are in {folder / 'out'}")


def tell(folder: Path, title: str, step: Step) -> None:
    """What one run changed, with an example of each."""
    epoch = f"Epoch {step.report.epoch}." if step.report is not None else "No epoch."
    console.print(f"\n[bold]{epoch} {title}[/]")
    for name, (inserted, deleted) in step.changes.items():
        example = next(examples(folder / "out" / name.lower() / f"epoch={step.report.epoch if step.report else 0}"), "")
        console.print(f"  {name:<10} [green]{f'+{inserted:,}':>9}[/] [red]{f'-{deleted:,}':>9}[/]  {example}")
    if not step.changes:
        console.print("  no output relation changed")


def examples(folder: Path) -> Iterator[str]:
    """The rows of a change table, as they would be written down."""
    for path in sorted(folder.glob("[!._]*")):
        is_parquet = path.suffix == ".parquet"
        rows = pq.read_table(path, partitioning=None).to_pylist() if is_parquet else _json_rows(path)
        for row in rows:
            values = ", ".join(str(value) for name, value in row.items() if not name.startswith("_"))
            yield f"{row['_op']} ({values})"


def _json_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def costs(steps: Sequence[tuple[str, Step]]) -> Table:
    """What changed in each epoch, and what it cost."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in ("epoch", "read", "bad", "inserted", "deleted", "read s", "epoch s", "write s"):
        table.add_column(heading, justify="right")
    table.add_column("how")
    for _, step in steps:
        inserted, deleted = (sum(each[i] for each in step.changes.values()) for i in (0, 1))
        report = step.report
        ways = [f"{each.strategy} ({each.place})" for each in report.strata if each.instances] if report else []
        table.add_row(
            str(report.epoch) if report else "-",
            f"{step.read:,}",
            f"{step.bad:,}",
            f"{inserted:,}",
            f"{deleted:,}",
            *(f"{step.seconds[phase]:.2f}" for phase in ("read", "epoch", "write")),
            ", ".join(dict.fromkeys(ways)),
        )
    return table


if __name__ == "__main__":
    main(*sys.argv[1:])
