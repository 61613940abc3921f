"""Three runs of the assets of `definitions.py`, as the schedule would start them:

python examples/dagster/run_days.py [FOLDER]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import dagster as dg
from definitions import Lake, Trades, controls, holdings, nobody_controls_without_a_majority, shares

DAYS = [
    ("the first day", [["Harbor", "Lake", "70"], ["Ridge", "Dock", "55"], ["Lake", "Dock", "20"]]),
    ("Lake takes Dock over", [["Ridge", "Dock", "0"], ["Lake", "Dock", "75"]]),
    ("Harbor sells Lake", [["Harbor", "Lake", "10"], ["Mill", "Lake", "60"]]),
]


def main(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lake = Lake(folder=str(folder))
    for what, trades in DAYS:
        run = dg.materialize(
            [shares, controls, nobody_controls_without_a_majority, holdings],
            resources={"lake": lake},
            run_config=dg.RunConfig(ops={"shares": Trades(trades=trades)}),
        )
        (made,) = run.asset_materializations_for_node("controls")
        counted = {name: made.metadata[f"rows {name}"].value for name in ("read", "inserted", "deleted")}
        found = run.output_for_node("holdings")
        print(f"{what}: {counted['read']} rows read, controls +{counted['inserted']} -{counted['deleted']}")
        print("  " + ", ".join(f"{owner} controls {number}" for owner, number in found.rows()))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo-out/dagster"))
