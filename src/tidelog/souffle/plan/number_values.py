"""Planned rules → rules that look ordinals up in a table (`ord(x)`, and casts of symbols and records to numbers).

    before(x, y) :- node(x), node(y), ord(x) < ord(y).

    .asked.symbol(x) :- node(x).                             .ordinals.symbol: each of these values, with a number
    before(x, y) :- node(x), node(y), .ordinals.symbol(x, a), .ordinals.symbol(y, b), a < b.

Values of one kind have one table, so no two of them share a number. `.asked` has all values of the columns that the
arguments of `ord` come from. If such a column belongs to a relation that needs ordinals itself, as in a recursion, the
columns that it is copied from take its place. A value that a functor or a record makes is asked for by the part of the
clause that makes it; if that part needs ordinals of the same kind, the kind has no table, and its ordinals are hashes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidelog.diagnostics.spans import Span
from tidelog.souffle.check.declared import Declared
from tidelog.souffle.plan import terms
from tidelog.souffle.text import tree

NUMBERED = "ordinals"
"""The qualifier of a table of ordinals."""

_PLAIN = ("number", "unsigned", "float")
_READERS = ("to_string", "to_number", "to_unsigned", "to_float")
_Column = tuple[str, int]
_Steps = tuple[terms.Step, ...]


@dataclass(slots=True)
class Numbering:
    """The table of a kind: it has the values of `columns` and of `facts` (columns of inputs), `constants`, and what
    the clauses `made` make. The values of the columns in `followed` are among them.
    """

    kind: str
    columns: set[_Column] = field(default_factory=set)
    facts: set[_Column] = field(default_factory=set)
    constants: set[terms.Const] = field(default_factory=set)
    made: dict[str, tuple[_Steps, terms.Term, Span]] = field(default_factory=dict)
    followed: set[_Column] = field(default_factory=set)

    @property
    def table(self) -> str:
        return f".ordinals.{self.kind}"

    @property
    def asked(self) -> str:
        return f".asked.{self.kind}"


@dataclass(frozen=True, slots=True)
class Numbered:
    """The rules, the relations of the tables, and the tables by kind."""

    rules: tuple[terms.Planned, ...]
    relations: Mapping[str, tree.RelationDeclaration]
    tables: Mapping[str, Numbering]


def number_values(rules: Sequence[terms.Planned], declared: Declared) -> Numbered:
    """Returns the rules as they are if none asks for an ordinal."""
    sites = [(term, steps, rule) for rule in rules for term, steps in _sites(rule)]
    tables: dict[str, Numbering] = {}
    relations: dict[str, tree.RelationDeclaration] = {}
    made: list[terms.Planned] = []
    for kind in sorted({term.kind for term, _, _ in sites}):
        own = [each for each in sites if each[0].kind == kind]
        table = _Tracing(kind, rules, declared, {rule.head for _, _, rule in own}).numbering(own)
        if table is None:
            continue
        span = own[0][2].span
        tables[kind] = table
        value, number = (tree.Attribute(*each, span=span) for each in (("value", kind), ("number", "number")))
        relations[table.asked] = tree.RelationDeclaration(table.asked, (value,), span=span)
        relations[table.table] = tree.RelationDeclaration(table.table, (value, number), (NUMBERED,), span=span)
        made += _asked(table, declared, span)
    return Numbered((*(with_ordinals(rule, tables) for rule in rules), *made), relations, tables)


def with_ordinals(rule: terms.Planned, tables: Mapping[str, Numbering]) -> terms.Planned:
    """Returns a rule that looks up the ordinals that it asks for, where their kind has a table."""
    if not any(term.kind in tables for term, _ in _sites(rule)):
        return rule
    lookup = _Lookup(tables)
    steps = lookup.steps(rule.steps)
    head = tuple(lookup.term(each, rule.span) for each in rule.terms)
    better = None if rule.better is None else tuple(lookup.term(each, rule.span) for each in rule.better)
    return replace(rule, terms=head, steps=(*steps, *lookup.taken()), better=better)


def unnumbered(rule: terms.Planned, tables: Mapping[str, Numbering]) -> bool:
    """True if a clause that is added to a program needs, or makes, values that a table does not have."""
    for term, steps in _sites(rule):
        if term.kind in tables and not _is_numbered(term, steps, tables[term.kind]):
            return True
    return any(
        (rule.head, place) in table.followed and not _is_numbered(term, rule.steps, table)
        for table in tables.values()
        for place, term in enumerate(rule.terms)
    )


def _is_numbered(term: terms.Term, steps: Sequence[terms.Step], table: Numbering) -> bool:
    match _source(term, steps):
        case terms.Const() as constant:
            return constant in table.constants
        case (str(), int()) as column:
            return column in table.columns or column in table.followed
        case _:
            return terms.text_of((*steps, term)) in table.made


def _asked(table: Numbering, declared: Declared, span: Span) -> Iterator[terms.Planned]:
    """Yields the rules of the values that are asked for, without facts of inputs, and a rule in place of the table."""
    value = terms.Var("value", table.kind)
    for name, place in sorted(table.columns):
        columns = tuple(value if each == place else None for each in range(len(declared.relations[name].attributes)))
        yield terms.Planned(table.asked, (value,), (terms.Scan(name, columns, span),), span)
    for constant in sorted(table.constants, key=repr):
        yield terms.Planned(table.asked, (constant,), (), span)
    for steps, term, where in table.made.values():
        yield terms.Planned(table.asked, (term,), steps, where)
    yield terms.Planned(table.table, (value, value), (terms.Scan(table.asked, (value,), span),), span)


# Where ordinals are asked for


def _argument(term: terms.Term) -> terms.Term | None:
    """Returns the value that a term needs the ordinal of, if it does."""
    if not isinstance(term, terms.Op) or not term.arguments or term.arguments[0].kind in _PLAIN:
        return None
    given = term.arguments[0]
    is_asked = (
        term.name == "ord"
        or (term.name == "cast" and term.kind in _PLAIN)
        or (term.name in _READERS and given.kind != "symbol")
    )
    return given if is_asked else None


def _in_term(term: terms.Term | None) -> Iterator[terms.Term]:
    if isinstance(term, terms.Op | terms.Make):
        for each in term.arguments:
            yield from _in_term(each)
        if (found := _argument(term)) is not None:
            yield found


def _in_step(step: terms.Step) -> Iterator[terms.Term]:
    """Yields the values whose ordinals a step asks for; one that is an aggregate, only for its own terms."""
    for each in _terms_of(step):
        yield from _in_term(each)


def _terms_of(step: terms.Step) -> Sequence[terms.Term | None]:
    match step:
        case terms.Absent(_, wanted):
            return wanted
        case terms.Bind(_, value):
            return (value,)
        case terms.Test(_, left, right):
            return (left, right)
        case terms.Each(_, bounds):
            return bounds
        case terms.Fold():
            return (step.first,)
        case _:
            return ()


def _sites(rule: terms.Planned) -> Iterator[tuple[terms.Term, _Steps]]:
    """Yields each value whose ordinal a rule asks for, with the steps before it."""
    yield from _in_steps(rule.steps, ())
    for term in (*rule.terms, *(rule.better or ())):
        for found in _in_term(term):
            yield found, rule.steps


def _in_steps(steps: _Steps, before: _Steps) -> Iterator[tuple[terms.Term, _Steps]]:
    for place, step in enumerate(steps):
        for found in _in_step(step):
            yield found, (*before, *steps[:place])
        if isinstance(step, terms.Fold):
            yield from _in_steps(step.steps, (*before, *steps[:place]))
            for found in _in_term(step.target):
                yield found, (*before, *steps[:place], *step.steps)


# Where values come from


def _source(term: terms.Term, steps: Sequence[terms.Step]) -> terms.Const | _Column | None:
    """Returns the constant that a term is, or the column whose value it has; None for a value that is made."""
    if isinstance(term, terms.Const):
        return term
    if not isinstance(term, terms.Var):
        return None
    for step in steps:
        match step:
            case terms.Scan(relation, columns) if term in columns:
                return relation, columns.index(term)
            case terms.Bind(variable, value) if variable == term:
                return _source(value, steps)
            case terms.Unpack(_, _, parts) if term in parts:
                return None
            case terms.Each(variable) | terms.Fold(variable) if variable == term:
                return None
    return None


class _Tracing:
    """Finds where the values of one kind come from whose ordinals are asked for."""

    def __init__(self, kind: str, rules: Sequence[terms.Planned], declared: Declared, asking: set[str]) -> None:
        self._kind, self._declared = kind, declared
        self._by_head: dict[str, list[terms.Planned]] = {}
        readers: dict[str, set[str]] = {}
        for rule in rules:
            self._by_head.setdefault(rule.head, []).append(rule)
            for name in {name for step in rule.steps for name in terms.reads(step)}:
                readers.setdefault(name, set()).add(rule.head)
        # The relations that need ordinals of the kind.
        self._dependent = set(asking)
        waiting = [*asking]
        while waiting:
            for name in readers.get(waiting.pop(), set()) - self._dependent:
                self._dependent.add(name)
                waiting.append(name)

    def numbering(self, sites: Sequence[tuple[terms.Term, _Steps, terms.Planned]]) -> Numbering | None:
        """Returns the table; None if the values that it has would depend on their own ordinals."""
        table = Numbering(self._kind)
        waiting = [(term, steps, rule.span) for term, steps, rule in sites]
        while waiting:
            term, steps, span = waiting.pop()
            match _source(term, steps):
                case terms.Const() as constant:
                    table.constants.add(constant)
                case (str(name), int(place)) as column:
                    if name not in self._dependent:
                        table.columns.add(column)
                    elif column not in table.followed:
                        table.followed.add(column)
                        if any(each.lattice for each in self._declared.relations[name].attributes):
                            return None
                        # A pair of an equivalence relation stands there in both orders.
                        places = (0, 1) if "eqrel" in self._declared.relations[name].qualifiers else (place,)
                        if self._declared.given("input", name):
                            table.facts |= {(name, each) for each in places}
                        waiting += [
                            (rule.terms[each], rule.steps, rule.span)
                            for rule in self._by_head.get(name, ())
                            if rule.better is None
                            for each in places
                        ]
                case _:
                    needed = self._needed(term, steps)
                    if needed is None:
                        return None
                    table.made.setdefault(terms.text_of((*steps, term)), (needed, term, span))
        return table

    def _needed(self, term: terms.Term, steps: Sequence[terms.Step]) -> _Steps | None:
        """Returns steps that make a value without ordinals of the kind, and maybe more values; None if there are none.

        Steps that need such ordinals are left out: they could only make values fewer.
        """
        kept: list[terms.Step] = []
        bound: set[str] = set()
        for step in steps:
            is_independent = not (
                terms.reads(step) & self._dependent
                or any(each.kind == self._kind for each, _ in _in_steps((step,), ()))
                or (isinstance(step, terms.Bind) and isinstance(step.value, terms.Count))
            )
            if is_independent and _inputs(step) <= bound:
                kept.append(step)
                bound |= {each.name for each in terms.bound_by((step,))}
        if not terms.variables(term) <= bound or any(each.kind == self._kind for each in _in_term(term)):
            return None
        return tuple(kept)


def _inputs(step: terms.Step) -> set[str]:
    """Returns the variables that have a value before a step."""
    match step:
        case terms.Scan():
            return set()
        case terms.Fold():
            return {each.name for each in step.keys} | terms.variables(step.first)
        case _:
            return terms.used_by((step,)) - {each.name for each in terms.bound_by((step,))}


# Tables instead of functors


class _Lookup:
    """Replaces terms of the steps of one body; `taken` returns the steps that look up what was replaced last."""

    def __init__(self, tables: Mapping[str, Numbering], count: list[int] | None = None) -> None:
        self._tables = tables
        self._count = [0] if count is None else count
        self._known: dict[terms.Term, terms.Var] = {}
        self._before: list[terms.Step] = []

    def taken(self) -> list[terms.Step]:
        found, self._before = self._before, []
        return found

    def steps(self, steps: Sequence[terms.Step]) -> list[terms.Step]:
        made: list[terms.Step] = []
        for step in steps:
            found = self._step(step)
            made += [*self.taken(), found]
        return made

    def term(self, term: terms.Term, span: Span) -> terms.Term:
        if not isinstance(term, terms.Op | terms.Make):
            return term
        given = tuple(self.term(each, span) for each in term.arguments)
        asked = _argument(term)
        if asked is not None and asked.kind in self._tables:
            given = (self._ordinal(given[0], span),)
        return replace(term, arguments=given)

    def _ordinal(self, value: terms.Term, span: Span) -> terms.Var:
        if value not in self._known:
            column = value
            if not isinstance(column, terms.Var | terms.Const):
                column = self._variable(value.kind)
                self._before.append(terms.Bind(column, value, span))
            number = self._variable("number")
            self._before.append(terms.Scan(self._tables[value.kind].table, (column, number), span))
            self._known[value] = number
        return self._known[value]

    def _variable(self, kind: str) -> terms.Var:
        self._count[0] += 1
        return terms.Var(f"?#o{self._count[0]}", kind)

    def _step(self, step: terms.Step) -> terms.Step:
        span = step.span
        match step:
            case terms.Absent():
                wanted = tuple(None if each is None else self.term(each, span) for each in step.terms)
                return replace(step, terms=wanted)
            case terms.Bind():
                return replace(step, value=self.term(step.value, span))
            case terms.Test():
                return replace(step, left=self.term(step.left, span), right=self.term(step.right, span))
            case terms.Each():
                return replace(step, bounds=tuple(self.term(each, span) for each in step.bounds))
            case terms.Fold():
                return self._fold(step)
            case _:
                return step

    def _fold(self, step: terms.Fold) -> terms.Fold:
        inside = _Lookup(self._tables, self._count)
        target = None if step.target is None else inside.term(step.target, step.span)
        last = inside.taken()

        def body(steps: Sequence[terms.Step]) -> _Steps:
            return (*_Lookup(self._tables, self._count).steps(steps), *last)

        first = None if step.first is None else self.term(step.first, step.span)
        free = None if step.free is None else body(step.free)
        return replace(step, steps=body(step.steps), target=target, first=first, free=free)
