"""Nests of lists → the words that `kernels/row_wise` interprets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.row_wise_plan import Head, ListLiteral, Nest, Order, RowWisePlan
from tidelog.engine.local.kernels import row_wise


def head_code(plan: RowWisePlan, nests: Sequence[Nest]) -> Words:
    """Returns the code of rules with the same head relation."""
    words: list[int] = [len(nests), *([0] * len(nests))]
    for number, nest in enumerate(nests):
        words[1 + number] = at = len(words)
        words += [0] * (row_wise.RULE_WIDTH + len(nest.literals) * row_wise.LITERAL_WIDTH)
        _set(words, at, _rule_fields(words, nest))
        for place in range(len(nest.literals)):
            line = at + row_wise.RULE_WIDTH + place * row_wise.LITERAL_WIDTH
            _set(words, line, _literal_fields(words, plan, nest, place))
    return np.array(words, dtype=np.int64)


def head_shape(head: Head, sizes: Sequence[int]) -> Words:
    """Returns the shape of a head's rows as ids; see `row_lists`."""
    columns = len(head.domains)
    factors = dict(head.digits)
    digits = [word for column in range(columns) for word in (factors.get(column, 1), sizes[head.domains[column]])]
    return np.array([columns, head.prefix, *digits], dtype=np.int64)


def order_factors(order: Order, columns: int) -> Words:
    """Returns the factors of all columns in the key of an order, and in each of its words."""
    found: Words = np.zeros((1 + max(len(order.words), 1), columns), dtype=np.int64)
    for line, digits in enumerate((order.keys, *order.words)):
        for column, factor in digits:
            found[line, column] += factor
    return found.ravel()


def _set(words: list[int], at: int, fields: dict[int, int]) -> None:
    for place, word in fields.items():
        words[at + place] = word


def _put(words: list[int], lines: Iterable[Iterable[int]]) -> int:
    """Appends lines of words; returns where they begin."""
    at = len(words)
    words += [word for line in lines for word in line]
    return at


def _rule_fields(words: list[int], nest: Nest) -> dict[int, int]:
    return {
        row_wise.RULE_LITERALS: len(nest.literals),
        row_wise.RULE_PREFIX: nest.prefix,
        row_wise.RULE_VALUE_N: len(nest.value),
        row_wise.RULE_VALUE_AT: _put(words, nest.value),
        row_wise.RULE_ENDS: nest.ends,
    }


def _literal_fields(words: list[int], plan: RowWisePlan, nest: Nest, place: int) -> dict[int, int]:
    literal = nest.literals[place]
    inside = [at for at, each in enumerate(nest.literals) if each.order.is_inside]
    checks = [
        [
            check.relation,
            int(check.is_wanted),
            len(check.registers),
            *(word for pair in check.registers for word in pair),
        ]
        for check in literal.checks
    ]
    loads, tail = (literal.tail.loads, literal.tail.instructions) if literal.tail else ((), ())
    return {
        row_wise.LITERAL_LIST: plan.orders.index(literal.order),
        row_wise.LITERAL_KEY_N: len(literal.key),
        row_wise.LITERAL_KEY_AT: _put(words, literal.key),
        row_wise.LITERAL_INSIDE: int(literal.order.is_inside),
        row_wise.LITERAL_READS: _reads(literal, is_last=bool(inside) and place == inside[-1]),
        row_wise.LITERAL_BIND_N: len(literal.binds),
        row_wise.LITERAL_BIND_AT: _put(words, literal.binds),
        row_wise.LITERAL_EQUAL_N: len(literal.equals),
        row_wise.LITERAL_EQUAL_AT: _put(words, literal.equals),
        row_wise.LITERAL_CHECK_N: len(checks),
        row_wise.LITERAL_CHECK_AT: _put(words, checks),
        row_wise.LITERAL_LOAD_N: len(loads),
        row_wise.LITERAL_LOAD_AT: _put(words, loads),
        row_wise.LITERAL_TAIL_N: len(tail),
        row_wise.LITERAL_TAIL_AT: _put(words, tail),
        row_wise.LITERAL_LEADS: _lead(words, nest, literal) if nest.leads_to_end(place) else 0,
        row_wise.LITERAL_MARK_N: len(literal.mark),
        row_wise.LITERAL_MARK_AT: _put(words, literal.mark),
    }


def _reads(literal: ListLiteral, *, is_last: bool) -> int:
    if literal.reads is not None:
        return literal.reads
    return row_wise.READS_LAST if is_last else row_wise.READS_ALL


def _lead(words: list[int], nest: Nest, literal: ListLiteral) -> int:
    """Appends how the entries of a literal lead to the lists in which the rule ends; returns where that is."""
    bound = {register for _, register in literal.binds}
    end = nest.literals[-1]
    keys = [pair for pair in end.key if pair[0] not in bound]
    values = [pair for pair in nest.value if pair[0] not in bound]
    factors = [[_factor(end.key, register), _factor(nest.value, register)] for _, register in literal.binds]
    return _put(words, [[len(keys), len(values)], *keys, *values, *(factors or [[0, 0]])])


def _factor(digits: Iterable[tuple[int, int]], register: int) -> int:
    return sum(factor for each, factor in digits if each == register)
