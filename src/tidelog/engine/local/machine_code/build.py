"""Machine code for a wheel: `python -m tidelog.engine.local.machine_code.build FOLDER LEVEL...`.

The build of the package (`setup.py`) runs this with the package's sources and an interpreter that has Numba.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tidelog.engine.local.machine_code.image_file import file_name
from tidelog.engine.local.machine_code.processor import key
from tidelog.engine.local.machine_code.workers import all_entry_points, compile_all


def main(folder: Path, levels: tuple[str, ...]) -> None:
    """Compiles all entry points into a folder; an entry point that cannot be compiled ends the process."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = compile_all(levels, folder.resolve(), lambda done, count, name: None)
    names = {file_name(each) for each in all_entry_points()}
    for path in folder.glob("*/*.code"):
        if path.name not in names or path.parent.name not in map(key, levels):
            path.unlink()  # of an earlier build
    for name, reason in failed.items():
        print(f"{name}: {reason}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), tuple(sys.argv[2:]))
