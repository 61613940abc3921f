"""Tuples that are grouped: a column for each part, in new databases only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tidelog
from tidelog.database.storage.stored_program import StoredProgram
from tidelog.plan.show import show_plan
from tidelog.rules.show import show_rules

HEAD = """import group
input relation Sale(id: u32, shop: string, price: u64)
"""
SUM = """output relation Sum(shop: string, sum: u64)
Sum(s, g.sum_of(|t| t.1)) :- Sale(i, s, p), var g = (i, p).group_by(s).
"""


def shown(rules: str) -> str:
    return show_rules(tidelog.compile(HEAD + rules).stages.rules)


def test_the_members_have_a_column_for_each_part() -> None:
    text = shown(SUM)
    assert "Sum#members0(k0: string, value0: u32, value1: u64)" in text
    assert "Sum#members0(s, i, p) :- Sale(i, s, p)." in text
    assert "var a#0 = sum of |t.0, t.1| t.1 of Sum#members0(s, _, _)" in text


def test_a_part_that_is_computed_is_assigned() -> None:
    text = shown(SUM.replace("(i, p).group_by", "(i + 1, p).group_by"))
    assert "Sale(i, s, p), var e#0.0 = i + (1: u32)." in text


def test_the_whole_tuple_is_made_where_a_function_takes_it() -> None:
    text = shown(SUM.replace("|t| t.1", "|t| f(t)") + "function f(t: (u32, u64)): u64 { t.1 }\n")
    assert "f((t.0, t.1))" in text


@pytest.mark.parametrize("group", ["g.to_vec().len()", "g.fold(|n, t| n + t.1, 0)"])
def test_a_group_that_stays_a_value_keeps_its_tuples(group: str) -> None:
    assert "value0" not in shown(SUM.replace("g.sum_of(|t| t.1)", f"({group} as u64)"))


@pytest.mark.parametrize(
    ("read", "kept"),
    [
        ("g.arg_max(|t| t.1).1", "max of |t.0, t.1| t.1"),
        ("g.arg_min(|t| t.1).1", "min of |t.0, t.1| t.1"),
        ("(g.max().0 as u64)", "max of |value#.0, value#.1| value#.0"),
        ("(g.arg_max(|t| t.1).0 as u64)", "arg_max of |t.0, t.1| t.1"),
        ("(g.arg_max(|t| t.1).0 as u64) + g.arg_max(|t| t.1).1", "arg_max of |t.0, t.1| t.1"),
        ("g.arg_max(|t| t.1 + 1).1", "arg_max of |t.0, t.1| t.1 + (1: u64)"),
    ],
)
def test_of_a_best_tuple_the_part_that_decides_is_kept_if_rules_read_no_other(read: str, kept: str) -> None:
    rules = SUM.replace("g.sum_of(|t| t.1)", read)
    assert f"var a#0 = {kept} of Sum#members0(s, _, _)" in shown(rules)
    with tidelog.compile(HEAD + rules).open() as db:
        for rows in ([(1, "a", 5), (2, "a", 7)], [(3, "a", 7), (9, "a", 1)], [(4, "b", 1)]):
            with db.transaction() as tx:
                tx.insert("Sale", rows)
        with db.transaction() as tx:
            tx.delete("Sale", [(2, "a", 7)])
        held = {"a": [(1, 5), (3, 7), (9, 1)], "b": [(4, 1)]}
        first = {key: max(own, key=lambda each: (each[1], -each[0])) for key, own in held.items()}
        reads: dict[str, Callable[[str], int]] = {
            "g.arg_max(|t| t.1).1": lambda key: first[key][1],
            "g.arg_min(|t| t.1).1": lambda key: min(price for _, price in held[key]),
            "(g.max().0 as u64)": lambda key: max(held[key])[0],
            "(g.arg_max(|t| t.1).0 as u64)": lambda key: first[key][0],
            "(g.arg_max(|t| t.1).0 as u64) + g.arg_max(|t| t.1).1": lambda key: sum(first[key]),
            "g.arg_max(|t| t.1 + 1).1": lambda key: first[key][1],
        }
        of = reads[read]
        assert set(db.relation("Sum").rows()) == {(key, of(key)) for key in held}


def test_an_explanation_shows_the_tuple() -> None:
    with tidelog.compile(HEAD + SUM).open() as db:
        with db.transaction() as tx:
            tx.insert("Sale", [(1, "a", 5), (2, "a", 5)])
        text = str(db.explain("Sum", ("a", 10)))
        assert "value (1, 5)" in text
        assert "value (2, 5)" in text


def test_a_rule_that_is_added_later_is_split_too() -> None:
    with tidelog.compile(HEAD + SUM.splitlines()[0] + "\n").open() as db:
        with db.transaction() as tx:
            tx.add_rules(SUM.splitlines()[1])
            tx.insert("Sale", [(1, "a", 5), (2, "a", 5)])
        assert set(db.relation("Sum").rows()) == {("a", 10)}
        assert any("value1" in str(each.columns) for each in db._locked.program.relations.values())


def test_a_database_of_an_earlier_version_keeps_its_tuples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tidelog.compile(HEAD + SUM)
    stored = StoredProgram.of(program)
    document = {name: value for name, value in stored.document().items() if name != "layout"}
    earlier = StoredProgram.of_document(document)
    assert earlier.digest == stored.digest
    with monkeypatch.context() as patch:
        patch.setattr(StoredProgram, "document", lambda _: document)
        with earlier.compile({}).open(path=tmp_path / "db") as db, db.transaction() as tx:
            tx.insert("Sale", [(1, "a", 5), (2, "a", 5), (3, "b", 1)])
    for number in range(2):
        with tidelog.open(tmp_path / "db") if number else program.open(path=tmp_path / "db") as db:
            assert "value0" not in str(db._locked.program.relations["Sum#members0"].columns)
            with db.transaction() as tx:
                tx.insert("Sale", [(4, "b", 1)])
            assert set(db.relation("Sum").rows()) == {("a", 10), ("b", 2)}
            with db.transaction() as tx:
                tx.delete("Sale", [(4, "b", 1)])


def test_the_plan_says_what_python_runs() -> None:
    rules = tidelog.compile(
        HEAD
        + SUM
        + """output relation T(shop: string, t: string)
T(s, t) :- Sale(i, s, _), var t = "${i}".group_by(s).to_vec().join(" ").
output relation F(shop: string, f: double)
F(s, f) :- Sale(i, s, p), var f = p.group_by(s).sum_of(|x| x as double).
output relation V(shop: string, v: Vec<u64>)
V(s, v) :- Sale(i, s, p), var v = p.group_by(s).to_vec().
"""
    ).stages.rules
    text = show_plan(rules)
    assert "aggregate the changes of Sum#members0" in text
    assert 'in Python: join " "' in text
    assert "call Python for each value: sum of |x| x as double" in text
    assert "group the touched keys of V#members" in text
