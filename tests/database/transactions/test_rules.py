"""Rules that change at run time: what a transaction may do to them, and what comes of it."""

from __future__ import annotations

from typing import Any

import pytest

import tidelog
from tidelog.engine.local.epoch.inspect import Inspector

GRAPH = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
output relation Far(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Far(x, y) :- Reach(x, y), not Edge(x, y).
"""
STEP = "Reach(x, z) :- Reach(x, y), Edge(y, z)."
EDGES = [("a", "b"), ("b", "c"), ("c", "d")]
STRATEGIES = ("elastic", "update", "recompute", "counting", "circuit", "elastic-paper")
Rows = list[tuple[object, ...]]


def opened(text: str = GRAPH, **options: Any) -> tidelog.Database:
    return tidelog.compile(text).open(**options)


def loaded(**options: Any) -> tidelog.Database:
    db = opened(**options)
    with db.transaction() as tx:
        tx.insert("Edge", EDGES)
    return db


def change(db: tidelog.Database, *, add: str = "", remove: str = "") -> dict[str, tuple[Rows, Rows]]:
    """Returns the changes of a transaction that only changes rules."""
    with db.transaction() as tx:
        if add:
            tx.add_rules(add)
        if remove:
            tx.remove_rules(remove)
    return {name: (delta.inserted, delta.deleted) for name, delta in tx.changes.items()}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_adding_and_removing_a_rule_changes_the_relations_above_it_too(strategy: str) -> None:
    with loaded(strategy=strategy) as db:
        longer = [("a", "c"), ("a", "d"), ("b", "d")]
        assert change(db, add=STEP) == {"Reach": (longer, []), "Far": (longer, [])}
        assert change(db, remove=STEP) == {"Reach": ([], longer), "Far": ([], longer)}


def test_a_rule_is_the_same_whatever_its_variables_are_called() -> None:
    with loaded() as db:
        assert change(db, add="Reach(from, to) :- Edge(from, to).") == {}
        assert len(db.rules()) == 2
        removed = change(db, remove="Reach(.dst = b, .src = a) :- Edge(.dst = b, .src = a).")
        assert removed == {"Reach": ([], EDGES)}


def test_adding_what_is_there_makes_no_epoch() -> None:
    with loaded() as db:
        with db.transaction() as tx:
            tx.add_rules(STEP)
            tx.remove_rules(STEP)
            tx.add_rules("Reach(a, b) :- Edge(a, b).")
        assert tx.report is None
        assert db.report.epoch == 1


def test_rules_and_facts_change_in_one_epoch() -> None:
    with loaded() as db:
        with db.transaction() as tx:
            tx.delete("Edge", [("b", "c")])
            tx.add_rules(STEP)
            tx.insert("Edge", [("b", "d"), ("d", "e")])
        assert tx.report is not None
        assert tx.changes["Reach"].inserted == [("a", "d"), ("a", "e"), ("b", "d"), ("b", "e"), ("c", "e"), ("d", "e")]
        assert tx.changes["Reach"].deleted == [("b", "c")]


def test_strata_that_keep_their_relations_are_repaired_and_others_start_anew() -> None:
    with loaded() as db:
        change(db, add=STEP)
        assert {each.relations: each.strategy for each in db.report.strata} == {
            ("Reach",): "update",
            ("Far",): "update",
        }
        change(db, add="Edge(y, x) :- Reach(x, y), x == y.")
        assert {each.relations: each.strategy for each in db.report.strata}["Edge", "Reach"] == "bootstrap"


def test_the_last_rule_of_a_relation_leaves_it_declared_and_empty() -> None:
    with loaded() as db:
        change(db, remove="Reach(x, y) :- Edge(x, y).")
        assert db.relation("Reach").rows() == []
        assert change(db, add="Reach(y, x) :- Edge(x, y).")["Reach"][0] == [("b", "a"), ("c", "b"), ("d", "c")]


def test_facts_of_an_input_relation_outlast_its_rules() -> None:
    with loaded() as db:
        change(db, add="Edge(y, x) :- Edge(x, y).")
        assert len(db.relation("Edge")) == 6
        change(db, remove="Edge(y, x) :- Edge(x, y).")
        assert db.relation("Edge").rows() == EDGES


def test_added_rules_declare_relations_types_and_functions() -> None:
    with loaded() as db:
        text = """
            typedef Name = Short{text: string} | Long{text: string, size: u64}
            function name(s: string): Name { if (s.len() < 2) Short{s} else Long{s, s.len()} }
            input relation Known(name: Name)
            output relation Named(name: Name)
            Named(name(x)) :- Edge(x, _), not Known(name(x)).
        """
        assert [str(row) for row in change(db, add=text)["Named"][0]] == [
            f"(Short{{.text = '{name}'}},)" for name in "abc"
        ]
        with db.transaction() as tx:
            tx.insert("Known", [({"tag": "Short", "text": "a"},)])
        assert len(tx.changes["Named"].deleted) == 1
        assert change(db, add="Named(Short{x}) :- Known(Short{x}).")["Named"][0] != []
        assert db.query("Named(Short{x}), not Edge(x, _)").rows == []


def test_a_relation_declared_by_added_rules_is_written_to_in_the_next_transaction() -> None:
    with loaded() as db:
        with db.transaction() as tx:
            tx.add_rules("input relation More(x: string)")
            with pytest.raises(tidelog.TransactionError, match="is declared by the rules of this same transaction"):
                tx.insert("More", [("x",)])
        with db.transaction() as tx:
            tx.insert("More", [("x",)])
        assert db.relation("More").rows() == [("x",)]


def test_an_absent_rule_is_an_error_with_the_one_that_was_meant() -> None:
    with loaded() as db, pytest.raises(tidelog.ProgramError) as caught, db.transaction() as tx:
        tx.remove_rules("Far(x, y) :- Reach(y, x), not Edge(x, y).")
    text = str(caught.value)
    assert "E840" in text
    assert "did you mean `Far(x, y) :- Reach(x, y), not Edge(x, y).`?" in text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Reach(x, z) :- Edge(x, _).", "E302"),
        ("Reach(x, y) :- Egde(x, y).", "E201"),
        ("Reach(x, y) :- Edge(x, y)", "E101"),
        ("Edge(x, y) :- Far(x, y).", "E307"),
        ("relation Reach(x: u8)", "E202"),
        ("import fp", "E841"),
        ("function reach(x: string): u8 { x }", "E210"),
    ],
)
def test_a_wrong_text_is_refused_and_nothing_changes(text: str, code: str) -> None:
    with loaded() as db:
        rules, rows = db.rules(), db.relation("Reach").rows()
        with db.transaction() as tx:
            tx.insert("Edge", [("d", "e")])
            with pytest.raises(tidelog.ProgramError, match=code):
                tx.add_rules(text)
        assert tx.changes["Reach"].inserted == [("d", "e")]
        assert db.rules() == rules
        assert db.relation("Reach").rows() == [*rows, ("d", "e")]


def test_a_declaration_that_is_there_already_has_a_help() -> None:
    with loaded() as db, pytest.raises(tidelog.ProgramError) as caught, db.transaction() as tx:
        tx.add_rules("relation Reach(x: u8)")
    assert "a declaration stays when its rules are removed" in str(caught.value)


def test_a_rollback_takes_rules_back() -> None:
    with loaded() as db:
        tx = db.transaction().begin()
        tx.add_rules(STEP)
        tx.rollback()
        assert change(db, add="output relation Copy(x: string)\nCopy(x) :- Edge(x, _).").keys() == {"Copy"}
        assert len(db.rules()) == 3


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_epoch_that_fails_at_its_end_leaves_the_rules_as_they_were(
    strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError

    with loaded(strategy=strategy) as db:
        rows = db.relation("Reach").rows()
        with monkeypatch.context() as patch:
            patch.setattr(Inspector, "show", fail)
            with pytest.raises(ValueError, match=r"^$"):
                change(
                    db,
                    add=f"{STEP} output relation N(x: u64) N(g.count_distinct()) :- Edge(x, y), var g = y.group_by(x).",
                    remove="Far(x, y) :- Reach(x, y), not Edge(x, y).",
                )
        assert db.relation("Reach").rows() == rows
        assert len(db.rules()) == 2
        with db.transaction() as tx:
            tx.insert("Edge", [("d", "e")])
        assert tx.changes["Reach"].inserted == [("d", "e")]
        assert change(db, add=STEP)["Reach"][0] == [
            ("a", "c"), ("a", "d"), ("a", "e"), ("b", "d"), ("b", "e"), ("c", "e"),
        ]  # fmt: skip


def test_a_limit_ends_a_change_of_rules_that_diverges() -> None:
    text = "input relation N(n: u64)\noutput relation Up(n: u64)\nUp(n) :- N(n)."
    with opened(text, max_rounds=50) as db:
        with db.transaction() as tx:
            tx.insert("N", [(1,)])
        with pytest.raises(tidelog.EvaluationError, match="E605"):
            change(db, add="Up(n + 1) :- Up(n).")
        assert (db.relation("Up").rows(), db.rules()) == ([(1,)], ["Up(n) :- N(n)."])
        assert change(db, add="Up(n + 1) :- Up(n), n < 4.") == {"Up": ([(2,), (3,), (4,)], [])}


def test_a_rule_written_twice_counts_once() -> None:
    text = "input multiset A(x: u8)\noutput multiset B(x: u8)\nB(x) :- A(x).\nB(y) :- A(y)."
    with opened(text) as db:
        with db.transaction() as tx:
            tx.insert("A", [(1,), (1,)])
        assert list(tx.changes["B"]) == [((1,), 2)]
        assert db.rules() == ["B(x) :- A(x)."]


@pytest.mark.parametrize("strategy", ["elastic", "counting"])
def test_groups_are_inserted_and_deleted_with_their_rules(strategy: str) -> None:
    with loaded(strategy=strategy) as db:
        rule = "Count(x, g.count_distinct()) :- Reach(x, y), var g = y.group_by(x)."
        added = change(db, add=f"output relation Count(x: string, n: u64)\n{rule}")
        assert added["Count"][0] == [("a", 1), ("b", 1), ("c", 1)]
        assert change(db, add=STEP)["Count"] == ([("a", 3), ("b", 2)], [("a", 1), ("b", 1)])
        assert change(db, remove=rule)["Count"] == ([], [("a", 3), ("b", 2), ("c", 1)])
        assert change(db, add=rule)["Count"][0] == [("a", 3), ("b", 2), ("c", 1)]


def test_weights_follow_rules() -> None:
    text = "input relation A(x: u8, y: u8)\nrelation M(x: u8)\noutput multiset W(x: u8)\nM(x) :- A(x, _)."
    with opened(text) as db:
        with db.transaction() as tx:
            tx.insert("A", [(1, 1), (1, 2), (2, 1)])
        with db.transaction() as tx:
            tx.add_rules("W(x) :- M(x).")
        assert list(tx.changes["W"]) == [((1,), 2), ((2,), 1)]
        with db.transaction() as tx:
            tx.add_rules("M(x) :- A(_, x). W(x) :- A(x, x).")
        assert list(tx.changes["W"]) == [((1,), 3), ((2,), 1)]
        with db.transaction() as tx:
            tx.delete("A", [(1, 1)])
            tx.remove_rules("W(x) :- M(x).")
        assert list(tx.changes["W"]) == [((1,), -5), ((2,), -2)]
        assert db.relation("M").rows() == [(1,), (2,)]


def test_rows_of_a_multiset_are_deleted_after_a_rule_was_added() -> None:
    """Rows of an added rule are counted once, in the weights, and not in the store as well."""
    text = "input multiset V(a: u32)\ninput relation E(a: u32)\noutput multiset S(a: u32)\nS(a) :- V(a), E(a)."
    rule = "S(a) :- V(a), not E(a)."
    with opened(text) as db:
        with db.transaction() as tx:
            tx.insert("V", [(4,), (5,)])
            tx.add_rules(rule)
        with db.transaction() as tx:
            tx.delete("V", [(4,)])
        found = db.relation("S")
        assert (list(tx.changes["S"]), len(found), found.lookup(a=4), (4,) in found) == ([((4,), -1)], 1, [], False)
        with db.transaction() as tx:
            tx.remove_rules(rule)
        found = db.relation("S")
        assert (list(tx.changes["S"]), len(found), (5,) in found) == ([((5,), -1)], 0, False)


def test_a_relation_that_becomes_recursive_forgets_its_weights() -> None:
    text = "input relation A(x: u8)\nrelation M(x: u8)\noutput multiset W(x: u8)\nM(x) :- A(x).\nM(2) :- A(_).\n"
    with opened(f"{text}W(x) :- M(x).") as db:
        with db.transaction() as tx:
            tx.insert("A", [(1,), (2,), (3,)])
        assert list(tx.changes["W"]) == [((1,), 1), ((2,), 4), ((3,), 1)]
        with db.transaction() as tx:
            tx.add_rules("M(x) :- M(x), x > 100.")
        assert list(tx.changes["W"]) == [((2,), -3)]
        with db.transaction() as tx:
            tx.remove_rules("M(x) :- M(x), x > 100.")
        assert list(tx.changes["W"]) == [((2,), 3)]


def test_added_rules_over_streams_see_later_rows_only() -> None:
    text = "input stream S(x: u8)\ninput relation K(x: u8)\noutput stream Out(x: u8)\nOut(x) :- S(x)."
    with opened(text) as db:
        with db.transaction() as tx:
            tx.insert("S", [(1,)])
            tx.insert("K", [(2,)])
            tx.add_rules("Out(x + 10) :- S(x), K(_).")
        assert list(tx.changes["Out"]) == [((1,), 1), ((11,), 1)]
        with db.transaction() as tx:
            tx.insert("S", [(2,)])
            tx.remove_rules("Out(x) :- S(x).")
        assert list(tx.changes["Out"]) == [((12,), 1)]


def test_the_delay_of_an_added_rule_begins_with_the_last_commit() -> None:
    text = "input relation A(x: u8)\noutput relation Was(x: u8)"
    with opened(text) as db:
        with db.transaction() as tx:
            tx.insert("A", [(1,)])
        with db.transaction() as tx:
            tx.insert("A", [(2,)])
            tx.add_rules("Was(x) :- A-1(x).")
        assert tx.changes["Was"].inserted == [(1,)]
        with db.transaction() as tx:
            tx.delete("A", [(1,)])
        assert tx.changes["Was"].inserted == [(2,)]
        with db.transaction() as tx:
            tx.remove_rules("Was(x) :- A-1(x).")
        assert tx.changes["Was"].deleted == [(1,), (2,)]


def test_groups_inside_a_recursion_are_derived_anew() -> None:
    text = """
        input relation Edge(a: u8, b: u8)
        output relation Best(b: u8, n: u64)
        Best(b, 1) :- Edge(0, b).
    """
    rule = "Best(b, g.min() + 1) :- Best(a, n), Edge(a, b), not Edge(0, b), var g = n.group_by(b)."
    with opened(text) as db:
        with db.transaction() as tx:
            tx.insert("Edge", [(0, 1), (1, 2), (2, 3)])
        assert change(db, add=rule)["Best"][0] == [(2, 2), (3, 3)]
        with db.transaction() as tx:
            tx.insert("Edge", [(1, 3)])
        assert tx.changes["Best"].inserted == [(3, 2)]
        assert change(db, remove=rule)["Best"][1] == [(2, 2), (3, 2)]


def test_questions_name_rules_that_came() -> None:
    with loaded() as db:
        change(db, add=STEP)
        assert STEP in str(db.explain("Reach", ("a", "c")))
        assert STEP in str(db.why_not("Reach", ("d", "a")))
        assert any(each.rule == STEP for each in db.profile().rules)
        assert list(db.query('Reach("a", x), Far("a", x)')) == [("c",), ("d",)]


def test_callbacks_hear_of_a_change_of_rules() -> None:
    with loaded() as db:
        heard: list[Rows] = []
        db.on_change("Reach", lambda delta: heard.append(delta.inserted))
        change(db, add=STEP)
        assert heard == [[("a", "c"), ("a", "d"), ("b", "d")]]


def test_externs_that_were_given_serve_rules_that_come() -> None:
    text = "input relation A(x: u8)\noutput relation B(x: u8)"
    program = tidelog.compile(text, externs={"twice": lambda x: 2 * x})
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("A", [(4,)])
        assert change(db, add="extern function twice(x: u8): u8\nB(twice(x)) :- A(x).") == {"B": ([(8,)], [])}
        with pytest.raises(tidelog.UsageError, match="E810"), db.transaction() as tx:
            tx.add_rules("extern function thrice(x: u8): u8\nB(thrice(x)) :- A(x).")


def test_endless_changes_of_rules_take_no_more_memory() -> None:
    with loaded() as db:
        rule = "Far(x, g.first()) :- Edge(x, y), not Reach(y, _), var g = y.group_by(x)."
        change(db, add=rule)
        with db._locked.engine() as engine:
            stores = len(engine._catalog.stores)  # type: ignore[attr-defined]
        for _ in range(20):
            change(db, remove=rule)
            change(db, add=rule)
        with db._locked.engine() as engine:
            assert len(engine._catalog.stores) == stores  # type: ignore[attr-defined]
            assert len(engine._runtime.numbers) == 6  # type: ignore[attr-defined]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("sign", [-1, +1])
@pytest.mark.parametrize(
    ("relation", "row", "comes"),
    [
        ("A", (1,), True),
        ("A", (2,), False),
        ("B", (2,), True),
        ("B", (3,), False),
        ("P", (2,), True),
        ("C", (2,), True),
    ],
)
def test_a_rule_changes_together_with_a_row_that_it_reads(
    strategy: str, sign: int, relation: str, row: tuple[int], comes: bool
) -> None:
    text = "input relation A(x: u8)\ninput relation B(x: u8)\ninput relation C(x: u8)\ninput relation P(x: u8)\n"
    rule, other = "P(x) :- A(x), not B(x).", "output relation Out(x: u8)\nP(x) :- C(x).\nOut(x) :- P(x).\n"
    facts: dict[str, set[tuple[int]]] = {"A": {(2,), (3,)}, "B": {(3,)}, "C": {(7,)}, "P": {(9,)}}
    with opened(f"{text}{other}{rule if sign < 0 else ''}", strategy=strategy) as db:
        with db.transaction() as tx:
            for name, rows in facts.items():
                tx.insert(name, sorted(rows))
        before = set(db.relation("Out").rows())
        with db.transaction() as tx:
            (tx.insert if comes else tx.delete)(relation, [row])
            (tx.add_rules if sign > 0 else tx.remove_rules)(rule)
        (facts[relation].add if comes else facts[relation].discard)(row)
        expected = facts["P"] | facts["C"] | ((facts["A"] - facts["B"]) if sign > 0 else set())
        assert set(db.relation("Out").rows()) == expected
        assert set(tx.changes["Out"].inserted) == expected - before
        assert set(tx.changes["Out"].deleted) == before - expected


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_rule_meets_the_first_facts_of_its_own_stratum(strategy: str) -> None:
    text = """
        input relation P(x: u8)
        input relation Q(x: u8)
        P(x) :- Q(x), x > 100.
        Q(x) :- P(x).
    """
    with opened(text, strategy=strategy) as db:
        with db.transaction() as tx:
            tx.insert("Q", [(1,), (2,), (3,)])
        with db.transaction() as tx:
            tx.insert("P", [(5,)])
            tx.add_rules("Q(x + 2) :- P(x), x < 7.")
        assert db.relation("Q").rows() == [(1,), (2,), (3,), (5,), (7,)]
