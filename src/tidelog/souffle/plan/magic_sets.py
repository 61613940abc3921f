"""Planned rules → rules that derive only what the outputs ask for (`.pragma "magic-transform"`).

    path(x, y) :- edge(x, y).                          path(x, y) :- path.magic.bf(x), edge(x, y).
    path(x, z) :- edge(x, y), path(y, z).              path(x, z) :- path.magic.bf(x), edge(x, y), path(y, z).
    out(y) :- path(1, y).                              path.magic.bf(1).
                                                       path.magic.bf(y) :- path.magic.bf(x), edge(x, y).

A pattern has `b` for each column whose value is known when a rule reads the relation, in the order of its steps. The
relation keeps its name: it has the rows that any pattern asks for, and maybe more of its rows, never others. It is left
whole where it is an output, where a rule reads it with no column known, and with all that it needs where a negated
atom, an aggregate or a stratum that is recomputed reads it; so no demand stands below a negation that it depends on.

A value that a functor has made is no demand inside a recursion: there may be no end to such values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.souffle.check.declared import Declared
from tidelog.souffle.plan import terms
from tidelog.souffle.plan.number_values import NUMBERED
from tidelog.souffle.text import tree
from tidelog.strong_components import strong_components

_ALL = "*"
PRAGMA, EXCLUDED = "magic-transform", "magic-transform-exclude"


@dataclass(frozen=True, slots=True)
class Demand:
    """The rules, the relations of demand that they need, and the relations that have only the rows asked for."""

    rules: tuple[terms.Planned, ...]
    relations: Mapping[str, tree.RelationDeclaration]
    restricted: frozenset[str]


def magic_sets(rules: Sequence[terms.Planned], declared: Declared) -> Demand:
    """Returns the rules as they are if the program does not want magic sets, or has no output."""
    named = _named(declared)
    roots = {each.name for each in declared.directives if each.kind in ("output", "printsize")}
    if not named or not roots:
        return Demand(tuple(rules), {}, frozenset())
    by_head: dict[str, list[terms.Planned]] = {}
    for rule in rules:
        by_head.setdefault(rule.head, []).append(rule)
    whole = roots | _unfit(by_head, declared) | (set(by_head) - named)
    whole |= _below(_strict(by_head, declared), by_head)
    parts = _parts(by_head, declared)
    while True:
        transforming = _Transforming(by_head, declared, whole, parts)
        unbound = transforming.run(sorted(roots))
        if not unbound:
            break
        whole |= unbound
    restricted = frozenset(by_head) - (transforming.reached & whole)
    return Demand(tuple(transforming.made), transforming.relations, restricted)


def _named(declared: Declared) -> set[str]:
    """Returns the relations that may be restricted."""
    wanted = declared.pragmas.get(PRAGMA)
    marked = {name for name, each in declared.relations.items() if "magic" in each.qualifiers}
    if wanted is None and not marked:
        return set()
    chosen = set((wanted or "").replace(" ", "").split(","))
    found = set(declared.relations) if _ALL in chosen else {name for name in declared.relations if name in chosen}
    excluded = set(declared.pragmas.get(EXCLUDED, "").replace(" ", "").split(","))
    if _ALL in excluded:
        return set()
    unmarked = {name for name, each in declared.relations.items() if "no_magic" in each.qualifiers}
    return (found | marked) - excluded - unmarked


def _is_special(name: str, rules: Iterable[terms.Planned], declared: Declared) -> bool:
    relation = declared.relations[name]
    return bool(
        relation.dependencies
        or "eqrel" in relation.qualifiers
        or NUMBERED in relation.qualifiers
        or declared.given("limitsize", name)
        or any(each.lattice for each in relation.attributes)
        or any(rule.better is not None or terms.counts(rule) for rule in rules)
    )


def _unfit(by_head: Mapping[str, Sequence[terms.Planned]], declared: Declared) -> set[str]:
    """Returns the relations whose rules cannot start from a demand."""
    return {
        name
        for name, rules in by_head.items()
        if _is_special(name, rules, declared)
        or any(isinstance(step, terms.Fold) and step.free is None for rule in rules for step in rule.steps)
    }


def _strict(by_head: Mapping[str, Sequence[terms.Planned]], declared: Declared) -> set[str]:
    """Returns the relations that must be whole with all that they need."""
    found = {name for name, rules in by_head.items() if _is_special(name, rules, declared)}
    for rules in by_head.values():
        for step in (step for rule in rules for step in rule.steps):
            if isinstance(step, terms.Absent | terms.Fold):
                found |= terms.reads(step)
    return found


def _below(names: Iterable[str], by_head: Mapping[str, Sequence[terms.Planned]]) -> set[str]:
    seen, waiting = set(names), [*names]
    while waiting:
        for rule in by_head.get(waiting.pop(), ()):
            for name in {name for step in rule.steps for name in terms.reads(step)} - seen:
                seen.add(name)
                waiting.append(name)
    return seen


def _parts(by_head: Mapping[str, Sequence[terms.Planned]], declared: Declared) -> dict[str, int]:
    """Returns the number of the recursion that each relation belongs to."""
    graph: dict[str, list[str]] = {name: [] for name in declared.relations}
    for name, rules in by_head.items():
        graph[name] += [each for rule in rules for step in rule.steps for each in terms.reads(step)]
    return {name: number for number, members in enumerate(strong_components(graph)) for name in members}


class _Transforming:
    """One attempt, with relations that are known to stay `whole`; it finds others that have to."""

    def __init__(
        self,
        by_head: Mapping[str, Sequence[terms.Planned]],
        declared: Declared,
        whole: set[str],
        parts: Mapping[str, int],
    ) -> None:
        self._by_head, self._declared, self._whole, self._parts = by_head, declared, whole, parts
        self._fresh = 0
        self._waiting: list[tuple[str, str]] = []
        self._seen: set[tuple[str, str]] = set()
        self._unbound: set[str] = set()
        self.made: list[terms.Planned] = []
        self.relations: dict[str, tree.RelationDeclaration] = {}

    @property
    def reached(self) -> set[str]:
        return {name for name, _ in self._seen}

    def run(self, roots: Sequence[str]) -> set[str]:
        """Makes the rules; returns relations that have to be whole, after which another attempt is due."""
        for name in roots:
            self._ask(name, "")
        while self._waiting:
            name, pattern = self._waiting.pop()
            for rule in self._by_head.get(name, ()):
                guarded = self._guarded(rule, pattern)
                self.made.append(guarded)
                self._demand(guarded, rule.head)
        return self._unbound

    def _ask(self, name: str, pattern: str) -> None:
        if (name, pattern) not in self._seen:
            self._seen.add((name, pattern))
            self._waiting.append((name, pattern))

    def _demand(self, rule: terms.Planned, head: str) -> None:
        """Asks for what the body of a rule reads, step by step."""
        known: set[str] = set()  # variables whose values may be asked for inside the recursion
        bound: set[str] = set()
        for place, step in enumerate(rule.steps):
            if isinstance(step, terms.Scan) and step.relation in self._by_head:
                self._read(rule, place, step, known if self._parts[step.relation] == self._parts[head] else bound)
            elif isinstance(step, terms.Absent | terms.Fold):
                for name in terms.reads(step) & set(self._by_head):
                    self._ask(name, "")
            for each in terms.bound_by([step]):
                bound.add(each.name)
                if isinstance(step, terms.Scan | terms.Unpack) or _copies(step, known):
                    known.add(each.name)

    def _read(self, rule: terms.Planned, place: int, scan: terms.Scan, known: set[str]) -> None:
        if scan.relation in self._whole:
            self._ask(scan.relation, "")
            return
        pattern = "".join(
            "b" if isinstance(each, terms.Const) or (isinstance(each, terms.Var) and each.name in known) else "f"
            for each in scan.terms
        )
        if "b" not in pattern:
            self._unbound.add(scan.relation)
            return
        wanted = tuple(each for each, mark in zip(scan.terms, pattern, strict=True) if mark == "b" and each is not None)
        magic = self._relation(scan.relation, pattern)
        self._ask(scan.relation, pattern)
        before = rule.steps[:place]
        if (
            len(before) == 1
            and isinstance(before[0], terms.Scan)
            and (before[0].relation, before[0].terms) == (magic, wanted)
        ):
            return  # asks for what is asked for
        self.made.append(terms.Planned(magic, wanted, before, scan.span))

    def _relation(self, name: str, pattern: str) -> str:
        """Returns the relation with the values that are asked for."""
        magic = f"{name}.magic.{pattern}"
        if magic not in self.relations:
            source = self._declared.relations[name]
            columns = tuple(each for each, mark in zip(source.attributes, pattern, strict=True) if mark == "b")
            plain = tuple(replace(each, lattice=False) for each in columns)
            self.relations[magic] = tree.RelationDeclaration(magic, plain, span=source.span)
        return magic

    # Guards

    def _guarded(self, rule: terms.Planned, pattern: str) -> terms.Planned:
        """Returns the rule with a scan of what is asked for in front."""
        guard: list[terms.Var | terms.Const | None] = []
        taken: list[terms.Step] = []
        compared: list[terms.Step] = []
        bound: set[str] = set()
        for term, mark in zip(rule.terms, pattern, strict=bool(pattern)):
            if mark == "f":
                continue
            if isinstance(term, terms.Var | terms.Const):
                guard.append(term)
                bound |= terms.variables(term)
                continue
            value = self._variable(term.kind)
            guard.append(value)
            bound.add(value.name)
            fields = _variables(term)
            names = {each.name for each in fields}
            if isinstance(term, terms.Make) and len(names) == len(term.arguments) and not bound & names:
                taken.append(terms.Unpack(value, term.branch, fields, rule.span))
                bound |= names
            else:
                compared.append(terms.Test("=", value, term, rule.span))
        if not pattern:
            asked = set(self._by_head) - self._whole
            if not terms.counts(rule) and not any(terms.reads(step) & asked for step in rule.steps):
                return rule  # as it is written, so that the same text removes it
            return replace(rule, steps=tuple(self._ordered(rule.steps, bound)))
        scan = terms.Scan(self._relation(rule.head, pattern), tuple(guard), rule.span)
        return replace(rule, steps=(scan, *taken, *self._ordered([*rule.steps, *compared], bound)))

    def _ordered(self, steps: Sequence[terms.Step], bound: set[str]) -> list[terms.Step]:
        """Returns the steps in an order in which what is asked for is known early, by the variables that are bound.

        Where a step would bind a variable that is bound already, it compares.
        """
        waiting, bound = [*steps], {*bound}
        made: list[terms.Step] = []
        while waiting:
            ready = next((each for each in waiting if _is_ready(each, bound, waiting)), None)
            step = ready or min((each for each in waiting if isinstance(each, terms.Scan)), key=self._late(bound))
            waiting = [each for each in waiting if each is not step]
            made += self._rebound(step, bound)
            bound |= {each.name for each in terms.bound_by([step])}
        return made

    def _late(self, bound: set[str]) -> Callable[[terms.Scan], tuple[bool, bool, int]]:
        def key(scan: terms.Scan) -> tuple[bool, bool, int]:
            known = sum(isinstance(each, terms.Const) or each.name in bound for each in scan.terms if each is not None)
            is_asked = scan.relation in self._by_head and scan.relation not in self._whole
            return not known, is_asked, -known if is_asked else 0

        return key

    def _rebound(self, step: terms.Step, bound: set[str]) -> list[terms.Step]:
        """Returns a step that binds no variable that is bound, and the comparisons in place of that."""
        match step:
            case terms.Bind(variable, value, span) if variable.name in bound:
                return [terms.Test("=", variable, value, span)]
            case terms.Each(variable) | terms.Fold(variable) if variable.name in bound:
                fresh = self._variable(variable.kind)
                return [replace(step, variable=fresh), terms.Test("=", variable, fresh, step.span)]
            case terms.Unpack(_, _, fields, span):
                named = {each.name: self._variable(each.kind) for each in fields if each and each.name in bound}
                plain = tuple(named.get(each.name, each) if each else None for each in fields)
                compared = [
                    terms.Test("=", each, named[each.name], span) for each in fields if each and each.name in named
                ]
                return [replace(step, fields=plain), *compared]
        return [step]

    def _variable(self, kind: str) -> terms.Var:
        self._fresh += 1
        return terms.Var(f"?m{self._fresh}", kind)


def _is_ready(step: terms.Step, bound: set[str], waiting: Sequence[terms.Step]) -> bool:
    """True for a step other than a scan whose values are all known. A counter comes last."""
    match step:
        case terms.Scan():
            return False
        case terms.Bind(_, value):
            is_last = not any(isinstance(each, terms.Scan) for each in waiting)
            return terms.variables(value) <= bound and (is_last or not isinstance(value, terms.Count))
        case terms.Test(_, left, right):
            return terms.variables(left) | terms.variables(right) <= bound
        case terms.Absent(_, wanted):
            return all(terms.variables(each) <= bound for each in wanted)
        case terms.Unpack(value):
            return value.name in bound
        case terms.Each(_, bounds):
            return all(terms.variables(each) <= bound for each in bounds)
        case terms.Fold(keys=keys, first=first):
            return {each.name for each in keys} | terms.variables(first) <= bound
        case _:
            return True


def _variables(term: terms.Term) -> tuple[terms.Var, ...]:
    """Returns the fields of a record or a branch that are variables."""
    return tuple(each for each in term.arguments if isinstance(each, terms.Var)) if isinstance(term, terms.Make) else ()


def _copies(step: terms.Step, known: set[str]) -> bool:
    """True for a step that gives a variable a value that was there before."""
    if not isinstance(step, terms.Bind):
        return False
    return isinstance(step.value, terms.Const) or (isinstance(step.value, terms.Var) and step.value.name in known)
