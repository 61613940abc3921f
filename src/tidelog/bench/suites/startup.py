"""Start-up: the time of a new process until it can work.

`import tidelog` must import neither numba nor pyarrow; the first commit imports both, with the kernels from their
cache. Bytecode is cached too, as in an installed package, whatever the environment says.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

from tidelog.bench.benchmark import Settings
from tidelog.bench.measure import PROGRAMS, Outcome, own_environment, timed

_FIRST_COMMIT = """\
import sys, tidelog
db = tidelog.compile(sys.argv[1]).open()
with db.transaction() as tx:
    tx.insert("Edge", [(1, 2), (2, 3)])
print(len(db.relation("Reach")))
"""
_GROUP = "a new process"


def startup(settings: Settings) -> Outcome:
    out = Outcome()
    runs = {
        "Python alone": "print(3)",
        "import tidelog": "import tidelog; print(3)",
        "to the first commit": _FIRST_COMMIT,
    }
    with tempfile.TemporaryDirectory() as bytecode:
        for name, text in runs.items():
            settings.say(f"{_GROUP}: {name}")
            _seconds(out, name, text, bytecode)  # the first run ever compiles, and fills caches
            repeat = max(settings.repeat, settings.pick(1, 5, 10))
            seconds = [_seconds(out, name, text, bytecode) for _ in range(repeat)]
            out.case(_GROUP, name, seconds, "Python" if name == "Python alone" else "tidelog")
    alone, imported, _ = out.cases
    out.ratio(_GROUP, "import tidelog / Python alone", imported, alone)
    return out


def _seconds(out: Outcome, name: str, text: str, bytecode: str) -> float:
    environment = own_environment() | {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
    command = [sys.executable, "-c", text, str(PROGRAMS / "closure.dl")]
    taken, done = timed(lambda: subprocess.run(command, check=True, capture_output=True, text=True, env=environment))
    out.check(f"{_GROUP}: rows, {name}", int(done.stdout), 3)
    return taken
