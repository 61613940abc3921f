"""A pipeline on Spark that kills itself, for `test_spark`: `python -m tests.pipeline.die_on_spark FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.pipeline.folder import REACH, Pipe
from tests.pipeline.kill import die_at
from tidelog.pipeline.sinks import Sinks


def main(folder: str) -> None:
    """The second epoch's changes are written, and it is not committed."""
    die_at(Sinks, "prepare", 2, before=False)
    file = (Path(folder) / "pipe.toml").read_text()
    Pipe(Path(folder), REACH, file, "spark").run()


if __name__ == "__main__":
    main(*sys.argv[1:])
