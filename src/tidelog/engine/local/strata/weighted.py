"""Strata whose rows have weights: multisets, streams, and the relations that they depend on (`rules.analysis.weights`).

Their tables hold the weights; the store only has the present rows, for the rules that need no weights. The change of a
weight is the sum, over the positions of a rule's body, of the changes for a delta there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.storage.weighted_table import Bag, Row, Tables, add_weight, bag_to_words, words_to_bag
from tidelog.engine.local.strata.group_by import Grouping
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strata.materialized import Facts, MaterializedStratum
from tidelog.engine.local.strata.row_interpreter import Interpreter, Run, delta_rows
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import DeltaKind, deltas, plan_variant
from tidelog.rules.ir import Atom, Kind, Role, Rule

LARGEST_WEIGHT = (1 << 63) - 1


class WeightedStratum(MaterializedStratum):
    """A relation that is not recursive. `given` is what users add to the weights in this epoch.

    An added rule adds the rows that it derives from the state after the epoch; a removed one subtracts those that it
    derived from the state before it.
    """

    fixed = "weights"
    checked_always = True

    def connect(self, tables: Tables) -> None:
        """Sets the tables that its rules read, before the first epoch."""
        (name,) = self.relations
        self.relation = self.program.relations[name]
        self.table = tables[name]
        self.given: Bag = {}
        self._tables = tables
        self._is_fresh = True
        self._given_before: Bag | None = {} if self.relation.role is Role.INPUT and self.has_rules() else None
        self._taken_back: list[tuple[Rule, Run]] = []
        interpreter = Interpreter(tables, self.values, self.program.functions, pace=self.watch.pace)
        self._runs = []
        for rule in self.stratum.rules:
            reads_stream = any(map(self._is_stream, rule.positives))
            for delta in deltas(rule):
                # Only the records of a stream drive a rule that reads one.
                if reads_stream and (delta.atom is None or not self._is_stream(delta.atom)):
                    continue
                variant = plan_variant(rule, delta, FromSizes(lambda _: 1))
                run = interpreter.run(variant, self._add, all_new=True if reads_stream else None)
                self._runs.append((rule, variant, run))

    def continue_from(self, before: LocalStratum) -> None:
        super().continue_from(before)
        assert isinstance(before, WeightedStratum)
        self._is_fresh = before._is_fresh
        if self._given_before is not None:
            known = before._given_before
            self._given_before = dict(before.table.weights) if known is None else known
        interpreter = Interpreter(before._tables, self.values, self.program.functions, pace=self.watch.pace)
        for rule in self.removed:
            if not any(map(before._is_stream, rule.positives)):  # records of a stream last one epoch
                (delta,) = (each for each in deltas(rule) if each.kind is DeltaKind.RULE)
                variant = plan_variant(rule, delta, FromSizes(lambda _: 1))
                self._taken_back.append((rule, interpreter.run(variant, self._add, all_new=False)))

    def start_from(self, given: Mapping[int, Words]) -> None:
        """Starts with weight 1 for each row that the relation had as a set; a delayed relation has its old rows."""
        super().start_from(given)
        self._is_fresh = self.has_rules()
        if self._given_before is not None:
            self._given_before = words_to_bag(given[self.numbers[self.relation.name]])

    def is_touched(self) -> bool:
        return (
            self._is_fresh
            or self.has_changed
            or bool(self.given)
            or any(self._tables[atom.relation].delta for rule in self.stratum.rules for atom in rule.atoms)
        )

    def derive(self) -> Facts:
        for row, weight in self.given.items():
            self.table.add(row, weight)
        if self.is_new and self._is_fresh:
            for row, weight in self.table.weights.items():
                self.table.add(row, -weight)
            for row, weight in (self._given_before or {}).items():
                self.table.add(row, weight)
        for rule, run in self._taken_back:
            self._evaluate(rule, run, [((), -1)])
        added = set(map(id, self.added))
        for rule, variant, run in self._runs:
            # A new rule derives its rows through its hidden fact alone; a stream has no earlier rows.
            is_new = (self._is_fresh or id(rule) in added) and not any(map(self._is_stream, rule.positives))
            if is_new == (variant.delta.kind is DeltaKind.RULE):
                self._evaluate(rule, run, delta_rows(variant, self._tables))
        return self._held()

    def _evaluate(self, rule: Rule, run: Run, rows: list[tuple[Row, int]]) -> None:
        self.watch.look(rule)
        with self.guarded(rule), self.costs.measured(rule):
            run(rows)

    def _add(self, row: Row, weight: int) -> None:
        self.costs.emitted += 1
        self.table.add(row, weight)

    def commit(self) -> None:
        super().commit()
        self._is_fresh = False
        self._taken_back = []
        if self._given_before is not None:
            for row, weight in self.given.items():
                add_weight(self._given_before, row, weight)
        self.given = {}

    def roll_back(self) -> None:
        super().roll_back()
        self.table.drop()

    def given_to(self, relation: str) -> Words:
        given = self.table.weights if self._given_before is None else self._given_before
        return bag_to_words(given, len(self.relation.columns))

    def given_apart(self) -> Iterator[tuple[str, Bag]]:
        if self._given_before is not None:
            yield self.relation.name, self._given_before

    def resume(self, given: Mapping[str, Bag]) -> None:
        super().resume(given)
        self._is_fresh = False
        if self._given_before is not None:
            self._given_before = given.get(self.relation.name, {})

    def _is_stream(self, atom: Atom) -> bool:
        return self.program.relations[atom.relation].kind is Kind.STREAM

    def _held(self) -> Facts:
        """Returns the inserted and deleted rows, for the store; a stream has none. Raises if a weight is too large."""
        for row, change in self.table.delta.items():
            if max(abs(change), abs(self.table.weight(row, new=True))) > LARGEST_WEIGHT:
                raise self._too_large(row)
        if self.table.is_stream:
            return {}
        if self.is_new:
            there = {*self.table.weights, *self.table.delta}
            rows_there = [row for row in there if self.table.weight(row, new=True) > 0]
            columns = len(self.relation.columns)
            return self.exchange(self.numbers[self.relation.name], self.rows_to_words(rows_there, columns))
        inserted, deleted = self.table.presence_changes()
        if not inserted and not deleted:
            return {}
        columns = len(self.relation.columns)
        rows = (self.rows_to_words(inserted, columns), self.rows_to_words(deleted, columns))
        return {self.numbers[self.relation.name]: rows}

    def _too_large(self, row: Row) -> EvaluationError:
        (shown,) = self.values.words_to_rows(self.rows_to_words([row], len(row)), self.relation)
        return EvaluationError(
            f"the weight of {shown} in `{self.relation.name}` does not fit into 64 bits; the last commit is intact",
            code="E610",
            help="a relation declared without `multiset` counts each row once",
        )


class LatestStratum(WeightedStratum):
    """`S'`: the records of the stream in this epoch, and no others."""

    def is_touched(self) -> bool:
        return bool(self.table.weights) or super().is_touched()

    def derive(self) -> Facts:
        (rule,) = self.stratum.rules
        (source,) = rule.positives
        for row, weight in self.table.weights.items():
            self.table.add(row, -weight)
        for row, weight in self._tables[source.relation].delta.items():
            self.table.add(row, weight)
        return self._held()


class StreamGroupStratum(WeightedStratum):
    """The groups of a stream's records in this epoch."""

    def connect(self, tables: Tables) -> None:
        (rule,) = self.stratum.rules
        assert rule.group is not None
        (name,) = self.relations
        self.relation = self.program.relations[name]
        self.table = tables[name]
        self.given = {}
        self._tables = tables
        self._is_fresh = False
        self._given_before = None
        self._taken_back = []
        self._members = tables[rule.group.atom.relation]
        self._grouping = Grouping(rule.group, self.program.relations, self.values)

    def derive(self) -> Facts:
        (rule,) = self.stratum.rules
        for row in self._grouping.rows(self._members.delta, self.watch.pace(rule)):
            self.table.add(row, 1)
        return {}
