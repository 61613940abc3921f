"""The owner of the database: takes the batches that the declarative pipeline has staged.

    python examples/declarative/owner.py FOLDER

Run it after each update, as the next task of the scheduler, or in a loop; a batch is taken once, however often it runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tidelog
import tidelog.spark


def take(folder: Path) -> int:
    """Commits the staged batches; returns their number."""
    program = tidelog.compile(Path(__file__).parent / "network.dl")
    with program.open(path=folder / "database", keep_changes="30 days") as db:
        return tidelog.spark.take(db)


if __name__ == "__main__":
    print(f"{take(Path(sys.argv[1]))} batches taken")
