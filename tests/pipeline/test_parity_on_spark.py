"""One pipeline file, one engine after the other: what they write is the same, to the columns and the records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.folder import Pipe, read_folder

pytestmark = pytest.mark.spark

HEAD = 'program = "program.dl"\nstate = "state"\n'


def on_both(
    folder: Path,
    spark: Any,
    program: str,
    file: str,
    days: Iterable[Callable[[Pipe], object]],
    seen: Callable[[Pipe], Any],
) -> Any:
    """What is seen after all days, which is the same on both engines."""
    found = {}
    for engine in ("local", "spark"):
        (folder / engine).mkdir()
        pipe = Pipe(folder / engine, program, file, engine)
        for day in days:
            day(pipe)
            pipe.run(spark=spark if engine == "spark" else None)
        found[engine] = seen(pipe)
    assert found["spark"] == found["local"]
    return found["local"]


def output(relation: str, format_: str = "csv", more: str = "") -> str:
    return f'[outputs.{relation}]\nformat = "{format_}"\npath = "out/{relation}"\n{more}'


def lines(folder: Path) -> list[str]:
    """The lines of all text files in a folder, in order."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith((".", "_")))
    return sorted(line for path in paths for line in path.read_text().splitlines())


SNAPSHOT = 'mode = "snapshot"\n'


def test_outputs_have_the_same_columns_and_rows(tmp_path: Path, spark: Any) -> None:
    program = """
    input relation A(n: u8, t: string)
    output relation Set(n: u8, t: string)
    output relation Late(n: u8)
    output multiset Bag(t: string)
    output multiset Counted(t: string)
    output relation HoldsCsv()
    output relation HoldsJson()
    Set(n, t) :- A(n, t).
    Late(n) :- A(n, _).
    Bag(t) :- A(n, t).
    Counted(t) :- A(n, t).
    HoldsCsv() :- A(_, _).
    HoldsJson() :- A(_, _).
    """
    file = HEAD + '[changes.A]\nformat = "json"\npath = "feed"\nop = "op"\n'
    file += output("Set") + output("Bag", more=SNAPSHOT) + output("Counted") + output("HoldsCsv", more=SNAPSHOT)
    file += output("HoldsJson", "json", SNAPSHOT)

    def first(pipe: Pipe) -> None:
        pipe.feed({"op": "+", "n": 1, "t": "a"}, {"op": "+", "n": 2, "t": "a"}, {"op": "+", "n": 3, "t": "b"})

    def second(pipe: Pipe) -> None:
        pipe.feed({"op": "-", "n": 3, "t": "b"})
        pipe.write_file(file + output("Late"))

    def seen(pipe: Pipe) -> Any:
        return {path.name: lines(path) for path in (pipe.folder / "out").iterdir()}

    found = on_both(tmp_path, spark, program, file, [first, second], seen)
    assert found["Set"] == ["1,a,+,1", "2,a,+,1", "3,b,+,1", "3,b,-,2", "n,t,_op,_epoch", "n,t,_op,_epoch"]
    assert "n,_op,_epoch" in found["Late"]
    assert found["Bag"] == ["a", "a", "t"]
    assert "a,+,2,1" in found["Counted"]
    assert (found["HoldsCsv"], found["HoldsJson"]) == (["()"], ["{}"])


INPUTS = """
input relation Csv(a: string, n: u8)
input relation Parquet(a: string, n: u8)
input relation Maybe(a: string, b: Option<string>)
input relation Keyed(a: string, n: u8) primary key (x) x.a
input relation Bad(_bad: string)
input relation Wide(a: string, n: u128)
input relation Late(a: string, t: string)
input relation Envelope(a: string, n: u8)
output relation All(a: string, value: string)
All("csv", "${a} ${n}") :- Csv(a, n).
All("parquet", "${a} ${n}") :- Parquet(a, n).
All("maybe", "${a} ${is_some(b)}") :- Maybe(a, b).
All("keyed", "${a} ${n}") :- Keyed(a, n).
All("bad", a) :- Bad(a).
All("wide", "${a} ${n}") :- Wide(a, n).
All("late", "${a} ${t}") :- Late(a, t).
All("envelope", "${a} ${n}") :- Envelope(a, n).
"""


def table(kind: str, relation: str, format_: str, more: str = "") -> str:
    return f'[{kind}.{relation}]\nformat = "{format_}"\npath = "{kind} of/{relation}"\n{more}\n'


INPUTS_FILE = (
    HEAD
    + table("inputs", "Csv", "csv", "options = {header = true}")
    + table("inputs", "Parquet", "parquet")
    + table("inputs", "Maybe", "json")
    + table("inputs", "Keyed", "csv")
    + table("inputs", "Bad", "json")
    + table("changes", "Csv", "csv", 'op = "op"')
    + table("changes", "Parquet", "parquet", 'op = "op"')
    + table("changes", "Keyed", "json", 'op = "op"')
    + table("changes", "Wide", "json")
    + table("changes", "Late", "json", 'order = "t"\nkey = ["a"]')
    + table("changes", "Envelope", "json", 'envelope = "debezium"\nkey = ["a"]')
    + output("All")
    + '[quarantine]\npath = "bad"\n'
)


def inputs(pipe: Pipe) -> None:
    pipe.table('n,more,a\n1,x,a\nmany,x,b\n2,x,"x"y\n', "inputs of/Csv/rows 1.csv")
    pipe.table("a,n\nf,5\n", "inputs of/Csv/rows 2.csv")
    (pipe.folder / "inputs of/Parquet").mkdir(parents=True)
    pq.write_table(pa.table({"more": [0.5, 1.5], "n": [1, 300], "a": ["a", "b"]}), pipe.folder / "inputs of/Parquet/1")
    pipe.table('{"a": "a"}\n{"a": "b", "b": "x", "more": 1}\n', "inputs of/Maybe/rows.json")
    pipe.table("a,n\na,1\na,2\nb,1\nb,1\n", "inputs of/Keyed/rows.csv")
    pipe.table('{"_bad": "x"}\n\n{"_bad": 7}\n', "inputs of/Bad/rows.json")


def feeds(pipe: Pipe) -> None:
    pipe.feed_text('op,n,a\n+,2,c\n+,1,"x"y\n-,1,a\n', "changes of/Csv/1.csv")
    pipe.feed_text('a,op,n\nd,+,"3"\n', "changes of/Csv/2.csv")
    pipe.feed_text("e,4,+\n", "changes of/Csv/3.csv")
    pipe.feed({"op": "+", "a": "c", "n": 1}, {"op": "+", "a": "c", "n": 2}, folder="changes of/Keyed")
    largest = 2**128 - 1
    wide = [
        f'{{"a": "a", "n": {largest}}}',
        '{"a": "b", "n": 1.0}',
        '{"a": "c", "n": 1, "n": 2}',
        '{"a": "d", "n": 1e400}',
    ]
    pipe.feed(*wide, folder="changes of/Wide")
    times = ["2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00Z", "2024-01-01T01:00:00+02:00"]
    pipe.feed(*({"a": "a", "t": time} for time in times), folder="changes of/Late")
    envelope = {"op": "c", "before": None, "after": {"a": "a", "n": 1}}
    pipe.feed(envelope, "null", {"op": "t", "before": None, "after": None}, folder="changes of/Envelope")


def test_inputs_are_taken_alike(tmp_path: Path, spark: Any) -> None:
    def seen(pipe: Pipe) -> Any:
        kept = [row for folder in (pipe.folder / "bad").iterdir() for row in read_folder(folder)]
        places = {row["place"].removeprefix(f"{pipe.folder}/") for row in kept}
        text_lines = sorted(re.sub(r"/\d+\.json", "", each) for each in places if "json" in each or "csv" in each)
        bad = sorted((row["relation"], row["code"], row["record"]) for row in kept)
        return {
            "all": pipe.summed("All"),
            "bad": bad,
            "lines": [line for line in text_lines if ":" in line],
            "files": {re.sub(r":( row)? *[\d:]+$", "", each) for each in places},
        }

    found = on_both(tmp_path, spark, INPUTS, INPUTS_FILE, [inputs, feeds], seen)
    assert sorted(found["all"]) == [
        ("bad", "x"),
        ("csv", "c 2"),
        ("csv", "d 3"),
        ("csv", "e 4"),
        ("csv", "f 5"),
        ("envelope", "a 1"),
        ("keyed", "b 1"),
        ("late", "a 2024-01-01T00:00:00.5Z"),
        ("maybe", "a false"),
        ("maybe", "b true"),
        ("parquet", "a 1"),
        ("wide", f"a {2**128 - 1}"),
        ("wide", "c 2"),
    ]
    assert [(relation, code) for relation, code, _ in found["bad"]] == [
        ("Bad", "E504"),
        ("Csv", "E504"),
        ("Csv", "E507"),
        ("Csv", "E507"),
        ("Envelope", "E866"),
        ("Keyed", "E867"),
        ("Keyed", "E867"),
        ("Keyed", "E867"),
        ("Keyed", "E867"),
        ("Parquet", "E504"),
        ("Wide", "E504"),
        ("Wide", "E504"),
    ]
    assert "inputs of/Csv/rows 1.csv" in found["files"]
    assert "inputs of/Bad/rows.json:3:1" in found["lines"]
    assert [line for line in found["lines"] if "Wide" in line] == ["changes of/Wide:2:1", "changes of/Wide:4:1"]
