"""One pipeline file, one engine after the other: what they write is the same, to the columns and the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.folder import Pipe

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
