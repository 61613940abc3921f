"""The strategy `circuit`: rules as rows, which come and go like facts; what it keeps, reports and takes back."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from tests.engine.local.run import Running

import tidelog
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.strategies.circuit import interpreter
from tidelog.engine.local.strategies.circuit.interpreter import Circuit, FactDelta, Instances
from tidelog.engine.local.strategies.circuit.rule_arrays import code_of
from tidelog.engine.local.strategies.circuit.rule_rows import Order, RuleRows
from tidelog.rules.ir import Rule

REACH = """
    input relation Edge(a: u32, b: u32)
    output relation Reach(a: u32, b: u32)
    Reach(x, y) :- Edge(x, y).
    Reach(x, z) :- Edge(x, y), Reach(y, z).
"""
MANY = """
    input relation A(x: u8, y: u8)
    input relation B(x: u8, y: u8)
    input relation C(x: u8)
    input relation Wide(x: u8, y: u8, z: u8)
    output relation P(x: u8, y: u8)
    output relation Q(x: u8)
    output relation Z()
    P(x, y) :- A(x, y).
    P(y, x) :- A(x, y).
    P(x, z) :- A(x, y), B(y, z).
    P(x, z) :- B(y, z), A(x, y).
    P(x, z) :- A(x, y), B(y, z), not C(y).
    P(x, x) :- A(x, x).
    Q(x) :- A(x, _), not B(x, x), not C(x).
    Q(y) :- A(x, y), x < y.
    Q(w) :- A(x, y), var w = x + y, C(w).
    Q(1) :- not C(1).
    Q(z) :- A(x, 1), B(1, z), C(z), not A(z, z).
    Q(7).
    P(x, w) :- A(x, y), B(y, z), A(z, w), C(w).
    Z() :- C(_), A(_, _).
    P(x, z) :- Wide(x, y, z), Wide(z, y, x), C(y).
"""


class Bench:
    """A circuit with the facts and rules that it should have; instances are added up."""

    def __init__(self, text: str) -> None:
        program = tidelog.compile(text).stages.rules
        self.rules: Sequence[Rule] = program.rules
        self.numbers = {name: number for number, name in enumerate(program.relations)}
        self.widths = {self.numbers[name]: len(each.columns) for name, each in program.relations.items()}
        self._values, self._functions = Values(), program.functions
        self.facts: dict[tuple[int, tuple[int, ...]], int] = {}  # relation, row → rank
        self.present: set[int] = set()
        self.totals: Counter[tuple[int, tuple[int, ...]]] = Counter()
        self.circuit = self.fresh()

    def fresh(self) -> Circuit:
        return Circuit(RuleRows(self.numbers, self._values, self._functions), self._values, lambda: None)

    def take(self, found: Iterable[Instances], sign: int) -> None:
        for instances in found:
            assert instances.sign == sign
            assert sum(count for _, count in instances.rules) == len(instances.out)
            for row in instances.out[:, :-1].tolist():
                self.totals[instances.relation, tuple(row)] += sign

    def change_rules(self, rules: Sequence[Rule], sign: int) -> None:
        if sign > 0:
            self.take(self.circuit.add_rules(rules, self.rows), +1)
        else:
            self.take(self.circuit.remove_rules(rules), -1)
        self.present ^= {rule.id for rule in rules}

    def change_facts(self, rows: Sequence[tuple[int, tuple[int, ...]]], sign: int) -> None:
        """Rows come, or go; where they are negated, that takes instances away, so those come first, or last."""
        for rank, row in enumerate(rows):
            if sign > 0:
                self.facts[row] = rank
        for negated in (True, False) if sign > 0 else (False, True):
            delta = FactDelta(
                np.array(
                    [
                        [code_of(r, negated), 0 if negated else self.facts[r, row], *row, *[0] * (3 - len(row))]
                        for r, row in rows
                    ],
                    dtype=np.int64,
                ).reshape(-1, 5),
                np.full(len(rows), sign, dtype=np.int64),
            )
            self.take(self.circuit.change(delta), -sign if negated else sign)
        for row in rows if sign < 0 else ():
            del self.facts[row]

    def rows(self, order: Order) -> Words:
        own = [(rank, row) for (relation, row), rank in self.facts.items() if relation == order.relation]
        found = [[0 if order.negated else rank, *row] for rank, row in own]
        return np.array(found, dtype=np.int64).reshape(len(found), 1 + self.widths[order.relation])

    def anew(self) -> Counter[tuple[int, tuple[int, ...]]]:
        """What a new circuit finds from all rules and facts."""
        other = Counter(self.totals)
        self.totals.clear()
        rules = [rule for rule in self.rules if rule.id in self.present]
        self.take(self.fresh().add_rules(rules, self.rows), +1)
        found, self.totals = self.totals, other
        return found


@pytest.mark.parametrize("seed", range(6))
def test_rules_and_facts_come_and_go_and_the_instances_are_those_of_a_fresh_circuit(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreter, "PAIRS", 3)
    rng, bench = random.Random(seed), Bench(MANY)
    inputs = [bench.numbers[name] for name in ("A", "B", "C", "Wide")]
    for _ in range(40):
        if rng.random() < 0.4:
            sign = rng.choice((-1, 1))
            fitting = [rule for rule in bench.rules if (rule.id in bench.present) == (sign < 0)]
            bench.change_rules(rng.sample(fitting, min(len(fitting), rng.randint(1, 4))), sign)
        else:
            drawn = {
                (r := rng.choice(inputs), tuple(rng.randrange(3) for _ in range(bench.widths[r]))) for _ in range(5)
            }
            old = sorted(drawn & bench.facts.keys())
            if old and rng.random() < 0.6:
                bench.change_facts(old, -1)
            bench.change_facts(sorted(drawn - bench.facts.keys()), +1)
        assert +bench.totals == +bench.anew()
        assert min(bench.totals.values(), default=0) >= 0
    bench.change_rules([rule for rule in bench.rules if rule.id in bench.present], -1)
    assert not +bench.totals
    assert bench.circuit.bytes() == 0, "nothing is left of rules that are gone"


def test_a_rule_with_the_body_of_another_finds_the_instances_again() -> None:
    bench = Bench(
        "input relation A(x: u8)\noutput relation P(x: u8)\noutput relation Q(x: u8)\nP(x) :- A(x).\nQ(x) :- A(x)."
    )
    first, second = bench.rules
    bench.change_rules([first], +1)
    bench.change_facts([(0, (1,)), (0, (2,))], +1)
    before = bench.circuit.bytes()
    bench.change_rules([second], +1)
    assert len(+bench.totals) == 4
    assert bench.circuit.bytes() == before, "the rules share what leads to their heads"
    bench.change_rules([first], -1)
    assert {relation for relation, _ in +bench.totals} == {bench.numbers["Q"]}


def test_to_restore_a_circuit_takes_everything_back() -> None:
    bench = Bench(MANY)
    bench.change_rules(bench.rules[:6], +1)
    bench.change_facts([(bench.numbers["A"], (1, 2)), (bench.numbers["B"], (2, 3))], +1)
    state, totals, present, facts = bench.circuit.state(), Counter(bench.totals), set(bench.present), dict(bench.facts)
    bench.change_rules(bench.rules[6:], +1)
    bench.change_rules(bench.rules[:3], -1)
    bench.change_facts([(bench.numbers["A"], (1, 2))], -1)
    bench.circuit.restore(state)
    bench.totals, bench.present, bench.facts = totals, present, facts
    bench.change_facts([(bench.numbers["A"], (1, 2))], -1)
    assert +bench.totals == +bench.anew()


# In a database


def strategy_of(run: Running, relation: str) -> str:
    (found,) = (each.strategy for each in run.report.strata if relation in each.relations)
    return found


def test_a_first_load_is_a_bootstrap_and_then_the_circuit_repairs() -> None:
    run = Running(REACH, strategy="circuit")
    run.commit({"Edge": [(1, 2), (2, 3)]})
    assert strategy_of(run, "Reach") == "bootstrap"
    assert run.commit({"Edge": [(3, 1)]}, {"Edge": [(1, 2)]}) == {
        "Reach": {(1, 2): -1, (1, 3): -1, (3, 1): 1, (2, 1): 1}
    }
    (report,) = run.report.strata
    assert (report.strategy, report.reason) == ("circuit", "the strategy always updates incrementally")


def test_rows_that_were_loaded_are_derived_once_more_for_the_circuit() -> None:
    run = Running(REACH)
    run.commit({"Edge": [(1, 2), (2, 3)]})
    states = {name: run.engine.state_table(name) for name in run.engine.program.relations}
    copy = Running(REACH, strategy="circuit")
    copy.engine = LocalEngine(run.engine.program, strategy="circuit")
    copy.engine.load(states)
    assert copy.commit({"Edge": [(3, 4)]}) == {"Reach": {(3, 4): 1, (2, 4): 1, (1, 4): 1}}
    assert (strategy_of(copy, "Reach"), "`circuit` has no state" in copy.report.strata[0].reason) == ("bootstrap", True)
    assert copy.commit(delete={"Edge": [(3, 4)]}) == {"Reach": {(3, 4): -1, (2, 4): -1, (1, 4): -1}}
    assert strategy_of(copy, "Reach") == "circuit"


def test_groups_go_their_only_way_and_the_report_says_so() -> None:
    run = Running(
        """
        input relation A(x: u8, y: u8)
        output relation Count(x: u8, n: usize)
        output relation Some(x: u8)
        Count(x, n) :- A(x, y), var n = y.group_by(x).count_distinct().
        Some(x) :- Count(x, n), n > 1.
        """,
        strategy="circuit",
    )
    run.commit({"A": [(1, 1), (1, 2), (2, 1)]})
    run.commit({"A": [(2, 2)]})
    ways = {each.strategy: each.reason for each in run.report.strata}
    assert run.rows("Some") == {(1,): 1, (2,): 1}
    assert ways["circuit"] == "the strategy always updates incrementally"
    assert "the only strategy for this stratum" in ways.values()


def test_a_division_by_zero_names_its_rule_and_the_state_is_as_before() -> None:
    run = Running(
        "input relation A(x: u8)\noutput relation P(x: u8)\nP(x) :- A(x).\nP(y) :- A(x), var y = 100 / x.",
        strategy="circuit",
    )
    run.commit({"A": [(5,)]})
    with pytest.raises(
        EvaluationError, match=r"division by zero, with x = 0, in the rule `P\(y\) :- A\(x\), var y = 100 / x\.`"
    ):
        run.commit({"A": [(0,), (10,)]})
    assert run.rows("P") == {(5,): 1, (20,): 1}
    assert run.commit({"A": [(10,)]}, {"A": [(5,)]}) == {"P": {(10,): 1, (5,): -1, (20,): -1}}


def test_nothing_is_evaluated_for_what_a_negated_literal_stops() -> None:
    run = Running(
        """
        input relation A(x: u8)
        input relation Bad(x: u8)
        output relation P(x: u8)
        P(y) :- A(x), not Bad(x), var y = 100 / x.
        """,
        strategy="circuit",
    )
    run.commit({"A": [(5,)], "Bad": [(0,)]})
    assert run.commit({"A": [(0,)]}) is not None
    assert run.rows("P") == {(20,): 1}
    assert run.commit({"Bad": [(5,)]}, {"A": [(0,)]}) == {"P": {(20,): -1}}
    run.commit(delete={"Bad": [(0,)]})
    with pytest.raises(EvaluationError, match="division by zero"):
        run.commit({"A": [(0,)]})


def test_values_that_only_rewrites_hold_are_not_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.engine.local.encoding.pool.SMALLEST_SWEEP", 4)
    run = Running(
        """
        input relation A(x: string)
        input relation B(x: string)
        output relation P(x: string)
        P(x) :- A(x), var y = x ++ "!", B(y).
        """,
        strategy="circuit",
    )
    run.commit({"A": [(f"a{i}",) for i in range(20)]})
    for i in range(40):  # what comes and goes takes the ids that are free
        run.commit({"B": [(f"b{i}",), (f"c{i}",)]}, {"B": [(f"b{i - 1}",), (f"c{i - 1}",)]})
    assert run.commit({"B": [("a7!",), ("a8",)]}) == {"P": {("a7",): 1}}


def test_the_memory_of_the_circuit_is_in_the_report() -> None:
    sizes = {}
    for strategy in ("elastic", "circuit"):
        run = Running(REACH, strategy=strategy)
        run.commit({"Edge": [(i, i + 1) for i in range(100)]})
        sizes[strategy] = run.engine.bytes("Reach")
    assert sizes["circuit"] > sizes["elastic"]
    assert run.report.bytes["Reach"] == sizes["circuit"]
    run.commit(delete={"Edge": [(i, i + 1) for i in range(100)]})
    beside = run.engine._catalog.stores[run.engine._runtime.numbers["Reach"]].beside
    assert beside is not None
    assert beside.bytes() < 100, "one rewrite waits for the first edge"


# Rules that change in a database


def test_a_rule_that_comes_or_goes_is_repaired_by_the_circuit() -> None:
    with tidelog.compile(REACH).open(strategy="circuit") as db:
        with db.transaction() as tx:
            tx.insert("Edge", [(1, 2), (2, 3), (3, 4)])
        with db.transaction() as tx:
            tx.add_rules("Reach(y, x) :- Edge(x, y).")
            tx.delete("Edge", [(3, 4)])
        assert tx.report is not None
        assert [each.strategy for each in tx.report.strata] == ["circuit"]
        assert set(db.relation("Reach").rows()) == {(1, 2), (2, 3), (2, 1), (3, 2), (1, 3), (1, 1), (2, 2)}
        with db.transaction() as tx:
            tx.remove_rules("Reach(x, z) :- Edge(x, y), Reach(y, z).")
        assert tx.report is not None
        assert set(db.relation("Reach").rows()) == {(1, 2), (2, 3), (2, 1), (3, 2)}


def test_a_new_rule_negates_a_relation_that_changes_in_the_same_epoch() -> None:
    text = "input relation A(x: u8)\ninput relation B(x: u8)\noutput relation P(x: u8)\nP(x) :- A(x), x > 5."
    with tidelog.compile(text).open(strategy="circuit") as db:
        with db.transaction() as tx:
            tx.insert("A", [(1,), (2,), (3,), (9,)])
            tx.insert("B", [(1,), (2,)])
        with db.transaction() as tx:
            tx.insert("B", [(3,)])
            tx.delete("B", [(1,)])
            tx.add_rules("P(x) :- A(x), not B(x).")
        assert set(tx.changes["P"].inserted) == {(1,)}
        assert tx.report is not None
        assert [each.strategy for each in tx.report.strata] == ["circuit"]
        with db.transaction() as tx:
            tx.remove_rules("P(x) :- A(x), not B(x).")
            tx.delete("B", [(2,)])
        assert set(tx.changes["P"].deleted) == {(1,)}
