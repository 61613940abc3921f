"""Crafted directories: one thing of a stored database is changed, and all checksums are made right again.

    python -m tests.database.storage.crafted --files 10000 --seed 1

Each is opened and used in a child process: there may be no crash, and no exception but those of Tidelog.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import shutil
import sqlite3
import struct
import sys
import tempfile
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import tidelog
from tests.database.storage.test_open_local import engine_of
from tidelog.database.storage.checked_file import CheckedFile, CheckedWriter
from tidelog.database.storage.checkpoint import checkpoints
from tidelog.database.storage.journal import checksum

PROGRAM = """
typedef Shape = Dot | Box{name: string, size: u8}
input relation Edge(src: string, dst: string, weight: u8)
input relation Node(n: bigint, shape: Shape, on: bool)
input multiset Many(n: s16)
input relation Plain(d: double, v: Vec<string>, m: Map<string, s64>, o: Option<u16>, wide: u128)
output relation Was(n: bigint)
output relation Word(word: string, d: double)
output relation Reach(src: string, dst: string)
output relation Best(src: string, most: u8)
output relation Total(n: s16)
output relation Big(n: bigint)
Reach(x, y) :- Edge(x, y, _).
Reach(x, z) :- Reach(x, y), Edge(y, z, _).
Best(x, most) :- Edge(x, _, w), var most = w.group_by(x).max().
Total(n) :- Many(n).
Was(n) :- Node-2(n, _, _).
Word(word, d) :- Plain(d, v, _, _, _), var word = FlatMap(v).
Big(n) :- Node(n, Box{_, size}, true), size > 3.
"""
AT_ONCE = 40
WORDS = [-1, 0, 1, 2, 7, 255, 10**9, 10**12, -5, 1 << 31, 1 << 62, -(1 << 63), (1 << 63) - 1]
VALUES = [-1, 0, 1, 3, 10**9, 10**12, 1 << 63, 1 << 200, 0.5, "text", "", None, True, [], {}, [1], {"a": 1}]


def make(directory: Path) -> None:
    """Makes a database with a checkpoint, unused lines in it, and entries behind it, as a killed process leaves it."""
    program = tidelog.compile(PROGRAM)
    box = program.types.Box
    edges = [(f"n{number % 7}", f"n{number * 5 % 11}", number) for number in range(30)]
    with program.open(path=directory.with_suffix(".open"), durability="os") as db:
        with db.transaction() as tx:
            tx.insert("Edge", edges)
            tx.insert("Node", [(10**30 + number, box(f"b{number}", number), True) for number in range(8)])
            tx.insert("Many", [(3,), (3,), (-4,)])
            plain = [(0.5, ["a", "b"], {"a": 1}, None, 2**100), (float("nan"), [], {}, program.types.Some(7), 0)]
            tx.insert("Plain", plain)
        with db.transaction() as tx:
            tx.delete("Edge", edges[::3])
        engine_of(db).checkpoint()
        with db.transaction() as tx:
            tx.insert("Edge", [("x", "y", 1)])
            tx.insert("Plain", [(1.5, ["c"], {"x": -1, "y": 2}, None, 1)])
            tx.delete("Many", [(3,)])
        with db.transaction() as tx:
            tx.insert("Edge", [(f"m{number}", "y", number % 9) for number in range(300)])
        shutil.copytree(directory.with_suffix(".open"), directory)
    with closing(sqlite3.connect(directory / "journal.sqlite", isolation_level=None)) as connection:
        connection.execute("DELETE FROM entry WHERE place < ?", (3 << 20,))  # the checkpoint alone has those epochs
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def use(directory: Path) -> str:
    """Opens a directory and does a bit of everything; returns what came of it. Raises only errors of Tidelog."""
    with tidelog.open(directory) as db:
        for _ in range(2):
            for relation in ("Edge", "Node", "Many", "Plain", "Reach", "Best", "Total", "Big", "Was", "Word"):
                assert len(db.relation(relation).rows()) >= 0
                len(db.relation(relation))
            with db.transaction() as tx:
                tx.insert("Edge", [(f"new{number}", f"n{number}", number) for number in range(40)])
                tx.delete("Edge", [("n1", "n5", 1)])
                tx.insert("Many", [(9,)])
            with db.transaction() as tx:
                tx.clear("Edge")
        db.query("Reach(x, y)")
    return "opened"


def tampered(made: Path, target: Path, chosen: random.Random) -> str:
    """Writes a copy in which one thing is changed; returns what."""
    shutil.copytree(made, target)
    kind = chosen.choice(["description"] * 5 + ["words"] * 5 + ["entry"] * 3 + ["document"] * 2 + ["head"])
    match kind:
        case "description" | "words":
            (path,) = checkpoints(target).values()
            return _tamper_checkpoint(path, chosen, words=kind == "words")
        case "head":
            return _tamper_head(target / "head", chosen)
        case _:
            with closing(sqlite3.connect(target / "journal.sqlite", isolation_level=None)) as connection:
                return (_tamper_entry if kind == "entry" else _tamper_document)(connection, chosen)


def _tamper_checkpoint(path: Path, chosen: random.Random, *, words: bool) -> str:
    file = CheckedFile.map(path)
    description = copy.deepcopy(file.description)
    del description["checksums"]
    contents = bytearray(file.pages[: description.pop("length")])
    if words:
        at = chosen.randrange(len(contents) // 8)
        word = chosen.choice(WORDS)
        what = f"word {at} is {word}"
        struct.pack_into("<q", contents, 8 * at, word)
    else:
        what = tamper_json(description, chosen)
    with path.open("wb", buffering=0) as out:
        writer = CheckedWriter(out)
        writer.add(bytes(contents))
        writer.finish(description)
    return f"{path.name}: {what}"


def tamper_json(document: Any, chosen: random.Random) -> str:
    """Changes one thing of a document, anywhere in it."""
    holder, key, place = chosen.choice(list(_places(document, "")))
    match chosen.randrange(6):
        case 0 if isinstance(holder, dict):
            del holder[key]
            return f"{place} is gone"
        case 1 if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
            return f"{place} is there twice"
        case 2 if isinstance(holder[key], int):
            holder[key] += chosen.choice([-8, -1, 1, 8])
            return f"{place} is {holder[key]}"
        case 3 if isinstance(holder[key], str):
            holder[key] += "x"
            return f"{place} is {holder[key]!r}"
        case _:
            holder[key] = chosen.choice(VALUES)
            return f"{place} is {holder[key]!r}"


def _places(document: Any, place: str) -> Iterator[tuple[Any, Any, str]]:
    inner = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in inner:
        yield document, key, f"{place}/{key}"
        if isinstance(value, dict | list):
            yield from _places(value, f"{place}/{key}")


def _tamper_entry(connection: sqlite3.Connection, chosen: random.Random) -> str:
    place, body = chosen.choice(connection.execute("SELECT place, body FROM entry").fetchall())
    data = bytearray(body)
    match chosen.randrange(3):
        case 0:
            del data[chosen.randrange(len(data)) :]
        case 1:
            data[chosen.randrange(min(len(data), 600))] = chosen.randrange(256)
        case _:
            at = chosen.randrange(len(data))
            data[at:at] = bytes([0xFF] * chosen.randrange(1, 9))
    row = bytes(data), checksum(bytes(data), place), place
    connection.execute("UPDATE entry SET body = ?, checksum = ? WHERE place = ?", row)
    return f"entry {place >> 20}: {data[:60].hex()}"


def _tamper_document(connection: sqlite3.Connection, chosen: random.Random) -> str:
    name, body = chosen.choice(connection.execute("SELECT name, body FROM document").fetchall())
    holder = {name: json.loads(body)}
    what = tamper_json(holder, chosen)
    text = json.dumps(holder.get(name))
    row = text, checksum(text.encode()), name
    connection.execute("UPDATE document SET body = ?, checksum = ? WHERE name = ?", row)
    return f"document {what}"


def _tamper_head(path: Path, chosen: random.Random) -> str:
    body = struct.pack("<QQI", chosen.choice([0, 1, 10**9, (1 << 64) - 1]), 0, 1)
    slot = body + zlib.crc32(body).to_bytes(4, "little")
    path.write_bytes(slot * chosen.randrange(1, 4) + b"x" * chosen.randrange(3))
    return f"head: {body.hex()}"


def outcomes(
    made: Path,
    folder: Path,
    seeds: range,
    tampered: Callable[[Path, Path, random.Random], str] = tampered,
    use: Callable[[Path], str] = use,
) -> str:
    """Uses a crafted directory for each seed, in a child; returns a line of text each, the last of a crash."""
    log = folder / "log"
    child = os.fork()
    if child == 0:
        with log.open("w", buffering=1) as out:
            for seed in seeds:
                target = folder / f"crafted{seed}"
                try:
                    print(f"{seed} {tampered(made, target, random.Random(seed))!r}", end=" ", file=out, flush=True)
                    found = use(target)
                except tidelog.TidelogError as error:
                    found = error.code
                    if found == "E901" and "do not add up; the last commit is intact" not in str(error):
                        found = f"RAW {str(error)!r}"
                except BaseException:
                    found = f"RAW {traceback.format_exc(limit=-2)!r}"
                print(found, file=out)
                shutil.rmtree(target)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return log.read_text() + ("" if status == 0 else f"CRASH {status}\n")


def craft(folder: Path, seeds: range) -> str:
    """Makes a database in a folder, and uses a crafted copy of it for each seed; returns a line of text each."""
    make(folder / "made")
    shutil.copytree(folder / "made", folder / "warm")
    assert use(folder / "warm") == "opened"
    return "".join(
        outcomes(folder / "made", folder, seeds[start : start + AT_ONCE]) for start in range(0, len(seeds), AT_ONCE)
    )


def wrong_ones(found: str) -> list[str]:
    """Returns the lines of directories that crashed a process or raised a raw exception."""
    return [line for line in found.splitlines() if "RAW" in line or "CRASH" in line]


def main() -> int:
    parser = argparse.ArgumentParser(description="Opens crafted directories.")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = craft(Path(name), range(options.seed, options.seed + options.files))
    print(f"{options.files} crafted directories, {found.count('E853')} refused as damaged", file=sys.stderr)
    print("\n".join(wrong_ones(found)), end="")
    return 1 if wrong_ones(found) else 0


if __name__ == "__main__":
    sys.exit(main())
