"""Strata that are not joined by kernels: something else says which rows come and go, and they are held like facts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tidelog.engine.local.stratum import LocalStratum
from tidelog.engine.local.tables import Row
from tidelog.engine.local.values import Words
from tidelog.functions.scalar import ScalarFunction
from tidelog.maintain.switch import Meter
from tidelog.rules.ir import Rule
from tidelog.values.structs import field_values

Facts = dict[int, tuple[Words, Words]]


class HeldStratum(LocalStratum):
    """A subclass says in `derive` what to insert and to delete, and in `fixed` what the report calls it."""

    fixed = "held"
    joins = False

    def update(self, meter: Meter) -> bool:
        """Derives and exchanges the rows; see `LocalStratum.update`."""
        self.facts = self.derive()
        done = super().update(meter)
        self.waves = 1
        self.work = sum(len(inserted) + len(deleted) for inserted, deleted in self.facts.values())
        return done

    def derive(self) -> Facts:
        raise NotImplementedError

    def rows_to_words(self, rows: list[Row], columns: int) -> Words:
        return np.array(rows, dtype=np.int64).reshape(len(rows), columns)

    def exchange(self, relation: int, rows: Words) -> Facts:
        """What makes a relation hold exactly these rows."""
        store = self.desk.stores[relation]
        old = set(map(tuple, store.columns_of(store.lines()).tolist()))
        new = set(map(tuple, rows.tolist()))
        if old == new:
            return {}
        came, left = (self.rows_to_words(list(each), store.columns) for each in (new - old, old - new))
        return {relation: (came, left)}

    @contextmanager
    def guarded(self, rule: Rule) -> Iterator[None]:
        """A division by zero in here is an error of this rule."""
        try:
            yield
        except ZeroDivisionError:
            raise self.division(rule) from None


class TransformStratum(HeldStratum):
    """The output of a transformer: made anew from whole relations when one of them has changed."""

    fixed = "transformer"

    def derive(self) -> Facts:
        (rule,) = self.stratum.rules
        transform = rule.transform
        assert transform is not None
        inputs = []
        for given in transform.inputs:
            if isinstance(given, ScalarFunction):
                inputs.append(given.call())
            else:
                relation = self.program.relations[given.relation]
                store = self.desk.stores[self.numbers[given.relation]]
                rows = self.values.words_to_rows(store.columns_of(store.present_lines()), relation)
                inputs.append([self.program.row_value(relation, row) for row in rows])
        made = transform.transformer(*inputs)[transform.place]
        head = self.program.relations[rule.head.relation]
        explicit = self.program.relations[head.name.split("#", 1)[0]].explicit
        rows = [(value,) if explicit else field_values(value) for value in made]
        return self.exchange(self.numbers[head.name], self.values.rows_to_words(rows, head))
