"""A stratum that is recomputed as a whole when a relation that it reads has changed.

Recursive equivalence relations, `choice-domain`, lattices, subsumption, `autoinc()`, `.limitsize` and aggregates whose
keys come from recursion have no incremental form here. Their strata are evaluated as Soufflé does it: semi-naive
rounds; new rows join a relation at the end of a round; a row that a choice excludes, or that another one dominates,
does not. Rows of a lattice with the same keys become one, their least upper bound.

Where several results are right, the last one is continued (`ContinuedStratum`): chosen rows that are still derived stay
chosen, and what is left of the keys goes to others; a row with a number of `autoinc()` keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.library.souffle_functors import numbers_between
from tidelog.souffle.evaluate.evaluate_terms import Bindings, Row, Shapes, TermEvaluation
from tidelog.souffle.evaluate.kept_numbers import KeptNumbers
from tidelog.souffle.evaluate.outside_rows import rows_of
from tidelog.souffle.plan import terms
from tidelog.souffle.plan.clause_text import clause_of, clause_text
from tidelog.souffle.text.constants import rounded, wrapped
from tidelog.values.structs import Shape, Struct, classes

_MOST_ROUNDS = 1_000_000


@dataclass(slots=True)
class RecomputedStratum:
    """The transformer of a stratum: whole relations in, whole relations out.

    `columns` are the columns of each relation that it makes. `choices` has the keys of `choice-domain`, each as places
    of columns; `limits` the sizes of `.limitsize`; `lattices` the functor of the least upper bound for each column of a
    lattice, and None for the others. `symbols` are those of the program's text: where the order of rows
    decides a choice, they come before all others. `functors` is filled when the program's functors are known.

    Clauses are rows, so that they can come and go: behind the `inputs` the transformer takes the texts of the clauses
    that count, and rows of relations that only added clauses read. `rules` are those of the program's text, `fixed`
    those that always count.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rules: tuple[terms.Planned, ...]
    columns: Mapping[str, tuple[str, ...]]
    equivalences: frozenset[str]
    choices: Mapping[str, tuple[tuple[int, ...], ...]]
    limits: Mapping[str, int]
    shapes: Shapes
    bits: int
    first_number: int = 0
    stride: int = 1
    symbols: tuple[str, ...] = ()
    lattices: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    fixed: tuple[terms.Planned, ...] = ()
    functors: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def __call__(self, *given: Iterable[Struct]) -> tuple[list[Struct], ...]:
        """Returns the rows of each output. Raises EvaluationError for a recursion without end."""
        return self.run([() for _ in self.outputs], given)

    def called(self) -> set[str]:
        """Returns the functors of the program that the rules and the lattices call."""
        found = {bound for bounds in self.lattices.values() for bound in bounds if bound is not None}
        for rule in self.rules:
            steps = [*rule.steps]
            while steps:
                step = steps.pop()
                if isinstance(step, terms.Fold):
                    steps += step.steps
                    if step.function.startswith("@@"):
                        found.add(step.function[2:])
            words = (each.name for each in terms.all_terms(rule) if isinstance(each, terms.Op))
            found |= {word[1:] for word in words if word.startswith("@")}
        return found

    def run(self, before: Sequence[Iterable[Struct]], given: Sequence[Iterable[Struct]]) -> tuple[list[Struct], ...]:
        """Returns the rows of each output; of several right results, the one that is nearest to the one before."""
        kept = {name: [tuple(row) for row in rows] for name, rows in zip(self.outputs, before, strict=True)}
        *read, clauses, outside = given
        rows = {name: [tuple(row) for row in each] for name, each in zip(self.inputs, read, strict=True)}
        run = _Run(self, self._counting({text for (text,) in clauses}), rows | rows_of(outside), kept)
        run.fixpoint()
        made = []
        for name in self.outputs:
            (row_class,) = classes(Shape(name, ((name, self.columns[name]),), False))
            made.append([row_class(*row) for row in run.relations[name].rows])
        return tuple(made)

    def _counting(self, texts: set[str]) -> tuple[terms.Planned, ...]:
        """Returns the rules of the clauses: those of the program's text first, in its order."""
        known = {clause_text(rule): rule for rule in self.rules}
        added = [clause_of(text) for text in sorted(texts - known.keys())]
        return (*(rule for text, rule in known.items() if text in texts), *added, *self.fixed)


@dataclass(slots=True)
class ContinuedStratum(RecomputedStratum):
    """A stratum whose result depends on its last one; a `ContinuedTransformer`."""

    def continued(self, before: Sequence[Any], given: Sequence[Any]) -> tuple[list[Struct], ...]:
        return self.run(before, given)


class _Relation:
    """Rows with indexes on demand; `rows` keeps the order of insertion."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows: dict[Row, None] = dict.fromkeys(rows)
        self._indexes: dict[tuple[int, ...], dict[Row, list[Row]]] = {}

    def add(self, row: Row) -> None:
        if row in self.rows:
            return
        self.rows[row] = None
        for places, index in self._indexes.items():
            index.setdefault(tuple(row[place] for place in places), []).append(row)

    def discard(self, row: Row) -> None:
        if row not in self.rows:
            return
        del self.rows[row]
        for places, index in self._indexes.items():
            index[tuple(row[place] for place in places)].remove(row)

    def matching(self, places: tuple[int, ...], key: Row) -> Sequence[Row]:
        if len(places) == len(key) == 0:
            return [*self.rows]
        index = self._indexes.get(places)
        if index is None:
            index = self._indexes[places] = {}
            for row in self.rows:
                index.setdefault(tuple(row[place] for place in places), []).append(row)
        return index.get(key, ())


class _Run:
    def __init__(
        self,
        stratum: RecomputedStratum,
        rules: Sequence[terms.Planned],
        given: Mapping[str, list[Row]],
        before: Mapping[str, list[Row]],
    ) -> None:
        self._stratum, self._rules = stratum, rules
        self._kept = KeptNumbers(rules, before, stratum.first_number, stratum.stride, stratum.bits)
        self._earlier = {name: set(before[name]) for name in stratum.choices}
        self._continues = False  # while only rows of the last result may be chosen
        self._joined: dict[str, dict[Row, Row]] = {name: {} for name in stratum.lattices}
        place = {symbol: number for number, symbol in enumerate(stratum.symbols)}

        def order(row: Row) -> tuple[Any, ...]:
            return tuple((place.get(each, len(place)), each) if isinstance(each, str) else each for each in row)

        read = {name for rule in rules for step in rule.steps for name in terms.reads(step)}
        self.relations = {name: _Relation(sorted(given.get(name, ()), key=order)) for name in read}
        self.relations |= {name: _Relation() for name in stratum.outputs}
        self._terms = TermEvaluation(stratum.shapes, stratum.bits, stratum.functors, self._kept.next)
        self._chosen: dict[tuple[str, tuple[int, ...]], dict[Row, Row]] = {
            (name, key): {} for name, keys in stratum.choices.items() for key in keys
        }
        self._classes: dict[str, dict[Any, list[Any]]] = {name: {} for name in stratum.equivalences}

    def fixpoint(self) -> None:
        if any(self._earlier.values()):
            # First whatever follows from the rows that were chosen before; then the keys that are left.
            self._continues = True
            self._rounds(is_first=True)
            self._continues = False
            self._kept.restart()
            self._rounds(is_first=False)
        else:
            self._rounds(is_first=True)

    def _rounds(self, *, is_first: bool) -> None:
        own = set(self._stratum.outputs)
        plain = [rule for rule in self._rules if rule.better is None]
        # Last the rows with numbers, which must not be those of other rows.
        plain.sort(key=lambda rule: self._kept.columns(rule) is not None)
        subsuming = [rule for rule in self._rules if rule.better is not None]
        delta: dict[str, _Relation] = {name: _Relation() for name in own}
        for rule in plain:
            if not is_first or not own & {name for step in rule.steps for name in terms.reads(step)}:
                self._insert(rule.head, self._rows(rule, None, {}), delta)
        self._subsume(subsuming, delta)
        recursive = [rule for rule in plain if own & {name for step in rule.steps for name in terms.reads(step)}]
        rounds = 0
        while any(each.rows for each in delta.values()) and recursive:
            if any(len(self.relations[name].rows) >= limit for name, limit in self._stratum.limits.items()):
                return
            self._terms.round += 1
            rounds += 1
            if rounds > _MOST_ROUNDS:
                names = ", ".join(f"`{name}`" for name in self._stratum.outputs)
                raise EvaluationError(
                    f"{names} has no fixpoint after {rounds:,} rounds; the last commit is intact",
                    code=Code.TOO_MANY_ROUNDS,
                )
            found: dict[str, list[Row]] = {}
            for rule in recursive:
                for place, step in enumerate(rule.steps):
                    if isinstance(step, terms.Scan) and step.relation in own:
                        found.setdefault(rule.head, []).extend(self._rows(rule, place, delta))
            delta = {name: _Relation() for name in own}
            for name, rows in found.items():
                self._insert(name, rows, delta)
            self._subsume(subsuming, delta)

    # Rows

    def _insert(self, name: str, rows: Iterable[Row], delta: Mapping[str, _Relation]) -> None:
        relation = self.relations[name]
        for row in rows:
            if row in relation.rows:
                continue
            if name in self._classes:
                self._unite(name, row, delta[name])
                continue
            if name in self._joined:
                self._join(name, row, delta[name])
                continue
            keys = self._stratum.choices.get(name, ())
            if self._continues and keys and row not in self._earlier[name]:
                continue
            chosen = [(self._chosen[name, key], tuple(row[place] for place in key)) for key in keys]
            if any(value in known for known, value in chosen):
                continue
            for known, value in chosen:
                known[value] = row
            relation.add(row)
            delta[name].add(row)

    def _unite(self, name: str, row: Row, delta: _Relation) -> None:
        """Joins the classes of two values of an equivalence relation."""
        relation, members = self.relations[name], self._classes[name]
        left, right = (members.setdefault(value, [value]) for value in row)
        joined = left if left is right else [*left, *right]
        for one in left:
            for other in right:
                for pair in ((one, other), (other, one), (one, one), (other, other)):
                    if pair not in relation.rows:
                        relation.add(pair)
                        delta.add(pair)
        for value in joined:
            members[value] = joined

    def _join(self, name: str, row: Row, delta: _Relation) -> None:
        """Adds a row to a relation with lattices: the least upper bound with the row of the same keys."""
        bounds, joined = self._stratum.lattices[name], self._joined[name]
        key = tuple(value for value, bound in zip(row, bounds, strict=True) if bound is None)
        old = joined.get(key)
        if old is not None:
            row = tuple(
                one if bound is None or one == other else self._stratum.functors[bound](one, other)
                for one, other, bound in zip(old, row, bounds, strict=True)
            )
            if row == old:
                return
            self.relations[name].discard(old)
            delta.discard(old)
        joined[key] = row
        self.relations[name].add(row)
        delta.add(row)

    def _subsume(self, rules: Sequence[terms.Planned], delta: Mapping[str, _Relation]) -> None:
        """Deletes the rows that others dominate."""
        for rule in rules:
            assert rule.better is not None
            relation = self.relations[rule.head]
            worse: dict[Row, None] = {}
            for bound in self._instances(rule.steps, None, {}):
                row = tuple(self._terms.value(each, bound) for each in rule.terms)
                better = tuple(self._terms.value(each, bound) for each in rule.better)
                if row != better and better not in worse:
                    worse[row] = None
            for row in worse:
                relation.discard(row)
                delta[rule.head].discard(row)

    # Instances

    def _rows(self, rule: terms.Planned, changed: int | None, delta: Mapping[str, _Relation]) -> list[Row]:
        counted = self._kept.columns(rule)
        if counted is not None:
            made = []
            for bound in self._instances(counted.steps, changed, delta):
                row = tuple(
                    None if place in counted.columns else self._terms.value(each, bound)
                    for place, each in enumerate(rule.terms)
                )
                made.append(self._kept.filled(rule, row, self.relations[rule.head].rows))
            return made
        return [
            tuple(self._terms.value(each, bound) for each in rule.terms)
            for bound in self._instances(rule.steps, changed, delta)
        ]

    def _instances(
        self,
        steps: Sequence[terms.Step],
        changed: int | None,
        delta: Mapping[str, _Relation],
        given: Bindings | None = None,
    ) -> Iterator[Bindings]:
        """Yields the variables of each instance; the scan at `changed` sees only the last round's rows."""

        def go(place: int, bound: Bindings) -> Iterator[Bindings]:
            if place == len(steps):
                yield bound
                return
            step = steps[place]
            match step:
                case terms.Scan(relation):
                    rows = delta[relation] if place == changed else self.relations[relation]
                    for found in self._matches(step, rows, bound):
                        yield from go(place + 1, found)
                case terms.Absent(relation, wanted):
                    places = tuple(number for number, each in enumerate(wanted) if each is not None)
                    key = tuple(self._terms.value(each, bound) for each in wanted if each is not None)
                    if not self.relations[relation].matching(places, key):
                        yield from go(place + 1, bound)
                case terms.Bind(variable, value):
                    yield from go(place + 1, {**bound, variable.name: self._terms.value(value, bound)})
                case terms.Test():
                    if self._terms.holds(step, bound):
                        yield from go(place + 1, bound)
                case terms.Truth(value):
                    if value:
                        yield from go(place + 1, bound)
                case terms.Unpack(value, branch, fields):
                    taken = self._stratum.shapes.fields(bound[value.name], value.kind, branch)
                    if taken is not None:
                        named = {each.name: one for each, one in zip(fields, taken, strict=True) if each is not None}
                        yield from go(place + 1, {**bound, **named})
                case terms.Each(variable, bounds):
                    for number in self._numbers(bounds, bound):
                        yield from go(place + 1, {**bound, variable.name: number})
                case terms.Fold():
                    made, found_value = self._folded(step, bound)
                    if made:
                        yield from go(place + 1, {**bound, step.variable.name: found_value})

        yield from go(0, {} if given is None else given)

    def _matches(self, step: terms.Scan, relation: _Relation, bound: Bindings) -> Iterator[Bindings]:
        places: list[int] = []
        key: list[Any] = []
        free: list[tuple[int, str]] = []
        for place, each in enumerate(step.terms):
            match each:
                case terms.Const(value):
                    places.append(place)
                    key.append(value)
                case terms.Var(name) if name in bound:
                    places.append(place)
                    key.append(bound[name])
                case terms.Var(name):
                    free.append((place, name))
        for row in [*relation.matching(tuple(places), tuple(key))]:
            found = dict(bound)
            for place, name in free:
                if name in found and name not in bound and found[name] != row[place]:
                    break
                found[name] = row[place]
            else:
                yield found

    def _numbers(self, bounds: Sequence[terms.Term], bound: Bindings) -> list[Any]:
        values = [self._terms.value(each, bound) for each in bounds]
        step = values[2] if len(values) > 2 else 1 if values[0] <= values[1] else -1
        return numbers_between(values[0], values[1], step)

    def _folded(self, step: terms.Fold, bound: Bindings) -> tuple[bool, Any]:
        """Returns whether an aggregate has a value, and the value."""
        keys = {key.name: bound[key.name] for key in step.keys}
        values: list[Any] = []
        count = 0
        # Values of variables count once, however many rows there are with them: see `plan_rule`.
        seen: set[tuple[Any, ...]] = set()
        for found in self._instances(step.steps, None, {}, keys):
            named = tuple(found[name] for name in sorted(found))
            if named in seen:
                continue
            seen.add(named)
            count += 1
            if step.target is not None:
                values.append(self._terms.value(step.target, found))
        kind, bits = step.variable.kind, self._stratum.bits
        match step.function:
            case "count":
                return True, float(count) if kind == "float" else wrapped(count, kind, bits)
            case "sum":
                total = sum(values)
                return True, rounded(float(total), bits) if kind == "float" else wrapped(total, kind, bits)
            case "mean":
                return (bool(values), rounded(sum(values) / len(values), bits) if values else None)
            case "min":
                return (True, min(values)) if values else (False, None)
            case "max":
                return (True, max(values)) if values else (False, None)
        assert step.first is not None
        state = self._terms.value(step.first, bound)
        function = self._stratum.functors[step.function[2:]]
        for value in values:
            state = function(state, value)
        return True, state
