"""A stratum that groups: a hidden relation with one row for each key of another, kept up to date key by key.

Its rows are held like input facts. When members of a key came or left, the key's group is made anew from the members
that are there now, and the old row is exchanged for the new one. The cost is the members of the touched keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.stratum import LocalStratum
from tidelog.engine.local.values import Words
from tidelog.rules.ir import Variable
from tidelog.values import Group


class GroupStratum(LocalStratum):
    """The stratum of a rule `G(k, …, g) :- group of H(k, …, value)`."""

    def update(self, kill_limit: int) -> bool:
        """Exchanges the rows of the touched keys; see `LocalStratum.update`."""
        self.facts = self._regrouped()
        return super().update(kill_limit)

    def _regrouped(self) -> dict[int, tuple[Words, Words]]:
        """The rows of groups to insert and to delete."""
        (rule,) = self.stratum.rules
        grouped = rule.group
        assert grouped is not None
        keys = [term for term in grouped.atom.terms if isinstance(term, Variable)]
        columns = tuple(range(len(keys)))
        members = self.desk.stores[self.numbers[grouped.atom.relation]]
        groups = self.desk.stores[self.numbers[rule.head.relation]]
        changed = np.concatenate([members.lines_that_came(), members.lines_that_left()])
        touched = np.unique(members.columns_of(changed)[:, : len(keys)], axis=0)
        value_type = self.program.relations[grouped.atom.relation].columns[-1].type
        key_values = [self.values.decode(touched[:, i].copy(), key.type) for i, key in enumerate(keys)]
        inserted, deleted = [], []
        for place, key in enumerate(touched):
            old = groups.columns_of(groups.bucket(columns, key))
            found = members.rows[members.bucket(columns, key)]
            there = found[found[:, members.columns + k.META] >> k.STAMP_SHIFT >= 0]
            new = old[:0]
            if len(there):
                own_key: Any = tuple(values[place] for values in key_values)
                items = sorted(self.values.decode(there[:, len(keys)].copy(), value_type))
                group = Group(own_key[0] if grouped.plain else own_key, [(item, 1) for item in items])
                word = self.values.word(group, grouped.variable.type)
                new = np.append(key, word)[None]
            if not np.array_equal(old, new):
                inserted.append(new)
                deleted.append(old)
        if not inserted:
            return {}
        return {groups.relation: (np.concatenate(inserted), np.concatenate(deleted))}
