"""The suite: entries that fit their programs, generators that repeat, known results, floors and updates that agree."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tidelog.bench.benchmark import Scale, Settings
from tidelog.bench.entries import ENTRIES, Entry
from tidelog.bench.known import describe_results, known_results
from tidelog.bench.measure import PROGRAMS, Subject
from tidelog.bench.references.checksum import checksum
from tidelog.bench.references.duckdb import run_duckdb
from tidelog.bench.references.floors import FLOORS
from tidelog.bench.run import run_benchmarks
from tidelog.cli.main import main

TINY = Settings(Scale.TINY, None, (), 1, lambda _: None)
IN_SQL = [entry for entry in ENTRIES if (PROGRAMS / "duckdb" / f"{entry.program}.sql").exists()]
every = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
# Soufflé has no `++`, and its aggregates are written otherwise.
WRITTEN_OTHERWISE = {"names": 1, "totals": 2}


def rules(text: str) -> list[str]:
    lines = (line.split("//")[0].strip() for line in text.splitlines())
    return [line for line in lines if ":-" in line or (line.endswith(".") and not line.startswith("."))]


def loaded(entry: Entry) -> Subject:
    subject = Subject(entry.program)
    subject.change(inserts=entry.dataset(TINY).tables)
    return subject


def test_the_suite_has_programs_of_every_shape() -> None:
    names = [entry.name for entry in ENTRIES]
    assert len(set(names)) == len(names) >= 29
    shapes = " ".join(entry.shape for entry in ENTRIES)
    for word in (
        "linear",
        "non-linear",
        "mutual",
        "negation",
        "constants",
        "comparison",
        "text",
        "aggregates",
        "strata",
    ):
        assert word in shapes
    assert FLOORS.keys() <= set(names)


@every
def test_an_entry_fits_its_program(entry: Entry) -> None:
    text = (PROGRAMS / f"{entry.program}.dl").read_text(encoding="utf-8")
    assert text.count(entry.rule) == 1
    for relation in entry.results:
        assert re.search(rf"^output relation {relation}\(", text, re.MULTILINE)
    inputs = set(re.findall(r"^input relation (\w+)\(", text, re.MULTILINE)) - {"Remark"}
    tables = entry.dataset(TINY).tables
    assert set(tables) == inputs
    assert tables[entry.changed].num_rows
    assert entry.changed in inputs
    assert len(entry.tiny) == len(entry.small) == len(entry.full)


@every
def test_the_version_for_souffle_has_the_same_rules(entry: Entry) -> None:
    ours = rules((PROGRAMS / f"{entry.program}.dl").read_text(encoding="utf-8"))
    ours = [rule.replace("not ", "!").replace("==", "=") for rule in ours]
    ours = [rule.replace("(c > d) or ((c = d) and (n > m))", "(c > d ; c = d, n > m)") for rule in ours]
    theirs = rules((PROGRAMS / "souffle" / f"{entry.program}.dl").read_text(encoding="utf-8"))
    if entry.name in WRITTEN_OTHERWISE:
        assert len(set(ours) - set(theirs)) == WRITTEN_OTHERWISE[entry.name]
    else:
        assert ours == theirs


@every
def test_results_are_those_that_souffle_found_when_they_were_written_down(entry: Entry) -> None:
    data = entry.dataset(TINY)
    again = entry.dataset(TINY)
    assert describe_results(data, {}) == describe_results(again, {})
    known = known_results(entry.name, Scale.TINY, data)
    assert known.keys() == set(entry.results)
    subject = loaded(entry)
    for relation, (rows, total) in known.items():
        found = checksum(subject.table(relation))
        assert (found.rows, found.sum) == (rows, total), relation
    assert any(rows for rows, _ in known.values())


@pytest.mark.parametrize("name", FLOORS)
def test_a_bare_loop_goes_through_the_same_instances(name: str) -> None:
    (entry,) = (entry for entry in ENTRIES if entry.name == name)
    relation, make = FLOORS[name]
    subject = loaded(entry)
    bare = make(entry.dataset(TINY).tables)()
    assert bare.rows == subject.count(relation)
    assert bare.instances == subject.instances
    assert bare.seconds > 0


@pytest.mark.parametrize("entry", IN_SQL, ids=[entry.name for entry in IN_SQL])
def test_duckdb_derives_the_same(entry: Entry) -> None:
    pytest.importorskip("duckdb")
    subject = loaded(entry)
    expected = {relation: checksum(subject.table(relation)) for relation in entry.results}
    run = run_duckdb(entry.program, entry.dataset(TINY), expected, 1, 1)
    assert run is not None
    assert dict(run.found) == expected


def test_rows_and_a_rule_leave_and_come_back() -> None:
    record = run_benchmarks(["suite"], repeat=1, scale=Scale.TINY, programs=["wide-join"])
    (found,) = record["benchmarks"]
    changes = [each["change"] for each in found["updates"]]
    assert changes == [
        *(f"{size} of Delivery {way}" for size in ("1 row", "100 rows", "1%") for way in ("deleted", "inserted")),
        "a rule removed",
        "a rule added",
    ]
    for each in found["updates"]:
        assert 0 < each["median"] <= each["p99"]
        assert each["recompute"] > 0
        if "Delivery" in each["change"]:
            assert each["instances"] == each["rows"]  # every delivery belongs to one order
    assert {case["name"] for case in found["cases"] if case["who"] == "tidelog"} >= {
        "Bootstrap, 1 thread",
        "Bootstrap, 2 threads",
    }


def test_an_update_that_differs_from_a_load_shows_no_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tidelog.bench.suites.updates._without", lambda table, _: table)
    assert main(["bench", "run", "suite", "--scale", "tiny", "--programs", "reach"]) == 70
    out, err = capsys.readouterr()
    assert out == ""
    assert "compared with a load" in err


def test_results_other_than_the_known_ones_show_no_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tidelog.bench.suites.suite.known_results", lambda *_: {"Reach": (7, 7)})
    assert main(["bench", "run", "suite", "--scale", "tiny", "--programs", "reach"]) == 70
    out, err = capsys.readouterr()
    assert out == ""
    assert "Reach, as it is known" in err


def test_an_unknown_program_is_an_error_with_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "run", "suite", "--scale", "tiny", "--programs", "andersn"]) == 2
    assert "did you mean `andersen`?" in capsys.readouterr().err


def test_facts_of_another_generator_have_no_known_results() -> None:
    data = ENTRIES[0].dataset(TINY)
    other = ENTRIES[0].dataset(Settings(Scale.SMALL, None, (), 1, lambda _: None))
    assert known_results(ENTRIES[0].name, Scale.TINY, data)
    assert not known_results(ENTRIES[0].name, Scale.TINY, other)


def test_numbers_of_a_part_are_drawn_anew_for_another_seed() -> None:
    generator = ENTRIES[0].facts
    one, other = (generator(60, 90, seed)["Edge"] for seed in (1, 2))
    assert not one.equals(other)
    assert np.array_equal(one["src"].to_numpy(), generator(60, 90, 1)["Edge"]["src"].to_numpy())
