"""Strata whose rows are not joined by kernels: a subclass derives their changes, and they are stored like facts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError, OverflowedError
from tidelog.diagnostics.spans import Span
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.aggregates.small_group import SumOverflowError
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.functions.scalar import ScalarFunction
from tidelog.library._runtime.extern import ContinuedTransformer
from tidelog.maintain.switch import Meter
from tidelog.rules.ir import Rule, Transform, Variable
from tidelog.values import record_text
from tidelog.values.structs import field_values

Facts = dict[int, tuple[Words, Words]]
Application = tuple[str, Span]
"""One `apply` of a transformer: its name, and where it stands."""


class MaterializedStratum(LocalStratum, ABC):
    """A subclass defines `derive`, the facts to insert and to delete, and `fixed`, its name in the report."""

    fixed = "held"
    joins = False
    why = "the only strategy for this stratum"
    rounds_taken = 1
    starts_over = False  # true if `derive` returned all rows, because there were none

    def update(self, meter: Meter) -> bool:
        """Derives and exchanges the rows; see `LocalStratum.update`."""
        self.facts = self.derive()
        done = True
        if self.is_new or self.starts_over:
            # The rows in the stores were stored in another way, and numbered: `derive` returned all new rows.
            self.inherited = {}
            self.bootstrap()
        else:
            done = super().update(meter)
        self.waves = self.rounds_taken
        self.work = sum(len(inserted) + len(deleted) for inserted, deleted in self.facts.values())
        return done

    @abstractmethod
    def derive(self) -> Facts:
        """Returns the facts to insert and to delete, by relation."""

    def rows_to_words(self, rows: list[Row], columns: int) -> Words:
        return np.array(rows, dtype=np.int64).reshape(len(rows), columns)

    def exchange(self, relation: int, rows: Words) -> Facts:
        """Returns the change that makes a relation hold exactly these rows; all of them, if the stratum is new."""
        store = self.catalog.stores[relation]
        if self.is_new:
            return {relation: (rows, self.rows_to_words([], store.columns))}
        old = set(map(tuple, store.columns_of(store.lines()).tolist()))
        new = set(map(tuple, rows.tolist()))
        if old == new:
            return {}
        inserted, deleted = (self.rows_to_words(list(each), store.columns) for each in (new - old, old - new))
        return {relation: (inserted, deleted)}

    @contextmanager
    def guarded(self, rule: Rule) -> Iterator[None]:
        """Turns a division by zero, or a sum that is too large, into an error of this rule."""
        try:
            yield
        except ZeroDivisionError as error:
            raise self.division(rule, error) from None
        except OverflowedError as error:
            written = self._source_rule(rule)
            error.add_rule(written.text, written.span)
            raise
        except SumOverflowError as error:
            raise self.sum_overflow(rule, error) from None

    def sum_overflow(self, rule: Rule, error: SumOverflowError) -> EvaluationError:
        """Returns the error for a sum that does not fit into its type."""
        place = rule.span if rule.group is None else rule.group.atom.span
        columns, definitions = self.program.relations[rule.head.relation].columns, self.program.functions.definitions
        names = [f"{term.name} = " if isinstance(term, Variable) else "" for term in rule.head.terms]
        key = ", ".join(
            name + record_text(value, each.type, definitions) for name, value, each in zip(names, error.key, columns)
        )
        where = f" of the key ({key})" if key else ""
        written = self._source_rule(rule)
        of_rule = "" if "#" in written.head.relation or written.text == place.text else f" of the rule `{written.text}`"
        return EvaluationError(
            f"the sum{where} does not fit into `{error.type}`, in `{place.text}`{of_rule} at {place};"
            " the last commit is intact",
            code=Code.SUM_OVERFLOW,
            help="a wider type has room for it, for example `var x: bigint = sum(…) by (…)`",
        )


class TransformStratum(MaterializedStratum):
    """An output of a transformer: recomputed from whole relations when one of them has changed.

    The transformer runs once in an epoch; the strata of its other outputs take their rows from `share`.
    """

    fixed = "transformer"

    def share(self, made: dict[Application, Sequence[Any]]) -> None:
        """Sets the place for the results of an engine's transformers in the epoch under way."""
        self._made = made

    def derive(self) -> Facts:
        (rule,) = self.stratum.rules
        transform = rule.transform
        assert transform is not None
        application = (transform.name, transform.span)
        if application not in self._made:
            self._made[application] = self._run_transformer(transform)
        head = self.program.relations[rule.head.relation]
        rows = [
            (value,) if head.explicit else field_values(value) for value in self._made[application][transform.place]
        ]
        return self.exchange(self.numbers[head.name], self.values.rows_to_words(rows, head))

    def commit(self) -> None:
        super().commit()
        self._made.clear()

    def roll_back(self) -> None:
        super().roll_back()
        self._made.clear()

    def _run_transformer(self, transform: Transform) -> Sequence[Any]:
        """Runs the transformer on its inputs as they are in this epoch; returns the values of each output."""
        inputs: list[Any] = []
        for given in transform.inputs:
            inputs.append(given.call() if isinstance(given, ScalarFunction) else self._values(given.relation))
        transformer: Any = transform.transformer
        if isinstance(transformer, ContinuedTransformer):
            made: Sequence[Any] = transformer.continued(self._outputs(transform), inputs)
        else:
            made = transformer(*inputs)
        return made

    def _values(self, name: str) -> list[Any]:
        """Returns the rows of a relation in this epoch, as the program's values."""
        relation = self.program.relations[name]
        store = self.catalog.stores[self.numbers[name]]
        rows = self.values.words_to_rows(store.columns_of(store.present_lines()), relation)
        return [self.program.row_value(relation, row) for row in rows]

    def _committed(self, name: str) -> list[Row]:
        """Returns the rows of a relation at the last commit, as tuples."""
        store = self.catalog.stores[self.numbers[name]]
        return self.values.words_to_rows(store.columns_of(store.lines()), self.program.relations[name])

    def _outputs(self, transform: Transform) -> list[list[Row]]:
        """Returns the committed rows of each output of a transformer. Raises EvaluationError if some are elsewhere."""
        heads: dict[int, str] = {}
        for stratum in self.program.strata:
            for rule in stratum.rules:
                each = rule.transform
                if each is not None and (each.name, each.span) == (transform.name, transform.span):
                    heads[each.place] = rule.head.relation
        if len(heads) < transform.outputs:
            raise EvaluationError(
                f"`{transform.name}` keeps rows of {transform.outputs} relations, and they are in different tasks; "
                "the last commit is intact",
                code=Code.NOT_YET,
                help='`engine="local"` has them in one place',
            )
        return [self._committed(heads[place]) for place in sorted(heads)]
