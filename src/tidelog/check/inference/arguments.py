"""The arguments of a constructor → one for each of its fields, in their order.

    typedef P = P{x: u8, y: u8}
    P{1, 2}       1, 2
    P{.y = 2}     nothing, 2

In a pattern a field that is left out may be anything, and `P{}` or `P` leaves out all; in an expression every field
needs a value.
"""

from __future__ import annotations

from tidelog.check.inference.drafts import short_name
from tidelog.check.inference.state import Inference
from tidelog.check.names.scope import ConstructorEntry
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.spans import Span
from tidelog.diagnostics.suggest import suggest
from tidelog.diagnostics.wording import counted
from tidelog.syntax import ast


def arrange_fields(
    at: Inference, node: ast.Struct, entry: ConstructorEntry, *, needs_all: bool
) -> list[ast.Expression | None] | None:
    """Returns one expression or None per field; None for all of it when the arguments do not fit the constructor."""
    arguments = node.arguments
    named = [argument for argument in arguments if argument.name is not None]
    if named and len(named) < len(arguments):
        positional = next(argument for argument in arguments if argument.name is None)
        at.report(
            Code.MIXED_ARGUMENTS,
            f"the arguments of `{node.constructor.text}` are partly named",
            positional.span,
            "this one has no name",
            related=[(named[0].span, "this one has")],
        )
        return None
    if named:
        return _by_name(at, node, entry, needs_all=needs_all)
    if not arguments and not needs_all:
        return [None] * len(entry.fields)
    if len(arguments) != len(entry.fields):
        wanted, found = len(entry.fields), len(arguments)
        at.report(
            Code.WRONG_ARGUMENT_COUNT,
            f"constructor `{short_name(entry.name)}` has {counted(wanted, 'field')}, {found} given",
            node.span,
            f"expected {wanted}, found {found}",
            related=[] if entry.type.module.is_library else [(entry.span, "declared here")],
        )
        return None
    return [argument.value for argument in arguments]


def _by_name(
    at: Inference, node: ast.Struct, entry: ConstructorEntry, *, needs_all: bool
) -> list[ast.Expression | None] | None:
    places = {name: place for place, (name, _) in enumerate(entry.fields)}
    values: list[ast.Expression | None] = [None] * len(entry.fields)
    given: dict[str, Span] = {}
    before = at.errors
    owner = f"constructor `{short_name(entry.name)}`"
    for argument in node.arguments:
        assert argument.name is not None
        name, span = argument.name.text, argument.name.span
        if name not in places:
            guess = suggest(name, places)
            help = f"did you mean `.{guess}`?" if guess else None
            at.report(Code.UNKNOWN_FIELD, f"{owner} has no field `{name}`", span, "no such field", help=help)
        elif name in given:
            related = [(given[name], "first here")]
            at.report(Code.REPEATED_ARGUMENT, f"field `{name}` is given twice", span, "here again", related=related)
        else:
            given[name] = span
            values[places[name]] = argument.value
    missing = ", ".join(f"`{name}`" for name in places if name not in given)
    if needs_all and missing and at.errors == before:
        message = f"{owner} gets no value for {missing}"
        help = ", ".join(f"`.{name} = …`" for name in places if name not in given)
        at.report(Code.MISSING_COLUMN, message, node.span, "a value needs every field", help=f"for example {help}")
    return values if at.errors == before else None
