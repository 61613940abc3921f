"""Typed expressions → statements: control, assignments and patterns.

A value is sent where it is wanted: into a variable, out of the function, or nowhere. So `if` and `match` are written
once, as statements, with their value going the same way from every branch.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Final

from tidelog.check import typed
from tidelog.functions import operators
from tidelog.functions.body import UNIT, Value
from tidelog.functions.expressions import Expressions
from tidelog.functions.links import ValueLink
from tidelog.types import ScaledType


class _Leave(Enum):
    RESULT = "result"


RESULT: Final = _Leave.RESULT
Target = str | None | _Leave


class Statements(Expressions):
    """Everything that a body of a function can be made of."""

    def emit(self, node: typed.Expression, target: Target) -> None:
        """Writes the lines of an expression; its value goes to the target: a variable, the `RESULT`, or nowhere."""
        if self.dead:
            return
        match node:
            case typed.Block(expressions):
                for expression in expressions[:-1]:
                    self.emit(expression, None)
                self.emit(expressions[-1], target)
            case typed.IfElse():
                self._branches(node, target)
            case typed.Match(subject, arms):
                self._match(subject, arms, target)
            case typed.For(pattern, iterable, body):
                self._loop(pattern, self.value(iterable), partial(self.emit, body, None))
                self.send(UNIT, target)
            case typed.Declare(pattern, value):
                self._declare(pattern, value)
                self.send(UNIT, target)
            case typed.SetPlace(place, value):
                if place.steps:
                    self.set_place(place, self.value(value).text)
                else:
                    self.emit(value, self.name(place.variable.name))
                self.send(UNIT, target)
            case typed.Return(value):
                self.emit(value, RESULT)
            case typed.Break():
                self.leave_loop(again=False)
            case typed.Continue():
                self.leave_loop(again=True)
            case _:
                self.send(self.value(node), target)

    def send(self, value: Value, target: Target) -> None:
        """Puts a value where it is wanted."""
        if self.dead:
            return
        if target is RESULT:
            self.leave_with(value.text)
        elif target is not None:
            self.assign(target, value.text)
        elif not value.stable:
            self.write(value.text)

    def _branches(self, node: typed.IfElse, target: Target) -> None:
        """`if`, `elif` as long as conditions are texts, and `else`."""
        condition = self.value(node.condition)
        if self.dead:
            return
        ended = self.block(f"if {condition.text}:", partial(self.emit, node.then, target))
        rest = _only(node.otherwise)
        while isinstance(rest, typed.IfElse) and self.is_simple(rest.condition):
            lines, condition = self.apart(partial(self.value, rest.condition))
            if lines:
                break
            ended &= self.block(f"elif {condition.text}:", partial(self.emit, rest.then, target))
            rest = _only(rest.otherwise)
        ended &= self.otherwise(partial(self.emit, rest, target))
        self.set_dead(ended)

    def _match(self, subject: typed.Expression, arms: tuple[typed.Arm, ...], target: Target) -> None:
        matched = self.atom(self.value(subject))
        if self.dead:
            return
        ended = True
        for index, arm in enumerate(arms):
            tests = [] if index == len(arms) - 1 else self.tests(arm.pattern, matched.text)
            fill = partial(self._arm, arm, matched.text, target)
            if not tests and index == 0:
                fill()
                return
            if not tests:
                self.set_dead(self.otherwise(fill) and ended)
                return
            ended &= self.block(f"{'elif' if index else 'if'} {' and '.join(tests)}:", fill)

    def _arm(self, arm: typed.Arm, matched: str, target: Target) -> None:
        self.bind(arm.pattern, matched)
        self.emit(arm.body, target)

    def _declare(self, pattern: typed.Pattern, value: typed.Expression) -> None:
        if isinstance(pattern, typed.BindPattern):
            self.emit(value, self.name(pattern.name))
            return
        found = self.value(value)
        if typed.bindings(pattern):
            self.bind(pattern, self.atom(found).text)
        else:
            self.send(found, None)

    def _loop(self, pattern: typed.Pattern, iterable: Value, fill: Callable[[], None]) -> None:
        """Writes a `for` loop that skips items that the pattern does not fit."""
        if self.dead:
            return
        target = self._loop_target(pattern)
        name = target or self.temporary()

        def body() -> None:
            tests = [] if target else self.tests(pattern, name)
            if tests:
                self.block(f"if not ({' and '.join(tests)}):", partial(self.write, "continue"))
            if not target:
                self.bind(pattern, name)
            fill()

        if not target:
            self.targets((name,))
        self.block(f"for {name} in {iterable.text}:", body, loop=True)

    def _loop_target(self, pattern: typed.Pattern) -> str | None:
        """Returns the pattern as Python writes it, if Python can."""
        items = pattern.items if isinstance(pattern, typed.TuplePattern) else (pattern,)
        names = []
        for item in items:
            if not isinstance(item, typed.BindPattern | typed.AnyPattern):
                return None
            names.append(self.name(item.name) if isinstance(item, typed.BindPattern) else self.temporary())
        self.targets(names)
        return ", ".join(names) or None

    # Patterns

    def tests(self, pattern: typed.Pattern, path: str) -> list[str]:
        """Returns the conditions under which the value at a path fits."""
        match pattern:
            case typed.LiteralPattern(True):
                return [path]
            case typed.LiteralPattern(False):
                return [f"not {path}"]
            case typed.LiteralPattern(value, type=type_) if isinstance(self.shown(type_), ScaledType):
                return [f"{path} == {self.unit.link(ValueLink(value, self.shown(type_)))}"]
            case typed.LiteralPattern(value, type=type_):
                return [f"{path} == {operators.literal(value, self.shown(type_))}"]
            case typed.TuplePattern(items):
                return [test for index, item in enumerate(items) for test in self.tests(item, f"{path}[{index}]")]
            case typed.ConstructPattern(constructor, fields):
                variant = self.definitions.class_of(constructor).__variant__
                found = [f"{path}[0] == {variant.index}"] if variant.head else []
                for position, field in enumerate(fields, len(variant.head)):
                    found += self.tests(field, f"{path}[{position}]")
                return found
            case typed.AsPattern(_, inner):
                return self.tests(inner, path)
            case typed.EqualPattern(expression):
                return [f"{path} == {self.value(expression).text}"]
            case _:
                return []

    def paths(self, pattern: typed.Pattern, path: str) -> list[str]:
        """Returns the paths of the variables of a pattern in the value at a path, in the order of `bindings`."""
        match pattern:
            case typed.BindPattern():
                return [path]
            case typed.AsPattern(_, inner):
                return [path, *self.paths(inner, path)]
            case typed.TuplePattern(items):
                start = 0
            case typed.ConstructPattern(constructor, items):
                start = len(self.definitions.class_of(constructor).__variant__.head)
            case _:
                return []
        return [
            found for position, item in enumerate(items, start) for found in self.paths(item, f"{path}[{position}]")
        ]

    def bind(self, pattern: typed.Pattern, path: str) -> None:
        """Assigns the variables of a pattern that the value at a path fits."""
        for each, place in zip(typed.bindings(pattern), self.paths(pattern, path)):
            if each.name in self.variables_used.read:
                self.assign(self.name(each.name), place)


def _only(node: typed.Expression) -> typed.Expression:
    """Returns the expression inside a block of one expression."""
    while isinstance(node, typed.Block) and len(node.expressions) == 1:
        node = node.expressions[0]
    return node
