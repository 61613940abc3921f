"""Pipelines on Spark: the same file gives the same changes as on the local engine, and a batch is applied once."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.folder import REACH_FILE, Pipe, closure, read_folder
from tidelog.diagnostics.errors import DataError, UsageError
from tidelog.pipeline.spark import feeds, sources
from tidelog.pipeline.spark.failures import said as said_by
from tidelog.pipeline.spark.sinks import ChangeTable

pytestmark = pytest.mark.spark

PROGRAM = """
input relation Host(name: string, size: u64, zone: string)
input relation Zone(zone: string, is_open: bool)
input relation Port(name: string, port: u16)
output relation Open(name: string, size: u64)
output relation Exposed(name: string, port: u16)
Open(n, s) :- Host(n, s, z), Zone(z, true).
Exposed(n, p) :- Port(n, p), Open(n, _).
"""

FILE = """
program = "program.dl"
state   = "state"
[inputs.Host]
format = "csv"
path   = "data/host"
[inputs.Zone]
format = "parquet"
path   = "data/zone"
[inputs.Port]
format = "json"
path   = "data/port"
[changes.Host]
format = "json"
path   = "feed/host"
op     = "op"
key    = ["name"]
order  = "ts"
[changes.Port]
format = "csv"
path   = "feed/port"
op     = "op"
[changes.Zone]
format = "parquet"
path   = "feed/zone"
op     = "op"
[outputs.Open]
format = "parquet"
path   = "out/open"
[outputs.Exposed]
format = "csv"
path   = "out/exposed"
[quarantine]
path = "bad"
"""

LARGE = 2**64 - 1
ROOT = Path(__file__).parent.parent.parent


def first_day(pipe: Pipe) -> None:
    pipe.table(f"zone,name,size\nout,a,{LARGE}\nin,b,2\nout,c,many\nout,,4\n", "data/host/rows.csv")
    pipe.table('{"name": "a", "port": 80}\n{"name": "b", "port": 22}\n{"port": 1}\n', "data/port/rows.json")
    (pipe.folder / "data/zone").mkdir(parents=True)
    zones = pa.table({"is_open": [True, False], "zone": ["out", "in"]})
    pq.write_table(zones, pipe.folder / "data/zone/rows.parquet")
    (pipe.folder / "feed/zone").mkdir(parents=True)
    pq.write_table(pa.table({"zone": ["in"], "is_open": [False], "op": ["+"]}), pipe.folder / "feed/zone/0.parquet")
    pipe.feed_text("op,port,name,more\n+,443,a,x\n+,99999,a,x\n", "feed/port/0.csv")


def second_day(pipe: Pipe) -> None:
    pipe.feed(
        {"op": "u", "ts": 2, "name": "a", "size": 7, "zone": "out"},
        {"op": "d", "ts": "1", "name": "a"},
        {"op": "c", "ts": 1, "name": "d", "size": LARGE, "zone": "out"},
        {"op": "+", "ts": 1, "name": "e", "size": -1, "zone": "out"},
        "{nonsense",
        folder="feed/host",
    )
    pipe.feed_text("op,port,name,more\n-,80,a,x\n+,5,d,x\n", "feed/port/1.csv")


def summary(pipe: Pipe) -> list[Any]:
    return [(step.batch, step.read, step.bad, step.conflicts, dict(step.changes)) for step in pipe.steps]


def quarantined(pipe: Pipe) -> list[tuple[str, str, str]]:
    rows = [row for batch in (pipe.folder / "bad").glob("batch=*") for row in read_folder(batch)]
    return sorted((row["relation"], row["code"], row["record"].replace(" ", "")[:9]) for row in rows)


def test_both_engines_make_the_same_of_a_file(tmp_path: Path, spark: Any) -> None:
    found: dict[str, list[Any]] = {}
    for engine in ("local", "spark"):
        (tmp_path / engine).mkdir()
        pipe = Pipe(tmp_path / engine, PROGRAM, FILE, engine)
        seen = found[engine] = []
        for day in (first_day, second_day):
            day(pipe)
            pipe.run(spark=spark if engine == "spark" else None)
            seen += [summary(pipe), pipe.summed("open")]
            seen.append(
                {(row["name"], int(row["port"]), row["_op"], int(row["_epoch"])) for row in pipe.changes("exposed")}
            )
        seen.append([each[:2] for each in quarantined(pipe)])
    assert found["spark"] == found["local"]
    assert found["local"][1] == {("a", LARGE), ("", 4)}
    assert found["local"][4] == {("a", 7), ("d", LARGE), ("", 4)}
    assert len(found["local"][-1]) == 5

    # Spark had not noted the end of the last batch: it delivers it again, and nothing happens.
    before = pipe.changes("exposed")
    last = max((tmp_path / "spark/state/feeds/log/commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink()
    assert pipe.run(spark=spark) == []
    assert pipe.changes("exposed") == before


def test_a_bad_record_fails_the_batch_with_its_own_error(tmp_path: Path, spark: Any) -> None:
    pipe = Pipe(
        tmp_path,
        engine="spark",
        file=REACH_FILE.replace('format = "json"\npath   = "feed"', 'format = "text"\npath   = "feed"'),
    )
    pipe.table("src,dst\na,b\nb,a\n")
    path = pipe.feed('{"op": "?", "src": "x", "dst": "y"}')
    other = pipe.feed_text('{"op": "+", "src": "x", "dst": "y"}\n', "feed/a b.json")
    with pytest.raises(DataError) as caught:
        pipe.run(spark=spark)
    assert caught.value.code == "E866"
    assert str(path) in caught.value.message
    assert pipe.summed("reach") == closure({("a", "b"), ("b", "a")})
    path.write_text('{"op": "+", "src": "b", "dst": "c"}\n')
    other.unlink()
    (step,) = pipe.run(spark=spark)
    assert pipe.warnings == [f"{other} no longer exists and is left out of its batch"]
    assert step.changes == {"Reach": (2, 0)}
    assert {row["node"] for row in read_folder(tmp_path / "out/loop")} == {"a", "b"}
    pipe.write_file((tmp_path / "pipe.toml").read_text().replace('path   = "feed"', 'path = "other"'))
    with pytest.raises(UsageError, match="E868"):
        pipe.run(spark=spark)


def test_a_sink_that_is_no_folder_gets_changes_after_the_commit(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = REACH_FILE.partition("[outputs")[0] + '[outputs.Reach]\nformat = "noop"\n'
    pipe = Pipe(tmp_path, file=file, engine="spark")
    pipe.table("src,dst\na,b\n")
    publish = ChangeTable.publish

    def die(self: ChangeTable, epoch: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ChangeTable, "publish", die)
    with pytest.raises(KeyboardInterrupt):
        pipe.run(spark=spark)
    waiting = tmp_path / "state/outbox/Reach/_pending-1"
    assert [row["_op"] for row in read_folder(waiting)] == ["+"]
    monkeypatch.setattr(ChangeTable, "publish", publish)
    assert pipe.run(spark=spark) == []
    assert not waiting.exists()


def test_what_spark_cannot_read_names_the_table(tmp_path: Path, spark: Any) -> None:
    pipe = Pipe(tmp_path, file=REACH_FILE.replace('format = "csv"', 'format = "nonsense"'), engine="spark")
    with pytest.raises(DataError, match=r"`\[inputs.Edge\]`: Spark says: "):
        pipe.run(spark=spark)


def test_an_interval_is_said_in_whole_milliseconds() -> None:
    assert [feeds.every(seconds) for seconds in (0.00001, 0.2, 90.0)] == [
        "0 milliseconds",
        "200 milliseconds",
        "90000 milliseconds",
    ]


def test_the_cause_is_found_in_what_java_says() -> None:
    trace = """An error occurred while calling o1.toArrow.
: org.apache.spark.SparkException: Exception thrown in awaitResult: Job aborted
\tat java.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file f.csv.
\t... 12 more
Caused by: java.lang.IllegalArgumentException: CSV header does not conform to the schema.
 Header: dst, src"""
    assert said_by(RuntimeError(trace)) == (
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file f.csv."
        " CSV header does not conform to the schema."
    )
    python = "From the Python worker:\nTraceback (most recent call last):\n  File x\nValueError: no\n"
    assert said_by(RuntimeError(python)) == "ValueError: no"
    assert (
        said_by(RuntimeError("[PATH_NOT_FOUND] Path does not exist\nand more"))
        == "[PATH_NOT_FOUND] Path does not exist"
    )


def test_what_is_wrong_with_the_columns_of_a_table_is_said(tmp_path: Path, spark: Any) -> None:
    file = REACH_FILE.replace('format = "csv"', 'format = "parquet"') + '[quarantine]\npath = "bad"\n'
    pipe = Pipe(tmp_path, file=file, engine="spark")
    (tmp_path / "data").mkdir()
    for columns, said in (
        ({"src": ["a"], "dst": [1]}, "E506.*column `dst` of the rows for `Edge` holds `int64` values"),
        ({"src": ["a"]}, "E503.*rows for `Edge` lack the column `dst`"),
    ):
        pq.write_table(pa.table(columns), tmp_path / "data/rows.parquet")
        for engine in ("local", "spark"):
            pipe.engine = engine
            pipe.write_file(file.replace('"state"', f'"state of {engine}"'))
            with pytest.raises(DataError, match=said):
                pipe.run(spark=spark if engine == "spark" else None)


def test_a_feed_of_columns_may_begin_without_a_file(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = REACH_FILE.partition("[inputs")[0] + '[changes.Edge]\nformat = "parquet"\npath = "file:FEED"\norder = "at"\n'
    file = file.replace("FEED", str(tmp_path / "feed")) + '[outputs.Reach]\nformat = "json"\npath = "out/reach"\n'
    pipe = Pipe(tmp_path, file=file, engine="spark")
    assert [step.batch for step in pipe.run(spark=spark)] == ["start"]
    # A file comes after the query was started with columns that were supposed: another type, and one more column.
    pq.write_table(pa.table({"src": ["a"], "dst": ["b"], "at": [1], "more": [2]}), tmp_path / "feed/1.parquet")
    asked: list[object] = []

    def columns_of_files(*asking: Any) -> Any:
        asked.append(asking)
        return None if len(asked) == 1 else sources.columns_of_files(*asking)

    monkeypatch.setattr(feeds, "columns_of_files", columns_of_files)
    assert [step.read for step in pipe.run(spark=spark)] == [1]
    assert len(asked) == 3
    assert pipe.summed("reach") == {("a", "b")}
    pipe.engine = "local"
    with pytest.raises(UsageError, match="the feeds of this state were read on Spark"):
        pipe.run()


@pytest.mark.slow
def test_a_driver_that_is_killed_before_its_commit_leaves_nothing_twice(tmp_path: Path, spark: Any) -> None:
    pipe = Pipe(tmp_path, engine="spark")
    pipe.table("src,dst\na,b\nb,c\n")
    pipe.feed({"op": "+", "src": "c", "dst": "a"}, {"op": "-", "src": "a", "dst": "b"})
    command = [sys.executable, "-m", "tests.pipeline.die_on_spark", str(tmp_path)]
    died = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert [path.name for path in pipe.epochs("reach")] == ["epoch=1"]
    assert (tmp_path / "out/reach/_pending-2").exists()
    assert len(pipe.run(spark=spark)) == 1
    assert [path.name for path in pipe.epochs("reach")] == ["epoch=1", "epoch=2"]
    assert pipe.summed("reach") == closure({("b", "c"), ("c", "a")})


def test_many_keys_are_found_with_one_job(tmp_path: Path, spark: Any) -> None:
    pipe = Pipe(tmp_path, PROGRAM, FILE, "spark")
    first_day(pipe)
    pipe.feed(*(host(f"h{i}", LARGE - i) for i in range(20)), folder="feed/host")
    pipe.run(spark=spark)
    pipe.feed(*(host(f"h{i}", i) for i in range(10)), folder="feed/host")
    (step,) = pipe.run(spark=spark)
    assert step.changes == {"Open": (10, 10)}
    assert {row for row in pipe.summed("open") if row[0].startswith("h")} == {
        (f"h{i}", i if i < 10 else LARGE - i) for i in range(20)
    }


def host(name: str, size: int) -> dict[str, Any]:
    return {"op": "u", "ts": 1, "name": name, "size": size, "zone": "out"}


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_file_that_was_taken_half_written_is_noticed_when_it_grows(tmp_path: Path, spark: Any, form: str) -> None:
    lines = {"json": '{"op": "+", "src": "%s", "dst": "%s"}\n', "csv": "+,%s,%s\n"}[form]
    file = REACH_FILE.replace('format = "json"\npath   = "feed"', f'format = "{form}"\npath   = "feed"')
    pipe = Pipe(tmp_path, engine="spark", file=file)
    pipe.table("src,dst\na,b\nb,c\n")
    path = tmp_path / "feed/a b.txt"
    path.parent.mkdir()
    path.write_text(("op,src,dst\n" if form == "csv" else "") + lines % ("c", "d"))
    pipe.run(spark=spark)
    assert pipe.warnings == []
    assert ("a", "d") in pipe.summed("reach")
    time.sleep(0.01)
    with path.open("a") as half:
        half.write(lines % ("d", "e"))
    pipe.run(spark=spark)
    (warning,) = pipe.warnings
    assert f"{path} has changed since its batch was planned" in warning
    assert ("a", "e") not in pipe.summed("reach"), "a file is read once"
    rest = tmp_path / "feed/rest.txt"
    rest.write_text(("op,src,dst\n" if form == "csv" else "") + lines % ("d", "e"))
    pipe.run(spark=spark)
    assert len(pipe.warnings) == 1, "told once in each run, as on the local engine"
    assert ("a", "e") in pipe.summed("reach")
