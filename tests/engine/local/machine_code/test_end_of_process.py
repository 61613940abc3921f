"""A process ends in peace, whatever still refers to compiled functions when Python takes its modules apart."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import importlib.resources, numpy as np, pyarrow as pa, tidelog
program = tidelog.compile((importlib.resources.files("tidelog.bench.programs") / "counts.dl").read_text())
numbers = np.arange(30_000)
rows = pa.table({"id": numbers, "shop": numbers % 300, "day": numbers % 365, "price": numbers % 1000})
db = program.open()
with db.transaction() as tx:
    tx.insert("Sale", rows)
db.close()
print(len(rows))
"""


def test_functions_that_outlive_their_module_do_not_crash_the_end_of_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "30000\n"), done.stderr
