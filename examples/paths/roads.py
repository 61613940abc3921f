"""Roads close, open and get faster; each time only what that reaches is computed again.

python examples/paths/roads.py
"""

from __future__ import annotations

from pathlib import Path

import tidelog

ROADS = [
    ("depot", "mill", 10),
    ("mill", "ford", 5),
    ("ford", "mill", 5),
    ("ford", "hill", 20),
    ("depot", "hill", 60),
    ("hill", "lake", 5),
]


def main() -> None:
    """Prints what each change does to the fastest ways."""
    with tidelog.compile(Path(__file__).with_name("roads.dl")).open() as db:
        with db.transaction() as tx:
            tx.insert("Depot", [("depot",)])
            tx.insert("Road", ROADS)
        show("the roads as they are", tx)
        with db.transaction() as tx:
            tx.delete("Road", [("mill", "ford", 5)])
        show("the bridge to the ford is closed", tx)
        with db.transaction() as tx:
            tx.insert("Road", [("depot", "hill", 30)])
        show("a tunnel to the hill", tx)
        with db.transaction() as tx:
            tx.insert("Road", [("mill", "ford", 5)])
        show("the bridge is open again", tx)
        with db.transaction() as tx:
            tx.delete("Road", [("depot", "mill", 10)])
        show("no way to the mill: the ford and the mill do not lead to each other out of nothing", tx)


def show(what: str, tx: tidelog.Transaction) -> None:
    """Prints the changes of one epoch, and how they were found."""
    strata = tx.report.strata if tx.report is not None else ()
    print(f"{what} ({', '.join(each.strategy for each in strata)})")
    for row, weight in sorted(tx.changes.get("Fastest", ()), key=lambda change: (change[0][0], change[1])):
        town, minutes = row
        print(f"  {'+' if weight > 0 else '-'} {town}: {minutes}")


if __name__ == "__main__":
    main()
