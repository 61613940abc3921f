"""Start-up: the time of a new process until it can work, and its memory then.

`import tidelog` must import neither numba nor pyarrow; the first commit imports pyarrow, and loads the machine code of
the kernels. Bytecode is cached, as in an installed package, whatever the environment says. The last case is an
installation without machine code that fits the processor, which compiles the kernels of a first commit.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tidelog.bench.benchmark import Settings
from tidelog.bench.measure import PROGRAMS, Outcome, own_environment, timed

_FIRST_COMMIT = """\
import sys, tidelog
db = tidelog.compile(sys.argv[1]).open()
with db.transaction() as tx:
    tx.insert("Edge", [(1, 2), (2, 3)])
print(len(db.relation("Reach")))
import os
if os.path.exists("/proc/self/status"):
    with open("/proc/self/status") as lines:
        print(next(line.split()[1] for line in lines if line.startswith("VmRSS")))
else:
    print(0)
"""
# An installation whose own folder for machine code is empty.
_WITHOUT_CODE = """\
import sys
from pathlib import Path
from tidelog.engine.local.machine_code import places
places.OWN_FOLDER = Path(sys.argv[2])
"""
_GROUP = "a new process"


def startup(settings: Settings) -> Outcome:
    out = Outcome()
    runs = {
        "Python alone": "print(3); print(0)",
        "import tidelog": "import tidelog; print(3); print(0)",
        "to the first commit": _FIRST_COMMIT,
    }
    with tempfile.TemporaryDirectory() as bytecode:
        for name, text in runs.items():
            settings.say(f"{_GROUP}: {name}")
            _seconds(out, name, text, bytecode)  # the first run ever compiles, and fills caches
            repeat = max(settings.repeat, settings.pick(1, 5, 10))
            seconds = [_seconds(out, name, text, bytecode) for _ in range(repeat)]
            out.case(_GROUP, name, seconds, "Python" if name == "Python alone" else "tidelog")
        if settings.pick(0, 1, 1):
            name = "to the first commit, without machine code"
            settings.say(f"{_GROUP}: {name}")
            out.case(_GROUP, name, [_seconds(out, name, _WITHOUT_CODE + _FIRST_COMMIT, bytecode)])
    alone, imported, *_ = out.cases
    out.ratio(_GROUP, "import tidelog / Python alone", imported, alone)
    return out


def _seconds(out: Outcome, name: str, text: str, bytecode: str) -> float:
    with tempfile.TemporaryDirectory() as empty:
        environment = own_environment() | {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        if text.startswith(_WITHOUT_CODE):
            environment |= {"XDG_CACHE_HOME": empty, "TMPDIR": empty, "TIDELOG_KERNEL_CACHE": ""}
        command = [sys.executable, "-c", text, str(PROGRAMS / "closure.dl"), str(Path(empty, "code"))]
        taken, done = timed(
            lambda: subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        )
    rows, kilobytes = map(int, done.stdout.split())
    out.check(f"{_GROUP}: rows, {name}", rows, 3)
    if kilobytes:
        out.memory_mb[name] = {"process": kilobytes / 1024}
    return taken
