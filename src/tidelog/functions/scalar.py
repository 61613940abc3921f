"""Typed expressions of rules → Python functions of the rule's variables, through Python source.

    x + 1 > y   (u8)      def scalar(v0, v1):
                              return (((v0 + 1) & 255) > v1)

A condition or an assignment becomes a function that gives its value; a pattern one that gives the values of its
variables, or None where it does not fit; a `FlatMap` one that gives a list of those. Whatever calls functions of the
program needs those compiled (`compile_functions`), and so does whatever mentions a declared type.

The source is made of mangled names, operators and the `repr` of literals and of names, for errors; no other text of the
user gets into it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.check.typed import (
    Call,
    CallValue,
    EqualPattern,
    Expression,
    Pattern,
    subpatterns,
    walk,
)
from tidelog.deep_recursion import deeply
from tidelog.functions.body import Value
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.expressions import tuple_text
from tidelog.functions.links import Unit
from tidelog.functions.statements import RESULT, Statements
from tidelog.values.definitions import Definitions


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A compiled expression. `call` takes the values of the parameters in their order; it is pickled as its source."""

    unit: Unit
    parameters: tuple[str, ...]
    functions: CompiledFunctions | None = field(default=None, compare=False, repr=False)
    call: Callable[..., Any] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        functions = self.functions or CompiledFunctions(Definitions())
        object.__setattr__(self, "call", functions.build(self.unit)["scalar"])

    def __reduce__(self) -> tuple[type[ScalarFunction], tuple[Any, ...]]:
        return ScalarFunction, (self.unit, self.parameters, self.functions)

    @property
    def source(self) -> str:
        return self.unit.source


def compile_scalar(
    expression: Expression, parameters: Sequence[str], functions: CompiledFunctions | None = None
) -> ScalarFunction:
    """Returns a function of the named variables that gives the value of the expression; its variables must be among
    them.

    It wants Python values that are in the range of their types, and gives one back. Raises ZeroDivisionError, or
    EvaluationError where a function of the program fails in another way.
    """
    return deeply(_compiled, (expression,), parameters, functions, lambda body: body.emit(expression, RESULT))


def compile_match(
    pattern: Pattern, expression: Expression, parameters: Sequence[str], functions: CompiledFunctions | None = None
) -> ScalarFunction:
    """Returns a function that gives the values of the pattern's variables, in the order of `bindings`, or None."""

    def write(body: Statements) -> None:
        matched = body.atom(body.value(expression))
        tests = body.tests(pattern, matched.text)
        if tests:
            body.block(f"if not ({' and '.join(tests)}):", lambda: body.leave_with("None"))
        body.leave_with(tuple_text([Value(path) for path in body.paths(pattern, matched.text)]))

    return deeply(_compiled, _expressions(pattern, expression), parameters, functions, write)


def compile_flat_map(
    pattern: Pattern, expression: Expression, parameters: Sequence[str], functions: CompiledFunctions | None = None
) -> ScalarFunction:
    """Returns a function that gives, for each item that fits the pattern, the values of the pattern's variables: a
    list."""

    def write(body: Statements) -> None:
        items = body.value(expression)
        item = body.temporary()
        tests = body.tests(pattern, item)
        row = tuple_text([Value(path) for path in body.paths(pattern, item)])
        condition = f" if {' and '.join(tests)}" if tests else ""
        body.leave_with(f"[{row} for {item} in {items.text}{condition}]")

    return deeply(_compiled, _expressions(pattern, expression), parameters, functions, write)


def _expressions(pattern: Pattern, expression: Expression) -> tuple[Expression, ...]:
    inside = (each.expression for each in subpatterns(pattern) if isinstance(each, EqualPattern))
    return (expression, *inside)


def _compiled(
    expressions: tuple[Expression, ...],
    parameters: Sequence[str],
    functions: CompiledFunctions | None,
    write: Callable[[Statements], None],
) -> ScalarFunction:
    known = functions or CompiledFunctions(Definitions())
    known.require_for(*expressions)
    unit = known.writer()
    names = {name: f"v{index}" for index, name in enumerate(parameters)}
    given = ", ".join(names.values())
    calls = any(isinstance(node, Call | CallValue) for expression in expressions for node in walk(expression))
    body = Statements(unit, unit.variable_use(*expressions), dict(names), {}, indent=2 if calls else 1)
    write(body)
    before, after = [], []
    if calls:
        before = ["try:"]
        values = f"({given}{',' if given else ''})"
        after = ["except Exception as error:", f"    return retry_deep(error, scalar, {values}, {tuple(names)!r})"]
        if known.has_side_effects(*expressions):
            # Not to be tried twice.
            before = ["if not is_deep():", f"    return deeply(scalar{', ' if given else ''}{given})", *before]
    unit.add("scalar", names.values(), body.finish(names.values(), before, after))
    return ScalarFunction(unit.finish(), tuple(parameters), functions)
