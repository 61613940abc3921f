"""Datalog interpreted by circuits, as the dynamic Datalog paper has it: rules are data, and both they and facts change.

    >>> x, y, z = map(Var, "xyz")
    >>> path = Rule(Atom("T", (x, z)), (Atom("E", (x, y)), Atom("T", (y, z))))
    >>> edge = Rule(Atom("T", (x, y)), (Atom("E", (x, y)),))
    >>> circuit = Interpreter()
    >>> circuit.step(rules=ZSet.of((edge,), (path,)), facts=ZSet.of(("E", (1, 2)), ("E", (2, 3))))
    ZSet({('E', (1, 2)): 1, ('E', (2, 3)): 1, ('T', (1, 2)): 1, ('T', (1, 3)): 1, ('T', (2, 3)): 1})
    >>> circuit.step(rules=ZSet({(path,): -1}))
    ZSet({('T', (1, 3)): -1})

A fact is a row (predicate, values), a rule a row of one column. A rewrite (section 3 of the paper) is a sorted tuple of
(variable, value). The three interpreters are figures 1, 2 and 3; they are for reading and for comparison, and take
positive Datalog. The engine's strategy `circuit` is the third with negation, expressions, and ranks for inner time.

Where we differ from the paper. A provenance is the ordered prefix of a body itself, not a sum of hashes, which is the
same for bodies with the same atoms in another order. Directions and orders are made sets before they are walked: two
rules that begin alike would walk a direction of weight 2. And an epoch does not end at the first round without a new
fact, since a body takes a round for each of its atoms, but where nothing is left in any round, old ones included.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from tidelog.dbsp.operators import Nested, distinct_changes, nested_distinct_changes, nested_join_changes
from tidelog.dbsp.stream import (
    NESTED,
    ZSETS,
    Stream,
    delay,
    differentiate,
    eliminate,
    feedback,
    integrate,
    introduce,
    lift,
)
from tidelog.dbsp.zset import Row, ZSet


@dataclass(frozen=True, slots=True)
class Var:
    """A variable. Every other term is a constant."""

    name: str


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate applied to terms."""

    predicate: str
    terms: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """`head ← body`; every variable of the head is in the body."""

    head: Atom
    body: tuple[Atom, ...]


Rewrite = tuple[tuple[str, Hashable], ...]
Provenance = tuple[Atom, ...]
NO_REWRITE: Rewrite = ()
ROOT: Provenance = ()


# Section 3: rewriting


def ground_atom(rewrite: Rewrite, atom: Atom) -> Row:
    """Returns the fact that a rewrite makes of an atom; it has a constant for every variable."""
    known = dict(rewrite)
    return atom.predicate, tuple(known[term.name] if isinstance(term, Var) else term for term in atom.terms)


def unify(rewrite: Rewrite, atom: Atom, values: tuple[Hashable, ...]) -> Rewrite | None:
    """Returns the rewrite extended so that the atom becomes the fact with these values; None if there is none."""
    known = dict(rewrite)
    if len(values) != len(atom.terms):
        return None
    for term, value in zip(atom.terms, values, strict=True):
        if (known.setdefault(term.name, value) if isinstance(term, Var) else term) != value:
            return None
    return tuple(sorted(known.items()))


def consequence(program: ZSet, facts: ZSet) -> ZSet:
    """Returns the set of facts that the rules derive from the facts in one step (T)."""
    derived = ZSet()
    for row in program:
        (rule,) = row
        assert isinstance(rule, Rule)
        rewrites = ZSet.of((ROOT, NO_REWRITE))
        for depth in range(1, len(rule.body) + 1):
            prefix = rule.body[:depth]
            candidates = rewrites.map(lambda _, rewrite, prefix=prefix: (prefix[-1], rewrite, prefix))
            rewrites = product(candidates, facts)
        derived += rewrites.map(lambda _, rewrite, head=rule.head: ground_atom(rewrite, head))
    return derived.distinct()


# Definitions 4.2 to 4.7: the grounding kit


def directions(program: ZSet) -> ZSet:
    """Rows (prefix, next prefix), from each prefix of a body to the next one."""
    return program.flat_map(lambda rule: [(rule.body[:i], rule.body[: i + 1]) for i in range(len(rule.body))])


def signals(program: ZSet) -> ZSet:
    """Rows (body, head): where a rewrite has come so far, it grounds the head."""
    return program.map(lambda rule: (rule.body, rule.head))


def known_columns(prefix: Provenance) -> tuple[int, ...]:
    """Returns the columns of the last atom that are bound before it: constants, and variables of earlier atoms."""
    bound = {term for atom in prefix[:-1] for term in atom.terms if isinstance(term, Var)}
    return tuple(i for i, term in enumerate(prefix[-1].terms) if not isinstance(term, Var) or term in bound)


def join_orders(program: ZSet) -> ZSet:
    """Rows (predicate, columns): the columns by which facts have to be found."""
    return directions(program).map(lambda _, prefix: (prefix[-1].predicate, known_columns(prefix)))


# Section 4: the operators, as functions of Z-sets; each is bilinear


def gatekeep(rewrites: ZSet, ways: ZSet) -> ZSet:
    """Rewrites (prefix, Σ) and directions → candidates (atom, Σ, next prefix)."""
    return rewrites.join(ways, (0, 0)).map(lambda _, rewrite, __, prefix: (prefix[-1], rewrite, prefix))


def product(candidates: ZSet, facts: ZSet) -> ZSet:
    """Candidates and facts → the rewrites (prefix, Σ) of those that unify; every fact of the predicate is tried."""
    keyed = candidates.map(lambda atom, rewrite, prefix: (atom.predicate, rewrite, prefix))
    return _unified(keyed.join(facts, (0, 0)).project(1, 2, 4))


def ground(rewrites: ZSet, heads: ZSet) -> ZSet:
    """Rewrites (prefix, Σ) and signals → facts."""
    return rewrites.join(heads, (0, 0)).map(lambda _, rewrite, __, head: ground_atom(rewrite, head))


def index(facts: ZSet, orders: ZSet) -> ZSet:
    """Facts and join orders → rows (predicate, columns, key, values)."""
    return facts.join(orders, (0, 0)).flat_map(
        lambda predicate, values, _, columns: (
            [(predicate, columns, tuple(values[i] for i in columns), values)]
            if not columns or max(columns) < len(values)
            else []
        )
    )


def indexed_product(candidates: ZSet, indexed: ZSet) -> ZSet:
    """`product` with facts that are indexed: only those are tried that share the constants."""
    keyed = candidates.map(
        lambda atom, rewrite, prefix: (atom.predicate, known_columns(prefix), _key(rewrite, prefix), rewrite, prefix)
    )
    return _unified(keyed.join(indexed, (0, 0), (1, 1), (2, 2)).project(3, 4, 8))


def _key(rewrite: Rewrite, prefix: Provenance) -> tuple[Hashable, ...]:
    known, atom = dict(rewrite), prefix[-1]
    terms = [atom.terms[i] for i in known_columns(prefix)]
    return tuple(known[term.name] if isinstance(term, Var) else term for term in terms)


def _unified(pairs: ZSet) -> ZSet:
    """Rows (Σ, prefix, values) → rewrites."""

    def extend(rewrite: Rewrite, prefix: Provenance, values: tuple[Hashable, ...]) -> list[Row]:
        extended = unify(rewrite, prefix[-1], values)
        return [] if extended is None else [(prefix, extended)]

    return pairs.flat_map(extend)


# The circuits


class NaiveInterpreter:
    """Figure 1: every epoch is derived from all its rules and facts."""

    def __init__(self) -> None:
        self._rules: list[ZSet] = []
        self._facts: list[ZSet] = []
        rules, facts = _growing(self._rules), _growing(self._facts)
        self._changes = differentiate(lift(_materialise, ZSETS)(integrate(rules), integrate(facts)))

    def step(self, *, rules: ZSet | None = None, facts: ZSet | None = None) -> ZSet:
        """Changes of rules and of facts in; what they change among all facts, given and derived, out."""
        self._rules.append(rules or ZSet())
        self._facts.append(facts or ZSet())
        return self._changes[len(self._facts) - 1]


def _materialise(program: ZSet, facts: ZSet) -> ZSet:
    """Returns the least fixed point."""
    given: Stream[ZSet] = Stream(lambda _: facts, ZSETS)
    derive = lift(lambda found: consequence(program, found), ZSETS)
    rounds = feedback(lambda found: lift(ZSet.distinct, ZSETS)(given + derive(delay(found))), ZSETS)
    return eliminate(differentiate(rounds))


class Interpreter:
    """Figures 2 and, with the index, 3: an epoch costs its changes, as far as the joins of nested streams do."""

    def __init__(self, *, with_index: bool = True) -> None:
        self._rules: list[ZSet] = []
        self._facts: list[ZSet] = []
        self._rounds = 0
        self.with_index = with_index
        rules, facts = _growing(self._rules), _growing(self._facts)
        ways = _nested(distinct_changes(lift(directions, ZSETS)(rules)))
        heads = _nested(lift(signals, ZSETS)(rules))
        orders = _nested(distinct_changes(lift(join_orders, ZSETS)(rules)))
        start = _nested(introduce(ZSet.of((ROOT, NO_REWRITE)), ZSETS))
        late: Callable[[Nested], Nested] = lift(delay, NESTED)
        self._rewrites = _loop(lambda: self._next_rewrites(start, late, ways, orders))
        self._found = _loop(
            lambda: nested_distinct_changes(_nested(facts) + nested_join_changes(ground)(self._rewrites, heads))
        )

    def step(self, *, rules: ZSet | None = None, facts: ZSet | None = None) -> ZSet:
        """See `NaiveInterpreter.step`."""
        epoch = len(self._facts)
        self._rules.append(rules or ZSet())
        self._facts.append(facts or ZSet())
        changes, moment = ZSet(), 0
        # What an earlier epoch has in a round may change that round in this one, so none of those may be left out.
        while moment <= self._rounds + 1 or self._rewrites[epoch][moment] or self._found[epoch][moment]:
            if self._rewrites[epoch][moment] or self._found[epoch][moment]:
                self._rounds = max(self._rounds, moment)
            changes += self._found[epoch][moment]
            moment += 1
        return changes

    def work(self) -> int:
        """Returns how many rewrites were inserted and deleted in all epochs so far."""
        epochs = range(len(self._facts))
        return sum(len(self._rewrites[t][i]) for t in epochs for i in range(self._rounds + 1))

    def _next_rewrites(self, start: Nested, late: Callable[[Nested], Nested], ways: Nested, orders: Nested) -> Nested:
        candidates = nested_join_changes(gatekeep)(start + late(self._rewrites), ways)
        if not self.with_index:
            return nested_join_changes(product)(candidates, late(self._found))
        return nested_join_changes(indexed_product)(candidates, nested_join_changes(index)(late(self._found), orders))


def _growing(values: list[ZSet]) -> Stream[ZSet]:
    """Returns the stream of the values in a list that grows; nobody asks for what is not there yet."""
    return Stream(lambda t: values[t], ZSETS)


def _nested(stream: Stream[ZSet]) -> Nested:
    return lift(lambda value: introduce(value, ZSETS), NESTED)(stream)


def _loop(make: Callable[[], Nested]) -> Nested:
    """Returns a nested stream that is defined by earlier rounds of itself; it is made when first asked for."""
    made: list[Nested] = []

    def at(epoch: int, moment: int) -> ZSet:
        if not made:
            made.append(make())
        return made[0][epoch][moment]

    return Stream(lambda t: Stream(lambda i: at(t, i), ZSETS), NESTED)
