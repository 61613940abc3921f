"""Rules → the columns by which their recursion can be cut into independent parts.

A pivot is one column of each relation such that no rule ever joins rows with different values there:

    Reach(x, y) :- Edge(x, y).
    Reach(x, z) :- Reach(x, y), Edge(y, z).          column 0 of Reach: both rules carry `x` to the head

Then the rows of `Reach` that begin with one value are derived from each other and from relations below only, and a
task that holds all rows of some values, and the relations below, runs their whole fixpoint (and every later update)
alone. Ranks live inside such a part, so they stay true however values are dealt to tasks.

The condition, for every rule whose head is in the set: the head's pivot term is a variable, and every literal on a
relation of the set, positive or negated, has the same variable at its own pivot. A rule without a positive literal on
the set must still tell the part of its rows: its pivot term is a variable that a positive literal on a relation below
binds, or, if nothing of the set is negated either, a constant. The part of a computed value is unknown until it is
computed, so the column of an expression, a FlatMap or a transformer is no pivot. A rule that groups a relation by its
key carries the key.

This is the pivot set of generalised decomposable programs (BigDatalog), widened to negation and to several strata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidelog.rules.ir import Atom, Group, Positive, Relation, Rule, Variable


@dataclass(frozen=True, slots=True)
class Decomposition:
    """`pivots` has the column's position for each relation, or is None; `reason` is one sentence for people."""

    pivots: Mapping[str, int] | None
    reason: str


def find_pivots(rules: Sequence[Rule], relations: Mapping[str, Relation], inside: Iterable[str]) -> Decomposition:
    """Returns the leftmost possible pivot column for each relation of `inside`, which has all heads of `rules`."""
    members = tuple(inside)
    columns: dict[str, list[int]] = {}
    for name in members:
        headed = [rule for rule in rules if rule.head.relation == name]
        columns[name] = [
            position
            for position in range(len(relations[name].columns))
            if all(_says_whose_it_is(rule, position, members) for rule in headed)
        ]
        if not columns[name]:
            return Decomposition(None, _no_column(relations[name], headed, members))
    links = [(rule.head, atom) for rule in rules for atom in inside_atoms(rule, members)]
    pivots = _solve(columns, links)
    if pivots is None:
        return Decomposition(None, "no column is carried unchanged through " + _rules_that_move(links, rules))
    names = ", ".join(f"`{relations[name].columns[pivots[name]].name}` of `{name}`" for name in members)
    return Decomposition(pivots, f"every rule carries {names} unchanged")


def inside_atoms(rule: Rule, inside: Iterable[str]) -> list[Atom]:
    """Returns the atoms of the body (positive, negated, grouped, transformed) on relations of the set."""
    members = set(inside)
    return [atom for atom in rule.atoms if atom.relation in members]


def binding_atom(rule: Rule, variable: Variable) -> tuple[int, int] | None:
    """Returns the place in the body and the column of the first positive or grouping literal with this variable."""
    for place, literal in enumerate(rule.body):
        if isinstance(literal, Positive | Group) and variable in literal.atom.terms:
            return place, literal.atom.terms.index(variable)
    return None


def _says_whose_it_is(rule: Rule, position: int, inside: Sequence[str]) -> bool:
    term = rule.head.terms[position]
    if not isinstance(term, Variable):
        return not inside_atoms(rule, inside)
    read = rule.positives if rule.group is None else (rule.group.atom,)
    return any(atom.relation in inside for atom in read) or binding_atom(rule, term) is not None


def _solve(columns: Mapping[str, list[int]], links: Sequence[tuple[Atom, Atom]]) -> dict[str, int] | None:
    """Returns one column per relation such that every link carries its variable; tries the leftmost first.

    Narrowing after each choice keeps one column of most relations, so trying again is rare.
    """
    narrowed = _narrow(columns, links)
    if narrowed is None:
        return None
    open_name = next((name for name, positions in narrowed.items() if len(positions) > 1), None)
    if open_name is None:
        return {name: positions[0] for name, positions in narrowed.items()}
    for position in narrowed[open_name]:
        found = _solve({**narrowed, open_name: [position]}, links)
        if found is not None:
            return found
    return None


def _narrow(columns: Mapping[str, list[int]], links: Sequence[tuple[Atom, Atom]]) -> dict[str, list[int]] | None:
    """Returns the columns that have a partner at the other end of each link; None when a relation has none."""
    narrowed = dict(columns)
    changed = True
    while changed:
        changed = False
        for head, atom in links:
            pairs = [
                (i, j)
                for i in narrowed[head.relation]
                for j in narrowed[atom.relation]
                if isinstance(head.terms[i], Variable)
                and head.terms[i] == atom.terms[j]
                and (head.relation != atom.relation or i == j)
            ]
            for name, kept in ((head.relation, {i for i, _ in pairs}), (atom.relation, {j for _, j in pairs})):
                positions = [position for position in narrowed[name] if position in kept]
                changed = changed or len(positions) < len(narrowed[name])
                narrowed[name] = positions
                if not positions:
                    return None
    return narrowed


def _no_column(relation: Relation, rules: Sequence[Rule], inside: Sequence[str]) -> str:
    if not relation.columns:
        return f"`{relation.name}` has no column to divide it by"
    for rule in rules:
        if not any(_says_whose_it_is(rule, position, inside) for position in range(len(relation.columns))):
            return f"no column of the head is bound by a literal of the body in `{rule.text}`"
    return f"no column of `{relation.name}` is bound by a literal in all of its rules"


def _rules_that_move(links: Sequence[tuple[Atom, Atom]], rules: Sequence[Rule]) -> str:
    heads = {id(head) for head, _ in links}
    texts = [f"`{rule.text}`" for rule in rules if id(rule.head) in heads]
    shown = ", ".join(texts[:2])
    return shown if len(texts) <= 2 else f"{shown} and {len(texts) - 2} more"
