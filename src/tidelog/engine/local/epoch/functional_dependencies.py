"""Relations that are functions of their first columns: `#[functional = n]`, checked at the end of every epoch.

Only an inserted row can be the second value of a key. Then the epoch fails: the error names both rows, each with a rule
that derives it from the rows of the epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.functional_dependencies import shown_row, two_values
from tidelog.engine.local.encoding.words import Values, Words
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.queries.match_rule import Matcher, Rows, unify
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.rules.ir import Relation, Rule, RuleProgram

# Up to so many inserted rows are each looked up by their key; for more, all rows are sorted.
FEW = 256


class FunctionalDependencies:
    """The functional relations of a program."""

    def __init__(self, program: RuleProgram, catalog: Catalog, numbers: Mapping[str, int], values: Values) -> None:
        self._program = program
        self._values = values
        self._catalog = catalog
        self._numbers = numbers
        self._checked = {numbers[name]: each for name, each in program.relations.items() if each.functional}

    def check(self, numbers: Sequence[int]) -> None:
        """Raises EvaluationError if a key of one of these relations, whose strata are finished, has two rows."""
        for number in numbers:
            relation = self._checked.get(number)
            if relation is not None:
                found = self._conflict(self._catalog.stores[number], relation.functional)
                if found is not None:
                    raise self._error(relation, *found)

    def _conflict(self, store: Store, keys: int) -> tuple[Row, Row] | None:
        """Returns two rows of one key, if there are any."""
        inserted = store.inserted_lines()
        if len(inserted) <= FEW:
            for line in inserted.tolist():
                row = store.columns_of(np.array([line]))[0]
                for other in store.bucket(tuple(range(keys)), row[:keys]).tolist():
                    stamp = int(store.rows[other, store.columns + k.META]) >> k.STAMP_SHIFT
                    if other != line and stamp >= 0:
                        return _ordered(store.columns_of(np.array([other]))[0], row)
            return None
        rows = store.columns_of(store.present_lines())
        rows = rows[np.lexsort(rows.T[::-1])]
        same = (rows[1:, :keys] == rows[:-1, :keys]).all(axis=1)
        at = int(np.argmax(same)) if len(same) else 0
        return _ordered(rows[at], rows[at + 1]) if len(same) and same[at] else None

    def _error(self, relation: Relation, one: Row, other: Row) -> EvaluationError:
        return two_values(relation, self._shown(relation, one), self._shown(relation, other))

    def _shown(self, relation: Relation, row: Row) -> str:
        (values,) = self._values.words_to_rows(np.array([row], dtype=np.int64), relation)
        present = _Present(self._catalog, self._numbers)
        return shown_row(values, deriving_rule(self._program, relation.name, row, present, self._values))


def deriving_rule(program: RuleProgram, relation: str, row: Row, rows: Rows, values: Values) -> Rule | None:
    """Returns a rule that derives a row from these rows; None if there is none, as for a fact."""
    for rule in program.rules:
        words = None
        if rule.head.relation == relation and rule.group is None and rule.transform is None:
            words = unify(rule.head, row, values)
        if words is not None:
            matcher = Matcher(rule, words, rows, values, program.functions)
            if next(matcher.heads(words), None) is not None:
                return rule
    return None


class _Present:
    """The rows as they are in the epoch under way; see `match_rule.Rows`. Slow: it is for one error."""

    def __init__(self, catalog: Catalog, numbers: Mapping[str, int]) -> None:
        self._catalog = catalog
        self._numbers = numbers

    def size(self, relation: str) -> int:
        return len(self._catalog.stores[self._numbers[relation]])

    def find(
        self, relation: str, columns: tuple[int, ...], key: Row, below: int | None = None
    ) -> Iterator[tuple[Row, int]]:
        rows = self._rows(relation)
        for column, word in zip(columns, key):
            rows = rows[rows[:, column] == word]
        for row in rows.tolist():
            yield tuple(row), 1

    def weight(self, relation: str, row: Row) -> int:
        return 0 if next(self.find(relation, tuple(range(len(row))), row), None) is None else 1

    def _rows(self, relation: str) -> Words:
        store = self._catalog.stores[self._numbers[relation]]
        return store.columns_of(store.present_lines())


def _ordered(one: Words, other: Words) -> tuple[Row, Row]:
    first, second = sorted((tuple(one.tolist()), tuple(other.tolist())))
    return first, second
