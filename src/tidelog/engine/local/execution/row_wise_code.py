"""Nests of lists → the words that `kernels/row_wise` interprets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.row_wise_plan import Absence, Head, ListLiteral, Nest, Order, RowWisePlan, Tail
from tidelog.engine.local.kernels import row_wise, row_words

BITS = 31  # of an entry of a list


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


def part_of(radix: int, size: int) -> tuple[int, ...]:
    """Returns how a kernel finds a digit of a number below 2^31 (`row_wise.digit`)."""
    return (*_division(radix), *_division(radix * size), size)


def _division(divisor: int) -> tuple[int, int]:
    """Returns the factor and the shift that divide numbers below 2^31; the product has at most 63 bits.

    The factor is too large by less than 1, so the quotient is by less than 2^31 / 2^31 of a part of the divisor.
    """
    shift = BITS + (divisor - 1).bit_length()
    return (1 << shift) // divisor + 1, shift


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
    tail = literal.tail or Tail((), ())
    made = [
        (source, register, plan.domains + row_words.FINDER_WORDS * domain) for source, register, domain in tail.made
    ]
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
        row_wise.LITERAL_LOAD_N: len(tail.loads),
        row_wise.LITERAL_LOAD_AT: _put(words, tail.loads),
        row_wise.LITERAL_TAIL_N: len(tail.instructions),
        row_wise.LITERAL_TAIL_AT: _put(words, tail.instructions),
        row_wise.LITERAL_SIEVE: _sieve(words, literal, nest.literals[place + 1 : place + 2]),
        row_wise.LITERAL_MAKE_N: len(made),
        row_wise.LITERAL_MAKE_AT: _put(words, made),
        row_wise.LITERAL_LEADS: _lead(words, nest, literal) if nest.leads_to_end(place) else 0,
        row_wise.LITERAL_MARK_N: len(literal.mark),
        row_wise.LITERAL_MARK_AT: _put(words, literal.mark),
        row_wise.LITERAL_PART_N: len(literal.parts),
        row_wise.LITERAL_PART_AT: _put(words, [part_of(radix, size) for radix, size in literal.parts])
        if literal.parts
        else 0,
        row_wise.LITERAL_PASSES: int(bool(checks or tail.instructions or made))
        + row_wise.ASKS_FOR_ABSENCE * bool(literal.absences)
        + row_wise.ENDS_UNMARKED * _ends_unmarked(nest, place),
        row_wise.LITERAL_ABSENT_N: len(literal.absences),
        row_wise.LITERAL_ABSENT_AT: _put(words, [_absence(plan, each) for each in literal.absences]),
    }


def _reads(literal: ListLiteral, *, is_last: bool) -> int:
    if literal.reads is not None:
        return literal.reads
    return row_wise.READS_LAST if is_last else row_wise.READS_ALL


def _ends_unmarked(nest: Nest, place: int) -> bool:
    """True if the last literal binds single words, of which each is an instance unless one row is there."""
    literal = nest.literals[place]
    return (
        place == len(nest.literals) - 1
        and len(literal.absences) == 1
        and len(literal.order.words) == len(literal.binds) == 1
        and literal.tail is None
        and not (literal.checks or literal.equals or literal.mark or literal.parts)
    )


def _absence(plan: RowWisePlan, absence: Absence) -> list[int]:
    """Returns the words for rows that must not be there (`row_wise.ABSENT_LIST`)."""
    area = absence_areas(plan.absences)[plan.absences.index(absence)]
    sizes = [len(absence.key), len(absence.mark), absence.space]
    return [
        plan.orders.index(absence.order),
        area,
        *sizes,
        *(word for pair in (*absence.key, *absence.mark) for word in pair),
    ]


def absence_areas(absences: Sequence[Absence]) -> list[int]:
    """Returns where the marks of each of these begin, and behind them where all end; in places of 32 bits."""
    # Each begins at a word of 64 bits.
    sizes = ((row_wise.ABSENT_MARKS_AT + each.space + 1) // 2 * 2 for each in absences)
    return [0, *accumulate(sizes)]


def _lead(words: list[int], nest: Nest, literal: ListLiteral) -> int:
    """Appends how the entries of a literal lead to the lists in which the rule ends; returns where that is."""
    bound = {register for _, register in literal.binds}
    end = nest.literals[-1]
    keys = [pair for pair in end.key if pair[0] not in bound]
    values = [pair for pair in nest.value if pair[0] not in bound]
    factors = [[_factor(end.key, register), _factor(nest.value, register)] for _, register in literal.binds]
    return _put(words, [[len(keys), len(values)], *keys, *values, *(factors or [[0, 0]])])


def _sieve(words: list[int], literal: ListLiteral, following: Sequence[ListLiteral]) -> int:
    """Appends how the next literal looks for the words of a literal by marks; returns where that is, or 0."""
    if not following or not following[0].mark or len(literal.binds) != 1 or len(literal.order.words) != 1:
        return 0
    if literal.parts:  # its only word is one digit of an entry
        return 0
    register, mark = literal.binds[0][1], following[0].mark
    if not _factor(mark, register) or _factor(following[0].key, register) or literal.mark:
        return 0
    rest = [pair for pair in mark if pair[0] != register]
    return _put(words, [[_factor(mark, register), len(rest)], *rest])


def _factor(digits: Iterable[tuple[int, int]], register: int) -> int:
    return sum(factor for each, factor in digits if each == register)
