"""Recursive rules → nests for the new rows of each literal, in the cheapest order by measured list lengths.

In place of one nest that goes from each prefix through all rows, a rule may run once for each literal of its stratum:
the literal reads new rows, those before it old rows, those behind it all rows. If the literal has the prefix among its
columns, only the prefixes of new rows are visited. Else the nest begins with jobs (`kernels/row_jobs`): from the ids in
one column of the new rows, through some literals, to the prefix.

The lists that a literal opens are as long, on average, as a join of two columns says: the numbers of rows by id in the
column that binds a variable, times those in the column that it looks up. That takes skew into account. All orders of a
few literals are compared, else those that begin with short lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.row_domains import Ids
from tidelog.engine.local.execution.row_wise_plan import Order
from tidelog.engine.local.execution.row_wise_rules import DeltaMaker, NestMaker, Planner
from tidelog.engine.local.kernels import row_wise as kernels
from tidelog.rules.ir import Atom, Constant, Rule, Variable

# The part of rows that is taken to be new.
NEW_PART = 0.1
# What it costs to open a list, to go on from an entry, to count an entry of a last list, to make a job.
OPEN, ENTRY, COUNTED, JOB = 2.0, 4.0, 0.5, 10.0
FEW_LITERALS = 5
_Source = tuple[str, int] | None  # the column that bound a variable; None for the prefix


class RowCounts:
    """How many rows have each id, in each column that has ids."""

    def __init__(self, ids: Mapping[tuple[str, int], Ids], sizes: Mapping[tuple[str, int], int]) -> None:
        self._ids = ids
        self._sizes = sizes
        self._counts: dict[tuple[str, int], Words] = {}
        self._means: dict[tuple[tuple[str, int], tuple[str, int]], float] = {}

    def rows(self, column: tuple[str, int]) -> int:
        return max(len(self._ids[column]), 1)

    def by_id(self, column: tuple[str, int]) -> Words:
        if column not in self._counts:
            self._counts[column] = np.bincount(self._ids[column], minlength=self._sizes[column])
        return self._counts[column]

    def length(self, column: tuple[str, int], source: _Source) -> float:
        """Returns the mean number of rows with the id of a column, over the rows of `source`, or over all such ids."""
        own = self.by_id(column)
        if source is None:
            return self.rows(column) / max(int(np.count_nonzero(own)), 1)
        if (column, source) not in self._means:
            # Not `np.dot`: the threads that it wakes spin for a while, on the processors of ours.
            total = float(np.einsum("i,i", own.astype(np.float64), self.by_id(source)))
            self._means[column, source] = total / self.rows(source)
        return self._means[column, source]


@dataclass(slots=True)
class _Found:
    """An order of literals. The first `split` of them lead to the prefix, from the variable `begin` on."""

    order: tuple[int, ...]
    split: int
    begin: tuple[str, int] | None  # variable, column


class DeltaPlanner:
    """Makes the delta nests of the rules of a stratum."""

    def __init__(self, planner: Planner, counts: RowCounts) -> None:
        self._planner = planner
        self._counts = counts
        self._jobs = count(1)

    def __call__(self, rule: Rule, prefix: int) -> tuple[DeltaMaker, ...]:
        """Returns a nest for each literal of the stratum; nothing if one of them does not lead to the prefix."""
        inside = [place for place, atom in enumerate(rule.positives) if atom.relation in self._planner.inside]
        found = []
        for new in inside:
            reads = {
                place: kernels.READS_OLD if place < new else kernels.READS_ALL
                for place in range(len(rule.positives))
                if place != new
            }
            for place, atom in enumerate(rule.positives):
                if atom.relation not in self._planner.inside:
                    reads[place] = kernels.READS_ALL
            reads[new] = kernels.READS_NEW
            made = self._make(rule, prefix, new, reads)
            if made is None:
                return ()
            found.append(made)
        return tuple(found)

    def _make(self, rule: Rule, prefix: int, new: int, reads: Mapping[int, int]) -> DeltaMaker | None:
        term = rule.head.terms[prefix]
        found = _Search(self._counts, rule, new, term.name if isinstance(term, Variable) else None).run()
        if found is None:
            return None
        maker = NestMaker(self._planner, rule, prefix)
        path: NestMaker | None = None
        order: Order | None = None
        atom = rule.positives[new]
        gate = drivers = (-1, -1)
        number = self._planner.numbers[atom.relation]
        if found.begin is not None:
            name, column = found.begin
            drivers = number, column
            path = NestMaker(self._planner, rule, prefix, (name, atom, column))
            for place in found.order[: found.split]:
                path.open(place, reads[place])
            names = path.end_with_job()
            words = tuple(((at, 1),) for at in range(len(names)))
            space = self._planner.column(rule.head.relation, prefix)[1]
            order = Order(-next(self._jobs), ((0, 1),), words, space, False)
            maker.continue_from(path, order, names)
        elif isinstance(term, Variable):
            gate = number, atom.terms.index(term)
        for place in found.order[found.split :]:
            maker.open(place, reads[place])
        if not maker.is_complete:
            return None
        return DeltaMaker(maker, gate if gate[1] >= 0 else None, path, drivers, order)


class _Search:
    """Looks for the cheapest order of the literals of a rule, one of which reads new rows."""

    def __init__(self, counts: RowCounts, rule: Rule, new: int, prefix: str | None) -> None:
        self._counts = counts
        self._atoms = rule.positives
        self._new = new
        self._prefix = prefix
        self._width = len(self._atoms) if len(self._atoms) <= FEW_LITERALS else 2
        self._cheapest = float("inf")
        self._found: _Found | None = None

    def run(self) -> _Found | None:
        atom = self._atoms[self._new]
        every = tuple(range(len(self._atoms)))
        names = _variables(atom)
        if self._prefix is None or self._prefix in names:
            bound: dict[str, _Source] = {} if self._prefix is None else {self._prefix: None}
            self._continue(bound, every, 1.0, 0.0, (), 0, None)
            return self._found
        for name, column in names.items():
            source = atom.relation, column
            drivers = max(int(np.count_nonzero(self._counts.by_id(source))) * NEW_PART, 1.0)
            self._continue({name: source}, every, drivers, 0.0, (), -1, (name, column))
        return self._found

    def _continue(
        self,
        bound: Mapping[str, _Source],
        left: Sequence[int],
        matches: float,
        cost: float,
        order: tuple[int, ...],
        split: int,
        begin: tuple[str, int] | None,
    ) -> None:
        """Tries the literals that may follow; `split` is -1 until the prefix is known."""
        if cost >= self._cheapest:
            return
        if not left:
            if split >= 0:
                self._cheapest, self._found = cost, _Found(order, split, begin)
            return
        connected = [place for place in left if not bound or _variables(self._atoms[place]).keys() & bound.keys()]
        if not connected and split >= 0:
            connected = list(left)
        lengths = sorted((self._length(place, bound), place) for place in connected)
        for length, place in lengths[: self._width]:
            names = _variables(self._atoms[place])
            entries = matches * length
            is_last = len(left) == 1 and split >= 0
            more = matches * OPEN + entries * (COUNTED if is_last else ENTRY)
            relation = self._atoms[place].relation
            known = {**{name: (relation, column) for name, column in names.items()}, **bound}
            now = split
            if split < 0 and self._prefix in known:
                now = len(order) + 1
                more += entries * JOB
            others = [each for each in left if each != place]
            self._continue(known, others, entries, cost + more, (*order, place), now, begin)

    def _length(self, place: int, bound: Mapping[str, _Source]) -> float:
        """Returns how many entries of a literal's list there are, on average, given what is bound."""
        atom = self._atoms[place]
        lengths = []
        rows = 1.0
        for column, term in enumerate(atom.terms):
            if not isinstance(term, Variable | Constant):
                continue
            key = atom.relation, column
            rows = self._counts.rows(key)
            if isinstance(term, Constant):
                lengths.append(self._counts.length(key, None))
            elif term.name in bound:
                lengths.append(self._counts.length(key, bound[term.name]))
        found = rows
        for length in lengths:
            found *= length / rows
        if place != self._new:
            return found
        # Each id that drives has a new row.
        return max(found * NEW_PART, 1.0 if len(lengths) == 1 and self._prefix not in bound else 0.0)


def _variables(atom: Atom) -> dict[str, int]:
    """Returns the variables of an atom, each with its first column."""
    found: dict[str, int] = {}
    for column, term in enumerate(atom.terms):
        if isinstance(term, Variable):
            found.setdefault(term.name, column)
    return found
