"""Queries of the stored state → answers, by a local engine in the driver that loads the rows that they need.

The files have each row with its three numbers, so nothing is derived: a proof is read off as it is locally. The rules
tell what a query needs: for a proof all relations below one, for one level of `why_not` those that its rules mention,
for a query those that it mentions. If they are small, they are loaded whole and kept for the next query, until the next
epoch. If they are large, only the rows are read that can matter:

    why Reach("a", z)      every rule carries the first column of Reach unchanged (`pivot`), so all rows of Reach that
                           the proof has begin with "a"
    Reach("a", x), Big(x)  the rows of Reach that begin with "a"

For rows without numbers, a proof is searched instead (`engine.local.queries.shortest_proof`), and the number of their
derivations is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Row
from tidelog.engine.proof import FailedMatch, Proof
from tidelog.engine.spark.plans.pivot import find_pivots
from tidelog.engine.spark.queries.lookup import may_have
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.state_files import Stored, numbered, positional, read_weights, value_names, with_input
from tidelog.rules.ir import Atom, Constant, Relation, Rule, RuleProgram
from tidelog.rules.lower.query import Query

if TYPE_CHECKING:
    from tidelog.engine.local.engine import LocalEngine

WHOLE_ROWS = 1_000_000
"""Up to this many rows, relations are loaded whole, and kept for the next query."""

MOST_ROWS = 20_000_000
"""The most rows that a query may load into the driver, at 60 to 140 bytes a row."""


@dataclass(frozen=True, slots=True)
class Source:
    """The stored relations that queries read. `facts` has, for an input relation that rules derive too, the relation
    with the facts of users."""

    directory: StateDirectory
    relations: Mapping[str, Relation]
    stored: Mapping[str, Stored]
    facts: Mapping[str, str]

    def read(self, relation: str, where: pc.Expression | None) -> pa.Table:
        """Returns a relation's rows with `_total`, or with their three numbers if it `is_counted`: all of them, or
        those of a filter."""
        declared, stored = self.relations[relation], self.stored.get(relation)
        return read_weights(self.directory, declared, stored, numbers=self.is_counted(relation), where=where)

    def count(self, relation: str) -> int:
        return self.stored[relation].rows if relation in self.stored else 0

    def is_counted(self, relation: str) -> bool:
        return relation in self.stored and self.stored[relation].counted


@dataclass(slots=True)
class _Loaded:
    """An engine with the rows of some relations, and the number of queries that use it."""

    names: frozenset[str]
    engine: LocalEngine
    users: int = 0
    is_kept: bool = False

    def close_if_unused(self) -> None:
        if not self.users and not self.is_kept:
            self.engine.close()


class SparkQueries:
    """See `engine.interface.Queries`; of one epoch, for readers in any thread."""

    def __init__(self, program: RuleProgram, source: Source) -> None:
        self._program = program
        self._source = source
        self._strata = {name: stratum for stratum in program.strata for name in stratum.relations}
        self._kept: _Loaded | None = None
        self._lock = Lock()

    def explain(self, relation: str, row: Row, *, shortest: bool = False) -> Proof | None:
        with self._holding(self._read_from(relation, lambda _: True), self._same_pivot(relation, row)) as engine:
            proof = engine.queries().explain(relation, row, shortest=shortest)
        return None if proof is None else self._with_known_numbers(proof)

    def why_not(self, relation: str, row: Row, *, depth: int = 1) -> tuple[FailedMatch, ...] | None:
        names = self._mentioned(relation) if depth == 1 else self._read_from(relation, lambda _: True)
        with self._holding(names, self._same_pivot(relation, row)) as engine:
            return engine.queries().why_not(relation, row, depth=depth)

    def evaluate(
        self,
        query: Query,
        *,
        limit: int | None = None,
        deadline: float | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> list[Row]:
        started = perf_counter()
        rules = (query.rule, *(rule for own in query.hidden.values() for rule in own))
        atoms = [atom for rule in rules for atom in rule.atoms if atom.relation in self._program.relations]
        names = frozenset(atom.relation for atom in atoms)
        with self._holding(names, {name: self._constants(name, atoms) for name in names}) as engine:
            left = None if deadline is None else deadline - (perf_counter() - started)
            return engine.queries().evaluate(query, limit=limit, deadline=left, is_cancelled=is_cancelled)

    def rule_of(self, relation: str, row: Row) -> Rule | None:
        """Returns a rule that derives a row; None if there is none."""
        with self._holding(self._mentioned(relation), {}) as engine:
            return engine.queries().rule_of(relation, row)

    def release(self) -> None:
        """Releases the loaded rows, as soon as no query uses them."""
        with self._lock:
            self._keep(None)

    def bytes(self) -> int:
        """Returns the memory of the loaded rows."""
        with self._lock:
            kept = self._kept
            return 0 if kept is None else sum(map(kept.engine.bytes, kept.names))

    # The rows that a query needs

    def _mentioned(self, relation: str) -> frozenset[str]:
        """Returns the relation and those that its rules mention, directly or through hidden relations."""
        return self._read_from(relation, lambda name: "#" in name)

    def _read_from(self, relation: str, goes_on: Callable[[str], bool]) -> frozenset[str]:
        """Returns the relation, those that its rules read, and so on below each of them for which `goes_on` is true."""
        found, pending = {relation}, [relation]
        while pending:
            for name in self._reads(pending.pop()):
                if name not in found:
                    found.add(name)
                    pending += [name] if goes_on(name) else []
        return frozenset(found)

    def _reads(self, relation: str) -> list[str]:
        return [
            atom.relation
            for rule in self._strata[relation].rules
            if rule.head.relation == relation
            for atom in rule.atoms
        ]

    def _same_pivot(self, relation: str, row: Row) -> dict[str, pc.Expression | None]:
        """Returns, for each relation of the stratum, a filter of the rows that a proof of the given row can have."""
        stratum = self._strata[relation]
        found = find_pivots(stratum.rules, self._program.relations, stratum.relations) if stratum.rules else None
        if found is None or found.pivots is None:
            return {}
        pivots = found.pivots
        value = row[pivots[relation]]
        return {name: self._equal(name, pivots[name], value) for name in stratum.relations}

    def _constants(self, relation: str, atoms: Iterable[Atom]) -> pc.Expression | None:
        """Returns a filter of the rows that the atoms can match, by their constants; None if one matches any row."""
        wanted = []
        for atom in atoms:
            if atom.relation == relation:
                constants = [(i, term.value) for i, term in enumerate(atom.terms) if isinstance(term, Constant)]
                if not constants:
                    return None
                wanted.append(reduce(and_, (self._equal(relation, i, value) for i, value in constants)))
        return reduce(or_, wanted)

    def _equal(self, relation: str, column: int, value: Any) -> pc.Expression:
        return may_have(self._program.relations[relation], column, value, self._program.functions.definitions)

    # The rows that are loaded

    @contextmanager
    def _holding(self, names: frozenset[str], filters: Mapping[str, pc.Expression | None]) -> Iterator[LocalEngine]:
        """Yields an engine with the rows of these relations: all if they are few, else those of the filters."""
        loaded = self._lent(names)
        if loaded is None:
            loaded = _Loaded(names, self._loaded(names, filters), users=1)
        try:
            yield loaded.engine
        finally:
            with self._lock:
                loaded.users -= 1
                loaded.close_if_unused()

    def _lent(self, names: frozenset[str]) -> _Loaded | None:
        """Returns an engine with all rows of these relations, for one more query; None if they are many."""
        with self._lock:
            kept = self._kept
            if kept is None or not names <= kept.names:
                if sum(map(self._source.count, names)) > WHOLE_ROWS:
                    return None
                wanted = names if kept is None else names | kept.names
                if sum(map(self._source.count, wanted)) > WHOLE_ROWS:
                    wanted = names
                self._keep(None)
                kept = _Loaded(wanted, self._loaded(wanted, {}), is_kept=True)
                self._keep(kept)
            kept.users += 1
            return kept

    def _keep(self, loaded: _Loaded | None) -> None:
        """Keeps this engine for later queries instead of the present one."""
        before, self._kept = self._kept, loaded
        if before is not None:
            before.is_kept = False
            before.close_if_unused()

    def _loaded(self, names: frozenset[str], filters: Mapping[str, pc.Expression | None]) -> LocalEngine:
        from tidelog.engine.local.engine import LocalEngine

        room = MOST_ROWS
        states = {}
        for name in sorted(names, key=lambda name: filters.get(name) is None):
            filter_ = filters.get(name)
            if filter_ is None and self._source.count(name) > room:
                raise _too_large(name, self._source.count(name))
            states[name] = self._state(name, filter_)
            room -= states[name].num_rows
            if room < 0:
                raise _too_large(name, self._source.count(name))
        program = replace(
            self._program, relations={name: positional(each) for name, each in self._program.relations.items()}
        )
        engine = LocalEngine(program, threads=1, stores_copies=True)
        engine.load(states)
        engine.queries().plan_for({name: self._source.count(name) for name in names})
        return engine

    def _state(self, name: str, filter_: pc.Expression | None) -> pa.Table:
        """Returns the rows of a relation in the form of `LocalEngine.load`."""
        table = self._source.read(name, filter_)
        state = table if self._source.is_counted(name) else numbered(table)
        if name not in self._source.facts:
            return with_input(state, not self._strata[name].rules)
        facts = self._source.read(self._source.facts[name], filter_)
        values = value_names(self._program.relations[name])
        if not values:
            return with_input(state, bool(facts.num_rows))
        known = set(zip(*(facts[column].to_pylist() for column in values)))
        rows = zip(*(state[column].to_pylist() for column in values))
        return state.append_column("_input", pa.array([row in known for row in rows], pa.bool_()))

    def _with_known_numbers(self, proof: Proof) -> Proof:
        """Returns the proof without the numbers of rows that have none."""
        known = self._source.is_counted
        rows = (each if known(each.relation) else replace(each, derivations=None) for each in proof.rows)
        return replace(proof, rows=tuple(rows))


def _too_large(relation: str, rows: int) -> UsageError:
    return UsageError(
        f"the query needs the rows of `{relation}` in the driver, and {rows:,} are too many for that",
        code=Code.TOO_LARGE_TO_ASK,
        help=f"up to {MOST_ROWS:,} rows can be read: derive the rows that matter into a relation, and query that",
    )
