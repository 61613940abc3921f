"""A row of a recursive stratum with groups → a proof along the rounds that derive it, from nothing.

    Cap(x) = least of 20 and Copy(x);  Copy(x) = least of Cap(x) and 10

In the end both are 10, and each rests on the other. But in the first round `Cap` is 20, in the second `Copy` is 10, in
the third `Cap` is 10: every row of a round rests on rows of the round before. A row's first derivation therefore gives
a finite proof, in which some rows are of the past: a later round has another value. It is used where present rows
alone give none. The cost is that of the whole stratum, without indexes that last; there is a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from graphlib import TopologicalSorter
from itertools import chain

from tidelog.engine.local.queries.committed_view import CommittedView
from tidelog.engine.local.queries.match_rule import Matcher
from tidelog.engine.local.queries.shortest_proof import Key, Node
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.group_by import Grouping
from tidelog.engine.local.strata.recursive_group_by import RoundsStratum
from tidelog.engine.proof import Origin
from tidelog.rules.ir import Constant, Positive, Role, Rule, Variable

GroupNode = Callable[[Key, Rule, Mapping[Row, int]], Node]
"""Makes the node of a group's row, from its members."""


def proof_by_rounds(
    target: Key, stratum: RoundsStratum, committed: CommittedView, group_node: GroupNode, most: int
) -> dict[Key, Node] | None:
    """Returns the first derivations of a row and of all that it rests on in the stratum; None if the rounds do not
    reach it within `most` rule instances."""
    return _Rounds(stratum, committed, group_node, most).run(target)


class _TooManyError(Exception):
    pass


class _Rounds:
    def __init__(self, stratum: RoundsStratum, committed: CommittedView, group_node: GroupNode, most: int) -> None:
        self._committed = committed
        self._group_node = group_node
        self._left = most
        self._rows = _RoundRows(committed, stratum.relations)
        self._nodes: dict[Key, Node] = {}
        self._given = {name: set(rows) for name, rows in stratum.given_apart()}
        self._rules: dict[str, list[Rule]] = {name: [] for name in stratum.relations}
        for rule in stratum.stratum.rules:
            self._rules[rule.head.relation].append(rule)
        self._last = min((rule.max_rounds for rule in stratum.stratum.rules if rule.max_rounds), default=None)
        relations = committed.program.relations
        hidden = [name for name in stratum.relations if relations[name].role is Role.HIDDEN]
        self._visible = [name for name in stratum.relations if name not in hidden]
        order: TopologicalSorter[str] = TopologicalSorter()
        for name in hidden:
            read = {atom.relation for rule in self._rules[name] for atom in rule.atoms}
            order.add(name, *(read & {*hidden}))
        self._hidden = list(order.static_order())
        self._matchers: dict[int, Matcher] = {}

    def run(self, target: Key) -> dict[Key, Node] | None:
        rounds = 0
        try:
            while self._last is None or rounds < self._last:
                rounds += 1
                for name in self._hidden:
                    self._rows.replace(name, self._derived(name))
                found = {name: self._derived(name) for name in self._visible}
                if target in self._nodes:
                    return self._below(target)
                if all(rows == self._rows.inside[name] for name, rows in found.items()):
                    return None
                for name, rows in found.items():
                    self._rows.replace(name, rows)
        except _TooManyError:
            pass
        return None

    def _derived(self, name: str) -> set[Row]:
        """Returns the rows of a relation in the next round, and notes the first derivation of each."""
        rows = set(self._given.get(name, ()))
        for row in rows:
            self._nodes.setdefault((name, row), Node((name, row), Origin.INPUT))
        for rule in self._rules[name]:
            for node in self._by_group(rule) if rule.group is not None else self._by_rule(rule):
                self._left -= 1
                if self._left < 0:
                    raise _TooManyError
                rows.add(node.key[1])
                self._nodes.setdefault(node.key, node)
        return rows

    def _by_group(self, rule: Rule) -> Iterator[Node]:
        group = rule.group
        assert group is not None
        committed = self._committed
        members = dict(self._rows.find(group.atom.relation, (), ()))
        keys = sum(isinstance(term, Variable) for term in group.atom.terms)
        by_key: dict[Row, dict[Row, int]] = {}
        for member, weight in members.items():
            by_key.setdefault(member[:keys], {})[member] = weight
        grouping = Grouping(group, committed.program.relations, committed.values)
        grouping.is_lenient = True
        for row in grouping.rows(members):
            yield self._group_node((rule.head.relation, tuple(row)), rule, by_key[tuple(row[:keys])])

    def _by_rule(self, rule: Rule) -> Iterator[Node]:
        matcher = self._matchers.get(rule.id)
        if matcher is None:
            committed = self._committed
            matcher = Matcher(rule, (), self._rows, committed.values, committed.program.functions)
            self._matchers[rule.id] = matcher
        places = [(place, each.atom.relation) for place, each in enumerate(rule.body) if isinstance(each, Positive)]
        origin = Origin.RULE if rule.atoms else Origin.FACT
        for found in matcher.run({}):
            row = tuple([self._word(term, found.words) for term in rule.head.terms])
            premises = tuple((place, (name, row)) for (place, name), row in zip(places, found.rows))
            if found.weight > 0:
                yield Node((rule.head.relation, row), origin, rule, premises, found.words, found.weight)

    def _word(self, term: object, words: Mapping[str, int]) -> int:
        if isinstance(term, Variable):
            return words[term.name]
        assert isinstance(term, Constant)
        return self._committed.values.temporary_word(term.value, term.type)

    def _below(self, target: Key) -> dict[Key, Node]:
        """Returns the nodes of the stratum that a row rests on."""
        chosen: dict[Key, Node] = {}
        pending = [target]
        while pending:
            key = pending.pop()
            if key not in chosen and key[0] in self._rules:
                chosen[key] = self._nodes[key]
                pending.extend(child for _, child in chosen[key].premises)
        return chosen


class _RoundRows:
    """The rows of one round, and the committed rows of lower strata; see `match_rule.Rows`."""

    def __init__(self, committed: CommittedView, names: tuple[str, ...]) -> None:
        self._committed = committed
        self.inside: dict[str, set[Row]] = {name: set() for name in names}
        self._indexes: dict[tuple[str, tuple[int, ...]], dict[Row, list[tuple[Row, int]]]] = {}

    def replace(self, name: str, rows: set[Row]) -> None:
        self.inside[name] = rows
        for key in [key for key in self._indexes if key[0] == name]:
            del self._indexes[key]

    def size(self, relation: str) -> int:
        # Rounds begin with nothing; a size of one lets their rows come first.
        return 1 if relation in self.inside else self._committed.size(relation)

    def find(
        self, relation: str, columns: tuple[int, ...], key: Row, below: int | None = None
    ) -> Iterator[tuple[Row, int]]:
        if relation not in self.inside:
            return self._committed.find(relation, columns, key)
        index = self._indexes.get((relation, columns))
        if index is None:
            index = self._indexes[relation, columns] = {}
            for row in self.inside[relation]:
                index.setdefault(tuple([row[column] for column in columns]), []).append((row, 1))
        return chain(index.get(tuple(key), ()))

    def weight(self, relation: str, row: Row) -> int:
        if relation not in self.inside:
            return self._committed.weight(relation, row)
        return int(tuple(row) in self.inside[relation])
