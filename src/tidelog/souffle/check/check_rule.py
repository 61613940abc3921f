"""Checks of one rule as it is written: relations that exist, the right number of arguments, no misuse of `_`."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.suggest import suggest
from tidelog.souffle.check.check_types import check_types
from tidelog.souffle.check.declared import Declared
from tidelog.souffle.check.kinds import FIXED
from tidelog.souffle.check.normal_form import Literal, Rule
from tidelog.souffle.text import tree

_FEW = 8
_ARITIES: dict[str, tuple[int, int | None]] = {
    "cat": (2, None),
    "range": (2, 3),
    "min": (2, None),
    "max": (2, None),
    **{name: (len(parameters), len(parameters)) for name, (parameters, _) in FIXED.items()},
}


def check_rule(rule: Rule, declared: Declared, diagnostics: list[Diagnostic], bits: int) -> bool:
    """Returns whether a rule is right; reports what is not."""
    before = len(diagnostics)
    checking = _Checking(declared, diagnostics, bits)
    for part in (rule.head, *((rule.better,) if rule.better is not None else ()), *rule.body):
        for node in tree.walk(part):
            checking.node(node)
    for argument in rule.head.arguments:
        checking.in_head(argument)
    if not rule.body:
        checking.fact(rule)
    if rule.better is not None:
        checking.subsumption(rule)
    if rule.plan is not None:
        checking.plan(rule, rule.plan)
    if len(diagnostics) == before:
        check_types(rule, declared, diagnostics)
    return len(diagnostics) == before


def check_body(body: Iterable[Literal], declared: Declared, diagnostics: list[Diagnostic], bits: int) -> bool:
    """Returns whether literals without a head are right; reports what is not."""
    before = len(diagnostics)
    checking = _Checking(declared, diagnostics, bits)
    for literal in body:
        for node in tree.walk(literal):
            checking.node(node)
    return len(diagnostics) == before


class _Checking:
    def __init__(self, declared: Declared, diagnostics: list[Diagnostic], bits: int) -> None:
        self._declared, self._diagnostics, self._bits = declared, diagnostics, bits

    def node(self, node: tree.Node) -> None:
        match node:
            case tree.Atom():
                self._atom(node)
            case tree.Functor(name, arguments):
                low, high = _ARITIES.get(name, (0, None))
                if len(arguments) < low or (high is not None and len(arguments) > high):
                    wanted = f"{low}" if low == high else f"at least {low}" if high is None else f"{low} to {high}"
                    self._report(
                        Code.WRONG_ARGUMENT_COUNT,
                        f"functor `{name}` takes {wanted} arguments, and has {len(arguments)}",
                        node,
                        f"{wanted} expected",
                    )
                self._blanks(arguments)
            case tree.UserFunctor(name, arguments):
                found = self._declared.functors.get(name)
                if found is None:
                    meant = suggest(name, [*self._declared.functors])
                    self._report(
                        Code.UNKNOWN_FUNCTION,
                        f"functor `@{name}` is not declared",
                        node,
                        "not known",
                        f"did you mean `@{meant}`?" if meant else f"`.functor {name}(x: number): number` declares one",
                    )
                elif len(found.parameters) != len(arguments):
                    self._report(
                        Code.WRONG_ARGUMENT_COUNT,
                        f"functor `@{name}` takes {len(found.parameters)} arguments, and has {len(arguments)}",
                        node,
                        f"{len(found.parameters)} expected",
                    )
                self._blanks(arguments)
            case tree.Branch(name, arguments):
                self._branch(node, name, arguments)
            case tree.Cast(_, type_):
                if type_ not in self._declared.types.kinds:
                    self._report(Code.UNKNOWN_TYPE, f"type `{type_}` is not declared", node, "cast to it")
            case tree.Aggregate():
                if isinstance(node.target, tree.Unnamed):
                    self._report(Code.MISPLACED_WILDCARD, "`_` is aggregated", node.target, "has no value")
                if isinstance(node.body, tree.Disjunction):
                    self._report(
                        Code.NOT_YET, "the body of an aggregate is a disjunction", node.body, "only one conjunction"
                    )
            case _:
                pass

    def _atom(self, atom: tree.Atom) -> None:
        found = self._declared.relations.get(atom.name)
        if found is None:
            meant = suggest(atom.name, [*self._declared.relations])
            self._report(
                Code.UNKNOWN_RELATION,
                f"relation `{atom.name}` is not declared",
                atom,
                "not known",
                f"did you mean `{meant}`?" if meant else None,
            )
        elif len(found.attributes) != len(atom.arguments):
            self._report(
                Code.WRONG_ARGUMENT_COUNT,
                f"relation `{atom.name}` has {len(found.attributes)} attributes, and {len(atom.arguments)} arguments",
                atom,
                f"{len(found.attributes)} expected",
            )

    def _branch(self, node: tree.Branch, name: str, arguments: tuple[tree.Argument, ...]) -> None:
        info = self._declared.types.branches.get(name)
        if info is None:
            meant = suggest(name, [*self._declared.types.branches])
            self._report(
                Code.UNKNOWN_CONSTRUCTOR,
                f"branch `{name}` is not declared",
                node,
                "not known",
                f"did you mean `${meant}`?" if meant else _known_branches(self._declared),
            )
        elif len(info.fields) != len(arguments):
            self._report(
                Code.WRONG_ARGUMENT_COUNT,
                f"branch `{name}` has {len(info.fields)} fields, and {len(arguments)} arguments",
                node,
                f"{len(info.fields)} expected",
            )

    def in_head(self, argument: tree.Argument) -> None:
        for node in tree.walk(argument, into_aggregates=False):
            if isinstance(node, tree.Unnamed):
                self._report(Code.MISPLACED_WILDCARD, "`_` stands in a head", node, "a head needs a value")

    def fact(self, rule: Rule) -> None:
        for argument in rule.head.arguments:
            for node in tree.walk(argument):
                if isinstance(node, tree.Counter):
                    self._report(Code.WRONG_OPERAND, "a fact has a counter", node, "a fact is made of constants")

    def subsumption(self, rule: Rule) -> None:
        assert rule.better is not None
        if rule.head.name != rule.better.name:
            self._report(
                Code.TYPE_MISMATCH,
                f"`{rule.head.name}` and `{rule.better.name}` are different relations",
                rule.better,
                "a row is dominated by a row of its own relation",
            )
        elif not rule.head.arguments:
            message = f"relation `{rule.head.name}` has no attributes to compare"
            self._report(Code.WRONG_ARGUMENT_COUNT, message, rule.head, "has at most one row")

    def plan(self, rule: Rule, plan: tree.Plan) -> None:
        atoms = sum(isinstance(literal, tree.Atom) for literal in rule.body)
        for version, order in plan.orders:
            if version > max(atoms, 1):
                self._report(
                    Code.WRONG_ARGUMENT_COUNT, f"there is no version {version} of this clause", plan, "too large"
                )
            if sorted(order) != [*range(1, atoms + 1)]:
                self._report(
                    Code.WRONG_ARGUMENT_COUNT,
                    f"the plan of version {version} has not each of {atoms} atoms once",
                    plan,
                    f"the numbers from 1 to {atoms} are expected",
                )

    def _blanks(self, arguments: tuple[tree.Argument, ...]) -> None:
        for each in arguments:
            if isinstance(each, tree.Unnamed):
                self._report(Code.MISPLACED_WILDCARD, "`_` is an argument of a functor", each, "has no value")

    def _report(self, code: Code, message: str, node: tree.Node, label: str, help: str | None = None) -> None:
        self._diagnostics.append(diagnostic(code, message, node.span, label, help=help))


def _known_branches(declared: Declared) -> str | None:
    """Returns a help that names the branches of the program, if they are few."""
    names = [f"`${name}`" for name in declared.types.branches]
    return f"the branches are {', '.join(names)}" if 0 < len(names) <= _FEW else None
