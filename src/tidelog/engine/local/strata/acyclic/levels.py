"""An acyclic recursion with groups from scratch, level by level, in kernels: its Bootstrap.

1. `KeyRows` derives the keys (`key_rules`), which needs no values, and finds which key depends on which.
2. `longest_paths` gives each key its depth, and each group its level: how many groups lie below one another.
3. `LevelRows` derives the rows. The rules but those of groups run in waves, as in any recursion. When no row waits, all
   groups of the next level have all their members: their aggregates are computed at once, from whole columns.

    level 1: what is made of bought parts alone     level 2: what is made of those and of bought parts     …

A group is made once. The cost is that of the instances, and a little for each level: a recursion as deep as it is long
is better derived row by row (`propagate`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import aggregate as kernels
from tidelog.engine.local.kernels import entry_points, longest_paths
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strata.acyclic.key_rules import KeyRules, Place
from tidelog.engine.local.strata.acyclic.propagate import CycleError, Node
from tidelog.engine.local.strata.acyclic.rows_by_depth import StoredRows
from tidelog.engine.local.strata.acyclic.scratch_rows import ScratchRows
from tidelog.engine.local.strata.aggregates.stratum import AggregateStratum
from tidelog.maintain.limits import Running
from tidelog.rules.ir import Constant, Rule, Stratum, Variable

Numbers = npt.NDArray[np.int32]
Turn = tuple[str, Words]
"""Groups of one level: their relation and their keys."""

# Rows that no row of the stratum is needed for have this depth, one more than rows of lower strata.
LEAST_DEPTH = 2


class TooManyLevelsError(Exception):
    """There are so many levels that row by row is faster."""


class KeyRows(ScratchRows):
    """The keys of the stratum, and their depths and levels."""

    def __init__(self, plan: KeyRules, *rest: Any) -> None:
        super().__init__(Stratum(tuple(plan.widths), plan.rules, True), *rest)
        self._plan = plan
        self._firsts: dict[str, int] = {}
        self._depths = self._levels = np.empty(0, dtype=np.int32)

    def order(self, groups: Sequence[str]) -> None:
        """Finds the depths of all keys, and the levels of these groups. Raises CycleError."""
        count = 0
        for name in self._plan.keys:
            self._firsts[name] = count
            count += int(self._store(name).line[k.USED])
        waiting = np.full(count, -1, dtype=np.int32)
        is_group = np.zeros(count, dtype=np.uint8)
        for name in self._plan.keys:
            waiting[self._firsts[name] + self._store(name).lines()] = 0
            if name in groups:
                is_group[self._firsts[name] : self._firsts[name] + int(self._store(name).line[k.USED])] = 1
        edges = [self._edges(*each) for each in self._dependencies()]
        sources = np.concatenate([np.empty(0, dtype=np.int32), *(source for source, _ in edges)])
        targets = np.concatenate([np.empty(0, dtype=np.int32), *(target for _, target in edges)])
        waiting += np.bincount(targets, minlength=count).astype(np.int32)
        starts, ordered = np.empty(count + 1, dtype=np.int64), np.empty(len(targets), dtype=np.int32)
        longest_paths.sort_edges(sources, targets, starts, ordered)
        self._depths = np.full(count, LEAST_DEPTH, dtype=np.int32)
        self._levels = np.zeros(count, dtype=np.int32)
        queue = np.empty(count, dtype=np.int32)
        longest_paths.order_nodes(starts, ordered, is_group, waiting, self._depths, self._levels, queue)
        if (waiting > 0).any():
            raise CycleError(self._cycle(sources, targets, waiting > 0))

    @property
    def depth(self) -> int:
        """Number of levels."""
        return int(self._levels.max(initial=0))

    def turns(self, groups: Sequence[str]) -> list[list[Turn]]:
        """Returns the keys of these groups, level by level."""
        found: list[list[Turn]] = [[] for _ in range(self.depth)]
        for name in groups:
            lines = self._store(name).lines()
            levels = self._levels[self._firsts[name] + lines]
            order = np.argsort(levels, kind="stable")
            ends = np.searchsorted(levels[order], np.arange(1, self.depth + 2))
            for level in range(self.depth):
                own = lines[order[ends[level] : ends[level + 1]]]
                if len(own):
                    found[level].append((name, self._store(name).columns_of(own)))
        return found

    def depths_of(self, name: str, rows: Words) -> Numbers:
        """Returns the depths of some rows of a relation."""
        keys = np.ascontiguousarray(rows[:, list(self._plan.keys[name])])
        found: Numbers = self._depths[self._firsts[name] + self._lines(name, keys)]
        return found

    def _store(self, name: str) -> Store:
        return self.catalog.stores[self.numbers[name]]

    def _dependencies(self) -> Iterator[tuple[str, Words, str, Words]]:
        """Yields heads and bodies of dependencies, as keys of relations."""
        for each in self._plan.dependencies:
            store = self._store(each.source)
            rows = store.columns_of(store.lines())
            yield each.head, self._taken(rows, each.head_places), each.body, self._taken(rows, each.body_places)

    def _taken(self, rows: Words, places: Sequence[Place]) -> Words:
        if list(places) == list(range(rows.shape[1])):
            return rows
        made = np.empty((len(rows), len(places)), dtype=np.int64)
        for column, place in enumerate(places):
            if isinstance(place, Constant):
                made[:, column] = self.values.word(place.value, place.type)
            else:
                made[:, column] = rows[:, place]
        return made

    def _edges(self, head: str, heads: Words, body: str, bodies: Words) -> tuple[Numbers, Numbers]:
        """Returns the nodes of bodies and of heads."""
        source = self._firsts[body] + self._lines(body, bodies)
        target = self._firsts[head] + self._lines(head, heads)
        return source.astype(np.int32), target.astype(np.int32)

    def _lines(self, name: str, keys: Words) -> Words:
        lines = np.empty(len(keys), dtype=np.int64)
        if entry_points.look_up_many(self.catalog.S, self.numbers[name], keys, lines) != len(keys):
            raise self._broken()
        return lines

    def _cycle(self, sources: Numbers, targets: Numbers, is_left: npt.NDArray[np.bool_]) -> list[Node]:
        """Returns keys of which each depends on the one before it, and the first on the last."""
        among = is_left[sources] & is_left[targets]
        before = dict(zip(targets[among].tolist(), sources[among].tolist(), strict=True))
        path: dict[int, None] = {}
        node = next(iter(before))
        while node not in path:
            path[node] = None
            node = before[node]
        nodes = [*path]
        return [self._node(each) for each in reversed(nodes[nodes.index(node) :])]

    def _node(self, place: int) -> Node:
        name = max((first, name) for name, first in self._firsts.items() if first <= place)[1]
        store = self._store(name)
        (key,) = store.columns_of(np.array([place - self._firsts[name]])).tolist()
        return name, tuple(key)

    def _look_at_rows(self, rule: Running) -> None:
        """Does nothing: there are no more keys than rows."""


class LevelRows(ScratchRows):
    """The rows of the stratum."""

    runs_python = True

    def __init__(self, stratum: Stratum, *rest: Any) -> None:
        rules = tuple(rule for rule in stratum.rules if rule.group is None)
        super().__init__(Stratum(stratum.relations, rules, True), *rest)
        grouping = [rule for rule in stratum.rules if rule.group is not None]
        self._groups = {rule.head.relation: _LevelGroup(rule, *rest) for rule in grouping}
        self._turns: list[list[Turn]] = []
        self.levels = 0

    @property
    def groups(self) -> tuple[str, ...]:
        """The relations that are groups."""
        return tuple(self._groups)

    def derive_levels(self, facts: Mapping[str, Words], turns: list[list[Turn]]) -> None:
        """Derives all rows; `turns` are the groups of each level."""
        self._turns, self.levels = turns[::-1], 0
        self.derive(facts)

    def stored(self, keys: KeyRows) -> dict[str, StoredRows]:
        """Returns the rows with their depths."""
        found = {}
        for name in self.relations:
            store = self.catalog.stores[self.numbers[name]]
            lines = store.lines()
            depths = np.zeros(int(store.line[k.USED]), dtype=np.int32)
            depths[lines] = keys.depths_of(name, store.columns_of(lines))
            found[name] = StoredRows(store, depths)
        return found

    def _prepare(self, active: Mapping[int, int], wave: int = 0) -> None:
        super()._prepare(active, wave)
        for group in self._groups.values():
            if group.keys:
                self.catalog.stores[group.members].arrange(group.keys)

    def _run_in_python(self, control: Words, *, every: bool = False) -> None:
        """Ends a wave: runs what Python has to run, and the groups of the next level when no row waits."""
        super()._run_in_python(control, every=every)
        while self._turns and not self.catalog.S[self._inside, k.PENDING_COUNT].any():
            self.levels += 1
            for name, keys in self._turns.pop():
                group = self._groups[name]
                self.watch.look(group.rule)
                with self.costs.measured(group.rule):
                    self.insert(self.numbers[name], group.rows(keys))
                self.costs.emitted += len(keys)


class _LevelGroup(AggregateStratum):
    """One group of the stratum, made of all members of some keys."""

    def __init__(self, rule: Rule, *rest: Any) -> None:
        super().__init__(Stratum((rule.head.relation,), (rule,), False), *rest)
        assert rule.group is not None
        self.rule = rule
        self.keys = tuple(range(sum(isinstance(term, Variable) for term in rule.group.atom.terms)))
        self.members = self.numbers[rule.group.atom.relation]
        self._room = np.empty((2, 64), dtype=np.int32)

    def rows(self, keys: Words) -> Words:
        """Returns the rows of some keys."""
        rows = np.zeros((len(keys), len(self.rule.head.terms)), dtype=np.int64)
        rows[:, : len(self.keys)] = keys
        lines, codes = self._members_of(rows)
        sizes = np.bincount(codes, minlength=len(rows)).astype(np.int32)
        if not sizes.all():
            raise self._broken()
        self.fill(rows, sizes, codes, lines)
        return rows

    def _members_of(self, rows: Words) -> tuple[Numbers, Numbers]:
        """Returns the lines of the members, and the place of each one's row."""
        store = self.catalog.stores[self.members]
        if not self.keys:
            lines = store.lines().astype(np.int32)
            return lines, np.zeros(len(lines), dtype=np.int32)
        number = self.catalog.arrangement(self.members, self.keys)
        places = np.arange(len(rows), dtype=np.int32)
        while True:
            lines, codes = self._room
            count = int(kernels.read_buckets(self.catalog.S, self.catalog.A, number, rows, places, lines, codes))
            if count <= len(lines):
                return lines[:count], codes[:count]
            self._room = np.empty((2, 2 * count), dtype=np.int32)
