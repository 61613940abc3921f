"""What is set, and whether it may be: assignments and `mut` arguments.

May be set: variables of `var`, `mut` parameters, and variables of a `match` arm whose subject may be set. May not:
other parameters, loop variables, variables of rules, what is behind a reference, what a closure takes from outside,
what a loop iterates over, and, inside a condition or an operand, everything from outside of it.

A variable of a `match` arm stands for a part of the subject. Values do not share parts here, so a change of the
variable is carried back by a `SetPlace` of that part, and so on outwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidelog.check import typed
from tidelog.check.inference.drafts import current_flag, written
from tidelog.check.inference.state import Local
from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression
from tidelog.types import UNIT, FunctionType, Type

if TYPE_CHECKING:
    from tidelog.check.functions.elaborate import Elaborator

_Home = tuple[Local, typed.Place]  # the variable that is set, and the place in it


class Assignable:
    """The places of one function or rule."""

    def __init__(self, elaborator: Elaborator) -> None:
        self._elaborator = elaborator
        self._at = elaborator.at
        self._by_unique: dict[str, Local] = {}
        self._homes: dict[Local, _Home | None] = {}
        self._iterated: list[set[Local]] = []
        self._inside: list[set[Local]] = []
        self._depth = self._at.depth

    # Where we are

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Forbids assignments to outer variables in the block: a condition or an operand."""
        self._inside.append(set())
        yield
        self._inside.pop()

    @contextmanager
    def closure(self) -> Iterator[None]:
        """Enters the body of a closure, where outer variables cannot be set anyway."""
        outer, self._inside = self._inside, []
        self._depth += 1
        yield
        self._depth -= 1
        self._inside = outer

    @contextmanager
    def iterating(self, iterable: ast.Expression) -> Iterator[None]:
        """Enters the body of a loop, which must not set the value that the loop iterates over."""
        used = (self._at.locals.get(id(node)) for node in ast.walk(iterable) if isinstance(node, ast.Variable))
        self._iterated.append({local for local in used if local is not None})
        yield
        self._iterated.pop()

    # Assignable

    def of(self, node: ast.Expression, value: typed.Expression) -> _Home | None:
        """Returns the place that an expression names, if it may be set; nothing is reported."""
        local = self._root(node)
        place = typed.place(value)
        if local is None or place is None or self._obstacle(local) is not None:
            return None
        return local, place

    def alias(self, pattern: typed.Pattern, home: _Home | None) -> None:
        """Notes for the variables of a `match` arm which parts of the subject they stand for."""
        if isinstance(pattern, typed.BindPattern | typed.AsPattern):
            local = self._declared(pattern)
            if local is not None:
                self._homes[local] = home
        match pattern:
            case typed.AsPattern(pattern=inner):
                self.alias(inner, home)
            case typed.TuplePattern(items):
                for index, item in enumerate(items):
                    self.alias(item, _part(home, index))
            case typed.ConstructPattern(constructor, fields):
                entry = self._at.environment.constructor(constructor)
                for (name, type_), field in zip(entry.fields, fields):
                    sees_through = type_ is not None and self._elaborator.coverage.is_reference(type_)
                    self.alias(field, None if sees_through else _part(home, name))
            case _:
                pass

    def _declared(self, pattern: typed.BindPattern | typed.AsPattern) -> Local | None:
        if not self._by_unique:
            self._by_unique = {local.unique: local for local in self._at.locals.values()}
        return self._by_unique.get(pattern.name)

    def _root(self, node: ast.Expression) -> Local | None:
        """Returns the variable that an expression names a part of."""
        while True:
            match node:
                case ast.FieldAccess(operand) | ast.TupleField(operand) | ast.Annotation(operand):
                    node = operand
                case ast.Block((inner,), False):
                    node = inner
                case ast.Variable() | ast.VariableDeclaration():
                    return self._at.locals.get(id(node))
                case _:
                    return None

    def _obstacle(self, local: Local) -> str | None:
        """Returns the reason why the variable may not be set, or None when it may."""
        if local.origin == "rule":
            return f"variables of a rule, like `{local.name}`, keep their value"
        if local.origin == "loop":
            return f"`{local.name}` is set by its loop"
        if local.depth < self._depth:
            return f"a closure only reads `{local.name}`"
        if local.origin == "parameter" and current_flag(local.flag) is not True:
            return f"parameter `{local.name}` is not `mut`"
        if local.origin == "match" and self._homes.get(local) is None:
            return f"`{local.name}` is a part of the matched value, which cannot be set"
        if any(local in iterated for iterated in self._iterated):
            return f"the loop iterates over `{local.name}`"
        if self._inside and local not in self._inside[-1]:
            return f"a condition or an operand must leave `{local.name}` as it is"
        return None

    def _settable(self, node: ast.Expression, value: typed.Expression) -> _Home | None:
        """Returns the place that an expression names; reports one that may not be set."""
        local = self._root(node)
        place = typed.place(value)
        help = None
        if local is None:
            label = "not a variable, nor a part of one"
            help = f"`var place = {show_expression(node)}` makes one"
        elif place is None:
            label = "the value behind a reference cannot be set"
        else:
            obstacle = self._obstacle(local)
            if obstacle is None:
                return local, place
            label, help = obstacle, self._remedy(local)
        text = show_expression(node)
        message = f"`{text}` cannot be set" if len(text) <= 40 else "this cannot be set"
        self._at.report(Code.NOT_A_PLACE, message, node.span, label, help=help)
        return None

    def _remedy(self, local: Local) -> str | None:
        """Returns a help that makes the variable, or a copy of it, settable."""
        if local.origin == "parameter" and local.depth >= self._depth and current_flag(local.flag) is not True:
            return f"`{local.name}: mut {written(local.draft)}` lets the function set it, for its caller, too"
        return f"`var copy = {local.name}` makes one that can" if local.origin == "loop" else None

    def _carried_back(self, local: Local) -> list[typed.Expression]:
        """Returns the assignments that must follow a change of the variable: to the place that it stands for, and so on
        outwards."""
        steps: list[typed.Expression] = []
        home = self._homes.get(local) if local.origin == "match" else None
        while home is not None:
            outer, place = home
            value = typed.Var(local.unique, type=self._at.solved(local.draft, local.span), span=local.span)
            steps.append(typed.SetPlace(place, value, type=UNIT, span=local.span))
            local = outer
            home = self._homes.get(local) if local.origin == "match" else None
        return steps

    # What sets

    def after_call(
        self,
        call: typed.Call | typed.CallValue,
        nodes: Sequence[ast.Expression],
        arguments: Sequence[typed.Expression],
        flags: Sequence[bool],
    ) -> typed.Expression:
        """Returns the call, with what has to follow because of its `mut` arguments."""
        steps: list[typed.Expression] = []
        for node, argument, mutable in zip(nodes, arguments, flags):
            home = self._settable(node, argument) if mutable else None
            if home is not None:
                steps += self._carried_back(home[0])
        if not steps:
            return call
        if call.type == UNIT:
            return typed.Block((call, *steps, typed.unit(call.span)), type=UNIT, span=call.span)
        kept = self._elaborator.fresh(call.type, call.span)
        bound = typed.BindPattern(kept.name, type=kept.type, span=call.span)
        declare = typed.Declare(bound, call, type=UNIT, span=call.span)
        return typed.Block((declare, *steps, kept), type=call.type, span=call.span)

    def call_value(
        self, node: ast.Call, function: typed.Expression, arguments: tuple[typed.Expression, ...], type_: Type
    ) -> typed.Expression:
        """Returns a call of a function that is a value."""
        call = typed.CallValue(function, arguments, type=type_, span=node.span)
        assert isinstance(function.type, FunctionType)
        flags = [mutable for _, mutable in function.type.parameters]
        return self.after_call(call, node.arguments, arguments, flags) if any(flags) else call

    def assign(self, node: ast.Assign, value: typed.Expression) -> typed.Expression:
        """Returns an assignment: to one place, or to the parts of a pattern."""
        target = node.target
        while isinstance(target, ast.Annotation):
            target = target.operand
        if isinstance(target, ast.Variable | ast.FieldAccess | ast.TupleField):
            steps = self._set(target, value)
        else:
            after: list[typed.Expression] = []
            pattern = self._declaring(target, after)
            self._elaborator.irrefutable(target, pattern, "an assignment")
            steps = [typed.Declare(pattern, value, type=UNIT, span=node.span), *after]
        return steps[0] if len(steps) == 1 else typed.Block((*steps, typed.unit(node.span)), type=UNIT, span=node.span)

    def _set(self, target: ast.Expression, value: typed.Expression) -> list[typed.Expression]:
        home = self._settable(target, self._elaborator.expression(target))
        if home is None:
            return [value]
        local, place = home
        return [typed.SetPlace(place, value, type=UNIT, span=target.span), *self._carried_back(local)]

    def _declaring(self, node: ast.Expression, after: list[typed.Expression]) -> typed.Pattern:
        """Returns the pattern of an assignment: what is set gets a fresh name, and is set `after`."""
        type_, span = self._at.type(node), node.span
        match node:
            case ast.VariableDeclaration():
                local = self._at.locals[id(node)]
                if self._inside:
                    self._inside[-1].add(local)
                return typed.BindPattern(local.unique, type=type_, span=span)
            case ast.Variable() | ast.FieldAccess() | ast.TupleField():
                fresh = self._elaborator.fresh(type_, span)
                after += self._set(node, fresh)
                return typed.BindPattern(fresh.name, type=type_, span=span)
            case ast.Block():
                return self._elaborator.pattern(node)
            case _:
                return self._elaborator.pattern(node, lambda inner: self._declaring(inner, after))


def _part(home: _Home | None, step: str | int) -> _Home | None:
    if home is None:
        return None
    local, place = home
    return local, typed.Place(place.variable, (*place.steps, step))
