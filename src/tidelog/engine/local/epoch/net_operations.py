"""The operations of a transaction → what they come to, as words: facts to insert and to delete, weights to add."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa

from tidelog.engine.interface import Operation, Row
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.storage.weighted_table import Bag
from tidelog.rules.ir import Relation, RuleProgram

Facts = dict[int, tuple[Words, Words]]
"""By the relation's number: the facts to insert, and those to delete."""
NetFacts = Callable[[int, Words, Words], tuple[Words, Words]]
"""What signed rows of a relation come to: see `LocalStratum.net`."""


def net(
    operations: Sequence[Operation],
    program: RuleProgram,
    numbers: Mapping[str, int],
    weighted: Collection[str],
    net_facts: NetFacts,
    values: Values,
) -> tuple[Facts, dict[str, Bag]]:
    """The facts to insert and to delete per relation, and what is added to weights, where there is anything."""
    grouped: dict[str, list[Operation]] = {}
    for operation in operations:
        grouped.setdefault(operation.relation, []).append(operation)
    facts: Facts = {}
    given: dict[str, Bag] = {}
    for name, group in grouped.items():
        words = _words(group, program.relations[name], values)
        if name in weighted:
            bag = _sum(words, [each.sign for each in group])
            if bag:
                given[name] = bag
            continue
        rows = words[0] if len(words) == 1 else np.concatenate(words)
        signs = np.repeat(np.array([each.sign for each in group], dtype=np.int64), [len(each) for each in words])
        inserted, deleted = net_facts(numbers[name], rows, signs)
        if len(inserted) or len(deleted):
            facts[numbers[name]] = (inserted, deleted)
    return facts, given


def split(bag: Bag, relation: Relation) -> tuple[Words, Words]:
    """The rows that come and those that leave."""
    parts = ([row for row, weight in bag.items() if (weight > 0) == came] for came in (True, False))
    came, left = (np.array(rows, dtype=np.int64).reshape(len(rows), len(relation.columns)) for rows in parts)
    return came, left


def decoded(bag: Bag, relation: Relation, values: Values) -> list[tuple[Row, int]]:
    """The rows of a bag as values, with their weights."""
    rows = np.array(list(bag), dtype=np.int64).reshape(len(bag), len(relation.columns))
    return list(zip(values.words_to_rows(rows, relation), bag.values()))


def _sum(words: Sequence[Words], signs: Sequence[int]) -> Bag:
    """The weights that signed rows add up to; no zeros."""
    bag: Bag = {}
    for rows, sign in zip(words, signs, strict=True):
        for row in map(tuple, rows.tolist()):
            bag[row] = bag.get(row, 0) + sign
    return {row: weight for row, weight in bag.items() if weight}


def _words(operations: Sequence[Operation], relation: Relation, values: Values) -> list[Words]:
    """The rows of each operation; tables are taken together, so that what is in several is interned once."""
    if not relation.columns:
        # Arrow tables without columns lose their rows when they are put together.
        counts = [each.rows.num_rows if isinstance(each.rows, pa.Table) else len(each.rows) for each in operations]
        return [np.empty((count, 0), dtype=np.int64) for count in counts]
    tables = [each.rows for each in operations if isinstance(each.rows, pa.Table)]
    ends = np.cumsum([table.num_rows for table in tables])
    whole = values.table_to_words(pa.concat_tables(tables), relation) if tables else None
    parts = iter(np.split(whole, ends[:-1])) if whole is not None else iter(())
    return [
        next(parts) if isinstance(each.rows, pa.Table) else values.rows_to_words(each.rows, relation)
        for each in operations
    ]
