"""Opening and closing, and the program that is opened."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.database.programs import DIVIDE, REACH


def test_a_program_is_compiled_from_text_or_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "reach.dl"
    path.write_text(REACH)
    for given in (path, str(path), REACH):
        program = tidelog.compile(given)
        assert len(program.stages.rules.rules) == 5
    assert repr(tidelog.compile(REACH)) == "<Program <text>: 5 relations, 5 rules>"
    assert tidelog.compile(path).name == str(path)


def test_a_program_with_errors_raises_all_of_them() -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        tidelog.compile("input relation A(x: u8)\noutput relation B(x: u8)\nB(y) :- A(x).\nB(z) :- A(x).")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E302", "E302"]
    assert "<text>:3:3" in str(caught.value)
    assert "<text>:4:3" in str(caught.value)


def test_a_missing_file_brings_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "reach.dl").write_text(REACH)
    with pytest.raises(tidelog.UsageError) as caught:
        tidelog.compile(str(tmp_path / "raech.dl"))
    assert "No such file" in caught.value.message
    assert caught.value.help == f"did you mean `{tmp_path / 'reach.dl'}`?"


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_bytes(b"// \xff")
    with pytest.raises(tidelog.UsageError, match="not UTF-8 text: byte 3"):
        tidelog.compile(tmp_path / "p.dl")


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(tidelog.UsageError) as caught:
        tidelog.compile(REACH).open("sparc")
    assert (caught.value.code, caught.value.help) == ("E801", "did you mean 'spark'?")


def test_a_session_for_the_local_engine_is_refused() -> None:
    with pytest.raises(tidelog.UsageError, match="Spark session was given to the local engine"):
        tidelog.compile(REACH).open(spark=object())


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ({"engine": 3}, "E801", "there is no engine 3"),
        ({"engine": "spark", "spark": "local[2]"}, "E801", "`spark` is 'local[2]', which is no Spark session"),
        ({"engine": "auto", "spark": "local[2]"}, "E801", "`spark` is 'local[2]', which is no Spark session"),
        ({"engine": "spark", "plans": ["frames"]}, "E705", "`plans` is ['frames']; it must have names of relations"),
        ({"engine": "spark", "plans": {"Reach": ["frames"]}}, "E705", "it must have names of relations, each with"),
        ({"engine": "local", "plans": "frames"}, "E705", "`plans` is 'frames'"),
        ({"engine": "local", "plans": {"Reach": "frames"}}, "E705", "`plans` are for the Spark engine"),
    ],
)
def test_an_option_of_another_kind_is_refused(options: dict[str, Any], code: str, says: str) -> None:
    with pytest.raises(tidelog.UsageError, match=re.escape(says)) as caught:
        tidelog.compile(REACH).open(**options)
    assert caught.value.code == code


@pytest.mark.parametrize("engine", ["spark", "auto"])
def test_strategies_that_spark_has_not_are_refused_with_those_that_it_has(engine: str) -> None:
    with pytest.raises(tidelog.UsageError) as caught:
        tidelog.compile(REACH).open(engine, strategy="counting")
    assert caught.value.help == "on Spark there are 'elastic', 'recompute', 'update', 'circuit', 'trace'"


def test_two_databases_of_one_program_do_not_know_each_other() -> None:
    program = tidelog.compile(REACH)
    with program.open() as one, program.open() as other:
        with one.transaction() as tx:
            tx.insert("Host", ["a"])
        assert len(one.relation("Host")) == 1
        assert len(other.relation("Host")) == 0


def test_a_closed_database_refuses_everything_but_keeps_its_changes() -> None:
    db = tidelog.compile(REACH).open()
    with db.transaction() as tx:
        tx.insert("Host", ["a"])
    view = db.relation("Host")
    assert repr(db) == "<Database on local, epoch 1>"
    db.close()
    db.close()
    assert repr(db) == "<Database on local, closed>"
    assert tx.changes["Alone"].inserted == [("a",)]
    for use in (view.rows, view.to_arrow, lambda: len(view), lambda: "a" in view, lambda: iter(view)):
        with pytest.raises(tidelog.UsageError, match="the database is closed"):
            use()
    with pytest.raises(tidelog.UsageError, match="the database is closed"), db.transaction():
        pass


def test_closing_during_a_transaction_makes_its_commit_fail() -> None:
    db = tidelog.compile(REACH).open()

    def write() -> None:
        with db.transaction() as tx:
            tx.insert("Host", ["a"])
            db.close()

    with pytest.raises(tidelog.UsageError, match="the database is closed"):
        write()


def test_a_fact_that_cannot_be_evaluated_fails_the_opening() -> None:
    program = tidelog.compile(DIVIDE + "\nOut(y) :- var z: u32 = 0, var y = 1 / z.")
    with pytest.raises(tidelog.EvaluationError):
        program.open()
