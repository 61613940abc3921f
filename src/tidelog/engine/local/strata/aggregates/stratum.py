"""A stratum of aggregates: the changed members of all groups → the changed rows, by kernels over whole arrays.

A group is a row of its relation and an entry in a table (`group_table`); there is no object for it. An epoch numbers
the groups of its inserted and deleted members, and changes counts and totals by what these add; a minimum or maximum is
compared with the inserted members. Values that several members have are counted (`value_counts`). Only a group that
loses its best member is read again, as are groups whose totals do not follow from the change: exact sums. A large group
that would be read again gets a state instead (`group_state`), in which a change costs O(log n). Functions that need all
values of a group in Python run once for each touched group.

Members that are all columns of a relation are read there, and groups that are the rows of a relation are written there
(`rules/analysis/copies`): then neither has a relation of its own.

States and table hold nothing that is stored: they are built when a group is first changed, from its members, so a
database that was opened, or loaded in a task, pays only for the groups that change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.kernels import aggregate as kernels
from tidelog.engine.local.kernels import entry_points, exact_sums
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.aggregates.columns import Columns, Partial
from tidelog.engine.local.strata.aggregates.group_state import Done, GroupState, Shape
from tidelog.engine.local.strata.aggregates.group_table import GroupTable, Numbers
from tidelog.engine.local.strata.aggregates.instructions import Flags, Instructions, Kept, wrapped
from tidelog.engine.local.strata.aggregates.small_group import SumOverflowError
from tidelog.engine.local.strata.aggregates.value_counts import ValueCounts
from tidelog.engine.local.strata.aggregates.wide_sums import add_halves
from tidelog.engine.local.strata.group_by import Grouping, GroupStratum
from tidelog.engine.local.strata.materialized import Facts
from tidelog.maintain.switch import Meter
from tidelog.plan.aggregate_ways import Way
from tidelog.rules.analysis.copies import Copies
from tidelog.rules.ir import Group, Rule
from tidelog.types import FloatType
from tidelog.values.exact_sum import ExactSum

KEPT_FROM = 1024
"""A group with so many members that must be read again gets a state; it loses it with less than a quarter of them."""

KEPT_IN_PYTHON_FROM = 32
"""The same, for a group whose aggregates need its values in Python."""

REBUILD_FROM = 0.5
"""From this share of a group on, a change rebuilds the state instead of updating it."""

Places = npt.NDArray[np.intp]


class AggregateStratum(GroupStratum):
    """The aggregates of the groups of a set."""

    _table: GroupTable | None = None
    _copies = Copies()
    _places: Places = np.empty(0, dtype=np.intp)  # of the groups with a new row, among the touched ones

    @cached_property
    def _states(self) -> dict[Row, GroupState]:
        return {}

    @cached_property
    def _done(self) -> dict[Row, Done | None]:
        """Returns the changes that this epoch made to states; None for a state that it built."""
        return {}

    def without(self, copies: Copies) -> None:
        """Uses the relations that have the rows of these copies; called before the first epoch."""
        self._copies = copies
        if copies.places:
            members, _ = self._numbers
            names = {number: name for name, number in self.numbers.items()}
            self.plans.read_besides(self.stratum.rules, {members: names[members]})

    @cached_property
    def _rule(self) -> tuple[Rule, Group]:
        rule = self._copies.grouping.get(self.relations[0]) or self.stratum.rules[0]
        assert rule.group is not None
        return rule, rule.group

    @cached_property
    def _grouping(self) -> Grouping:
        return Grouping(self._rule[1], self.program.relations, self.values)

    @cached_property
    def _numbers(self) -> tuple[int, int]:
        """Returns the numbers of the relations that have the members and the groups."""
        name = self._rule[1].atom.relation
        copy = self._copies.places.get(name)
        return self.numbers[name if copy is None else copy.of], self.relation_numbers[0]

    @cached_property
    def _order(self) -> tuple[int, ...]:
        """Returns the columns of the relation that has the members in the order in which the rule has them."""
        name = self._rule[1].atom.relation
        copy = self._copies.places.get(name)
        return tuple(range(len(self.program.relations[name].columns))) if copy is None else copy.columns

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self._rule[0], self.program, self.values, self.catalog)

    @cached_property
    def _instructions(self) -> Instructions:
        aggregates = self._rule[1].aggregates
        assert aggregates is not None
        return Instructions(aggregates, self._columns)

    @cached_property
    def _shape(self) -> Shape:
        group = self._rule[1]
        assert group.aggregates is not None
        types = self._columns.types[self._columns.first_part :]
        return Shape(group.aggregates, types, self.values, finer=group.finer > 0)

    @cached_property
    def _is_read_again(self) -> bool:
        """True if a touched group must always be read again: its values do not follow from those before."""
        instructions = self._instructions
        return instructions.is_whole or instructions.is_exact

    @cached_property
    def _counts_values(self) -> bool:
        """True if it matters how many members have a value: for counts and totals, but not for an order."""
        ways = {kept.way for kept in self._instructions.kept}
        return self._shape.is_distinct and not self._is_read_again and bool(ways & {Way.COUNT, Way.TOTAL, Way.WIDE})

    def _has_only_facts(self) -> bool:
        return True

    @cached_property
    def _is_in_order(self) -> bool:
        return self._order == tuple(range(len(self._order)))

    @property
    def _stores(self) -> tuple[Store, Store]:
        stores = self.catalog.stores
        members, groups = self._numbers
        return stores[members], stores[groups]

    def _rows_of(self, lines: Numbers) -> Words:
        """Returns members, given by their lines, with their columns in the order of the rule."""
        members, _ = self._stores
        return members.columns_of(lines) if self._is_in_order else members.columns_in_order(lines, self._order)

    # One epoch

    def update(self, meter: Meter) -> bool:
        done = super().update(meter)
        if done and self.facts:
            self._link()
        return done

    def derive(self) -> Facts:
        rule, _ = self._rule
        with self.guarded(rule), self.costs.measured(rule):
            return self._derive(rule)

    def _derive(self, rule: Rule) -> Facts:
        members, groups = self._stores
        self.starts_over = self.is_new or not len(groups)
        inserted, deleted = members.inserted_lines(), members.deleted_lines()
        if self.starts_over:
            if self.is_new or len(inserted) + len(deleted) < len(members):
                inserted = members.present_lines().astype(np.int32)
            deleted = deleted[:0]
            self._states.clear()
            self._table = self._new_table()
            touched = self._table.start(inserted)
        else:
            if self._table is None:
                self._table = self._new_table()
                self._table.adopt()
                if self._table.values is not None:
                    self._table.values.start(self._value_words(self._rows_of(self._table.members_before())))
            touched = self._table.touch(inserted, deleted)
        if not len(touched):
            return {}
        self.watch.look(rule)
        old, sizes = self._table.read(groups.columns), self._table.sizes()
        if self.starts_over:
            self.fill(old, sizes, touched.codes, inserted, self._table.values)
            self._places = np.arange(len(old))
            return {groups.relation: (old, old[:0])}
        rows = old.copy()
        self._change(rows, old, sizes, inserted, deleted)
        there, is_old = sizes > 0, touched.is_old
        changed = (rows != old).any(axis=1)
        self._places = (there & (changed | ~is_old)).nonzero()[0]
        gone = (is_old & (changed | ~there)).nonzero()[0]
        if not len(self._places) and not len(gone):
            return {}
        return {groups.relation: (rows[self._places], old[gone])}

    def _new_table(self) -> GroupTable:
        keys = self._order[: self._columns.keys]
        is_read = bool(keys) and (self._is_read_again or self._instructions.bests > 0)
        table = GroupTable(self.catalog, *self._numbers, keys, lists=is_read)
        if self._counts_values:
            table.values = ValueCounts(self._columns.keys + len(self._columns.types) - self._columns.first_part)
        return table

    def _value_words(self, rows: Words) -> Words:
        """Returns the keys and the values of members."""
        columns = self._columns
        return np.concatenate([rows[:, : columns.keys], rows[:, columns.first_part : len(columns.types)]], axis=1)

    def _link(self) -> None:
        """Notes the new rows of the groups that this epoch has changed."""
        assert self._table is not None
        _, groups = self._stores
        rows = self.facts[groups.relation][0]
        if self.starts_over and groups.line[k.USED] == len(rows):
            lines = np.arange(len(rows))
        else:
            lines = np.empty(len(rows), dtype=np.int64)
            entry_points.look_up_many(self.catalog.S, groups.relation, np.ascontiguousarray(rows), lines)
        self._table.link(self._places, lines)
        groups.beside = self._table

    def resume(self, given: Mapping[str, dict[tuple[int, ...], int]]) -> None:
        super().resume(given)
        if self.relations[0] not in self._copies.grouping:
            return
        # An earlier version of Tidelog derived these rows by a rule of their own.
        _, groups = self._stores
        lines = groups.lines()
        metas = groups.rows[lines, groups.columns + k.META]
        derived = lines[metas & k.INPUT_BIT == 0]
        groups.rows[derived, groups.columns + k.META] = k.INPUT_BIT

    def commit(self) -> None:
        super().commit()
        for key in self._done:
            state = self._states.get(key)
            if state is not None and state.size < self._kept_from // 4:
                del self._states[key]
        self._done.clear()
        if self._table is not None:
            self._table.commit()

    def roll_back(self) -> None:
        super().roll_back()
        for key, done in self._done.items():
            if done is None:
                self._states.pop(key, None)
            elif key in self._states:
                self._states[key].undo(done)
        self._done.clear()
        if self.starts_over:
            self._table = None
        elif self._table is not None:
            self._table.roll_back()

    # All groups from their members

    def fill(
        self, rows: Words, sizes: Numbers, codes: Numbers, lines: Numbers, values: ValueCounts | None = None
    ) -> None:
        """Writes the aggregates of all groups into their rows: `codes` has the group of each member in `lines`.

        If `values` are given, which are empty, they are counted.
        """
        members, _ = self._stores
        rule, _ = self._rule
        if self._instructions.is_whole:
            self._fill_in_python(rows, codes, self._rows_of(lines))
            return
        used = int(members.line[k.USED])
        order = None
        if not self._columns.are_computed and not self._shape.is_distinct and len(lines) * 2 > used:
            # The rows themselves, with codes in all lines: most of them are wanted, so to copy them would cost more.
            wave, wanted, order = members.rows[:used], codes, self._order
            codes = np.full(used, -1, dtype=np.int32)
            codes[lines] = wanted
        else:
            wave = self._rows_of(lines)
        if self._shape.is_distinct:
            first = self._first_with_value(wave, codes) if values is None else values.start(self._value_words(wave))
            places = np.flatnonzero(first)
            wave, codes = wave[places], codes[places]
            sizes = np.bincount(codes, minlength=len(rows)).astype(np.int32)
        wave = self._columns.of(wave, self.watch.pace(rule))
        found = self._instructions.run(
            wave, codes, len(codes), len(rows), None, self._thread_pool, lambda: self.watch.look(rule), order
        )
        for column, kept_here in self._kept():
            match kept_here.way:
                case Way.COUNT:
                    rows[:, column] = sizes
                case Way.TOTAL:
                    rows[:, column] = wrapped(found.totals[:, kept_here.place], kept_here.aggregate.variable.type)
                case Way.WIDE:
                    rows[:, column] = self._wide_sums(rows, None, found.totals, kept_here)
                case Way.BEST:
                    rows[:, column] = self._values_at(wave, found.best[:, kept_here.place], kept_here, order)
                case _:
                    numbers = kept_here.column if order is None else order[kept_here.column]
                    rows[:, column] = self._exact_sums(wave[:, numbers], codes, len(rows), kept_here)

    def _first_with_value(self, wave: Words, codes: Numbers) -> Flags:
        """Marks the first of all members with the same value, in each group."""
        first = np.empty(len(wave), dtype=np.uint8)
        slots = np.zeros(2 * len(wave), dtype=np.int64)
        parts = np.ascontiguousarray(wave[:, self._columns.first_part : len(self._columns.types)])
        kernels.mark_first(parts, codes, slots, first)
        return first

    def _kept(self) -> Iterator[tuple[int, Kept]]:
        """Yields the aggregates with the columns of their results."""
        return enumerate(self._instructions.kept, self._columns.keys)

    def _values_at(self, wave: Words, lines: Numbers, kept: Kept, order: Sequence[int] | None = None) -> Words:
        """Returns the words of the values in some lines, whose columns may have another order."""
        if kept.column >= 0:
            words: Words = wave[lines, kept.column if order is None else order[kept.column]]
            return words
        places = range(self._columns.first_part, len(self._columns.types))
        columns = np.array([place if order is None else order[place] for place in places], dtype=np.int64)
        parts = wave[np.ix_(lines, columns)]
        made = self.values.tuple_ids(parts, self._shape.types, kept.aggregate.variable.type)
        return self.values.encode(self._shape.decode(parts), kept.aggregate.variable.type) if made is None else made

    def _wide_sums(self, rows: Words, old: Words | None, totals: Words, kept: Kept) -> Words:
        """Returns exact sums, by group. Raises SumOverflowError for the first one that its type does not hold."""
        type_ = kept.aggregate.variable.type
        words, overflows = add_halves(old, totals[:, kept.totals], type_)
        if overflows.any():
            key = tuple(rows[int(np.argmax(overflows)), : self._columns.keys].tolist())
            raise SumOverflowError(type_, self._grouping.key_values(key))
        return words

    def _exact_sums(self, bits: Words, codes: Numbers, groups: int, kept: Kept) -> Words:
        """Returns the exact sums of floating-point numbers, by group."""
        numbers = np.ascontiguousarray(bits).view(np.float64)
        type_ = kept.aggregate.variable.type
        assert isinstance(type_, FloatType)
        order, ends = _places_by_code(codes, groups)
        sums, left = np.empty(groups, dtype=np.float64), np.zeros(groups, dtype=np.uint8)
        parts, bits = np.empty(exact_sums.MOST_PARTS, dtype=np.float64), np.empty(1, dtype=np.int64)
        exact_sums.sum_exactly(numbers, order, ends, int(type_.width == 32), parts, bits, sums, left)
        made = sums.tolist()
        for group in np.flatnonzero(left).tolist():
            own = numbers[order[ends[group] : ends[group + 1]]]
            made[group] = ExactSum(own.tolist()).rounded(type_.width)
        return self.values.encode(made, type_)

    def _fill_in_python(self, rows: Words, codes: Numbers, members: Words) -> None:
        pace = self.watch.pace(self._rule[0])
        for place, lines in enumerate(_by_code(codes, len(rows))):
            pace()
            row = self._grouping.row([(tuple(member), 1) for member in members[lines].tolist()])
            assert row is not None
            rows[place] = row

    # Touched groups from what has changed

    @property
    def _kept_from(self) -> int:
        return KEPT_IN_PYTHON_FROM if self._instructions.is_whole else KEPT_FROM

    def _change(self, rows: Words, old: Words, sizes: Numbers, inserted: Numbers, deleted: Numbers) -> None:
        """Brings the rows of the touched groups to this epoch."""
        assert self._table is not None
        codes = self._table.touched.codes
        changed = self._rows_of(np.concatenate([inserted, deleted]))
        again = np.ones(len(rows), dtype=np.bool_)
        if self._table.values is not None:
            words = self._value_words(changed)
            turned = np.flatnonzero(self._table.values.change(words[: len(inserted)], words[len(inserted) :]))
            count = int(np.searchsorted(turned, len(inserted)))
            again = self._add(rows, old, sizes, changed[turned], codes[turned], count)
        elif not self._is_read_again:
            again = self._add(rows, old, sizes, changed, codes, len(inserted))
        again &= sizes > 0
        if self._states:
            self._change_states(rows, sizes, changed, codes, len(inserted), again)
        if not again.any():
            return
        large = again & (sizes >= self._kept_from)
        for place in np.flatnonzero(large).tolist():
            self._build_state(rows, place, sizes)
        small = np.flatnonzero(again & ~large)
        if len(small):
            self._read_again(rows, small, sizes)

    def _add(
        self, rows: Words, old: Words, sizes: Numbers, changed: Words, codes: Numbers, inserted: int
    ) -> npt.NDArray[np.bool_]:
        """Adds what changed members change; returns which groups lost a best member, and must be read again."""
        assert self._table is not None
        rule, _ = self._rule
        bests = [(column, each) for column, each in self._kept() if each.way is Way.BEST]
        before, wave, partial = None, changed, list[Partial]()
        if bests:
            before = np.full((len(rows), len(bests)), -1, dtype=np.int32)
            is_old = self._table.touched.is_old.nonzero()[0]
            parts = [wave]
            for number, (column, kept) in enumerate(bests):
                start = len(changed) + number * len(is_old)
                before[is_old, kept.place] = np.arange(start, start + len(is_old))
                parts.append(self._as_members(old[is_old], column, kept))
                partial.append((start, start + len(is_old), kept.compared))
            wave = np.concatenate(parts)
        wave = self._columns.of(wave, self.watch.pace(rule), partial)
        found = self._instructions.run(
            wave, codes, inserted, len(rows), before, self._thread_pool, lambda: self.watch.look(rule)
        )
        for column, kept in self._kept():
            if kept.way is Way.COUNT and self._counts_values:
                new, gone = (np.bincount(each, minlength=len(rows)) for each in (codes[:inserted], codes[inserted:]))
                rows[:, column] = old[:, column] + new - gone
            elif kept.way is Way.COUNT:
                rows[:, column] = sizes
            elif kept.way is Way.WIDE:
                before_this = np.where(self._table.touched.is_old, old[:, column], 0)
                rows[:, column] = self._wide_sums(rows, before_this, found.totals, kept)
            elif kept.way is Way.TOTAL:
                total = old[:, column] + found.totals[:, kept.place]
                rows[:, column] = wrapped(total, kept.aggregate.variable.type)
            else:
                assert before is not None
                best = found.best[:, kept.place]
                better = (best != before[:, kept.place]).nonzero()[0]
                if len(better):
                    rows[better, column] = self._values_at(wave, best[better], kept)
        lost: npt.NDArray[np.bool_] = found.lost != 0
        return lost

    def _as_members(self, old: Words, column: int, kept: Kept) -> Words:
        """Returns members of groups that have the values in a column of the groups' rows, as far as these say."""
        columns = self._columns
        made = np.zeros((len(old), len(columns.types)), dtype=np.int64)
        made[:, : columns.keys] = old[:, : columns.keys]
        if kept.column >= 0:
            made[:, kept.column] = old[:, column]
            return made
        values = self.values.decode(old[:, column].copy(), kept.aggregate.variable.type)
        for part, type_ in enumerate(columns.types[columns.first_part :]):
            made[:, columns.first_part + part] = self.values.encode([value[part] for value in values], type_)
        return made

    def _read_again(self, rows: Words, places: Places, sizes: Numbers) -> None:
        """Computes the aggregates of some touched groups from all their members."""
        lines, codes = self._lines_of(places, sizes)
        some = rows[places]
        self.fill(some, sizes[places], codes, lines)
        rows[places] = some

    def _lines_of(self, places: Places, sizes: Numbers) -> tuple[Numbers, Numbers]:
        """Returns the present members of the groups at some places, and the number of each one's place."""
        assert self._table is not None
        if self._columns.keys:
            return self._table.members_of(places, int(sizes[places].sum()))
        members, _ = self._stores
        lines = members.present_lines().astype(np.int32)
        return lines, np.zeros(len(lines), dtype=np.int32)

    # States of large groups

    def _change_states(
        self,
        rows: Words,
        sizes: Numbers,
        changed: Words,
        codes: Numbers,
        inserted: int,
        again: npt.NDArray[np.bool_],
    ) -> None:
        """Updates the states of touched groups and takes their rows from them; those are not read again."""
        keys = self._columns.keys
        with_state = [
            (place, key) for place, key in enumerate(map(tuple, rows[:, :keys].tolist())) if key in self._states
        ]
        if not with_state:
            return
        new, gone = _by_code(codes[:inserted], len(rows)), _by_code(codes[inserted:], len(rows))
        for place, key in with_state:
            again[place] = False
            state = self._states[key]
            added, removed = changed[:inserted][new[place]], changed[inserted:][gone[place]]
            is_large = len(added) + len(removed) > REBUILD_FROM * state.size
            done = None if is_large else state.change(added, removed)
            if done is None:
                # The change is large, or a function of the program gave another value, so that an entry is not found.
                del self._states[key]
                again[place] = bool(sizes[place])
                continue
            self._done[key] = done
            if sizes[place]:
                rows[place, keys:] = state.results()

    def _build_state(self, rows: Words, place: int, sizes: Numbers) -> None:
        keys = self._columns.keys
        key = tuple(rows[place, :keys].tolist())
        members = self._rows_of(self._lines_of(np.array([place]), sizes)[0])
        state = GroupState(self._shape, self._grouping.key_values(key), members)
        self._states[key] = state
        self._done[key] = None
        rows[place, keys:] = state.results()


def _by_code(codes: Numbers, groups: int) -> list[Words]:
    """Returns the places of each code, in order."""
    order, ends = _places_by_code(codes, groups)
    return [order[start:end] for start, end in pairwise(ends.tolist())]


def _places_by_code(codes: Numbers, groups: int) -> tuple[Words, Words]:
    """Returns the places of all codes in the order of the codes, and where those of each code begin."""
    order = np.argsort(codes, kind="stable")
    return order, np.searchsorted(codes[order], np.arange(groups + 1))
