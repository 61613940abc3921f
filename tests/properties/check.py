"""The properties, as functions of a case: each returns when it holds and raises AssertionError with what went wrong.

The Hypothesis tests and the soak run share them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tidelog
from tests.engine.local.execution.changing_plans import changing_plans
from tests.maintain.giving_up import giving_up
from tests.oracle.case import Case
from tests.oracle.evaluate import evaluate
from tests.oracle.history import Transaction, Write, apply, difference
from tests.oracle.program import (
    Apply,
    Atom,
    Const,
    Negative,
    Positive,
    Program,
    Relation,
    Rule,
    Var,
    Wildcard,
)
from tests.oracle.recount import recount, recount_iterations
from tests.oracle.types import Relations, Row, bit
from tests.properties.replay import Changes, Replay
from tidelog.engine.interface import Engine
from tidelog.rules.ir import RuleProgram

INSTANCE_LIMIT = 20_000
FUSE, BLOWN = "Fuse", "Blown"


def oracle(program: Program, facts: Relations, limit: int | None = INSTANCE_LIMIT) -> Relations:
    """The right answer. Raises TooLargeError for cases that are not worth the wait."""
    return evaluate(program, facts, limit)


def difference_of_outputs(program: Program, before: Relations, after: Relations) -> Changes:
    """What `changes` has to be: per output relation that changed, the rows that came and those that went."""
    changes = {}
    for relation in program.named("output"):
        old, new = before.get(relation.name, frozenset()), after[relation.name]
        if old != new:
            changes[relation.name] = (new - old, old - new)
    return changes


def agrees_with_oracle(
    case: Case,
    engine: str | Callable[[RuleProgram], Engine] = "local",
    recounted: bool = False,
    limit: int | None = INSTANCE_LIMIT,
    **options: Any,
) -> Replay:
    """After every transaction, the relations and the changes are the oracle's; if asked, the state is recounted."""
    program = case.program
    facts: Relations = {}
    expected = oracle(program, facts, limit)
    with Replay(program, engine, **options) as replay:
        nothing: Relations = {relation.name: frozenset() for relation in program.relations}
        assert_same(difference_of_outputs(program, nothing, expected), replay.initial(), "changes of opening")
        for number, transaction in enumerate(case.history):
            before, facts = expected, apply(facts, transaction)
            expected = oracle(program, facts, limit)
            changes = replay.run(transaction)
            assert_same(expected, replay.relations(), f"relations after transaction {number}")
            assert_same(difference_of_outputs(program, before, expected), changes, f"changes of transaction {number}")
            if recounted:
                mistakes = mistakes_in_state(replay, facts)
                assert not mistakes, f"state after transaction {number}:\n" + "\n".join(mistakes)
        return replay


def mistakes_in_state(replay: Replay, facts: Relations) -> list[str]:
    """What counting every rule instance again finds wrong with the numbers that the replay's strategy keeps."""
    program, state = replay.program, replay.state()
    match replay.strategy:
        case "elastic-paper":
            return recount_iterations(program, facts, state)
        case "counting":
            return recount(program, facts, state) + recount_iterations(program, facts, state, replay.counts())
        case _:
            return recount(program, facts, state)


def agrees_when_giving_up(case: Case, share: float) -> Replay:
    """The same with a switch that leaves Update as soon as it has met this share of a stratum's instances."""
    with giving_up(share):
        return agrees_with_oracle(case, recounted=True)


def agrees_while_plans_change(case: Case, share: float, seed: int) -> Replay:
    """The same, with other plans after some of the waves of each epoch."""
    with changing_plans(seed):
        return agrees_when_giving_up(case, share)


def cut_differently(case: Case, **options: Any) -> None:
    """One transaction with everything, the history as it is, and one transaction per row end in the same place."""
    program = case.program
    committed = [transaction for transaction in case.history if not transaction.fails]
    whole = [Transaction(tuple(write for transaction in committed for write in transaction.writes))]
    singles = [
        Transaction((Write(write.sign, write.relation, (row,)),))
        for transaction in committed
        for write in transaction.writes
        for row in write.rows
    ]
    ends = [_end_of(program, cut, options) for cut in (committed, whole, singles)]
    for name, end in zip(("one transaction", "one row at a time"), ends[1:], strict=True):
        assert_same(ends[0][0], end[0], f"relations after the same writes, {name}")
        assert_same(ends[0][1], end[1], f"sum of changes after the same writes, {name}")
        assert_same(ends[0][2], end[2], f"totals after the same writes, {name}")


def undone(case: Case, **options: Any) -> None:
    """Each transaction followed by its inverse restores relations and totals; the changes are each other's mirror."""
    program = case.program
    facts: Relations = {}
    with Replay(program, **options) as replay:
        for number, transaction in enumerate(case.history):
            after = apply(facts, transaction)
            relations, totals = replay.relations(), _totals(replay)
            there = replay.run(transaction)
            back = replay.run(Transaction(tuple(difference(after, facts))))
            mirrored = {name: (inserted, deleted) for name, (deleted, inserted) in back.items()}
            assert_same(there, mirrored, f"changes of transaction {number} and of its inverse")
            assert_same(relations, replay.relations(), f"relations after transaction {number} and its inverse")
            assert_same(totals, _totals(replay), f"totals after transaction {number} and its inverse")
            replay.run(transaction)
            facts = after


def rolled_back(case: Case, **options: Any) -> None:
    """A transaction that raises leaves relations and state as they were, and the next one finds nothing of it."""
    with Replay(case.program, **options) as replay:
        for number, transaction in enumerate(case.history):
            relations, state = replay.relations(), replay.state()
            assert replay.run(Transaction(transaction.writes, fails=True)) == {}
            assert_same(relations, replay.relations(), f"relations after transaction {number} was rolled back")
            assert_same(state, replay.state(), f"state after transaction {number} was rolled back")
            assert replay.run(Transaction(())) == {}, "an empty transaction reports changes"
            replay.run(transaction)


def survives_failures(case: Case, **options: Any) -> None:
    """An epoch whose very last rule divides by zero leaves relations and state as they were, and the next one works."""
    program = _with_a_fuse(case.program)
    with Replay(program, **options) as replay:
        for number, transaction in enumerate(case.history):
            relations, state = replay.relations(), replay.state()
            with pytest.raises(tidelog.EvaluationError):
                replay.run(Transaction((Write(+1, FUSE, ((0,), (1,))), *transaction.writes)))
            assert_same(relations, replay.relations(), f"relations after transaction {number} failed")
            assert_same(state, replay.state(), f"state after transaction {number} failed")
            replay.run(transaction)
    agrees_with_oracle(Case(program, case.history), recounted=True, **options)


def _with_a_fuse(program: Program) -> Program:
    """The program with rules that divide by what is in the relation Fuse, after everything else is derived."""
    byte = bit(8)
    head = Atom(BLOWN, (Apply("/", (Const(10, byte), Var("x", byte)), byte),))
    rules = []
    for relation in program.relations:
        atom = Atom(relation.name, (Wildcard(),) * len(relation.columns))
        rules += [Rule(head, (Positive(Atom(FUSE, (Var("x", byte),))), other(atom))) for other in (Positive, Negative)]
    return Program(
        (*program.relations, Relation(FUSE, (byte,), "input"), Relation(BLOWN, (byte,), "output")),
        (*program.rules, *rules),
    )


def assert_same(expected: Any, found: Any, what: str) -> None:
    """Raises AssertionError with the parts that differ, relation by relation."""
    if expected == found:
        return
    lines = [what]
    for name in sorted({*expected, *found}):
        left, right = expected.get(name), found.get(name)
        if left != right:
            lines.append(f"  {name}: expected {_shown(left)}")
            lines.append(f"  {' ' * len(name)}  found    {_shown(right)}")
    raise AssertionError("\n".join(lines))


def _shown(value: Any) -> str:
    match value:
        case frozenset():
            return "{" + ", ".join(map(str, sorted(value))) + "}"
        case (frozenset() as inserted, frozenset() as deleted):
            return f"inserted {_shown(inserted)}, deleted {_shown(deleted)}"
        case _:
            return str(value)


def _end_of(
    program: Program, transactions: list[Transaction], options: dict[str, Any]
) -> tuple[Relations, dict[str, frozenset[Row]], dict[str, dict[Row, int]]]:
    """The relations, the sum of all changes, and the totals after the transactions."""
    with Replay(program, **options) as replay:
        summed: dict[str, frozenset[Row]] = {}
        for changes in (replay.initial(), *(replay.run(transaction) for transaction in transactions)):
            for name, (inserted, deleted) in changes.items():
                had = summed.get(name, frozenset())
                assert not inserted & had, f"{name}: inserted again {_shown(inserted & had)}"
                assert deleted <= had, f"{name}: deleted without being there {_shown(deleted - had)}"
                summed[name] = (had | inserted) - deleted
        return replay.relations(), {name: rows for name, rows in summed.items() if rows}, _totals(replay)


def _totals(replay: Replay) -> dict[str, dict[Row, int]]:
    derived = replay.program.derived
    return {
        name: {row: numbers.total for row, numbers in rows.items()}
        for name, rows in replay.state().items()
        if name in derived
    }
