"""A row of the committed state → a proof of it, read from the ranks.

Every derived row has a rule instance whose rows in the same stratum have lower ranks than its own: that is what its
count says. So the proof is found row by row, top down: plan the rule with the head's variables known, take the first
instance of lower rank, continue with its rows. Ranks fall and lower strata are finite, so the search ends.

Rows without ranks (groups inside recursion) and shortest proofs need the search in `shortest_proof`. There, least and
greatest values rest on the members that decide them (`winning_members`). If present rows alone give no proof, the
rounds that derived the row do (`proof_by_rounds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.queries.committed_view import CommittedView
from tidelog.engine.local.queries.contributions import largest_contributions
from tidelog.engine.local.queries.match_rule import Matcher, unify
from tidelog.engine.local.queries.min_proof_height import MinProofHeights
from tidelog.engine.local.queries.proof_by_rounds import proof_by_rounds
from tidelog.engine.local.queries.shortest_proof import Key, Node, height_of, search
from tidelog.engine.local.queries.winning_members import best_members, is_decided, winning_members
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strata.materialized import TransformStratum
from tidelog.engine.local.strata.recursive_group_by import RoundsStratum
from tidelog.engine.local.strata.weighted import WeightedStratum
from tidelog.engine.proof import Origin, Proof, Proved
from tidelog.rules.analysis.expression_direction import NotMonotoneError
from tidelog.rules.analysis.monotone import Best, find_bests
from tidelog.rules.ir import Group, Positive, Rule, Variable
from tidelog.rules.variables import variable_types

# Most derivations that the search for the shortest proof looks at: some seconds of work.
MOST_INSTANCES = 200_000


class Explainer:
    """Proves rows of one committed state; reuses its plans for later explanations."""

    def __init__(self, committed: CommittedView, strata: Sequence[LocalStratum]) -> None:
        self.committed = committed
        self._program = committed.program
        self._stratum = {name: stratum for stratum in strata for name in stratum.relations}
        self._rules: dict[str, list[Rule]] = {}
        for rule in self._program.rules:
            self._rules.setdefault(rule.head.relation, []).append(rule)
        self._feeds = {feed.relation: feed for feed in self._program.feeds}
        self._min_heights = MinProofHeights(self._program)
        self._matchers: dict[tuple[int, frozenset[str], bool], Matcher] = {}
        self._bests: dict[tuple[str, ...], Mapping[str, Best]] = {}

    def explain(self, relation: str, row: Row, *, shortest: bool) -> Proof:
        """Returns a proof of a present row."""
        root = (relation, row)
        nodes = self._any_proof(root)
        if not shortest:
            return self._proof(root, nodes, is_shortest=False)
        height = height_of(root, nodes)
        lower, is_exact = search(root, self.ways, self._is_given, below=height, most=MOST_INSTANCES)
        return self._proof(root, nodes if lower is None else lower, is_exact)

    def _any_proof(self, root: Key) -> dict[Key, Node]:
        """Returns the nodes of the first proof found."""
        nodes: dict[Key, Node] = {}
        pending = [root]
        while pending:
            key = pending.pop()
            if key in nodes:
                continue
            found = self._first(key, nodes)
            nodes |= found
            pending.extend(child for node in found.values() for _, child in node.premises)
        return nodes

    def rules_of(self, relation: str) -> Sequence[Rule]:
        """Returns the rules with this relation in their head."""
        return self._rules.get(relation, ())

    # One row

    def _first(self, key: Key, known: Mapping[Key, Node]) -> dict[Key, Node]:
        """Returns the node of a present row; more than one if it takes a search of its stratum."""
        relation, row = key
        stratum = self._stratum[relation]
        leaf = self._leaf(key)
        if leaf is not None:
            return {key: leaf}
        if stratum.joins:
            below = self.committed.rank(relation, row)
            found = next(self._derivations(key, below), None)
            if found is not None:
                return {key: found}
        elif not isinstance(stratum, RoundsStratum):
            return {key: next(self.ways(key, None))}
        inside = frozenset(stratum.relations)
        nodes, _ = search(key, self.ways, lambda each: each[0] not in inside or self._is_given(each))
        if nodes is None and isinstance(stratum, RoundsStratum):
            nodes = proof_by_rounds(key, stratum, self.committed, self._first_group_node, MOST_INSTANCES)
        if nodes is None:
            return {key: Node(key, Origin.CIRCLE)}
        # Rows of lower strata that the search took for given are still to be proved; known nodes stay.
        return {each: node for each, node in nodes.items() if each[0] in inside and (each == key or each not in known)}

    def ways(self, key: Key, within: int | None) -> Iterator[Node]:
        """Yields all derivations of a present row, or the one node of an input fact.

        Rules that never give a proof as low as `within` are skipped.
        """
        leaf = self._leaf(key)
        if leaf is not None:
            yield leaf
            return
        relation, row = key
        stratum = self._stratum[relation]
        if any(rule.group for rule in self.rules_of(relation)):
            if within is None or within > 0:
                yield from self._group(key)
        elif isinstance(stratum, WeightedStratum):
            sign = self.committed.weight(relation, row)
            is_derived = False
            for node in self._derivations(key, None):
                if node.weight * sign > 0:
                    is_derived = True
                    yield node
            if not is_derived:
                yield Node(key, Origin.INPUT)
        else:
            yield from self._derivations(key, None, within)

    def _leaf(self, key: Key) -> Node | None:
        """Returns the node of a row that needs no rule, if it is one."""
        relation, _ = key
        feed = self._feeds.get(relation)
        if feed is not None:
            return Node(key, Origin.STREAM if feed.latest else Origin.DELAYED)
        if self._is_given(key):
            return Node(key, Origin.INPUT)
        if isinstance(self._stratum[relation], TransformStratum):
            (rule,) = self.rules_of(relation)
            return Node(key, Origin.TRANSFORMER, rule)
        return None

    def _is_given(self, key: Key) -> bool:
        """True if a present row is an input fact; unknown, so False, for a multiset that has rules."""
        relation, row = key
        if relation not in self._rules:
            return relation not in self._feeds
        stratum = self._stratum[relation]
        if isinstance(stratum, RoundsStratum):
            return stratum.is_given(relation, row)
        return stratum.joins and self.committed.is_input(relation, row)

    def _group(self, key: Key) -> Iterator[Node]:
        relation, row = key
        (rule,) = self.rules_of(relation)
        assert rule.group is not None
        keys = tuple(range(sum(isinstance(term, Variable) for term in rule.group.atom.terms)))
        return self._group_nodes(key, rule, dict(self.committed.find(rule.group.atom.relation, keys, row[: len(keys)])))

    def _first_group_node(self, key: Key, rule: Rule, members: Mapping[Row, int]) -> Node:
        return next(self._group_nodes(key, rule, members))

    def _group_nodes(self, key: Key, rule: Rule, members: Mapping[Row, int]) -> Iterator[Node]:
        """Yields the derivations of a group's row: all members, or inside recursion a choice of those that decide."""
        group = rule.group
        assert group is not None
        source = group.atom.relation
        choices = self._choices(key, group, members)
        if choices is not None:
            count = sum(weight > 0 for weight in members.values())
            for choice in choices:
                premises = tuple((0, (source, member)) for member in choice)
                yield Node(key, Origin.GROUP, rule, premises, members=count)
            return
        if group.of_rows:
            yield self._of_rows(key, rule, group, members)
            return
        start = sum(isinstance(term, Variable) for term in group.atom.terms) + group.finer
        # Of members that only a finer key tells apart, one stands for all.
        own = {member[start:]: member for member, weight in members.items() if weight > 0}
        yield Node(key, Origin.GROUP, rule, tuple((0, (source, member)) for member in own.values()))

    def _choices(self, key: Key, group: Group, members: Mapping[Row, int]) -> Iterator[tuple[Row, ...]] | None:
        """Yields the members that a least or greatest value inside recursion rests on; None for any other group."""
        source = group.atom.relation
        if source not in self._stratum[key[0]].relations:
            return None
        best = self._bests_of(key[0]).get(key[0])
        if best is None and not is_decided(group):
            return None
        there = {member: self.committed.decode(source, member) for member, weight in members.items() if weight > 0}
        if best is not None:
            return best_members(best, there)
        return winning_members(group, self.committed.decode(*key), there)

    def _bests_of(self, relation: str) -> Mapping[str, Best]:
        """Returns the groups of a relation's stratum of which only the best value counts."""
        stratum = self._stratum[relation].stratum
        found = self._bests.get(stratum.relations)
        if found is None:
            try:
                bests = find_bests(stratum, self._program.relations)
            except NotMonotoneError:
                bests = ()
            found = self._bests[stratum.relations] = {best.relation: best for best in bests}
        return found

    def _of_rows(self, key: Key, rule: Rule, group: Group, members: Mapping[Row, int]) -> Node:
        """Returns the node of an aggregate over rows, which rests on its largest contributions."""
        there = {member: weight for member, weight in members.items() if weight > 0}
        committed = self.committed
        columns = self._program.relations[group.atom.relation].columns
        decoders = [committed.values.decoder(column.type) for column in columns]

        def values(member: Row) -> list[Any]:
            return [decode(word) for decode, word in zip(decoders, member)]

        largest = largest_contributions(group, {each: values(each) for each in there}, there)
        premises = tuple((0, (group.atom.relation, member)) for member in largest)
        count = sum(there.values()) if group.weighted else len(there)
        return Node(key, Origin.GROUP, rule, premises, members=count)

    def _derivations(self, key: Key, below: int | None, within: int | None = None) -> Iterator[Node]:
        relation, row = key
        # Facts of the program first: no other way is as short.
        for rule in sorted(self.rules_of(relation), key=lambda rule: bool(rule.atoms)):
            if within is not None and self._min_heights.of_rule(rule) > within:
                continue
            words = unify(rule.head, row, self.committed.values)
            if words is None:
                continue
            origin = Origin.RULE if rule.atoms else Origin.FACT
            places = [(i, each.atom.relation) for i, each in enumerate(rule.body) if isinstance(each, Positive)]
            for found in self.matcher(rule, words).run(words, below):
                premises = tuple((place, (name, row)) for (place, name), row in zip(places, found.rows))
                yield Node(key, origin, rule, premises, found.words, found.weight)

    def matcher(self, rule: Rule, known: Iterable[str], *, absent_last: bool = False) -> Matcher:
        """Returns the `Matcher` of a rule, planned for the known variables."""
        names = frozenset(known)
        matcher = self._matchers.get((rule.id, names, absent_last))
        if matcher is None:
            inside = frozenset(self._stratum[rule.head.relation].relations)
            committed, functions = self.committed, self._program.functions
            matcher = Matcher(rule, names, committed, committed.values, functions, inside, absent_last=absent_last)
            self._matchers[rule.id, names, absent_last] = matcher
        return matcher

    # The proof

    def _proof(self, root: Key, nodes: Mapping[Key, Node], is_shortest: bool) -> Proof:
        """Returns the proof: the nodes that the root rests on, numbered in the reading order of the tree."""
        numbers: dict[Key, int] = {}
        pending = [root]
        while pending:
            key = pending.pop()
            if key not in numbers:
                numbers[key] = len(numbers)
                pending.extend(child for _, child in reversed(nodes[key].premises))
        rows = tuple(self._proved(nodes[key], numbers) for key in numbers)
        return Proof(rows, is_shortest and not any(each.is_past for each in rows))

    def _proved(self, node: Node, numbers: Mapping[Key, int]) -> Proved:
        relation, row = node.key
        committed = self.committed
        derivations = None
        is_past = not committed.weight(relation, row)
        if self._stratum[relation].joins and relation in self._rules:
            derivations = committed.total(relation, row) - committed.is_input(relation, row)
        return Proved(
            relation,
            committed.decode(relation, row),
            node.origin,
            node.rule,
            {} if node.rule is None else decoded(node.rule, node.words, committed.values),
            tuple((place, numbers[key]) for place, key in node.premises),
            1 if is_past else committed.weight(relation, row),
            derivations,
            node.members,
            is_past,
        )


def decoded(rule: Rule, words: Mapping[str, int], values: Values) -> dict[str, Any]:
    """Returns the values of a rule's variables."""
    types = variable_types(rule)
    return {name: values.decoder(types[name])(word) for name, word in words.items() if name in types}
