"""Changes below a decomposed segment → the buckets that they may meet. All other buckets get no task and no file.

An instance of a rule is in one bucket. If it has a row of the segment, it has one that was there before the epoch, or
one that this epoch inserted into the bucket by another instance. So a bucket changes only if some rule joins a changed
row below with old rows of the bucket. The first of three tests that applies decides:

- the changed literal carries the variable of the pivot: then its value tells the bucket;
- it shares variables with literals on the segment: then the bucket's filters (`key_filters`) tell if rows have them;
- otherwise every bucket may be met, unless the relation of a literal on the segment is empty there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.engine.spark.plans.choose_plan import Segment
from tidelog.engine.spark.plans.tasks.key_filters import KeyFilter, shared_columns
from tidelog.engine.spark.storage.bucket import bucket_of_column, bucket_of_constant
from tidelog.engine.spark.storage.state_files import Bucket, Stored
from tidelog.rules.ir import Atom, Constant, Rule, Variable
from tidelog.values import Definitions

EXAMINED_ROWS = 100_000
"""Larger changes are not examined: they meet every bucket."""

Filters = Callable[[str], Mapping[int, KeyFilter]]
"""The filters in a file."""


@dataclass(frozen=True, slots=True)
class AffectedBuckets:
    """A segment with its stored state, cut into buckets, and the changed rows of relations below."""

    segment: Segment
    buckets: int
    stored: Mapping[str, Stored]
    changed: Mapping[str, pa.Table]
    filters: Filters
    definitions: Definitions

    def numbers(self) -> list[int]:
        """Returns the buckets that may change."""
        met = np.zeros(self.buckets, dtype=np.bool_)
        for stratum in self.segment.strata:
            for rule in stratum.rules:
                for atom in rule.atoms:
                    if atom.relation in self.changed:
                        met |= self._met(rule, atom, self.changed[atom.relation])
        return np.flatnonzero(met).tolist()

    def _met(self, rule: Rule, atom: Atom, rows: pa.Table) -> npt.NDArray[np.bool_]:
        """Returns the buckets in which an instance of the rule may have one of these rows at this atom."""
        none, every = np.zeros(self.buckets, dtype=np.bool_), np.ones(self.buckets, dtype=np.bool_)
        if not rows.num_rows:
            return none
        pivot = rule.head.terms[self.segment.pivots[rule.head.relation]]
        read = rule.positives if rule.group is None else (rule.group.atom,)
        own = [each for each in read if each.relation in self.segment.relations]
        if isinstance(pivot, Constant):
            none[bucket_of_constant(pivot, self.buckets, self.definitions)] = True
            return none
        assert isinstance(pivot, Variable)
        if pivot in atom.terms:
            whose = bucket_of_column(rows.column(atom.terms.index(pivot)), self.buckets)
            if not own:
                none[whose] = True
                return none
            return np.array([self._meets(own, atom, rows.filter(pa.array(whose == b)), b) for b in range(self.buckets)])
        if not own:
            return every
        return np.array([self._meets(own, atom, rows, bucket) for bucket in range(self.buckets)])

    def _meets(self, own: list[Atom], atom: Atom, rows: pa.Table, bucket: int) -> bool:
        """True if one of the rows may be joined with rows of the bucket at all of the rule's atoms on the segment."""
        may = np.ones(rows.num_rows, dtype=np.bool_)
        for each in own:
            part = self._bucket(each.relation, bucket)
            if not part.rows:
                return False
            if part.keys is None:
                continue
            filters = self.filters(part.keys)
            for column, other in shared_columns(atom, each):
                if other in filters:
                    may &= filters[other].may_have(rows.column(column))
        return bool(may.any())

    def _bucket(self, name: str, bucket: int) -> Bucket:
        stored = self.stored.get(name)
        return stored.buckets[bucket] if stored is not None else Bucket()
