"""The rules of an acyclic recursion → rules of its keys alone, and which key depends on which.

    Cost(p, c)       :- Bought(p, c).                               Cost'(p) :- Bought(p, c).
    M(p, q, n * c)   :- Uses(p, q, n), Cost(q, c).            →     M'(p, q) :- Uses(p, q, n), Cost'(q).    M' ← Cost'
    G(p, sum of x)   :- group of M(p, _, x).                        G'(p)    :- M'(p, _).                   G' ← M'
    Cost(p, s)       :- G(p, s).                                    Cost'(p) :- G'(p).                      Cost' ← G'

Values decide nothing but values (`rules/analysis/fixed_keys.py`), so this is plain Datalog, and kernels run it. The
rows themselves say which key depends on which where the row of a rule's head, or the only row of its body, has the keys
of the whole instance. Elsewhere a hidden relation has them: `Link#instances3(p, q, r)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.check import typed
from tidelog.rules.analysis.fixed_keys import value_columns, values_of
from tidelog.rules.ir import (
    Assign,
    Atom,
    Condition,
    Constant,
    Literal,
    Negative,
    Positive,
    Relation,
    Role,
    Rule,
    Stratum,
    Term,
    Unfold,
    Variable,
    Wildcard,
)

Place = int | Constant
"""A column of a row, or a word that is the same in all rows."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Rows of `source` say that a key of `head` depends on a key of `body`; each key is made of these places."""

    source: str
    head: str
    head_places: tuple[Place, ...]
    body: str
    body_places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class KeyRules:
    """`keys` are the key columns of each relation of the stratum; `widths` the columns of the relations that the rules
    derive, which have the same names, and of the hidden ones beside them."""

    keys: Mapping[str, tuple[int, ...]]
    widths: Mapping[str, int]
    rules: tuple[Rule, ...]
    dependencies: tuple[Dependencies, ...]


def key_rules(stratum: Stratum, relations: Mapping[str, Relation]) -> KeyRules:
    """Returns the rules of the keys of a stratum that `require_fixed_keys` accepts."""
    return _Projection(stratum, relations).result()


class _Projection:
    def __init__(self, stratum: Stratum, relations: Mapping[str, Relation]) -> None:
        self._stratum = stratum
        self._relations = relations
        self._values = value_columns(stratum)
        self._keys = {
            name: tuple(i for i in range(len(relations[name].columns)) if i not in self._values[name])
            for name in stratum.relations
        }
        self._widths = {name: len(columns) for name, columns in self._keys.items()}
        self._rules: list[Rule] = []
        self._dependencies: list[Dependencies] = []

    def result(self) -> KeyRules:
        for rule in self._stratum.rules:
            if rule.group is not None:
                self._add_group(rule, rule.group.atom)
            else:
                self._add(rule)
        return KeyRules(self._keys, self._widths, tuple(self._rules), tuple(self._dependencies))

    def _add_group(self, rule: Rule, members: Atom) -> None:
        head, atom = self._projected(rule.head), self._projected(members)
        self._rules.append(replace(rule, head=head, body=(Positive(atom),)))
        self._depend(atom.relation, atom.terms, head, [atom])

    def _add(self, rule: Rule) -> None:
        head = self._projected(rule.head)
        body: list[Literal] = []
        values = values_of(rule, self._values)
        inside: list[Atom] = []
        for literal in rule.body:
            match literal:
                case Positive(atom) if atom.relation in self._keys:
                    inside.append(self._named(self._projected(atom), len(inside)))
                    body.append(Positive(inside[-1]))
                case Assign(variable) if variable.name in values:
                    pass
                case _:
                    body.append(literal)
        body = _needed(body, head)
        made = replace(rule, head=head, body=tuple(body))
        known = [term for atom in inside for term in atom.terms if isinstance(term, Variable)]
        if not inside:
            self._rules.append(made)
        elif len(body) == 1 and len({*known}) == len(inside[0].terms) and _variables(head.terms) <= {*known}:
            self._rules.append(made)
            self._depend(inside[0].relation, inside[0].terms, head, inside)
        elif self._is_alone(rule) and {*known} <= _variables(head.terms):
            self._rules.append(made)
            self._depend(head.relation, head.terms, head, inside)
        else:
            terms = tuple(dict.fromkeys([*(each for each in head.terms if isinstance(each, Variable)), *known]))
            instance = Atom(f"{head.relation}#instances{rule.id}", terms, head.span)
            self._widths[instance.relation] = len(terms)
            self._rules += [replace(made, head=instance), replace(made, body=(Positive(instance),))]
            self._depend(instance.relation, terms, head, inside)

    def _is_alone(self, rule: Rule) -> bool:
        """True if nothing but this rule derives rows of its head."""
        name = rule.head.relation
        is_given = self._relations[name].role is Role.INPUT
        return not is_given and sum(each.head.relation == name for each in self._stratum.rules) == 1

    def _projected(self, atom: Atom) -> Atom:
        return replace(atom, terms=tuple(atom.terms[column] for column in self._keys[atom.relation]))

    def _named(self, atom: Atom, number: int) -> Atom:
        """Returns the atom of keys with a variable in the place of each wildcard."""
        columns = self._relations[atom.relation].columns
        terms = [
            Variable(f"k#{number}.{column}", columns[column].type) if isinstance(term, Wildcard) else term
            for column, term in zip(self._keys[atom.relation], atom.terms, strict=True)
        ]
        return replace(atom, terms=tuple(terms))

    def _depend(self, source: str, terms: Sequence[Term], head: Atom, body: Sequence[Atom]) -> None:
        def places(atom: Atom) -> tuple[Place, ...]:
            if atom.terms is terms:
                return tuple(range(len(terms)))
            return tuple(each if isinstance(each, Constant) else terms.index(each) for each in atom.terms)

        for atom in body:
            self._dependencies.append(Dependencies(source, head.relation, places(head), atom.relation, places(atom)))


def _needed(body: Sequence[Literal], head: Atom) -> list[Literal]:
    """Returns the body without assignments that nothing reads."""
    kept: list[Literal] = []
    read: Counter[str] = Counter(term.name for term in head.terms if isinstance(term, Variable))
    # A condition may stand before an assignment that it does not read: the order of the others stays.
    for literal in body:
        read.update(_read_by(literal))
    for literal in reversed(body):
        if isinstance(literal, Assign) and not read[literal.variable.name]:
            read.subtract(_read_by(literal))
        else:
            kept.append(literal)
    return kept[::-1]


def _read_by(literal: Literal) -> set[str]:
    match literal:
        case Assign(expression=expression) | Condition(expression) | Unfold(expression=expression):
            return {*typed.variables(expression)}
        case Positive(atom) | Negative(atom):
            return {each.name for each in _variables(atom.terms)}
        case _:
            return set()


def _variables(terms: Sequence[Term]) -> set[Variable]:
    return {term for term in terms if isinstance(term, Variable)}
