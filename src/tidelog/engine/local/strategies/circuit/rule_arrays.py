"""The rows of a kit as arrays, so that one join serves all rules; where words come from is a number of a column.

a direction looks at    Σ, its constants, the fact       next to one another: column M + c is its constant c
a signal looks at       Σ, its constants
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.dbsp.row_hashes import Words
from tidelog.engine.local.execution.python_step import PythonStep
from tidelog.engine.local.strategies.circuit.rule_rows import Computed, Field, Kit, Slot, Through, Word, width_of
from tidelog.rules.ir import Rule

Flags = npt.NDArray[np.bool_]
NO_ORDER = -1


@dataclass(frozen=True, slots=True)
class Tables:
    """`slots` is the number of words in a rewrite, `columns` in a fact; what is shorter is filled up with zeros."""

    slots: int
    columns: int
    deepest: int
    # By direction; `out` has all numbers, sorted by their origin.
    out: Words
    out_origins: Words
    order: Words
    sign: Words
    constants: Words
    must: Words
    binds: Words
    keys: Words
    computed: dict[int, PythonStep]
    first_slots: Words
    # By prefix.
    depths: Words
    is_mixed: Flags
    is_final: Flags
    # By order; `order_relations` are sorted, `by_relation` are the numbers in that order.
    order_relations: Words
    by_relation: Words
    order_columns: Words
    order_keys: Words
    # By signal, sorted by prefix.
    signal_prefixes: Words
    heads: Words
    head_constants: Words
    head_terms: Words
    rules: tuple[Rule, ...]
    has_one_head: bool


def code_of(relation: int, negated: bool) -> int:
    """The number of a relation in facts: rows that say no are those of another relation."""
    return 2 * relation + negated


def tables_of(kit: Kit) -> Tables:
    """The arrays of a kit."""
    slots, columns = width_of(kit)
    directions = max(kit.directions.of.values(), default=-1) + 1
    orders = max(kit.orders.of.values(), default=-1) + 1
    origin, order = (np.full(directions, -1, dtype=np.int64) for _ in range(2))
    sign = np.ones(directions, dtype=np.int64)
    constants = np.zeros((directions, columns), dtype=np.int64)
    must = np.tile(np.arange(slots + columns, slots + 2 * columns), (directions, 1))
    binds = np.tile(np.arange(slots), (directions, 1))
    keys = np.zeros((directions, columns), dtype=np.int64)
    first_slots = np.zeros(directions, dtype=np.int64)
    is_mixed = np.zeros(directions + 1, dtype=np.bool_)
    computed = {}
    bound = _bound(kit, directions)
    for direction, number in kit.directions.of.items():
        origin[number], first_slots[number] = direction.origin, bound[direction.origin]
        literal = direction.literal
        if isinstance(literal, Computed):
            computed[number] = literal.step
            continue
        order[number] = kit.orders.of[literal.order]
        if literal.order.negated:
            sign[number], is_mixed[number + 1] = -1, True
        for column, source in enumerate(literal.must):
            if isinstance(source, Word):
                constants[number, column] = source.word
            must[number, column] = _place(source, column, slots, columns)
        for place, column in enumerate(literal.binds):
            binds[number, bound[direction.origin] + place] = slots + columns + column
        keys[number, : len(literal.order.columns)] = must[number, list(literal.order.columns)]
    order_relation = np.full(orders, -1, dtype=np.int64)
    order_columns = np.zeros((orders, columns), dtype=np.int64)
    order_keys = np.zeros(orders, dtype=np.int64)
    for each, number in kit.orders.of.items():
        order_relation[number] = code_of(each.relation, each.negated)
        order_columns[number, : len(each.columns)] = each.columns
        order_keys[number] = len(each.columns)
    signals = sorted(kit.signals, key=lambda each: each.prefix)
    head_constants = np.zeros((len(signals), columns), dtype=np.int64)
    head_terms = np.zeros((len(signals), columns), dtype=np.int64)
    for number, signal in enumerate(signals):
        for column, term in enumerate(signal.terms):
            if isinstance(term, Word):
                head_constants[number, column] = term.word
            head_terms[number, column] = _place(term, column, slots, columns)
    out = np.array(sorted(kit.directions.of.values(), key=lambda number: int(origin[number])), dtype=np.int64)
    depths = np.zeros(directions + 1, dtype=np.int64)
    for prefix, depth in kit.depths.items():
        depths[prefix] = depth
    is_final = ~np.isin(np.arange(directions + 1), origin) & ~is_mixed
    by_relation = np.array(
        sorted(kit.orders.of.values(), key=lambda number: int(order_relation[number])), dtype=np.int64
    )
    return Tables(
        slots,
        columns,
        int(depths.max()),
        out,
        origin[out],
        order,
        sign,
        constants,
        must,
        binds,
        keys,
        computed,
        first_slots,
        depths,
        is_mixed,
        is_final,
        order_relation[by_relation],
        by_relation,
        order_columns,
        order_keys,
        np.array([each.prefix for each in signals], dtype=np.int64),
        np.array([each.relation for each in signals], dtype=np.int64),
        head_constants,
        head_terms,
        tuple(each.rule for each in signals),
        len({each.relation for each in signals}) == 1,
    )


def _place(source: Slot | Word | Field, column: int, slots: int, columns: int) -> int:
    match source:
        case Slot(number):
            return number
        case Word():
            return slots + column
        case Field(other):
            return slots + columns + other


def _bound(kit: Kit, directions: int) -> Sequence[int]:
    """For each prefix the number of words that its rewrites have."""
    bound = [0] * (directions + 1)
    for direction, number in sorted(kit.directions.of.items(), key=lambda item: kit.depths[item[1] + 1]):
        literal = direction.literal
        added = (
            len(literal.binds)
            if isinstance(literal, Through)
            else sum(compare is None for _, compare in literal.step.results)
        )
        bound[number + 1] = bound[direction.origin] + added
    return bound
