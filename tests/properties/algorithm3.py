"""Algorithm 3 of the paper side by side with the oracle and with the engine, on one case.

The engine's `elastic-paper` promises its numbers, row by row; `elastic`, which numbers otherwise, its rows.
"""

from __future__ import annotations

from contextlib import ExitStack

from tests.oracle.algorithm3 import Algorithm3
from tests.oracle.case import Case
from tests.oracle.history import apply
from tests.oracle.types import Relations, Row
from tests.properties.check import INSTANCE_LIMIT, assert_same, oracle
from tests.properties.replay import Replay


def algorithm_3_agrees(case: Case) -> None:
    """After every transaction: the rows of the oracle and of both strategies, the numbers of `elastic-paper`, and those
    of an algorithm that begins with the facts as they are now."""
    program = case.program
    facts: Relations = {}
    reference = Algorithm3(program, limit=INSTANCE_LIMIT)
    with ExitStack() as stack:
        replays = {name: stack.enter_context(Replay(program, strategy=name)) for name in ("elastic", "elastic-paper")}
        for number, transaction in enumerate(case.history):
            facts = apply(facts, transaction)
            reference.update(facts)
            after = f"after transaction {number}"
            assert_same(oracle(program, facts), reference.relations(), f"rows of Algorithm 3 {after}")
            for name, replay in replays.items():
                replay.run(transaction)
                assert_same(reference.relations(), replay.relations(), f"rows of {name} {after}")
            numbers = {name: reference.numbers()[name] for name in program.derived}
            assert_same(numbers, numbers_of(replays["elastic-paper"]), f"numbers of elastic-paper {after}")
        fresh = Algorithm3(program, limit=INSTANCE_LIMIT)
        fresh.update(facts)
        assert_same(fresh.numbers(), reference.numbers(), "numbers of a Bootstrap")


def shows(mistake: str, case: Case) -> bool:
    """Whether some epoch, with that mistake of what is printed, ends with other numbers than it should."""
    right, printed = Algorithm3(case.program), Algorithm3(case.program, {mistake})
    facts: Relations = {}
    for transaction in case.history:
        facts = apply(facts, transaction)
        right.update(facts)
        printed.update(facts)
        if right.numbers() != printed.numbers():
            return True
    return False


def numbers_of(replay: Replay) -> dict[str, dict[Row, tuple[int, int]]]:
    """The iteration and the count of every row of a relation with rules."""
    state, derived = replay.state(), replay.program.derived
    return {name: {row: (has.rank, has.count) for row, has in state[name].items()} for name in derived}
