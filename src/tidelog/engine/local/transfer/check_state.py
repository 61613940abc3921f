"""A state from a file → the same state, or an error: nothing of it reaches a store before it is known to be one.

Kernels trust the memory of a store: an id is a place in a pool, a free line is a place among the rows, a rank is at
most the highest one. A file may hold anything, and its checksums only tell of accidents. So every word of the rows is
compared with the type of its column and the ids of its pool, the free lines with the rows, and the sizes with both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.bare_type import bare_type
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.check_rows import ALLOWED_FIELDS, ID, RANGE, check_rows, check_words
from tidelog.engine.local.transfer.checkpoint import FREE, GIVEN, ROWS, WAITING, WEIGHTS, CheckpointState, PartName
from tidelog.rules.ir import Relation
from tidelog.scaled_values import unit_range
from tidelog.types import (
    BitType,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    SignedType,
    TimestampType,
    Type,
    integer_range,
    is_word,
)

_EVERY_WORD = -(1 << 63), (1 << 63) - 1
_LARGEST_EPOCH = 1 << 43


class BadStateError(Exception):
    """A state that no engine has captured; the text says what is wrong with which part."""


@dataclass(frozen=True, slots=True)
class PresentIds:
    """The ids that have a value, by the type of their pool: one byte each, all pools after one another."""

    bytes: npt.NDArray[np.uint8]
    places: Mapping[Type, tuple[int, int]]  # the place of id 0, and how many ids there are

    @staticmethod
    def of(pools: Mapping[Type, npt.NDArray[np.bool_]]) -> PresentIds:
        places, at = {}, 0
        for type_, present in pools.items():
            places[type_] = at, len(present)
            at += len(present)
        joined = np.concatenate([np.zeros(0, np.bool_), *pools.values()]).astype(np.uint8)
        return PresentIds(joined, places)

    def allowed(self, relation: Relation) -> Words:
        """Returns the words that the columns of a relation may have, for the kernel."""
        lines = np.zeros((len(relation.columns), ALLOWED_FIELDS), dtype=np.int64)
        for line, column in zip(lines, relation.columns):
            bare = bare_type(column.type)
            if is_word(bare):
                line[:] = RANGE, *_range(bare)
            else:
                first, count = self.places.get(bare, (0, 0))
                line[:] = ID, first, count - 1
        return lines


def check_state(state: CheckpointState, relations: Mapping[str, Relation], ids: PresentIds) -> None:
    """Raises BadStateError for the first part of the state that cannot be; costs one look at every word of it."""
    if not 0 <= state.epoch <= _LARGEST_EPOCH:
        raise BadStateError(f"its epoch is {state.epoch}")
    stored = {name.relation for name in state.parts if name.kind == ROWS}
    if stored != state.sizes.keys():
        raise BadStateError("it has rows without sizes, or sizes without rows")
    if any(count < 0 for count in state.instances.values()):
        raise BadStateError("a number of instances is negative")
    for name, words in state.parts.items():
        relation = relations.get(name.relation)
        if relation is None:
            raise BadStateError(f"there is no relation `{name.relation}`")
        if name.kind == ROWS:
            _check_rows(state, relation, words, ids)
        elif name.kind in (WEIGHTS, GIVEN, WAITING):
            _check_bag(name, relation, words, ids)
        elif name.kind != FREE:
            raise BadStateError(f"there is no kind of parts {name.kind!r}")
        elif name.relation not in stored or words.shape[1] != 1:
            raise BadStateError(f"the unused lines of `{name.relation}` are not those of its rows")
    _check_queues(state)


def _check_rows(state: CheckpointState, relation: Relation, rows: Words, ids: PresentIds) -> None:
    columns, sizes = len(relation.columns), state.sizes[relation.name]
    where = f"the rows of `{relation.name}`"
    if rows.shape[1] not in (columns + k.ROW_EXTRA, columns + k.WIDE_EXTRA) or len(rows) >= 1 << 31:
        raise BadStateError(f"{where} have {rows.shape[1]} words for {columns} columns")
    if not 0 <= sizes.top <= k.RANK_MASK:
        raise BadStateError(f"the highest rank of {where} is {sizes.top}")
    found = np.zeros(2, dtype=np.int64)
    bad = check_rows(rows, ids.allowed(relation), ids.bytes, sizes.top, found)
    if bad >= 0:
        raise BadStateError(f"line {bad} of {where} is none: {_column(relation, int(found[1]))}")
    unused = int(found[0])
    if sizes.live != len(rows) - unused:
        raise BadStateError(f"{where} are {len(rows) - unused}, not {sizes.live}")
    free = state.parts.get(PartName(FREE, relation.name), np.empty((0, 1), dtype=np.int64)).reshape(-1)
    if len(free) != unused:
        raise BadStateError(f"{unused} lines of {where} are unused, and {len(free)} are listed")
    if not len(free):
        return
    if free.min() < 0 or free.max() >= len(rows) or len(np.unique(free)) != len(free):
        raise BadStateError(f"the unused lines of {where} are not distinct lines of them")
    if (rows[free, columns + k.META] >> k.STAMP_SHIFT != k.FREED).any():
        raise BadStateError(f"a line of {where} is listed as unused and is a row")


def _check_bag(name: PartName, relation: Relation, words: Words, ids: PresentIds) -> None:
    where = f"the {name.kind} of `{relation.name}`"
    if words.shape[1] != len(relation.columns) + 1:
        raise BadStateError(f"{where} have {words.shape[1]} words for {len(relation.columns)} columns")
    found = np.zeros(2, dtype=np.int64)
    bad = check_words(words, ids.allowed(relation), ids.bytes, found)
    if bad >= 0:
        raise BadStateError(f"line {bad} of {where} is none: {_column(relation, int(found[1]))}")
    if len(words) and not words[:, -1].all():
        raise BadStateError(f"a row of {where} has the weight 0")


def _check_queues(state: CheckpointState) -> None:
    """Checks that the parts of one kind and relation are numbered from 0 on, and that only queues have several."""
    numbers: dict[tuple[str, str], set[int]] = {}
    for name in state.parts:
        numbers.setdefault((name.kind, name.relation), set()).add(name.number)
    for (kind, relation), found in numbers.items():
        if found != set(range(len(found))) or (len(found) > 1 and kind != WAITING):
            raise BadStateError(f"the {kind} of `{relation}` are not numbered from 0 on")


def _column(relation: Relation, column: int) -> str:
    if column < len(relation.columns):
        return f"`{relation.columns[column].name}` has a word that is no value of its type"
    return "its rank, total or count cannot be"


def _range(type_: Type) -> tuple[int, int]:
    match type_:
        case BoolType():
            return 0, 1
        case BitType(64):
            return _EVERY_WORD
        case BitType() | SignedType():
            return integer_range(type_)
        case DateType() | TimestampType() | DurationType() | DecimalType():
            return unit_range(type_)
        case _:
            raise AssertionError(f"{type_} is not a type of words")
