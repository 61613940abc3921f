"""Rule rows → arrays, so that one join serves all rules; the source of a word is the number of a column.

a direction looks at    Σ, its constants, the fact       next to one another: column M + c is its constant c
a signal looks at       Σ, its constants
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.dbsp.row_hashes import Words
from tidelog.engine.local.execution.python_step import PythonStep
from tidelog.engine.local.strategies.circuit.rule_rows import Computed, RuleRows, bound_by, width_of
from tidelog.engine.rule_rows import Field, Slot, Word

Flags = npt.NDArray[np.bool_]


class RuleArrays:
    """The arrays of rule rows, which never change.

    `slots` is the number of words in a rewrite, `columns` in a fact; shorter ones are padded with zeros.
    """

    def __init__(self, rows: RuleRows) -> None:
        self.slots, self.columns = slots, columns = width_of(rows)
        directions = max(rows.directions.of.values(), default=-1) + 1
        # By direction; `out` has all numbers, sorted by their origin.
        origin, self.order = (np.full(directions, -1, dtype=np.int64) for _ in range(2))
        self.sign = np.ones(directions, dtype=np.int64)
        self.constants = _zeros(directions, columns)
        self.must: Words = np.tile(np.arange(slots + columns, slots + 2 * columns), (directions, 1))
        self.binds: Words = np.tile(np.arange(slots), (directions, 1))
        self.keys = _zeros(directions, columns)
        self.computed: dict[int, PythonStep] = {}
        self.first_slots = _zeros(directions)
        # By prefix.
        self.depths = _zeros(directions + 1)
        self.is_mixed: Flags = np.zeros(directions + 1, dtype=np.bool_)
        bound = _bound(rows, directions)
        for direction, number in rows.directions.of.items():
            origin[number], self.first_slots[number] = direction.origin, bound[direction.origin]
            literal = direction.literal
            if isinstance(literal, Computed):
                self.computed[number] = literal.step
                continue
            self.order[number] = rows.orders.of[literal.order]
            if literal.order.negated:
                self.sign[number], self.is_mixed[number + 1] = -1, True
            for column, source in enumerate(literal.must):
                if isinstance(source, Word):
                    self.constants[number, column] = source.word
                self.must[number, column] = self._place(source, column)
            for place, column in enumerate(literal.binds):
                self.binds[number, bound[direction.origin] + place] = slots + columns + column
            self.keys[number, : len(literal.order.columns)] = self.must[number, list(literal.order.columns)]
        self.out = _sorted_by(origin, rows.directions.of.values())
        self.out_origins = origin[self.out]
        for prefix, depth in rows.depths.items():
            self.depths[prefix] = depth
        self.deepest = int(self.depths.max())
        self.is_final: Flags = ~np.isin(np.arange(directions + 1), origin) & ~self.is_mixed
        # By order; `order_relations` are sorted, `by_relation` are the numbers in that order.
        orders = max(rows.orders.of.values(), default=-1) + 1
        order_relation = np.full(orders, -1, dtype=np.int64)
        self.order_columns = _zeros(orders, columns)
        self.order_keys = _zeros(orders)
        for each, number in rows.orders.of.items():
            order_relation[number] = code_of(each.relation, each.negated)
            self.order_columns[number, : len(each.columns)] = each.columns
            self.order_keys[number] = len(each.columns)
        self.by_relation = _sorted_by(order_relation, rows.orders.of.values())
        self.order_relations = order_relation[self.by_relation]
        # By signal, sorted by prefix.
        signals = sorted(rows.signals, key=lambda each: each.prefix)
        self.signal_prefixes = np.array([each.prefix for each in signals], dtype=np.int64)
        self.heads = np.array([each.relation for each in signals], dtype=np.int64)
        self.head_constants = _zeros(len(signals), columns)
        self.head_terms = _zeros(len(signals), columns)
        for number, signal in enumerate(signals):
            for column, term in enumerate(signal.terms):
                if isinstance(term, Word):
                    self.head_constants[number, column] = term.word
                self.head_terms[number, column] = self._place(term, column)
        self.rules = tuple(each.rule for each in signals)
        self.has_one_head = len({each.relation for each in signals}) == 1

    def _place(self, source: Slot | Word | Field, column: int) -> int:
        match source:
            case Slot(number):
                return number
            case Word():
                return self.slots + column
            case Field(other):
                return self.slots + self.columns + other


def code_of(relation: int, negated: bool) -> int:
    """Returns the number of a relation in facts; for negated literals it counts as another relation."""
    return 2 * relation + negated


def _zeros(*shape: int) -> Words:
    return np.zeros(shape, dtype=np.int64)


def _sorted_by(keys: Words, numbers: Iterable[int]) -> Words:
    """Returns the numbers in the order of their keys."""
    return np.array(sorted(numbers, key=lambda number: int(keys[number])), dtype=np.int64)


def _bound(rows: RuleRows, directions: int) -> Sequence[int]:
    """Returns for each prefix the number of words that its rewrites have."""
    bound = [0] * (directions + 1)
    for direction, number in sorted(rows.directions.of.items(), key=lambda item: rows.depths[item[1] + 1]):
        bound[number + 1] = bound[direction.origin] + bound_by(direction)
    return bound
