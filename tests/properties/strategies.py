"""All strategies side by side on one case: the oracle's rows and changes, and the numbers that each promises."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from tests.oracle.case import Case
from tests.oracle.history import apply
from tests.oracle.types import Relations, Row
from tests.properties.check import (
    INSTANCE_LIMIT,
    assert_same,
    difference_of_outputs,
    mistakes_in_state,
    oracle,
)
from tests.properties.replay import Changes, Replay

# Small strata are always updated, so that "elastic" is "update" here.
STRATEGIES = ("elastic", "recompute", "counting", "elastic-paper", "circuit", "trace")


def strategies_agree(
    case: Case, strategies: Sequence[str] = STRATEGIES, limit: int | None = INSTANCE_LIMIT
) -> dict[str, Replay]:
    """After every transaction, with every strategy: rows and changes are the oracle's, the changes so far sum to the
    relations, and every number of the state is what counting all rule instances again gives."""
    program = case.program
    facts: Relations = {}
    expected = oracle(program, facts, limit)
    outputs = [relation.name for relation in program.named("output")]
    with ExitStack() as stack:
        replays = {name: stack.enter_context(Replay(program, strategy=name)) for name in strategies}
        sums = {name: _summed({}, replay.initial()) for name, replay in replays.items()}
        for number, transaction in enumerate(case.history):
            before, facts = expected, apply(facts, transaction)
            expected = oracle(program, facts, limit)
            changes = difference_of_outputs(program, before, expected)
            for name, replay in replays.items():
                after = f"after transaction {number}, {name}"
                found = replay.run(transaction)
                assert_same(expected, replay.relations(), f"relations {after}")
                assert_same(changes, found, f"changes of transaction {number}, {name}")
                sums[name] = _summed(sums[name], found)
                summed = {output: sums[name].get(output, frozenset()) for output in outputs}
                assert_same({output: expected[output] for output in outputs}, summed, f"sum of changes {after}")
                mistakes = mistakes_in_state(replay, facts)
                assert not mistakes, f"state {after}:\n" + "\n".join(mistakes)
        return replays


def _summed(before: dict[str, frozenset[Row]], changes: Changes) -> dict[str, frozenset[Row]]:
    """Rows and changes added up; a row that comes twice or goes without being there is an error."""
    after = dict(before)
    for name, (inserted, deleted) in changes.items():
        had = before.get(name, frozenset())
        assert not inserted & had, f"{name}: inserted again {sorted(inserted & had)}"
        assert deleted <= had, f"{name}: deleted without being there {sorted(deleted - had)}"
        after[name] = (had | inserted) - deleted
    return after
