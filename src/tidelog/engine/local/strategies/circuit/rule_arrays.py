"""Rule rows → arrays, so that one join serves all rules; the source of a word is the number of a column.

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
from tidelog.engine.local.strategies.circuit.rule_rows import Computed, RuleRows, Through, width_of
from tidelog.engine.rule_rows import Field, Slot, Word
from tidelog.rules.ir import Rule

Flags = npt.NDArray[np.bool_]
NO_ORDER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleArrays:
    """`slots` is the number of words in a rewrite, `columns` in a fact; shorter ones are padded with zeros."""

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
    """Returns the number of a relation in facts; for negated literals it counts as another relation."""
    return 2 * relation + negated


def rule_arrays(rows: RuleRows) -> RuleArrays:
    """Returns the arrays of the rule rows."""
    slots, columns = width_of(rows)
    directions = max(rows.directions.of.values(), default=-1) + 1
    orders = max(rows.orders.of.values(), default=-1) + 1
    origin, order = (np.full(directions, -1, dtype=np.int64) for _ in range(2))
    sign = np.ones(directions, dtype=np.int64)
    constants = np.zeros((directions, columns), dtype=np.int64)
    must = np.tile(np.arange(slots + columns, slots + 2 * columns), (directions, 1))
    binds = np.tile(np.arange(slots), (directions, 1))
    keys = np.zeros((directions, columns), dtype=np.int64)
    first_slots = np.zeros(directions, dtype=np.int64)
    is_mixed = np.zeros(directions + 1, dtype=np.bool_)
    computed = {}
    bound = _bound(rows, directions)
    for direction, number in rows.directions.of.items():
        origin[number], first_slots[number] = direction.origin, bound[direction.origin]
        literal = direction.literal
        if isinstance(literal, Computed):
            computed[number] = literal.step
            continue
        order[number] = rows.orders.of[literal.order]
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
    for each, number in rows.orders.of.items():
        order_relation[number] = code_of(each.relation, each.negated)
        order_columns[number, : len(each.columns)] = each.columns
        order_keys[number] = len(each.columns)
    signals = sorted(rows.signals, key=lambda each: each.prefix)
    head_constants = np.zeros((len(signals), columns), dtype=np.int64)
    head_terms = np.zeros((len(signals), columns), dtype=np.int64)
    for number, signal in enumerate(signals):
        for column, term in enumerate(signal.terms):
            if isinstance(term, Word):
                head_constants[number, column] = term.word
            head_terms[number, column] = _place(term, column, slots, columns)
    out = np.array(sorted(rows.directions.of.values(), key=lambda number: int(origin[number])), dtype=np.int64)
    depths = np.zeros(directions + 1, dtype=np.int64)
    for prefix, depth in rows.depths.items():
        depths[prefix] = depth
    is_final = ~np.isin(np.arange(directions + 1), origin) & ~is_mixed
    by_relation = np.array(
        sorted(rows.orders.of.values(), key=lambda number: int(order_relation[number])), dtype=np.int64
    )
    return RuleArrays(
        slots=slots,
        columns=columns,
        deepest=int(depths.max()),
        out=out,
        out_origins=origin[out],
        order=order,
        sign=sign,
        constants=constants,
        must=must,
        binds=binds,
        keys=keys,
        computed=computed,
        first_slots=first_slots,
        depths=depths,
        is_mixed=is_mixed,
        is_final=is_final,
        order_relations=order_relation[by_relation],
        by_relation=by_relation,
        order_columns=order_columns,
        order_keys=order_keys,
        signal_prefixes=np.array([each.prefix for each in signals], dtype=np.int64),
        heads=np.array([each.relation for each in signals], dtype=np.int64),
        head_constants=head_constants,
        head_terms=head_terms,
        rules=tuple(each.rule for each in signals),
        has_one_head=len({each.relation for each in signals}) == 1,
    )


def _place(source: Slot | Word | Field, column: int, slots: int, columns: int) -> int:
    match source:
        case Slot(number):
            return number
        case Word():
            return slots + column
        case Field(other):
            return slots + columns + other


def _bound(rows: RuleRows, directions: int) -> Sequence[int]:
    """Returns for each prefix the number of words that its rewrites have."""
    bound = [0] * (directions + 1)
    for direction, number in sorted(rows.directions.of.items(), key=lambda item: rows.depths[item[1] + 1]):
        literal = direction.literal
        added = (
            len(literal.binds)
            if isinstance(literal, Through)
            else sum(compare is None for _, compare in literal.step.results)
        )
        bound[number + 1] = bound[direction.origin] + added
    return bound
