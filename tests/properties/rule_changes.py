"""Rules that come and go at run time, as functions of a case: each property raises AssertionError where it fails."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.oracle.case import RuleCase
from tests.oracle.history import apply
from tests.oracle.types import Relations
from tests.properties.check import INSTANCE_LIMIT, assert_same, difference_of_outputs, mistakes_in_state, oracle
from tests.properties.replay import Replay
from tidelog.engine.local.epoch.inspect import Inspector

STRATEGIES = ("elastic", "update", "recompute", "counting", "circuit", "elastic-paper")


def rules_agree_with_oracle(case: RuleCase, strategies: Sequence[str] = STRATEGIES, *, recounted: bool = True) -> None:
    """After every transaction, with every strategy: rows and changes are those of the program with its present rules,
    and every number of the state is what counting all rule instances again gives."""
    with ExitStack() as stack:
        replays = {name: stack.enter_context(Replay(case.program, strategy=name)) for name in strategies}
        _follow(case, list(replays.values()), recounted=recounted)


def rules_agree_on_spark(case: RuleCase, spark: Any, strategy: str) -> Replay:
    """The same for rows and changes on Spark."""
    with Replay(case.program, "spark", spark=spark, strategy=strategy) as replay:
        _follow(case, [replay], recounted=False)
        return replay


def rules_survive_reopening(case: RuleCase, seed: int, strategies: Sequence[str] = STRATEGIES) -> None:
    """The same for a database that is closed, checkpointed and opened again at random, with any strategy."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        replay = Replay(case.program, path=path, durability="os")

        def disturb() -> None:
            if chance.random() < 0.4:
                with replay.database._locked.engine() as engine:
                    engine.checkpoint()  # type: ignore[attr-defined]
            if chance.random() < 0.5:
                rules = replay.database.rules()
                replay.database.close()
                replay.strategy = chance.choice(strategies)
                replay.database = tidelog.open(path, strategy=replay.strategy)
                assert sorted(replay.database.rules()) == sorted(rules)

        with replay:
            _follow(case, [replay], before=disturb, recounted=False)


def failed_rule_changes_leave_nothing(case: RuleCase, strategy: str) -> None:
    """An epoch with other rules that is undone at its very end leaves relations, rules and state as they were."""
    with Replay(case.program, strategy=strategy) as replay:
        for number, transaction in enumerate(case.history):
            before = replay.relations(), replay.state(), replay.database.rules()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Inspector, "show", _fail)
                with suppress(_UndoneError):
                    changes = replay.run(transaction.writes, transaction.calls)
                    assert changes == {}, "an epoch that was to fail has changes"
            assert_same(before[0], replay.relations(), f"relations after transaction {number} failed")
            assert_same(before[1], replay.state(), f"state after transaction {number} failed")
            assert replay.database.rules() == before[2]
            replay.run(transaction.writes, transaction.calls)
    rules_agree_with_oracle(case, (strategy,))


class _UndoneError(Exception):
    """What the last step of an epoch raises."""


def _fail(*_: object) -> None:
    raise _UndoneError


def _follow(
    case: RuleCase, replays: Sequence[Replay], *, recounted: bool, before: Callable[[], None] = lambda: None
) -> None:
    program = case.program
    facts: Relations = {}
    expected = oracle(program, facts, INSTANCE_LIMIT)
    for number, transaction in enumerate(case.history):
        before()
        old, program, facts = expected, transaction.change(program), apply(facts, transaction.writes)
        expected = oracle(program, facts, INSTANCE_LIMIT)
        changes = difference_of_outputs(program, old, expected)
        for replay in replays:
            replay.program = program
            after = f"after transaction {number}, {replay.strategy}"
            found = replay.run(transaction.writes, transaction.calls)
            assert_same(expected, replay.relations(), f"relations {after}")
            assert_same(changes, found, f"changes {after}")
            assert len(replay.database.rules()) == len(program.rules), f"rules {after}"
            mistakes = mistakes_in_state(replay, facts) if recounted else []
            assert not mistakes, f"state {after}:\n" + "\n".join(mistakes)
