"""Scenarios: a program and a few transactions written as one reads them, `+C(1) -A(1,2)`.

Whatever a test expects, every step is also compared with the oracle, and the strategy's numbers are recounted after it.
"""

from __future__ import annotations

import ast
import re

from tests.oracle.history import Transaction, Write, apply
from tests.oracle.read import read
from tests.oracle.recount import RowState
from tests.oracle.types import Relations, Row
from tests.properties.check import assert_same, difference_of_outputs, mistakes_in_state, oracle
from tests.properties.replay import Replay

FACT = re.compile(r"([+-])(\w+)\(([^)]*)\)")


class Scenario:
    """A database and what the oracle thinks of it."""

    strategy = "elastic"

    def __init__(self, text: str) -> None:
        self.program = read(text)
        self.replay = Replay(self.program, text=text, strategy=self.strategy)
        self.facts: Relations = {}
        self.expected = oracle(self.program, {})

    def load(self, writes: str) -> None:
        """Makes a transaction whose changes are of no interest."""
        self._run(writes)

    def expect(self, writes: str, changes: str) -> None:
        """Makes the transaction and asserts that exactly these rows of output relations came (+) and went (-)."""
        found = self._run(writes)
        assert found == _facts(changes), f"{writes} changed {_shown(found)}, expected {changes or 'nothing'}"

    def state(self, fact: str) -> RowState:
        """Rank, count and total of a row, given as `P(1,2)`."""
        ((_, name, row),) = _facts("+" + fact)
        return self.replay.state()[name][row]

    def _run(self, writes: str) -> set[tuple[int, str, Row]]:
        transaction = Transaction(tuple(Write(sign, name, (row,)) for sign, name, row in _parsed(writes)))
        before, self.facts = self.expected, apply(self.facts, transaction)
        self.expected = oracle(self.program, self.facts)
        changes = self.replay.run(transaction)
        assert_same(self.expected, self.replay.relations(), f"relations after {writes}")
        assert_same(difference_of_outputs(self.program, before, self.expected), changes, f"changes of {writes}")
        mistakes = mistakes_in_state(self.replay, self.facts)
        assert not mistakes, f"state after {writes}:\n" + "\n".join(mistakes)
        return {
            (sign, name, row)
            for name, (inserted, deleted) in changes.items()
            for sign, rows in ((+1, inserted), (-1, deleted))
            for row in rows
        }


def _parsed(text: str) -> list[tuple[int, str, Row]]:
    return [
        (+1 if sign == "+" else -1, name, ast.literal_eval(f"({values},)") if values else ())
        for sign, name, values in FACT.findall(text)
    ]


def _facts(text: str) -> set[tuple[int, str, Row]]:
    return set(_parsed(text))


def _shown(facts: set[tuple[int, str, Row]]) -> str:
    shown = (f"{'+' if sign > 0 else '-'}{name}({','.join(map(repr, row))})" for sign, name, row in sorted(facts))
    return " ".join(shown) or "nothing"
