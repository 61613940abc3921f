"""A process that compiles: `python -m tidelog.engine.local.machine_code.worker FOLDER LEVEL...`.

It reads names of entry points, one a line, writes the images of each into the folder, and answers `ok` or what went
wrong.
"""

from __future__ import annotations

import fcntl
import gc
import os
import sys
from pathlib import Path

from tidelog.engine.local.machine_code import image_file
from tidelog.engine.local.machine_code.compile_kernels import (
    compile_entry_point,
    find_entry_point,
    use_own_code_generator,
)


def main(folder: Path, levels: list[str]) -> None:
    """Compiles until standard input ends."""
    gc.disable()  # a compiler makes millions of objects that stay, and the process is short
    use_own_code_generator()
    for line in sys.stdin:
        try:
            _compile(line.strip(), folder, levels)
            answer = "ok"
        except Exception as error:
            answer = f"{type(error).__name__}: {error}".replace("\n", " ")
        print(answer, flush=True)


def _compile(name: str, folder: Path, levels: list[str]) -> None:
    entry_point = find_entry_point(name)
    path = folder / f".{image_file.file_name(entry_point)}.lock"
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        # Another process may be compiling the same: wait for it, rather than do it twice.
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [level for level in levels if image_file.read_image(entry_point, level, folder) is None]
        if missing:
            for level, image in compile_entry_point(entry_point, missing).items():
                image_file.write_image(folder, entry_point, level, image)
    finally:
        path.unlink(missing_ok=True)  # at worst, two processes compile the same
        os.close(lock)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
