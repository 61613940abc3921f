"""Rules whose aggregates share variables with their surroundings only where they mean the same.

    R(n) :- A(n), n = sum x : { B(x, n) }, 3 = count : { C(x) }.

A variable of an aggregate that its surroundings bind too is theirs, unless it is in the target: `n = sum x : { B(x) }`
sums all of `B`, whatever `x` is outside. All others are the aggregate's own, and are given names that nothing else has.
A variable of a `min` or `max` that only the aggregate binds, and that is used outside, is a witness: the body stands
outside, too, with the target equal to the result.

A witness of a `min` or `max` inside another aggregate needs that `min` outside, too:

    R(n, w) :- n = count : { A(x), x > min y : { B(y, w) } }.

    R(n, w) :- n = count : { A(x), x > min y : { B(y, w1) } }, v = min y : { B(y, w) }.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

from tidelog.souffle.check.normal_form import Literal, Rule, conjunctions
from tidelog.souffle.check.rename import argument_with_variables, with_variables
from tidelog.souffle.text import tree


def scoped(rule: Rule) -> Rule:
    """Returns the rule with the variables of its aggregates apart."""
    if not any(isinstance(node, tree.Aggregate) for part in (rule.head, *rule.body) for node in tree.walk(part)):
        return rule
    rule = with_inner_witnesses_outside(rule)
    scoping = _Scoping()
    outside = [*rule.body]
    head, body = scoping.literals(rule.head, outside, frozenset())
    return replace(rule, head=head, body=tuple(body))


def with_inner_witnesses_outside(rule: Rule) -> Rule:
    """Returns the rule with each `min` or `max` outside, too, that stands inside an aggregate and has witnesses of the
    rule; not one that shares variables with that aggregate.
    """
    body = [*rule.body]
    bound = groundable(body)
    for place, literal in enumerate(rule.body):
        outer = [node for node in tree.walk(literal, into_aggregates=False) if isinstance(node, tree.Aggregate)]
        for whole in outer:
            for inner in [node for node in tree.walk(whole.body) if isinstance(node, tree.Aggregate)]:
                if inner.function not in ("min", "max") or inner.target is None:
                    continue
                own = {node.name for node in _variables(inner.body, inner.target)}
                value = tree.Variable(f"value@{len(body)}", span=inner.span)
                rest = _with(whole, inner, value)
                mark = f"@{len(body)}"
                witnesses = own & outside_variables((rule.head, *rule.body), whole) - bound
                witnesses -= {node.name for node in _variables(inner.target)}
                if witnesses and not own & {node.name for node in _variables(rest.body, rest.target)} - bound:
                    local = own - bound

                    def apart(node: tree.Variable, local: set[str] = local, mark: str = mark) -> tree.Argument:
                        return tree.Variable(node.name + mark, span=node.span) if node.name in local else node

                    body[place] = _with(body[place], inner, argument_with_variables(inner, apart))
                    body.append(tree.Constraint("=", value, inner, span=inner.span))
    return replace(rule, body=tuple(body))


def _with(node: Any, old: tree.Node, new: tree.Node) -> Any:
    """Returns a node, or nodes, with another one in the place of `old`."""
    if node is old:
        return new
    if isinstance(node, tuple):
        return tuple(_with(each, old, new) for each in node)
    if not isinstance(node, tree.Node):
        return node
    given = {each.name: getattr(node, each.name) for each in fields(node)}
    changed = {name: made for name, value in given.items() if (made := _with(value, old, new)) is not value}
    return replace(node, **changed) if any(changed[name] != given[name] for name in changed) else node


class _Scoping:
    def __init__(self) -> None:
        self._fresh = 0

    def literals(
        self, head: tree.Atom, body: Sequence[Literal], given: frozenset[str]
    ) -> tuple[tree.Atom, list[Literal]]:
        """Returns a head and a body; `given` are variables that are bound around them."""
        added: list[Literal] = []
        made: list[Literal] = []
        whole = [*body]
        for literal in body:
            made.append(self._literal(literal, whole, head, given, added))
        arguments = tuple(self._argument(each, None, whole, head, given, added) for each in head.arguments)
        return replace(head, arguments=arguments), [*made, *added]

    def _literal(
        self, literal: Literal, whole: list[Literal], head: tree.Atom, given: frozenset[str], added: list[Literal]
    ) -> Literal:
        def inside(found: tree.Argument) -> tree.Argument:
            return self._argument(found, literal, whole, head, given, added)

        match literal:
            case tree.Atom():
                return replace(literal, arguments=tuple(inside(each) for each in literal.arguments))
            case tree.Negation(tree.Atom() as atom):
                return replace(literal, body=replace(atom, arguments=tuple(inside(each) for each in atom.arguments)))
            case tree.Constraint():
                return replace(literal, left=inside(literal.left), right=inside(literal.right))
            case _:
                return literal

    def _argument(
        self,
        found: tree.Argument,
        literal: Literal | None,
        whole: list[Literal],
        head: tree.Atom,
        given: frozenset[str],
        added: list[Literal],
    ) -> tree.Argument:
        def inside(each: tree.Argument) -> tree.Argument:
            return self._argument(each, literal, whole, head, given, added)

        match found:
            case tree.Record() | tree.Branch() | tree.Functor() | tree.UserFunctor():
                return replace(found, arguments=tuple(inside(each) for each in found.arguments))
            case tree.Cast():
                return replace(found, argument=inside(found.argument))
            case tree.Aggregate():
                return self._aggregate(found, whole, head, given, added)
            case _:
                return found

    def _aggregate(
        self,
        found: tree.Aggregate,
        whole: list[Literal],
        head: tree.Atom,
        given: frozenset[str],
        added: list[Literal],
    ) -> tree.Argument:
        outer = outside_variables((head, *whole), found)
        bound = given | groundable(whole, found)
        own = {node.name for node in _variables(found.body, found.target)}
        shared = own & (outer | given)
        injected = shared & bound - {node.name for node in _variables(found.target)}
        result = next(
            (
                side.name
                for literal in whole
                if isinstance(literal, tree.Constraint) and literal.operator == "="
                for side, other in ((literal.left, literal.right), (literal.right, literal.left))
                if other is found and isinstance(side, tree.Variable)
            ),
            None,
        )
        witnesses = shared - bound - ({result} if result is not None else set())
        self._fresh += 1
        mark = f"@{self._fresh}"
        local = own - injected

        def put(node: tree.Variable) -> tree.Argument:
            return tree.Variable(node.name + mark, span=node.span) if node.name in local else node

        body = with_variables(found.body, put)
        target = None if found.target is None else argument_with_variables(found.target, put)
        alternatives = conjunctions(body)
        inner = alternatives[0] if len(alternatives) == 1 else tuple(alternatives[0])
        nowhere = tree.Atom("", (), span=found.span)
        _, literals = self.literals(nowhere, inner, bound | given)
        made = replace(found, target=target, body=tree.Conjunction(tuple(literals), span=found.span))
        if not witnesses or found.function not in ("min", "max") or found.target is None:
            return made
        value = tree.Variable(f"result{mark}", span=found.span)
        copied = f"{mark}w"

        def again(node: tree.Variable) -> tree.Argument:
            is_own = node.name in own and node.name not in injected and node.name not in witnesses
            return tree.Variable(node.name + copied, span=node.span) if is_own else node

        added += [with_variables(each, again) for each in conjunctions(found.body)[0]]
        equal = argument_with_variables(found.target, again)
        added.append(tree.Constraint("=", equal, value, span=found.span))
        added.append(tree.Constraint("=", value, made, span=found.span))
        return value


def outside_variables(parts: Iterable[tree.Node], but: tree.Aggregate) -> set[str]:
    """Returns the variables of nodes, without those of aggregates, but with what they hold outside their bodies."""
    found: set[str] = set()
    for part in parts:
        for node in tree.walk(part, into_aggregates=False):
            if isinstance(node, tree.Variable):
                found.add(node.name)
    return found


def groundable(body: Iterable[Literal], but: tree.Node | None = None) -> frozenset[str]:
    """Returns the variables that a body binds; literals that hold `but` bind nothing by it."""
    bound: set[str] = set()
    waiting: list[tuple[tree.Argument, tree.Argument]] = []
    for literal in body:
        if isinstance(literal, tree.Atom):
            for each in literal.arguments:
                bound |= _patterns(each)
        elif isinstance(literal, tree.Constraint) and literal.operator == "=":
            waiting += [(literal.left, literal.right), (literal.right, literal.left)]
    found = True
    while found:
        found = False
        for target, value in waiting:
            names = _patterns(target)
            if names <= bound:
                continue
            if _is_bound(value, bound, but):
                bound |= names
                found = True
    return frozenset(bound)


def _patterns(argument: tree.Argument) -> set[str]:
    """Returns the variables that are bound when the argument's value is."""
    match argument:
        case tree.Variable(name):
            return {name}
        case tree.Record(arguments) | tree.Branch(_, arguments):
            return {name for each in arguments for name in _patterns(each)}
        case tree.Cast(inside):
            return _patterns(inside)
        case _:
            return set()


def _is_bound(argument: tree.Argument, bound: set[str], but: tree.Node | None) -> bool:
    match argument:
        case tree.Variable(name):
            return name in bound
        case tree.Unnamed():
            return False
        case tree.Aggregate():
            return argument is not but
        case _:
            return all(_is_bound(each, bound, but) for each in tree.children(argument))  # type: ignore[arg-type]


def _variables(*nodes: tree.Node | None) -> list[tree.Variable]:
    return [each for node in nodes if node is not None for each in tree.walk(node) if isinstance(each, tree.Variable)]


Put = Callable[[tree.Variable], tree.Argument]
