"""Net operations of a transaction: inserts and deletes, in order → facts to insert, facts to delete, weights to add."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.engine.interface import Operation, Row
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.storage.load import StagedRows
from tidelog.engine.local.storage.weighted_table import Bag
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strata.weighted import WeightedStratum
from tidelog.rules.ir import Relation, RuleProgram


@dataclass(frozen=True, slots=True)
class NetOperations:
    """`facts`: the facts to insert and those to delete, by the relation's number. `weights`: the weights to add, by the
    weighted relation's name."""

    facts: dict[int, tuple[Words, Words]] = field(default_factory=dict)
    weights: dict[str, Bag] = field(default_factory=dict)


def net_operations(
    operations: Sequence[Operation],
    program: RuleProgram,
    numbers: Mapping[str, int],
    stratum_of: Callable[[int], LocalStratum],
    values: Values,
) -> NetOperations:
    """Returns the net effect of the operations; a relation without one is not listed."""
    grouped: dict[str, list[Operation]] = {}
    for operation in operations:
        grouped.setdefault(operation.relation, []).append(operation)
    net = NetOperations()
    for name, group in grouped.items():
        stratum = stratum_of(numbers[name])
        words = _words(group, program.relations[name], values, stratum)
        if isinstance(stratum, WeightedStratum):
            bag = _sum_weights(words, [each.sign for each in group])
            if bag:
                net.weights[name] = bag
            continue
        rows = words[0] if len(words) == 1 else np.concatenate(words)
        signs = np.repeat([each.sign for each in group][: len(words)], [len(each) for each in words])
        inserted, deleted = stratum.net_facts(numbers[name], rows, signs)
        if len(inserted) or len(deleted):
            net.facts[numbers[name]] = (inserted, deleted)
    return net


def split_by_sign(bag: Bag, relation: Relation) -> tuple[Words, Words]:
    """Returns the rows with positive weights and those with negative weights."""
    parts = ([row for row, weight in bag.items() if (weight > 0) == is_inserted] for is_inserted in (True, False))
    inserted, deleted = (np.array(rows, dtype=np.int64).reshape(len(rows), len(relation.columns)) for rows in parts)
    return inserted, deleted


def bag_to_rows(bag: Bag, relation: Relation, values: Values) -> list[tuple[Row, int]]:
    """Returns the rows of a bag as values, with their weights."""
    rows = np.array(list(bag), dtype=np.int64).reshape(len(bag), len(relation.columns))
    return list(zip(values.words_to_rows(rows, relation), bag.values()))


def _sum_weights(words: Sequence[Words], signs: Sequence[int]) -> Bag:
    """Sums the signs of each row, without zeros."""
    bag: Bag = {}
    for rows, sign in zip(words, signs, strict=True):
        for row in map(tuple, rows.tolist()):
            bag[row] = bag.get(row, 0) + sign
    return {row: weight for row, weight in bag.items() if weight}


def _words(operations: Sequence[Operation], relation: Relation, values: Values, stratum: LocalStratum) -> list[Words]:
    """Encodes the rows of each operation; tables are encoded together, so that values in several are interned once.

    If tables are all there is, and are inserted, they may be written where the stratum will keep them; staged rows may
    stay where they are.
    """
    if not relation.columns:
        # Arrow tables without columns lose their rows when they are put together.
        counts = [each.rows.num_rows if isinstance(each.rows, pa.Table) else len(each.rows) for each in operations]
        return [np.empty((count, 0), dtype=np.int64) for count in counts]
    if len(operations) == 1 and isinstance(staged := operations[0].rows, StagedRows):
        if operations[0].sign == 1:
            stratum.begin_load(len(staged), staged)
        return [staged.words]
    tables = [each.rows for each in operations if isinstance(each.rows, pa.Table)]
    ends = np.cumsum([table.num_rows for table in tables])
    is_load = len(operations) == len(tables) and all(each.sign == 1 for each in operations)
    where = stratum.begin_load(int(ends[-1])) if is_load else None
    whole = values.table_to_words(pa.concat_tables(tables), relation, where) if tables else None
    if whole is not None and whole is where:
        return [whole]
    parts = iter(np.split(whole, ends[:-1])) if whole is not None else iter(())
    return [_words_of(each.rows, relation, values, parts) for each in operations]


def _words_of(rows: Any, relation: Relation, values: Values, tables: Iterator[Words]) -> Words:
    if isinstance(rows, StagedRows):
        return rows.words
    return next(tables) if isinstance(rows, pa.Table) else values.rows_to_words(rows, relation)
