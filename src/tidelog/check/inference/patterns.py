"""Patterns: what is taken apart, compared and declared.

What a plain variable means in a pattern depends on where the pattern stands, so a Binder decides that: in a `match` or
`for` it declares, on the left of a `=` it is set, in an atom of a rule it is bound or compared.
"""

from __future__ import annotations

from typing import Protocol

from tidelog.check.inference.arguments import arrange_fields
from tidelog.check.inference.drafts import BROKEN, TUPLE, Draft, Unknown, current, named, shape, tuple_of
from tidelog.check.inference.literals import is_constant
from tidelog.check.inference.state import Inference, Reasons
from tidelog.check.inference.values import (
    REF,
    field_reason,
    find_constructor,
    is_reference,
    library_type,
    open_constructor,
)
from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast

Declaration = ast.VariableDeclaration | ast.Binding


class Binder(Protocol):
    """What the names and the expressions in a pattern mean."""

    def variable(self, at: Inference, node: ast.Variable, wanted: Draft, reasons: Reasons) -> None:
        """Handles a plain variable."""

    def declaration(self, at: Inference, node: Declaration, wanted: Draft) -> None:
        """Handles `var x`, or the name of `x@pattern`."""

    def other(self, at: Inference, node: ast.Expression, wanted: Draft, reasons: Reasons) -> None:
        """Handles an expression that is not a pattern."""


def pattern(at: Inference, node: ast.Expression, wanted: Draft, binder: Binder, reasons: Reasons = ()) -> None:
    """Holds a pattern against the type of what it takes apart."""
    at.drafts[id(node)] = wanted
    match node:
        case ast.Wildcard():
            pass
        case ast.VariableDeclaration():
            binder.declaration(at, node, wanted)
        case ast.Variable():
            binder.variable(at, node, wanted, reasons)
        case ast.Annotation(operand, type_):
            written = at.resolve(type_)
            if not at.solver.unify(written, wanted):
                at.mismatch(operand, wanted, written, ((type_.span, "because of this annotation"),))
            at.drain()
            pattern(at, operand, written, binder, reasons)
        case ast.Tuple(items):
            _tuple(at, node, items, wanted, binder, reasons)
        case ast.Struct():
            _struct(at, node, wanted, binder, reasons)
        case ast.Block((inner,), False):
            pattern(at, inner, wanted, binder, reasons)
        case ast.Reference(operand):
            pattern(at, operand, _inside(at, node, wanted, reasons), binder, reasons)
        case ast.Binding(_, inner):
            binder.declaration(at, node, wanted)
            pattern(at, inner, wanted, binder, reasons)
        case _ if is_constant(node):
            at.expect(node, wanted, *reasons)
        case _:
            binder.other(at, node, wanted, reasons)


def _tuple(
    at: Inference,
    node: ast.Tuple,
    items: tuple[ast.Expression, ...],
    wanted: Draft,
    binder: Binder,
    reasons: Reasons,
) -> None:
    whole = shape(wanted)
    if whole is None or whole.head is not TUPLE or len(whole.parts) != len(items):
        fresh = tuple_of(tuple(Unknown() for _ in items))
        if not at.solver.unify(fresh, wanted):
            at.mismatch(node, fresh, wanted, reasons)
            for item in items:
                pattern(at, item, BROKEN, binder)
            return
        at.drain()
        whole = shape(fresh)
        assert whole is not None
    for item, part in zip(items, whole.parts):
        pattern(at, item, part, binder, reasons)


def _struct(at: Inference, node: ast.Struct, wanted: Draft, binder: Binder, reasons: Reasons) -> None:
    entry = find_constructor(at, node)
    if entry is not None:
        draft, fields = open_constructor(entry)
        if not at.solver.unify(draft, wanted):
            at.mismatch(node, draft, wanted, reasons)
            fields = [BROKEN for _ in fields]
        at.drain()
        values = arrange_fields(at, node, entry, needs_all=False)
        if values is not None:
            at.choices[id(node)] = (entry, values)
            for value, field, (name, _) in zip(values, fields, entry.fields):
                if value is not None:
                    pattern(at, value, field, binder, field_reason(entry, name))
            return
    for argument in node.arguments:
        pattern(at, argument.value, BROKEN, binder)


def _inside(at: Inference, node: ast.Reference, wanted: Draft, reasons: Reasons) -> Draft:
    """Returns the draft behind the reference that `&` takes apart; an unknown reference is a `Ref`."""
    found = current(wanted)
    whole = shape(found)
    if whole is not None and whole.head is not TUPLE and whole.parts and is_reference(at, whole.head):
        return whole.parts[0]
    inner: Draft = Unknown()
    if found is BROKEN or library_type(at, REF, node.span) is BROKEN:
        return BROKEN
    if not at.solver.unify(named(REF, inner), wanted):
        at.mismatch(node, named(REF, inner), wanted, reasons)
        return BROKEN
    at.drain()
    return inner


class Declaring:
    """The patterns of `match` and `for`: all variables are new."""

    def __init__(self, origin: str) -> None:
        self._origin = origin

    def variable(self, at: Inference, node: ast.Variable, wanted: Draft, reasons: Reasons) -> None:
        self._declare(at, node, node.name, wanted)

    def declaration(self, at: Inference, node: Declaration, wanted: Draft) -> None:
        self._declare(at, node, node.name.text, wanted)

    def other(self, at: Inference, node: ast.Expression, wanted: Draft, reasons: Reasons) -> None:
        not_a_pattern(at, node)

    def _declare(self, at: Inference, node: ast.Expression, name: str, wanted: Draft) -> None:
        earlier = at.scopes[-1].get(name)
        if earlier is not None:
            at.report(
                Code.REPEATED_NAME,
                f"a pattern has two variables `{name}`",
                node.span,
                "here again",
                related=[(earlier.span, "first here")],
            )
        at.locals[id(node)] = at.declare(name, wanted, node.span, self._origin)


class Assigning:
    """The left of a `=` in an expression: `var x` declares, everything else is set."""

    def variable(self, at: Inference, node: ast.Variable, wanted: Draft, reasons: Reasons) -> None:
        local = at.local(node.name)
        if local is None:
            guess = at.names.suggested(node.name, at.visible())
            help = f"did you mean `{guess}`?" if guess else f"`var {node.name} = …` declares it"
            message = f"unknown variable `{node.name}`"
            at.report(Code.UNKNOWN_VARIABLE, message, node.span, "not declared here", help=help)
            at.declare(node.name, BROKEN, node.span, "var")
            return
        at.locals[id(node)] = local
        at.drafts[id(node)] = local.draft
        at.agree(node, wanted, local.draft, (local.span, f"`{node.name}` is declared here"))

    def declaration(self, at: Inference, node: Declaration, wanted: Draft) -> None:
        at.locals[id(node)] = at.declare(node.name.text, wanted, node.span, "var")

    def other(self, at: Inference, node: ast.Expression, wanted: Draft, reasons: Reasons) -> None:
        if isinstance(node, ast.FieldAccess | ast.TupleField):
            at.expect(node, wanted, *reasons)
        else:
            label = "not a variable, nor a part of one"
            at.report(Code.NOT_A_PLACE, "this cannot be set", node.span, label)


def not_a_pattern(at: Inference, node: ast.Expression) -> None:
    """Reports an expression that stands where only a pattern makes sense."""
    at.report(
        Code.NOT_A_PATTERN,
        "this is not a pattern",
        node.span,
        "a pattern is made of names, `_`, constants, tuples and constructors",
    )
