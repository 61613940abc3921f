"""Who can reach what in a network that changes: a first load, then a day of changes, on Spark in local mode.

    python examples/network/demo.py [spark|local]

Each epoch prints the rows that came and went in every output relation, and what it cost: how each stratum was brought
up to date, where, in how many rounds and in how many seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table
from topology import ZONES, Network, both_ways, build

import tidelog

SITES, HOSTS_PER_SITE = 20, 20
console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def first_load(network: Network) -> Callable[[tidelog.Transaction], None]:
    def write(tx: tidelog.Transaction) -> None:
        tx.insert("Link", network.links)
        tx.insert("Zone", network.zones)
        tx.insert("Allowed", network.allowed)
        tx.insert("Service", network.services)

    return write


def cut(left: str, right: str) -> Callable[[tidelog.Transaction], None]:
    return lambda tx: tx.delete("Link", both_ways(left, right))


def plug(left: str, right: str) -> Callable[[tidelog.Transaction], None]:
    return lambda tx: tx.insert("Link", both_ways(left, right))


def let_all_zones_talk(tx: tidelog.Transaction) -> None:
    tx.insert("Allowed", [(source, target) for source in ZONES for target in ZONES])


def an_ordinary_hour(tx: tidelog.Transaction) -> None:
    """One host moves, one comes, with a database that nobody protects, and one leaves."""
    tx.delete("Link", both_ways("gw-05", "plant-05-02"))
    tx.insert("Link", both_ways("gw-06", "plant-05-02"))
    tx.insert("Zone", [("office-09-99", "office")])
    tx.insert("Link", both_ways("gw-09", "office-09-99"))
    tx.insert("Service", [("office-09-99", 5432)])
    tx.delete("Link", both_ways("gw-00", "office-00-01"))
    tx.delete("Zone", [("office-00-01", "office")])


def repair(tx: tidelog.Transaction) -> None:
    tx.delete("Link", both_ways("lab-04-01", "lab-16-02"))
    tx.insert("Link", both_ways("gw-03", "gw-04"))
    tx.insert("Link", both_ways("gw-13", "gw-14"))


DAY = [
    ("A backbone cable is cut. The ring leads round the other way: nothing is lost.", cut("gw-03", "gw-04")),
    ("A second cable is cut. The ring falls apart: half of the sites are dark.", cut("gw-13", "gw-14")),
    ("Somebody plugs a cable between two labs, one on each side.", plug("lab-04-01", "lab-16-02")),
    ("The policy changes: offices, labs and plants may talk to one another.", let_all_zones_talk),
    ("An ordinary hour: one host moves, one comes, one leaves.", an_ordinary_hour),
    ("Both cables are mended, and the one between the labs is pulled.", repair),
]


def main(engine: str = "spark") -> None:
    network = build(SITES, HOSTS_PER_SITE)
    program = tidelog.compile(Path(__file__).with_name("network.dl"))
    console.print(f"[bold]{program!r}[/]")
    console.print(f"{len(network.zones)} hosts, {len(network.links)} links; engine: {engine}\n", style="dim")
    started = perf_counter()
    with program.open(engine) as db:
        console.print(f"opened in {perf_counter() - started:.1f} s", style="dim")
        run(db, "The first load.", first_load(network))
        for title, write in DAY:
            run(db, title, write)
        names = ("Link", "Reach", "Violation", "Dark", "Exposed")
        sizes = ", ".join(f"{name} {len(db.relation(name)):,}" for name in names)
        console.print(f"\nrows at the end: {sizes}")
    console.print(f"all in {perf_counter() - started:.1f} s")


def run(db: tidelog.Database, title: str, write: Callable[[tidelog.Transaction], None]) -> None:
    """One epoch: the writes, what they changed, and what that cost."""
    with db.transaction() as tx:
        write(tx)
    report = tx.report
    if report is None:
        console.print(f"\n[bold]{title}[/] No net change, so no epoch.")
        return
    console.print(f"\n[bold]Epoch {report.epoch}. {title}[/]")
    console.print(changes_table(tx.changes))
    for stratum in report.strata:
        if stratum.strategy != "unchanged":
            console.print(
                f"  {', '.join(stratum.relations)}: {stratum.strategy}, {stratum.place}, {stratum.rounds} rounds,"
                f" {stratum.instances:,} rule instances, {stratum.seconds:.2f} s",
                style="dim",
            )
    console.print(f"  {report.inserted:,} rows came, {report.deleted:,} went, in {report.seconds:.2f} s", style="green")


def changes_table(changes: tidelog.Changes) -> Table | str:
    if not changes:
        return "  no output relation changed"
    table = Table(box=None, padding=(0, 2))
    table.add_column("relation")
    table.add_column("came", justify="right", style="green")
    table.add_column("went", justify="right", style="red")
    table.add_column("for example")
    for name, delta in changes.items():
        row, weight = next(iter(delta))
        example = f"{'+' if weight > 0 else '-'} {name}({', '.join(map(repr, row))})"
        table.add_row(name, f"{len(delta.inserted):,}", f"{len(delta.deleted):,}", example)
    return table


if __name__ == "__main__":
    main(*sys.argv[1:])
