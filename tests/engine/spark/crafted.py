"""Crafted directories of databases on Spark: one thing of the manifest or of a file of the state is changed.

    python -m tests.engine.spark.crafted --files 1000 --seed 1

The checksum of the manifest is made right again. Each directory is opened and used with tasks in a child process: there
may be no crash, and no exception but those of Tidelog.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.database.storage.crafted import AT_ONCE, WORDS, outcomes, tamper_json, wrong_ones
from tests.engine.spark.in_process import NoSpark
from tests.engine.spark.kill import tasks_here

import tidelog
from tidelog.engine.spark.storage import manifest as manifests

PROGRAM = """
typedef Shape = Dot | Box{name: string, size: u8}
input relation Thing(shape: Shape, words: Vec<string>, counts: Map<string, s64>, maybe: Option<u16>, d: double)
output relation Word(word: string, shape: Shape)
Word(word, shape) :- Thing(shape, words, _, _, _), var word = FlatMap(words).
input relation Edge(src: string, dst: string, weight: u8)
input relation Node(n: bigint, on: bool)
input multiset Many(n: s16)
output relation Was(n: bigint)
output relation Reach(src: string, dst: string)
output relation Best(src: string, most: u8)
output relation Total(n: s16)
Reach(x, y) :- Edge(x, y, _).
Reach(x, z) :- Reach(x, y), Edge(y, z, _).
Best(x, most) :- Edge(x, _, w), var most = w.group_by(x).max().
Total(n) :- Many(n).
Was(n) :- Node-2(n, _).
"""
RELATIONS = ("Thing", "Word", "Edge", "Node", "Many", "Was", "Reach", "Best", "Total")


def make(directory: Path) -> None:
    """Makes a database of four epochs."""
    program = tidelog.compile(PROGRAM)
    shapes = [program.types.Dot(), program.types.Box("b", 3)]
    things = [(shapes[number % 2], ["a", f"w{number}"], {"x": number}, None, number / 3) for number in range(6)]
    with tasks_here(), program.open("spark", spark=NoSpark(), path=directory) as db:
        edges = [(f"n{number % 7}", f"n{number * 5 % 11}", number) for number in range(30)]
        with db.transaction() as tx:
            tx.insert("Edge", edges)
            tx.insert("Node", [(10**30 + number, number % 2 == 0) for number in range(8)])
            tx.insert("Many", [(3,), (3,), (-4,)])
            tx.insert("Thing", things)
        with db.transaction() as tx:
            tx.delete("Edge", edges[::9])
            tx.delete("Node", [(10**30, True)])
            tx.delete("Thing", things[:1])
        with db.transaction() as tx:
            tx.insert("Edge", [(f"m{number}", "y", number % 9) for number in range(3)])
            tx.delete("Many", [(3,)])


def use(directory: Path) -> str:
    """Uses a directory; returns what came of it. Raises only errors of Tidelog."""
    try:
        return _use(directory)
    except AttributeError as error:
        if NoSpark.__name__ not in str(error):
            raise
        return "needs a session"  # a relation claims to be large


def _use(directory: Path) -> str:
    """Opens a directory and does a bit of everything."""
    with tasks_here(), tidelog.compile(PROGRAM).open("spark", spark=NoSpark(), path=directory) as db:
        for _ in range(2):
            for relation in RELATIONS:
                assert len(db.relation(relation).rows()) == len(db.relation(relation)) or relation in ("Many", "Total")
            with db.transaction() as tx:
                tx.insert("Edge", [(f"new{number}", f"n{number}", number) for number in range(5)])
                tx.delete("Edge", [("n1", "n5", 1)])
                tx.insert("Many", [(9,)])
                tx.clear("Thing")
        db.query("Reach(x, y)")
    return "opened"


def tampered(made: Path, target: Path, chosen: random.Random) -> str:
    """Writes a copy in which one thing is changed; returns what."""
    shutil.copytree(made, target)
    if chosen.random() < 0.5:
        (path,) = target.glob("manifest-*")
        document = json.loads(path.read_text())
        what = tamper_json(document["manifest"], chosen)
        document["checksum"] = manifests._checksum(document["manifest"])
        path.write_text(json.dumps(document))
        return f"{path.name}: {what}"
    path = chosen.choice(sorted(target.glob("epoch-*/**/*.parquet")))
    return f"{path.name}: {_tamper_table(path, chosen)}"


def _tamper_table(path: Path, chosen: random.Random) -> str:
    """Changes one thing of a Parquet file."""
    table = pq.ParquetFile(path).read()
    column = chosen.randrange(table.num_columns)
    name = table.column_names[column]
    match chosen.randrange(8):
        case 0:
            table, what = table.drop_columns([name]), f"{name} is gone"
        case 1:
            table = table.rename_columns([each if each != name else "other" for each in table.column_names])
            what = f"{name} has another name"
        case 2:
            other: pa.Array = pa.array([chosen.choice(["x", "", "\ud83d"[:0]]) for _ in range(table.num_rows)])
            table, what = table.set_column(column, name, other), f"{name} is text"
        case 3:
            table = table.set_column(column, name, pa.nulls(table.num_rows, table.schema.field(column).type))
            what = f"{name} is null"
        case 4:
            table, what = pa.concat_tables([table, table.slice(0, 1)]), "a row is there twice"
        case 5:
            table, what = table.slice(1), "a row is gone"
        case _:
            values: list[Any] = table.column(column).to_pylist()
            type_ = table.schema.field(column).type
            place = chosen.randrange(len(values)) if values else 0
            values[place : place + 1] = [_other(values[0] if values else None, type_, chosen)]
            try:
                table = table.set_column(column, name, pa.array(values, type_))
            except (pa.ArrowInvalid, OverflowError):
                table = table.set_column(column, name, pa.array(values))
            what = f"{name} of row {place} is {values[place]!r}"
    if chosen.random() < 0.1:
        path.write_bytes(path.read_bytes()[: chosen.randrange(path.stat().st_size)])
        return "cut"
    pq.write_table(table, path)
    return what


def _other(value: Any, type_: pa.DataType, chosen: random.Random) -> Any:
    """Returns another value of a type of Parquet."""
    if pa.types.is_integer(type_):
        return chosen.choice(WORDS)
    if isinstance(value, bytes):
        at = chosen.randrange(len(value) + 1)
        return value[:at] + bytes(chosen.randrange(256) for _ in range(chosen.randrange(9))) + value[at + 1 :]
    return value


def craft(folder: Path, seeds: range) -> str:
    """Makes a database in a folder, and uses a crafted copy of it for each seed; returns a line of text each."""
    make(folder / "made")
    shutil.copytree(folder / "made", folder / "warm")
    assert use(folder / "warm") == "opened"
    return "".join(
        outcomes(folder / "made", folder, seeds[start : start + AT_ONCE], tampered, use)
        for start in range(0, len(seeds), AT_ONCE)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Opens crafted directories of databases on Spark.")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = craft(Path(name), range(options.seed, options.seed + options.files))
    print(f"{options.files} crafted directories, {found.count('E853')} refused as damaged", file=sys.stderr)
    print("\n".join(wrong_ones(found)), end="")
    return 1 if wrong_ones(found) else 0


if __name__ == "__main__":
    sys.exit(main())
