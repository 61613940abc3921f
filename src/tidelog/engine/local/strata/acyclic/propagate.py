"""The change of facts and of lower relations → the change of an acyclic recursion with groups, key by key.

    Uses(car, wheel, 4) deleted:  a member of the group `car` goes, its sum changes, Cost(car, …) is replaced, and so
                                  is the cost of everything that uses a car, each once

Changes wait by depth, and the least deep come first: everything that a row depends on is final when its turn comes. A
row becomes deeper when it gets an instance over a row that is as deep; then the rows that depend on it follow. A row
that would have to become deeper than itself lies on a cycle: `CycleError` ends the propagation.

The result satisfies X = F(X) and has no cycle, and the keys do not depend on the values
(`rules/analysis/fixed_keys.py`), so it is the result of the rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from heapq import heappop, heappush

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.acyclic.rows_below import RowsBelow
from tidelog.engine.local.strata.acyclic.rows_by_depth import RowsByDepth, StoredRows
from tidelog.engine.local.strata.group_by import Grouping
from tidelog.engine.local.strata.row_interpreter import Emit, Interpreter, Run
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.maintain.limits import Watch
from tidelog.maintain.switch import Meter, Progress
from tidelog.plan.statistics import FromSizes
from tidelog.plan.variant import DeltaKind, Variant, deltas, plan_variant
from tidelog.rules.ir import Relation, Rule

Measure = Callable[[Rule], AbstractContextManager[None]]
Facts = Mapping[str, tuple[Iterable[Row], Iterable[Row]]]
"""Relation → input facts to insert, and to delete."""

# A cycle is searched for once an epoch has met so many instances, and so many times those that there were before.
FEW_INSTANCES = 1000
MANY_TIMES = 4

Node = tuple[str, Row]
"""A relation and one of its rows or, for the relation of a group, a key."""
Meet = Callable[[str, Row, int], None]
"""Takes the head of an instance: its relation, its row, and the depth of the deepest row in the body."""


class CycleError(Exception):
    """A row depends on itself. Each node of `path` depends on the one before it, and the first on the last."""

    def __init__(self, path: Sequence[Node]) -> None:
        super().__init__()
        self.path = path


class GivenUpError(Exception):
    """The meter gave an update up."""


class Propagation:
    """The rows of one stratum, and the changes that are still to be made.

    `below` has the relations of lower strata, as they were and as they are, and `after` the same as they are. `stored`
    has the rows of a Bootstrap, if there was one.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        names: Sequence[str],
        relations: Mapping[str, Relation],
        below: Mapping[str, RowsBelow],
        after: Mapping[str, RowsBelow],
        stored: Mapping[str, StoredRows],
        values: Values,
        functions: CompiledFunctions,
        watch: Watch,
        measure: Measure,
    ) -> None:
        self.rows = {name: RowsByDepth(stored.get(name)) for name in names}
        self.instances = 0
        self.size = 0  # the instances of the last time that everything was derived
        self._meter: Meter | None = None
        self._below = below
        self._watch = watch
        self._measure = measure
        groups = [
            _Grouped(rule, Grouping(rule.group, relations, values), self.rows)
            for rule in rules
            if rule.group is not None
        ]
        self._groups = {group.members_name: group for group in groups}
        self._groups_by_head = {group.head: group for group in groups}
        self._meet: Meet = self._insert
        self._started: list[tuple[Rule, Run]] = []
        self._from_below: list[tuple[Variant, Run]] = []
        self._from_inside: dict[str, list[tuple[Rule, Run]]] = {name: [] for name in names}
        during = Interpreter({**below, **self.rows}, values, functions, max, watch.pace)
        at_end = Interpreter({**after, **self.rows}, values, functions, max, watch.pace)
        for rule in rules:
            for delta in deltas(rule) if rule.group is None else ():
                variant = plan_variant(rule, delta, FromSizes(lambda _: 1))
                emit = self._emit_to(rule.head.relation)
                if delta.atom is None:
                    self._started.append((rule, at_end.run(variant, emit)))
                elif delta.atom.relation in self.rows:
                    self._from_inside[delta.atom.relation].append((rule, at_end.run(variant, emit)))
                else:
                    self._from_below.append((variant, during.run(variant, emit)))
        self._clear()

    def begin(self, facts: Facts) -> None:
        """Derives everything from scratch."""
        self._clear()
        for name, (inserted, _) in facts.items():
            for row in inserted:
                self._wait(name, row, 1, 1)
        for rule, run in self._started:
            self._run(rule, run, [((), 1)], self._insert)
        self._propagate()
        self.size = self.instances

    def update(self, facts: Facts, meter: Meter) -> None:
        """Brings the rows to the new epoch, while the meter lets it go on. After CycleError or GivenUpError `roll_back`
        must follow."""
        self._clear()
        self._meter, self._look_at = meter, meter.stride
        meter.begin()
        try:
            self._update(facts)
        finally:
            meter.end(self.instances)
            self._meter = None

    def _update(self, facts: Facts) -> None:
        for name, (inserted, deleted) in facts.items():
            for row in inserted:
                self._wait(name, row, 1, 1)
            for row in deleted:
                self._wait(name, row, -1, 1)
        for variant, run in self._from_below:
            assert variant.delta.atom is not None
            born, dying = self._below[variant.delta.atom.relation].changes()
            if variant.delta.kind is DeltaKind.NEGATIVE:
                born, dying = dying, born
            for emit, rows in ((self._delete, dying), (self._insert, born)):
                if rows:
                    self._run(variant.rule, run, [(row, 1) for row in rows], emit)
        self._propagate()

    @property
    def has_rows(self) -> bool:
        return any(map(len, self.rows.values()))

    def commit(self) -> None:
        """Commits the changes of the epoch."""
        for rows in self.rows.values():
            rows.commit()

    def roll_back(self) -> None:
        """Rolls back the changes of the epoch."""
        for rows in self.rows.values():
            rows.roll_back()

    # Waiting changes

    def _clear(self) -> None:
        self.instances = 0
        self._search_at = FEW_INSTANCES + MANY_TIMES * sum(map(len, self.rows.values()))
        self._changes: dict[str, dict[Row, int]] = {name: {} for name in self.rows}
        self._due: dict[Node, int] = {}
        self._turns: dict[int, dict[str, list[Row]]] = {}
        self._depths: list[int] = []
        self._deeper: list[Node] = []
        self._look_at = 0

    def _wait(self, name: str, row: Row, change: int, depth: int) -> None:
        """Adds to the instances of a row, once everything less deep is final."""
        changes = self._changes[name]
        changes[row] = changes.get(row, 0) + change
        self._schedule(name, row, max(depth, self.rows[name].depth(row)))

    def _schedule(self, name: str, row: Row, depth: int) -> None:
        """Gives a row, or the key of a group, its turn at this depth; one with a later turn keeps it."""
        if self._due.get((name, row), 0) >= depth:
            return
        self._due[(name, row)] = depth
        turn = self._turns.get(depth)
        if turn is None:
            turn = self._turns[depth] = {}
            heappush(self._depths, depth)
        turn.setdefault(name, []).append(row)

    def _propagate(self) -> None:
        """Makes the waiting changes, the least deep first, until there are none."""
        self._follow()
        while self._depths:
            depth = heappop(self._depths)
            for name, rows in self._turns.pop(depth).items():
                # A row may have been given a later turn meanwhile.
                own = [row for row in rows if self._due.get((name, row)) == depth]
                for row in own:
                    del self._due[(name, row)]
                group = self._groups_by_head.get(name)
                if group is None:
                    self._apply(name, own, depth)
                else:
                    self._regroup(group, own, depth)

    def _apply(self, name: str, rows: Iterable[Row], depth: int) -> None:
        """Applies the waiting changes of some rows of a relation."""
        table, changes = self.rows[name], self._changes[name]
        inserted: list[Row] = []
        deleted: list[Row] = []
        for row in rows:
            change = changes.pop(row, 0)
            if change:
                total = table.total(row) + change
                table.set_total(row, total)
                if total and not table.depth(row):
                    inserted.append(row)
                elif not total:
                    deleted.append(row)
        self._exchange(name, inserted, deleted, depth)

    def _regroup(self, group: _Grouped, keys: Sequence[Row], depth: int) -> None:
        """Makes the groups of some keys again; their members are less deep than this."""
        inserted: list[Row] = []
        deleted: list[Row] = []
        self._watch.look(group.rule)
        self.instances += len(keys)
        pace = self._watch.pace(group.rule)
        with self._measure(group.rule):
            for key in keys:
                pace()
                members = group.members.rows_with(group.keys, key)
                old = next(iter(group.rows.rows_with(group.keys, key)), None)
                new = group.grouping.row([(member, 1) for member in members]) if members else None
                if old == new:
                    if new is not None and group.rows.depth(new) < depth:
                        self._deepen(group.head, new, depth)
                    continue
                if old is not None:
                    group.rows.set_total(old, 0)
                    deleted.append(old)
                if new is not None:
                    group.rows.set_total(new, 1)
                    inserted.append(new)
        self._exchange(group.head, inserted, deleted, depth)

    def _exchange(self, name: str, inserted: list[Row], deleted: list[Row], depth: int) -> None:
        """Deletes and inserts rows, and runs the rules that read them."""
        table, group = self.rows[name], self._groups.get(name)
        if deleted:
            table.begin_batch(deleted, inserting=False)
            self._run_rules(name, [(row, table.depth(row)) for row in deleted], self._delete)
            table.end_batch()
            for row in deleted:
                table.remove(row)
        if inserted:
            for row in inserted:
                table.set_depth(row, depth)
            table.begin_batch(inserted, inserting=True)
            self._run_rules(name, [(row, depth) for row in inserted], self._insert)
            table.end_batch()
        if group is not None:
            for row in (*deleted, *inserted):
                self._schedule(group.head, group.key_of(row), max(depth + 1, group.depth_of(row)))
        self._follow()

    # Rows that become deeper

    def _deepen(self, name: str, row: Row, depth: int) -> None:
        """Makes a present row deeper; `_follow` makes those that depend on it deeper, too."""
        self.rows[name].set_depth(row, depth)
        self._deeper.append((name, row))

    def _follow(self) -> None:
        while self._deeper:
            name, row = self._deeper.pop()
            depth = self.rows[name].depth(row)
            if not depth:
                continue
            if (name, row) in self._due:
                self._schedule(name, row, depth)
            self._run_rules(name, [(row, depth)], self._deepen_head)
            group = self._groups.get(name)
            if group is not None:
                key = group.key_of(row)
                if (group.head, key) in self._due:
                    self._schedule(group.head, key, depth + 1)
                for own, known in list(group.rows.rows_with(group.keys, key).items()):
                    if known <= depth:
                        self._deepen(group.head, own, depth + 1)

    # Cycles

    def _require_no_cycle(self) -> None:
        """Raises CycleError if a row depends on itself, over all rows."""
        done: set[Node] = set()
        for name, rows in self.rows.items():
            for row in rows.all_rows():
                self._search(self._node(name, row), done)

    def _search(self, start: Node, done: set[Node]) -> None:
        """Goes through everything that depends on a node; adds it to `done`."""
        path: dict[Node, list[Node]] = {}
        if start not in done:
            path[start] = self._dependents(start)
        while path:
            here, ways = next(reversed(path.items()))
            if not ways:
                done.add(here)
                del path[here]
                continue
            there = ways.pop()
            if there in path:
                nodes = list(path)
                raise CycleError(nodes[nodes.index(there) :])
            if there not in done:
                path[there] = self._dependents(there)

    def _dependents(self, node: Node) -> list[Node]:
        """Returns the nodes with an instance over this one."""
        name, row = node
        group = self._groups_by_head.get(name)
        rows = [row] if group is None else list(group.rows.rows_with(group.keys, row))
        found: list[Node] = []

        def note(head: str, other: Row, _: int) -> None:
            found.append(self._node(head, other))

        self._search_at, before = 1 << 62, self._search_at
        for each in rows:
            self._run_rules(name, [(each, 1)], note)
        self._search_at = before
        if (behind := self._groups.get(name)) is not None:
            found.append((behind.head, behind.key_of(row)))
        return found

    def _node(self, name: str, row: Row) -> Node:
        group = self._groups_by_head.get(name)
        return (name, row if group is None else group.key_of(row))

    # Rules

    def _run_rules(self, name: str, rows: list[tuple[Row, int]], meet: Meet) -> None:
        for rule, run in self._from_inside[name]:
            self._run(rule, run, rows, meet)

    def _run(self, rule: Rule, run: Run, rows: list[tuple[Row, int]], meet: Meet) -> None:
        """Runs one variant of a rule on some rows."""
        self._meet = meet
        self._watch.look(rule)
        with self._measure(rule):
            run(rows)
        self._look()

    def _look(self) -> None:
        """Searches for a cycle, or gives the update up, where it has met many instances."""
        if self.instances > self._search_at:
            self._require_no_cycle()
            self._search_at = MANY_TIMES * self.instances
        if self._meter is not None and self.instances > self._look_at:
            self._look_at = self.instances + self._meter.stride
            rows = sum(map(len, self.rows.values()))
            if not self._meter.goes_on(Progress(self.instances, 0, 0, len(self._due), rows)):
                raise GivenUpError

    def _emit_to(self, name: str) -> Emit:
        def emit(row: Row, depth: int) -> None:
            self.instances += 1
            self._meet(name, row, depth)

        return emit

    def _insert(self, name: str, row: Row, depth: int) -> None:
        self._wait(name, row, 1, depth + 1)
        self._deepen_head(name, row, depth)

    def _delete(self, name: str, row: Row, depth: int) -> None:
        self._wait(name, row, -1, depth + 1)

    def _deepen_head(self, name: str, row: Row, depth: int) -> None:
        """Makes the head of an instance deeper than its body, present or about to be."""
        known = self.rows[name].depth(row)
        if 0 < known <= depth:
            self._deepen(name, row, depth + 1)
        elif (name, row) in self._due:
            self._schedule(name, row, depth + 1)


class _Grouped:
    """A group of the stratum: the rule that makes it, and the rows that it reads and makes."""

    def __init__(self, rule: Rule, grouping: Grouping, rows: Mapping[str, RowsByDepth]) -> None:
        assert rule.group is not None
        self.rule = rule
        self.grouping = grouping
        self.keys = grouping.keys
        self.head = rule.head.relation
        self.members_name = rule.group.atom.relation
        self.rows = rows[self.head]
        self.members = rows[self.members_name]

    def key_of(self, row: Row) -> Row:
        return row[: len(self.keys)]

    def depth_of(self, member: Row) -> int:
        """Returns the depth of the group of a member; 0 if there is none yet."""
        return max(self.rows.rows_with(self.keys, self.key_of(member)).values(), default=0)
