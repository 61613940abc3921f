"""Rules of a recursive stratum → the columns by which its relations are divided, so that tasks join their own rows.

    Same(x, y) :- Up(x, a), Same(a, b), Up(y, b).     Same by column 0: the task of `a` joins all rows Same(a, _)
    Reach(x, z) :- Reach(x, y), Reach(y, z).          Reach by 0 and by 1: the task of `y` has the rows of both

Each rule is joined where the values of one variable meet, its *meeting variable*. It stands in every literal of the
rule on a relation of the stratum, so each such literal reads a copy of its relation that is divided by the variable's
column. The first copy of a relation is its *home*; further copies have the same rows with the same numbers. A head may
belong to any task: its instances are sent to the task of each copy.

A literal on a relation below that has the meeting variable needs only the rows of the task's own values; other
relations below are whole in every task. A rule without a literal of the stratum is divided by any variable, so that
each instance is found by one task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelog.rules.ir import Atom, Kind, Negative, Positive, Relation, Rule, Stratum, Variable


@dataclass(frozen=True, slots=True)
class Routing:
    """`copies` has for each relation of the stratum the columns of its copies, the home first. `meetings` has for each
    rule, by its place in the stratum, the column of its meeting variable in each positive or negated literal, by the
    literal's place in the body."""

    copies: Mapping[str, tuple[int, ...]]
    meetings: tuple[Mapping[int, int], ...]

    @property
    def homes(self) -> dict[str, int]:
        return {name: columns[0] for name, columns in self.copies.items()}


def copy_name(relation: str, columns: Sequence[int], column: int) -> str:
    """Returns the name of a copy; the home has the relation's own."""
    return relation if column == columns[0] else f"{relation}#at{column}"


def find_routing(stratum: Stratum, relations: Mapping[str, Relation]) -> Routing | str:
    """Returns the routing of a stratum; or, where it cannot be divided so, the reason in one sentence."""
    inside = {*stratum.relations}
    reason = _hindrance(stratum, relations)
    if reason:
        return reason
    chosen: dict[str, list[int]] = {}
    meetings: dict[int, Mapping[int, int]] = {}
    # Rules with a choice of one come first: the others can then use the copies that there are.
    choices = {place: _choices(rule, inside) for place, rule in enumerate(stratum.rules)}
    for place, rule in sorted(enumerate(stratum.rules), key=lambda each: len(choices[each[0]])):
        recursive = [number for number, atom in _literals(rule) if atom.relation in inside]
        if not recursive:
            meetings[place] = max(choices[place], key=len, default={})
            continue
        if not choices[place]:
            return f"no variable is in all recursive literals of `{rule.text}`"
        best = min(choices[place], key=lambda each: _new_copies(rule, each, recursive, chosen))
        meetings[place] = best
        for number in recursive:
            columns = chosen.setdefault(_atom(rule, number).relation, [])
            if best[number] not in columns:
                columns.append(best[number])
    copies = {name: tuple(chosen.get(name, [0])) for name in stratum.relations}
    return Routing(copies, tuple(meetings[place] for place in range(len(stratum.rules))))


def _hindrance(stratum: Stratum, relations: Mapping[str, Relation]) -> str:
    """Returns why relations cannot be divided among tasks; "" if they can."""
    if not stratum.recursive:
        return "its rules are not recursive"
    bare = [name for name in stratum.relations if not relations[name].columns]
    if bare:
        return f"`{bare[0]}` has no column to divide it by"
    read = {atom.relation for rule in stratum.rules for atom in rule.atoms}
    odd = sorted(name for name in read if relations[name].kind is not Kind.SET or relations[name].weighted)
    return f"`{odd[0]}` is no plain set" if odd else ""


def _literals(rule: Rule) -> list[tuple[int, Atom]]:
    """Returns the positive and negated literals of a body, with their places."""
    return [(place, each.atom) for place, each in enumerate(rule.body) if isinstance(each, Positive | Negative)]


def _atom(rule: Rule, place: int) -> Atom:
    literal = rule.body[place]
    assert isinstance(literal, Positive | Negative)
    return literal.atom


def _choices(rule: Rule, inside: set[str]) -> list[Mapping[int, int]]:
    """Returns the possible meetings of a rule, as in `Routing.meetings`.

    A meeting variable is bound by a positive literal. A rule with one literal on the stratum can also be joined where
    the rows of that literal are, by any of its columns.
    """
    literals = _literals(rule)
    recursive = [(place, atom) for place, atom in literals if atom.relation in inside]
    positive = [atom for place, atom in literals if isinstance(rule.body[place], Positive)]
    variables = dict.fromkeys(term for atom in positive for term in atom.terms if isinstance(term, Variable))
    found: list[Mapping[int, int]] = []
    for variable in variables:
        if all(variable in atom.terms for _, atom in recursive):
            found.append({place: atom.terms.index(variable) for place, atom in literals if variable in atom.terms})
    if len(recursive) == 1:
        ((place, atom),) = recursive
        met = {each[place] for each in found}
        found += [{place: column} for column in range(len(atom.terms)) if column not in met]
    return found


def _new_copies(
    rule: Rule, meeting: Mapping[int, int], recursive: Sequence[int], chosen: Mapping[str, Sequence[int]]
) -> tuple[int, int]:
    """Returns the order of choices: fewest new copies, then most literals that read only the task's own rows."""
    needed = {(_atom(rule, number).relation, meeting[number]) for number in recursive}
    return sum(column not in chosen.get(name, ()) for name, column in needed), -len(meeting)
