"""Three updates of a declarative pipeline, and the owner of the database after each:

    python examples/declarative/run_updates.py [FOLDER]

An update stages new links, and refreshes the tables that read the database. `spark-pipelines` comes with PySpark
(`pip install "pyspark[pipelines]"`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
from owner import take

HERE = Path(__file__).parent
FILES = [
    [("+", "start", "hub"), ("+", "hub", "east"), ("+", "hub", "west")],
    [("-", "hub", "west"), ("+", "east", "end")],
    [],
]


def update(folder: Path) -> None:
    """Runs `spark-pipelines run`."""
    command = [str(Path(pyspark.__file__).parent / "bin/spark-pipelines"), "run", "--spec", "spark-pipeline.yml"]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_CONF_DIR": str(folder / "conf")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    # After a run that has read a source in Python, PySpark 4.3's client may end with UNKNOWN_RESPONSE.
    if done.returncode and "Run is COMPLETED." not in done.stdout + done.stderr:
        raise SystemExit(f"the update failed:\n{done.stdout}{done.stderr}")


def rows(folder: Path, table: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = pq.read_table(folder / "spark-warehouse" / table).to_pylist()
    return found


def main(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("conf", "transformations"):
        shutil.copytree(HERE / name, folder / name)
    spec = (HERE / "spark-pipeline.yml").read_text().replace("FOLDER", str(folder))
    (folder / "spark-pipeline.yml").write_text(spec)
    (folder / "in").mkdir()
    take(folder)  # makes the database
    for number, changes in enumerate(FILES, 1):
        if changes:
            lines = [json.dumps({"src": src, "dst": dst, "_op": op}) for op, src, dst in changes]
            (folder / f"in/{number}.json").write_text("\n".join(lines) + "\n")
        update(folder)
        reach = sorted(f"{row['src']} → {row['dst']}" for row in rows(folder, "reach"))
        print(f"update {number}: reach has {', '.join(reach) or 'no rows'}", flush=True)
        hubs = ", ".join(f"{row['src']} reaches {row['reached']}" for row in rows(folder, "hubs"))
        print(f"  {hubs or 'no hubs'}", flush=True)
        print(f"  {take(folder)} batches taken", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-out/declarative").absolute())
