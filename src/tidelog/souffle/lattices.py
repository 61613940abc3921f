"""Rules that mention attributes of a lattice (`x: T<>`) → rules that compare by the lattice's operators.

    .lattice T<> { Bottom -> $None(), Lub -> @lub(_, _), Glb -> @glb(_, _) }
    .decl r(k: number, x: T<>)

| in a body | becomes | because |
| --- | --- | --- |
| `r(k, $A())` | `r(k, l), @glb(l, $A()) = $A()` | the row's value is at least `$A()` |
| `r(k, x), s(k, x)` | `r(k, x1), s(k, x2), x = @glb(x2, x1), x != $None()` | `x` is in both |
| `!r(k, x)` | `!r(k, _)`, or `r(k, l), @glb(l, x) = $None()` | the row has nothing of `x` |

Rows that have the same other attributes are one row, with the least upper bound (`evaluate_stratum`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.souffle import tree
from tidelog.souffle.declared import Declared
from tidelog.souffle.normal_form import Literal, Rule

LEAST_UPPER, GREATEST_LOWER, BOTTOM = "Lub", "Glb", "Bottom"


def bounds_of(name: str, declared: Declared) -> tuple[str | None, ...]:
    """Returns the functor of the least upper bound for each attribute of a lattice, None for others; or nothing."""
    found: list[str | None] = []
    for each in declared.relations[name].attributes:
        operator = _operators(declared, each.type).get(LEAST_UPPER) if each.lattice else None
        found.append(operator.name if isinstance(operator, tree.UserFunctor) else None)
    return tuple(found) if any(found) else ()


def check_lattices(declared: Declared, diagnostics: list[Diagnostic]) -> None:
    """Reports lattices without what they need, and attributes of lattices that are not declared."""

    def report(code: Code, message: str, node: tree.Node, label: str, help: str | None = None) -> None:
        diagnostics.append(diagnostic(code, message, node.span, label, help=help))

    for name, lattice in declared.lattices.items():
        operators = dict(lattice.operators)
        if name not in declared.types.kinds:
            report(Code.UNKNOWN_TYPE, f"type `{name}` is not declared", lattice, "this lattice is of it")
        if LEAST_UPPER not in operators:
            message, help = f"the lattice `{name}<>` has no `{LEAST_UPPER}`", f"`{LEAST_UPPER} -> @join(_, _)` names a functor"
            report(Code.BAD_ATTRIBUTE, message, lattice, "rows with the same keys cannot be joined", help)
        for operator in (LEAST_UPPER, GREATEST_LOWER):
            found = operators.get(operator)
            if isinstance(found, tree.UserFunctor) and found.name not in declared.functors:
                report(Code.UNKNOWN_FUNCTION, f"functor `@{found.name}` is not declared", found, "not known")
            elif found is not None and not isinstance(found, tree.UserFunctor):
                report(Code.WRONG_OPERAND, f"`{operator}` is no functor of the program", found, "`@name(_, _)` is expected")
    for relation in declared.relations.values():
        seen: tree.Attribute | None = None
        for each in relation.attributes:
            if each.lattice and each.type not in declared.lattices:
                help = f"`.lattice {each.type}<> {{ … }}` declares it"
                report(Code.UNKNOWN_TYPE, f"`{each.type}<>` is no lattice", each, "not declared as one", help)
            if seen is not None and not each.lattice:
                message = f"attribute `{seen.name}` of a lattice stands before `{each.name}`"
                report(Code.BAD_ATTRIBUTE, message, seen, "attributes of lattices come last")
            seen = each if each.lattice else None


def with_lattices(rule: Rule, declared: Declared, diagnostics: list[Diagnostic]) -> list[Rule]:
    """Returns the rules that compare by operators; the rule itself if it reads no lattice."""
    if not declared.lattices:
        return [rule]
    return _Rewriting(declared, diagnostics).rules(rule)


def _operators(declared: Declared, type_: str) -> Mapping[str, tree.Argument]:
    found = declared.lattices.get(type_)
    return {} if found is None else dict(found.operators)


@dataclass(slots=True)
class _Rewriting:
    declared: Declared
    diagnostics: list[Diagnostic]
    _fresh: int = 0
    _after: list[Literal] = field(default_factory=list)

    def rules(self, rule: Rule) -> list[Rule]:
        known = _grounded(rule, self)
        shared = self._shared(rule, known)
        bodies: list[list[tuple[Literal, ...]]] = []
        for literal in rule.body:
            match literal:
                case tree.Atom():
                    bodies.append([(self._atom(literal, known, shared),)])
                case tree.Negation(tree.Atom() as atom):
                    bodies.append(self._absent(literal, atom))
                case _:
                    bodies.append([(literal,)])
        after = (*self._after, *(each for name in shared for each in self._met(rule, name, shared[name])))
        return [
            replace(rule, body=(*(each for part in chosen for each in part), *after)) for chosen in product(*bodies)
        ]

    def places(self, atom: tree.Atom) -> Iterator[tuple[int, str]]:
        """Yields the places of an atom that are attributes of a lattice with `Glb` and `Bottom`, and their types."""
        for place, each in enumerate(self.declared.relations[atom.name].attributes):
            if each.lattice and {GREATEST_LOWER, BOTTOM} <= set(_operators(self.declared, each.type)):
                yield place, each.type

    def _shared(self, rule: Rule, known: set[str]) -> dict[str, tuple[str, list[str]]]:
        """Returns the variables that several attributes of lattices have, with their type and no names yet."""
        counts: dict[str, list[str]] = {}
        for literal in rule.body:
            if isinstance(literal, tree.Atom):
                for place, type_ in self.places(literal):
                    argument = literal.arguments[place]
                    if isinstance(argument, tree.Variable) and argument.name not in known:
                        counts.setdefault(argument.name, []).append(type_)
        return {name: (types[0], []) for name, types in counts.items() if len(types) > 1}

    def _atom(self, atom: tree.Atom, known: set[str], shared: Mapping[str, tuple[str, list[str]]]) -> tree.Atom:
        arguments = [*atom.arguments]
        for place, type_ in self.places(atom):
            argument = arguments[place]
            names = {each.name for each in tree.walk(argument) if isinstance(each, tree.Variable)}
            if isinstance(argument, tree.Unnamed):
                continue
            if names <= known:
                arguments[place] = own = self._variable(argument)
                met = self._call(type_, own, argument)
                self._after.append(tree.Constraint("=", met, argument, span=argument.span))
            elif isinstance(argument, tree.Variable) and argument.name in shared:
                arguments[place] = own = self._variable(argument)
                shared[argument.name][1].append(own.name)
            elif not isinstance(argument, tree.Variable):
                message = "the value of a lattice is not grounded"
                self.diagnostics.append(
                    diagnostic(Code.UNBOUND_VARIABLE, message, argument.span, "only a variable can stand for it")
                )
        return replace(atom, arguments=tuple(arguments))

    def _met(self, rule: Rule, name: str, found: tuple[str, list[str]]) -> list[Literal]:
        """Returns the variable as the greatest lower bound of all that it stands for, which is not the bottom."""
        type_, names = found
        whole: tree.Argument = tree.Variable(names[0], span=rule.span)
        for each in names[1:]:
            whole = self._call(type_, tree.Variable(each, span=rule.span), whole)
        variable = tree.Variable(name, span=rule.span)
        bottom = _operators(self.declared, type_)[BOTTOM]
        return [
            tree.Constraint("=", variable, whole, span=rule.span),
            tree.Constraint("!=", variable, tree.Cast(bottom, type_, span=bottom.span), span=rule.span),
        ]

    def _absent(self, literal: tree.Negation, atom: tree.Atom) -> list[tuple[Literal, ...]]:
        places = dict(self.places(atom))
        if not places:
            return [(literal,)]
        blank = {place: tree.Unnamed(span=atom.arguments[place].span) for place in places}
        keys = tuple(blank.get(place, each) for place, each in enumerate(atom.arguments))
        made: list[tuple[Literal, ...]] = [(replace(literal, body=replace(atom, arguments=keys)),)]
        for place, type_ in places.items():
            argument = atom.arguments[place]
            if isinstance(argument, tree.Unnamed):
                continue
            own = self._variable(argument)
            arguments = (*keys[:place], own, *keys[place + 1 :])
            bottom = _operators(self.declared, type_)[BOTTOM]
            met = self._call(type_, own, argument)
            nothing = tree.Constraint("=", met, tree.Cast(bottom, type_, span=bottom.span), span=argument.span)
            made.append((replace(atom, arguments=arguments), nothing))
        return made

    def _call(self, type_: str, one: tree.Argument, other: tree.Argument) -> tree.UserFunctor:
        functor = _operators(self.declared, type_)[GREATEST_LOWER]
        assert isinstance(functor, tree.UserFunctor)
        return replace(functor, arguments=(one, other), span=other.span)

    def _variable(self, argument: tree.Argument) -> tree.Variable:
        self._fresh += 1
        return tree.Variable(f"?l{self._fresh}", span=argument.span)


def _grounded(rule: Rule, rewriting: _Rewriting) -> set[str]:
    """Returns the variables that have a value without attributes of lattices."""
    known: set[str] = set()
    for literal in rule.body:
        if isinstance(literal, tree.Atom):
            places = dict(rewriting.places(literal))
            plain = [each for place, each in enumerate(literal.arguments) if place not in places]
            known |= _names(plain)
    equal = [each for each in rule.body if isinstance(each, tree.Constraint) and each.operator == "="]
    while True:
        found = {
            name
            for each in equal
            for one, other in ((each.left, each.right), (each.right, each.left))
            if _names([one]) <= known and isinstance(other, tree.Variable | tree.Record | tree.Branch)
            for name in _names([other])
        }
        if found <= known:
            return known
        known |= found


def _names(arguments: Sequence[tree.Argument]) -> set[str]:
    return {
        node.name
        for each in arguments
        for node in tree.walk(each, into_aggregates=False)
        if isinstance(node, tree.Variable)
    }
