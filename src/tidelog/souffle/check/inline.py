"""Rules that mention `inline` relations → rules that have the bodies of those relations instead.

    .decl less(a: number, b: number) inline
    less(a, b) :- a < b.
    R(x) :- A(x), B(y), less(x, y).

    R(x) :- A(x), B(y), a = x, b = y, a < b.

A negated one is the negation of its bodies; where these have variables of their own, it is a relation after all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import diagnostic
from tidelog.souffle.check.normal_form import Literal, Rule, conjunctions
from tidelog.souffle.check.rename import argument_with_variables, with_variables
from tidelog.souffle.text import tree

_MOST = 4_000


@dataclass(slots=True)
class Inlining:
    """`rules` are those of inline relations by name, `types` those of their attributes; `kept` are relations that have
    to exist all the same."""

    rules: Mapping[str, Sequence[Rule]]
    types: Mapping[str, Sequence[str]]
    kept: set[str] = field(default_factory=set)
    _fresh: int = 0

    def inlined(self, rule: Rule, depth: int = 0) -> list[Rule]:
        """Returns the rules without inline relations."""
        return [replace(rule, body=body) for body in self._bodies(rule.body, rule, depth)]

    def _bodies(self, body: Sequence[Literal], rule: Rule, depth: int) -> list[tuple[Literal, ...]]:
        if depth > 50:
            names = sorted({each.name for each in body if isinstance(each, tree.Atom)} & set(self.rules))
            shown = " and ".join(f"`{name}`" for name in names)
            message = f"the inline relation {shown} needs itself" if len(names) == 1 else f"{shown} need each other"
            help = "without `inline` it is derived like any relation"
            raise ProgramError((diagnostic(Code.NEGATIVE_CYCLE, message, rule.span, "in this clause", help=help),))
        choices: list[list[tuple[Literal, ...]]] = []
        count = 1
        for literal in body:
            choices.append(self._alternatives(literal, rule, depth))
            count *= max(1, len(choices[-1]))
            if count > _MOST:
                message = f"inline relations make more than {_MOST:,} clauses of one"
                raise ProgramError((diagnostic(Code.NESTED_TOO_DEEPLY, message, rule.span, "this one"),))
        return [tuple(each for part in chosen for each in part) for chosen in product(*choices)]

    def _alternatives(self, literal: Literal, rule: Rule, depth: int) -> list[tuple[Literal, ...]]:
        """Returns what a literal is replaced by: several conjunctions of which one must hold."""
        match literal:
            case tree.Atom(name=name) if name in self.rules:
                made: list[tuple[Literal, ...]] = []
                for each in self.rules[name]:
                    opened = self._opened(each, literal)
                    made += self._bodies(opened, rule, depth + 1)
                return made
            case tree.Negation(tree.Atom(name=name) as atom) if name in self.rules:
                return self._negated(atom, literal, rule, depth)
            case tree.Atom() | tree.Negation() | tree.Constraint():
                return [(self._inside(literal, rule, depth),)]
            case _:
                return [(literal,)]

    def _negated(self, atom: tree.Atom, literal: tree.Negation, rule: Rule, depth: int) -> list[tuple[Literal, ...]]:
        parts: list[tree.Body] = []
        for each in self.rules[atom.name]:
            own = {node.name for node in tree.walk(each.head) if isinstance(node, tree.Variable)}
            inner = {node.name for part in each.body for node in tree.walk(part) if isinstance(node, tree.Variable)}
            plain = all(isinstance(argument, tree.Variable) for argument in each.head.arguments)
            has_blank = any(isinstance(argument, tree.Unnamed) for argument in atom.arguments)
            if inner - own or not plain or has_blank:
                self.kept.add(atom.name)
                return [(literal,)]
            mapped = dict(zip((one.name for one in each.head.arguments), atom.arguments, strict=True))  # type: ignore[union-attr]

            def put(node: tree.Variable, mapped: dict[str, tree.Argument] = mapped) -> tree.Argument:
                return mapped.get(node.name, node)

            body = tuple(with_variables(part, put) for part in each.body)
            parts.append(tree.Conjunction(body, span=atom.span))
        if not parts:
            return [()]
        whole = tree.Negation(tree.Disjunction(tuple(parts), span=atom.span), span=atom.span)
        return [body for each in conjunctions(whole) for body in self._bodies(each, rule, depth + 1)]

    def _opened(self, rule: Rule, atom: tree.Atom) -> tuple[Literal, ...]:
        """Returns the body of an inline rule with fresh variables, its head's arguments made equal to the atom's."""
        self._fresh += 1
        mark = f"?{self._fresh}"
        mapped: dict[str, tree.Argument] = {}
        equal: list[Literal] = []
        types = self.types[atom.name]
        arguments = [each if isinstance(each, tree.Unnamed) else self._filled(each) for each in atom.arguments]
        for own, given in zip(rule.head.arguments, arguments, strict=False):
            if isinstance(own, tree.Variable) and own.name not in mapped and not isinstance(given, tree.Aggregate):
                mapped[own.name] = given

        def put(node: tree.Variable) -> tree.Argument:
            found = mapped.get(node.name)
            if found is None or isinstance(found, tree.Unnamed):
                return tree.Variable(node.name + mark, span=node.span)
            return found

        for own, given, type_ in zip(rule.head.arguments, arguments, types, strict=False):
            is_put = isinstance(own, tree.Variable) and mapped.get(own.name) is given
            if not is_put and not isinstance(given, tree.Unnamed):
                left = argument_with_variables(own, put)
                if not isinstance(left, tree.Unnamed):
                    if isinstance(left, tree.Record | tree.Nil):
                        left = tree.Cast(left, type_, span=left.span)
                    equal.append(tree.Constraint("=", left, given, span=atom.span))
        return (*equal, *(with_variables(each, put) for each in rule.body))

    def _filled(self, argument: tree.Argument) -> tree.Argument:
        """Returns an argument with a variable in the place of each `_` inside it."""
        match argument:
            case tree.Unnamed():
                self._fresh += 1
                return tree.Variable(f"?b{self._fresh}", span=argument.span)
            case tree.Record() | tree.Branch():
                return replace(argument, arguments=tuple(self._filled(each) for each in argument.arguments))
            case _:
                return argument

    def _inside(self, literal: tree.Atom | tree.Negation | tree.Constraint, rule: Rule, depth: int) -> Literal:
        """Returns the literal with the bodies of its aggregates inlined."""
        if not any(
            isinstance(node, tree.Atom) and node.name in self.rules
            for aggregate in tree.walk(literal)
            if isinstance(aggregate, tree.Aggregate)
            for node in tree.walk(aggregate.body)
        ):
            return literal

        def opened(found: tree.Argument) -> tree.Argument:
            match found:
                case tree.Aggregate():
                    bodies = [body for each in conjunctions(found.body) for body in self._bodies(each, rule, depth + 1)]
                    if len(bodies) != 1:
                        self.kept |= {
                            node.name
                            for node in tree.walk(found.body)
                            if isinstance(node, tree.Atom) and node.name in self.rules
                        }
                        return found
                    return replace(found, body=tree.Conjunction(bodies[0], span=found.span))
                case tree.Record() | tree.Branch() | tree.Functor() | tree.UserFunctor():
                    return replace(found, arguments=tuple(opened(each) for each in found.arguments))
                case tree.Cast():
                    return replace(found, argument=opened(found.argument))
                case _:
                    return found

        match literal:
            case tree.Atom():
                return replace(literal, arguments=tuple(opened(each) for each in literal.arguments))
            case tree.Negation(tree.Atom() as atom):
                inside = replace(atom, arguments=tuple(opened(each) for each in atom.arguments))
                return replace(literal, body=inside)
            case tree.Constraint():
                return replace(literal, left=opened(literal.left), right=opened(literal.right))
            case _:
                return literal
