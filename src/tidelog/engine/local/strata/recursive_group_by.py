"""`group_by` inside recursion: the stratum is the fixed point of the rounds X(i + 1) = F(X(i)), from nothing.

All relations of the stratum take each step together; hidden relations (members, groups) are made within a round. A
touched stratum is derived from scratch. Rounds that return to an earlier state before a fixed point would never end:
that is an error. A rule with `#[max_rounds = n]` ends them after n rounds, at a fixed point or not.

A sum that is too large for its type is an error if it is one at the end. Before that it may be a sum of rows that later
rounds take away. Without a cycle no row takes more rounds than there are rows, so after these it is an error at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from graphlib import TopologicalSorter

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.storage.weighted_table import Bag, Row, Table, Tables, bag_to_words, words_to_bag
from tidelog.engine.local.strata.group_by import Grouping
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strata.materialized import Facts, MaterializedStratum
from tidelog.engine.local.strata.row_interpreter import Interpreter, Run
from tidelog.maintain.limits import NO_LIMIT
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import DeltaKind, deltas, plan_variant
from tidelog.rules.ir import Role, Rule


class RoundsStratum(MaterializedStratum):
    """A recursive stratum with groups."""

    fixed = "rounds"
    checked_always = True

    def connect(self, tables: Tables) -> None:
        """Sets the tables that its rules read, before the first epoch."""
        self._begin_empty()
        self._compile_rounds({name: tables[name] for name in self._names_below()})

    def _begin_empty(self) -> None:
        """Starts without facts."""
        self._given: dict[str, set[Row]] = {name: set() for name in self.relations}
        self._next_given = self._given
        self._is_fresh = True

    def _names_below(self) -> list[str]:
        """Returns the relations of lower strata that its rules read."""
        return sorted({atom.relation for rule in self.stratum.rules for atom in rule.atoms} - {*self.relations})

    def _compile_rounds(self, below: Mapping[str, Table]) -> None:
        """Compiles the rules over tables of lower strata."""
        self._own = {name: Table() for name in self.relations}
        self._emitted: Bag = {}
        interpreter = Interpreter({**self._own, **below}, self.values, self.program.functions, pace=self.watch.pace)
        self._runs = {rule.id: self._compiled(rule, interpreter) for rule in self.stratum.rules if rule.group is None}
        self._groupings = {
            rule.id: Grouping(rule.group, self.program.relations, self.values)
            for rule in self.stratum.rules
            if rule.group is not None
        }
        for grouping in self._groupings.values():
            grouping.is_lenient = True
        hidden = {name for name in self.relations if self.program.relations[name].role is Role.HIDDEN}
        order: TopologicalSorter[str] = TopologicalSorter({name: set() for name in hidden})
        for rule in self.stratum.rules:
            if rule.head.relation in hidden:
                order.add(rule.head.relation, *(atom.relation for atom in rule.atoms if atom.relation in hidden))
        self._hidden = list(order.static_order())
        self._visible = [name for name in self.relations if name not in hidden]

    def is_touched(self) -> bool:
        return self._is_fresh or super().is_touched()

    def continue_from(self, before: LocalStratum) -> None:
        super().continue_from(before)
        assert isinstance(before, RoundsStratum)
        self._given = self._next_given = before._given

    def start_from(self, given: Mapping[int, Words]) -> None:
        super().start_from(given)
        for name in self.relations:
            words = given.get(self.numbers[name])
            if words is not None:
                self._given[name] = set(words_to_bag(words))

    def derive(self) -> Facts:
        self._next_given = {name: self._facts_of(name) for name in self.relations}
        last = min((rule.max_rounds for rule in self.stratum.rules if rule.max_rounds), default=NO_LIMIT)
        seen: set[int] = set()
        suspected: dict[str, Bag] | None = None
        rounds, most_rounds = 0, NO_LIMIT
        for table in self._own.values():
            table.replace({})
        while rounds < last:
            for grouping in self._groupings.values():
                grouping.overflow = None
            for name in self._hidden:
                self._own[name].replace(self._derived(name))
            states = {
                name: dict.fromkeys({*self._next_given[name], *(r for r, w in self._derived(name).items() if w > 0)}, 1)
                for name in self._visible
            }
            if all(states[name] == self._own[name].weights for name in self._visible):
                break
            rounds += 1
            if any(grouping.overflow for grouping in self._groupings.values()):
                most_rounds = min(most_rounds, rounds + sum(map(len, states.values())))
                if rounds > most_rounds:
                    break
            self.watch.rounds(rounds, self._renewing)
            for name, rows in states.items():
                self.watch.rows(name, len(rows), partial(self._renewing, name))
            mark = hash(tuple(frozenset(states[name]) for name in self._visible))
            if suspected == states and last == NO_LIMIT:
                raise self._restless(rounds)
            if mark in seen and suspected is None:
                # Probably seen before; certain if this state recurs.
                suspected = states
            seen.add(mark)
            for name, rows in states.items():
                self._own[name].replace(rows)
        self._refuse_overflow()
        self.rounds_taken = rounds
        facts: Facts = {}
        for name, table in self._own.items():
            number = self.numbers[name]
            facts |= self.exchange(number, self.rows_to_words(list(table.weights), self.catalog.stores[number].columns))
        return facts

    def _refuse_overflow(self) -> None:
        """Raises EvaluationError if a sum of the last round is too large for its type."""
        for rule in self.stratum.rules:
            overflow = self._groupings[rule.id].overflow if rule.group is not None else None
            if overflow is not None:
                raise self.sum_overflow(rule, overflow)

    def is_given(self, name: str, row: Row) -> bool:
        """True if a row is an input fact of the committed state."""
        return row in self._given[name]

    def commit(self) -> None:
        super().commit()
        self._given = self._next_given
        self._is_fresh = False

    def roll_back(self) -> None:
        super().roll_back()
        self._next_given = self._given

    def net_facts(self, relation: int, rows: Words, signs: Words) -> tuple[Words, Words]:
        """Returns the facts to insert and to delete. The store does not tell input facts from derived rows."""
        (name,) = (name for name in self.relations if self.numbers[name] == relation)
        given = self._given[name]
        last = {tuple(row): sign for row, sign in zip(rows.tolist(), signs.tolist(), strict=True)}
        inserted = [row for row, sign in last.items() if sign > 0 and row not in given]
        deleted = [row for row, sign in last.items() if sign < 0 and row in given]
        return self.rows_to_words(inserted, rows.shape[1]), self.rows_to_words(deleted, rows.shape[1])

    def given_to(self, relation: str) -> Words:
        return bag_to_words(dict.fromkeys(self._given[relation], 1), len(self.program.relations[relation].columns))

    def given_apart(self) -> Iterator[tuple[str, Bag]]:
        return ((name, dict.fromkeys(rows, 1)) for name, rows in self._given.items() if rows)

    def resume(self, given: Mapping[str, Bag]) -> None:
        super().resume(given)
        self._given = self._next_given = {name: set(given.get(name, ())) for name in self.relations}
        self._is_fresh = False

    def _facts_of(self, name: str) -> set[Row]:
        """Returns the input facts of a relation after this epoch."""
        change = self.facts.get(self.numbers[name])
        if change is None:
            return self._given[name]
        inserted, deleted = (set(map(tuple, rows.tolist())) for rows in change)
        return (self._given[name] - deleted) | inserted

    def _compiled(self, rule: Rule, interpreter: Interpreter) -> Run:
        (delta,) = (each for each in deltas(rule) if each.kind is DeltaKind.RULE)
        return interpreter.run(plan_variant(rule, delta, FromSizes(lambda _: 1)), self._emit)

    def _emit(self, row: Row, weight: int) -> None:
        self.costs.emitted += 1
        self._emitted[row] = self._emitted.get(row, 0) + weight

    def _derived(self, name: str) -> Bag:
        """Returns the rows that the rules of a relation derive from the present round, with weights."""
        self._emitted = {}
        for rule in self.stratum.rules:
            if rule.head.relation == name:
                self._derive_by(rule)
        return self._emitted

    def _derive_by(self, rule: Rule) -> None:
        """Emits the rows that one rule derives."""
        self.watch.look(rule)
        with self.guarded(rule), self.costs.measured(rule):
            if rule.group is not None:
                members = self._own[rule.group.atom.relation].weights
                for row in self._groupings[rule.id].rows(members, self.watch.pace(rule)):
                    self._emit(row, 1)
            else:
                self._runs[rule.id]([((), 1)])

    def _renewing(self, name: str | None = None) -> Rule | None:
        """Returns a rule that derives rows (of this relation) in the present round that the last round did not have."""
        for rule in self.stratum.rules:
            head = rule.head.relation
            if head in self._visible and name in (None, head):
                self._emitted = {}
                self._derive_by(rule)
                if self._emitted.keys() - self._own[head].weights.keys():
                    return rule
        return None

    def _restless(self, rounds: int) -> EvaluationError:
        names = ", ".join(f"`{name}`" for name in self._visible)
        return EvaluationError(
            f"{names} never reach a fixed point: after {rounds} rounds they repeat; the last commit is intact",
            code=Code.NO_FIXPOINT,
            help="a group inside the recursion deletes rows that it was made of; make the recursion only add rows",
        )
