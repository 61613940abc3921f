"""A change of rules in the local engine: which strata continue with their state, and which are derived from scratch.

    unchanged         the same relations, the same rules: the very object continues
    updated           the same relations, other rules: Update inserts the added rules and deletes the removed ones
    recomputed        relations that were not one stratum before, or that are stored in another way now

The runtime of the old rules does not change until the epoch is committed, so a failed epoch has nothing to restore.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.weighted_table import Tables
from tidelog.engine.local.strata.aggregates.stratum import AggregateStratum
from tidelog.engine.local.strata.group_by import WeightedGroupStratum
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strata.materialized import Application, TransformStratum
from tidelog.engine.local.strata.recursive_group_by import RoundsStratum
from tidelog.engine.local.strata.weighted import WeightedStratum
from tidelog.rules.analysis.copies import Copies
from tidelog.rules.ir import Role, RuleProgram, Stratum

Make = Callable[[Stratum, RuleProgram, Mapping[str, int], Copies], LocalStratum]


def connect(strata: Sequence[LocalStratum], tables: Tables) -> None:
    """Gives new strata the state that they share with others."""
    made: dict[Application, Sequence[Any]] = {}
    for stratum in strata:
        if isinstance(stratum, WeightedStratum | RoundsStratum | WeightedGroupStratum):
            stratum.connect(tables)
        elif isinstance(stratum, TransformStratum):
            stratum.share(made)


class RuleChanges:
    """The transition from the strata of one program to those of another, between two epochs."""

    def __init__(
        self,
        catalog: Catalog,
        before: RuleProgram,
        strata: Sequence[LocalStratum],
        numbers: Mapping[str, int],
        tables: Tables,
        copies: Copies,
        after: RuleProgram,
        copies_after: Copies,
    ) -> None:
        self._catalog = catalog
        self._before, self._after = before, after
        self._copies = copies_after
        self._old = strata
        self._homes = {name: each for each in strata for name in each.relations}
        new = [relation for name, relation in after.relations.items() if name not in numbers]
        self._new = dict(zip((each.name for each in new), catalog.add([len(each.columns) for each in new])))
        self._dropped = [number for name, number in numbers.items() if name not in after.relations]
        # Removed rules may read relations that are removed with them.
        self._all = {**numbers, **self._new}
        self.numbers = {name: self._all[name] for name in after.relations}
        self.tables = Tables(after, catalog, self.numbers, tables)
        # Relations that start or stop counting derivations, or that are copies of others only before or after.
        self._stored_otherwise = {
            name
            for name, relation in before.relations.items()
            if (now := after.relations.get(name, relation)) is not relation and now.weighted != relation.weighted
        }
        self._stored_otherwise |= {
            name
            for name in copies.places.keys() | copies_after.places.keys()
            if copies.places.get(name) != copies_after.places.get(name)
        }
        self._made: list[LocalStratum] = []
        self._found: list[LocalStratum] = []

    def strata(self, make: Make) -> list[LocalStratum]:
        """Returns the strata of the new program; unchanged strata are the same objects."""
        found = self._found
        for stratum in self._after.strata:
            old = self._homes.get(stratum.relations[0])
            if old is not None and old.stratum is stratum and not self._stored_otherwise:
                found.append(old)
                continue
            old = self._find(stratum)
            if old is not None and self._is_as_it_was(stratum, old):
                found.append(old)
                continue
            made = make(stratum, self._after, self._all, self._copies)
            self._made.append(made)
            found.append(made)
        return found

    def connect(self) -> None:
        """Continues each new stratum from the state of the one before it, or lets it begin from scratch."""
        connect(self._made, self.tables)
        for made in self._made:
            old = self._find(made.stratum)
            if old is not None and self._goes_on(made, old):
                made.continue_from(old)
                continue
            made.start_from(self._given(made))

    def commit(self) -> None:
        """Frees the relations of removed rules."""
        stay = {*map(id, self._found)}
        for stratum in self._old:
            if id(stratum) not in stay:
                self._dropped += stratum.internal_stores
        self._catalog.give_back(self._dropped)

    def roll_back(self) -> None:
        """Frees the relations of the new rules."""
        self._catalog.give_back(
            [*self._new.values(), *(number for made in self._made for number in made.internal_stores)]
        )

    def _find(self, stratum: Stratum) -> LocalStratum | None:
        """Returns the stratum that had the same relations."""
        found = self._homes.get(stratum.relations[0])
        return found if found is not None and {*found.relations} == {*stratum.relations} else None

    def _goes_on(self, made: LocalStratum, old: LocalStratum) -> bool:
        """True if the state is of the same kind. A stratum that loses all rules loses its ranks, and groups by another
        rule are other groups."""
        if type(old) is not type(made) or isinstance(made, AggregateStratum):
            return False
        loses_its_rules = old.has_rules() and not made.has_rules()
        return not loses_its_rules and not self._is_stored_otherwise(made.stratum)

    def _is_as_it_was(self, stratum: Stratum, old: LocalStratum) -> bool:
        return (
            old.stratum.recursive == stratum.recursive
            and len(old.stratum.rules) == len(stratum.rules)
            and {*map(id, old.stratum.rules)} == {*map(id, stratum.rules)}
            and not self._is_stored_otherwise(stratum)
        )

    def _is_stored_otherwise(self, stratum: Stratum) -> bool:
        """True if a relation that the stratum holds or reads is stored in another way now."""
        if not self._stored_otherwise:
            return False
        read = (atom.relation for rule in stratum.rules for atom in rule.atoms)
        return not self._stored_otherwise.isdisjoint((*stratum.relations, *read))

    def _given(self, made: LocalStratum) -> dict[int, Words]:
        """Returns the facts given to the relations of a stratum, with their weights."""
        delayed = {feed.relation for feed in self._after.feeds if not feed.latest}
        given = {}
        for name in made.relations:
            home = self._homes.get(name)
            if home is not None and (self._after.relations[name].role is Role.INPUT or name in delayed):
                given[self.numbers[name]] = home.given_to(name)
        return given
