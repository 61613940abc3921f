"""Three days of dbt, Tidelog, dbt:

    python examples/dbt/dbt_days.py [FOLDER]

dbt writes the changes of a day as a file of a feed, the pipeline takes it, and dbt builds what reads the result. A
scheduler would start the same three commands.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb

HERE = Path(__file__).parent
DBT = "from dbt.cli.main import cli; cli()"


def run(folder: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def dbt(folder: Path, *arguments: str) -> None:
    run(folder, "-c", DBT, *arguments, "--profiles-dir", ".")


def main(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("__pycache__", "*.py", "README.md"))
    (folder / "feed/shares").mkdir(parents=True)
    for day in (1, 2, 3):
        dbt(folder, "build", "--select", "+exposure:control_pipeline", "--vars", f"day: {day}")
        run(folder, "-m", "tidelog", "pipeline", "control.toml")
        dbt(folder, "build", "--select", "source:tidelog+", "--vars", f"day: {day}")
        with duckdb.connect(str(folder / "control.duckdb"), read_only=True) as database:
            found = database.sql("SELECT owner, companies FROM holdings ORDER BY companies DESC, owner").fetchall()
        print(f"day {day}: " + ", ".join(f"{owner} controls {companies}" for owner, companies in found))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("demo-out/dbt"))
