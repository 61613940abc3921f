"""A monotone stratum → what kernels run: rules over all rows, best and surpassed, and rules over the visible ones.

    Way(m, d + l) :- Best(n, d), Edge(n, m, l).          all rows    Way(m, d + l) :- G(n, d), Edge(n, m, l).
    M(n, d) :- Way(n, d).                           →                G(n, d): the best of Way(n, d)
    G(n, g) :- group of M(n, _).                         visible     Way(m, d + l) :- Best(n, d), Edge(n, m, l).
    Best(n, m) :- G(n, g), var m = g.min().                          Best(n, d): the best rows of G

A relation that is a copy of another has no rows of its own among all rows. Among the visible rows, those of a group are
stored as the copy of it that users see, if there is one. Hidden relations that no other rule reads, such as M, are
derived when somebody asks for an explanation.

Sums are bounded by the largest values of some columns (`checked_sums`). Strata that read weighted relations run row by
row in Python (`stratum.MonotoneStratum`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tidelog.check import typed
from tidelog.engine.local.strata.monotone.checked_sums import BoundedSum, CheckedSums, without_addends
from tidelog.rules.analysis.monotone import Best, Monotone, find_monotone
from tidelog.rules.ir import Assign, Atom, Kind, Literal, Negative, Positive, Role, Rule, RuleProgram, Stratum, Variable
from tidelog.types import BitType, Type


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """`all_rows`: the relations with all rows, each with the types of its columns; `rules` derive them, `bests` say
    which are groups. `shown` has, for each group, the copy of it that users see, or None.

    `plain` are relations without costs; `counted` are visible relations with costs, in order, with their rules;
    `hidden` the same for those that wait until they are asked for. `grouped` are the groups that rules outside the
    recursion read.
    """

    monotone: Monotone
    all_rows: Mapping[str, tuple[Type, ...]]
    names: Mapping[str, str]
    rules: tuple[Rule, ...]
    bests: tuple[Best, ...]
    shown: Mapping[str, str | None]
    plain: tuple[str, ...]
    counted: tuple[tuple[str, tuple[Rule, ...]], ...]
    hidden: tuple[tuple[str, tuple[Rule, ...]], ...]
    sums: tuple[BoundedSum, ...]
    grouped: tuple[str, ...]


class NeedsPythonError(Exception):
    """Kernels cannot run a stratum; the text says why."""


def kernel_plan(stratum: Stratum, program: RuleProgram) -> KernelPlan | str:
    """Returns the plan of a monotone stratum, or the reason why Python has to run it."""
    try:
        return _Planner(stratum, program).plan()
    except NeedsPythonError as error:
        return str(error)


def flip_of(type_: Type, *, smallest: bool) -> int:
    """Returns the word whose bits, exchanged, make the order of a type's words: the best value has the least word."""
    flip = -(1 << 63) if isinstance(type_, BitType) and type_.width == 64 else 0
    return flip if smallest else ~flip


class _Planner:
    def __init__(self, stratum: Stratum, program: RuleProgram) -> None:
        self._stratum = stratum
        self._relations = program.relations
        self._monotone = find_monotone(stratum, program.relations)
        self._groups = {best.relation for best in self._monotone.bests}
        self._inside = {*stratum.relations}
        own = {*map(id, stratum.rules)}
        self._read_outside = {atom.relation for rule in program.rules if id(rule) not in own for atom in rule.atoms}
        self._read_outside |= {feed.source for feed in program.feeds}
        self._read_outside |= {each.relation for each in program.inspections}

    def plan(self) -> KernelPlan:
        read = {atom.relation for rule in self._stratum.rules for atom in rule.atoms} | self._inside
        for name in sorted(read):
            if self._relations[name].weighted or self._relations[name].kind is not Kind.SET:
                raise NeedsPythonError(f"`{name}` is not a set")
        names = self._aliases()
        rules = [without_addends(rule) for rule in self._monotone.rules]
        checked = CheckedSums(self._monotone, self._inside)
        shown = {best.relation: self._copy_of(best.relation, rules) for best in self._monotone.bests}
        counted, hidden = self._counted(rules, {*shown.values()})
        return KernelPlan(
            monotone=self._monotone,
            all_rows={name: self._types(name) for name in self._stratum.relations if names[name] == name}
            | checked.relations,
            names=names | {name: name for name in checked.relations},
            rules=tuple(
                _renamed(rule, names)
                for rule in checked.rules
                if names.get(rule.head.relation, rule.head.relation) == rule.head.relation
            ),
            bests=tuple(replace(best, members=names[best.members]) for best in self._monotone.bests),
            shown=shown,
            plain=tuple(
                name
                for name in self._stratum.relations
                if name not in self._groups and name not in self._monotone.costs
            ),
            counted=tuple(counted),
            hidden=tuple(hidden),
            sums=tuple(checked.sums),
            grouped=tuple(sorted(self._read_outside & self._groups)),
        )

    def _types(self, name: str) -> tuple[Type, ...]:
        types = tuple(column.type for column in self._relations[name].columns)
        best = next((best for best in self._monotone.bests if best.relation == name), None)
        return types if best is None else (*types[: best.keys], best.type)

    def _aliases(self) -> dict[str, str]:
        """Returns, for each relation, the one whose rows it has: its own, or those that it copies."""
        rules: dict[str, list[Rule]] = {}
        for each in self._monotone.rules:
            rules.setdefault(each.rule.head.relation, []).append(each.rule)
        copied: dict[str, str] = {}
        for name, own in rules.items():
            if name in self._groups or self._relations[name].role is Role.INPUT or len(own) != 1:
                continue
            source = _copied(own[0])
            if source in self._inside and source is not None:
                copied[name] = source
        found = {}
        for name in self._stratum.relations:
            seen, at = {name}, name
            while at in copied:
                at = copied[at]
                if at in seen:  # copies of one another
                    at = name
                    break
                seen.add(at)
            found[name] = at
        return found

    def _copy_of(self, group: str, rules: list[Rule]) -> str | None:
        """Returns a declared relation that has nothing but the rows of a group."""
        for rule in rules:
            head = self._relations[rule.head.relation]
            alone = sum(each.head.relation == head.name for each in rules) == 1
            if alone and head.role not in (Role.INPUT, Role.HIDDEN) and _copied(rule) == group:
                return head.name
        return None

    def _counted(
        self, rules: list[Rule], copies: set[str | None]
    ) -> tuple[list[tuple[str, tuple[Rule, ...]]], list[tuple[str, tuple[Rule, ...]]]]:
        """Returns the visible relations with costs and their rules: those that every epoch derives, and the hidden
        ones that it does not."""
        order = [name for name in self._monotone.costs if name not in copies]
        needed = {best.members for best in self._monotone.bests if best.relation in self._read_outside}
        for name in reversed(order):
            if self._relations[name].role is not Role.HIDDEN or name in self._read_outside or name in needed:
                needed.add(name)
                own = (rule for rule in rules if rule.head.relation == name)
                needed |= {atom.relation for rule in own for atom in rule.atoms}
        made = [(name, tuple(rule for rule in rules if rule.head.relation == name)) for name in order]
        return [each for each in made if each[0] in needed], [each for each in made if each[0] not in needed]


def _copied(rule: Rule) -> str | None:
    """Returns the relation that a rule copies, column by column; None if it does anything else."""
    if len(rule.positives) != 1:
        return None
    (atom,) = rule.positives
    moved: dict[str, str] = {}
    for literal in rule.body:
        match literal:
            case Positive():
                pass
            case Assign(variable, typed.Var(name)):
                moved[variable.name] = name
            case _:
                return None
    head = [_moved(term.name, moved) if isinstance(term, Variable) else None for term in rule.head.terms]
    body = [term.name if isinstance(term, Variable) else None for term in atom.terms]
    is_copy = head == body and None not in head and len({*head}) == len(head)
    return atom.relation if is_copy else None


def _moved(name: str, moved: Mapping[str, str]) -> str:
    while name in moved:
        name = moved[name]
    return name


def _renamed(rule: Rule, names: Mapping[str, str]) -> Rule:
    """Returns the rule with other names of relations in its body."""
    return replace(rule, body=tuple(_renamed_literals(rule.body, names)))


def _renamed_literals(body: tuple[Literal, ...], names: Mapping[str, str]) -> Iterator[Literal]:
    for literal in body:
        if isinstance(literal, Positive | Negative):
            atom: Atom = literal.atom
            yield replace(literal, atom=replace(atom, relation=names.get(atom.relation, atom.relation)))
        else:
            yield literal
