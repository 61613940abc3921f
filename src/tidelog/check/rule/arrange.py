"""The arguments of an atom → one argument for each column of its relation, in the order of the columns.

    input relation Edge(src: string, dst: string)
    Edge(x, y)            x, y
    Edge(.dst = y)        nothing, y

An omitted column is None: any value in a body, an error in a head.
"""

from __future__ import annotations

from tidelog.check.inference.drafts import short_name
from tidelog.check.names.scope import RelationEntry
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.diagnostics.suggest import suggest
from tidelog.diagnostics.wording import counted
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression


def arrange(
    atom: ast.Atom, signature: RelationEntry, diagnostics: list[Diagnostic], *, head: bool
) -> list[ast.Expression | None] | None:
    """Returns one expression or None per column, or None for all of it when the arguments do not fit the relation.

    `R()` in a body leaves out every column.
    """
    named = [argument for argument in atom.arguments if argument.name is not None]
    if named and len(named) < len(atom.arguments):
        positional = next(argument for argument in atom.arguments if argument.name is None)
        diagnostics.append(
            diagnostic(
                Code.MIXED_ARGUMENTS,
                f"the arguments of `{atom.relation.text}` are partly named",
                positional.span,
                "this one has no name",
                related=[(named[0].span, "this one has")],
                help=_all_named(atom, signature),
            )
        )
        return None
    if named:
        return _by_name(atom, signature, diagnostics, head=head)
    if not atom.arguments and not head:
        return [None] * len(signature.columns)
    if (assigned := _assigned(atom, signature)) is not None:
        diagnostics.append(assigned)
        return None
    if len(atom.arguments) != len(signature.columns):
        _wrong_count(atom, signature, diagnostics, head=head)
        return None
    return [argument.value for argument in atom.arguments]


def _assigned(atom: ast.Atom, signature: RelationEntry) -> Diagnostic | None:
    """Returns the error of `R(column = x)`, where `R(.column = x)` is meant."""
    columns = {column.name for column in signature.columns}
    first, given = None, []
    for argument in atom.arguments:
        value = argument.value
        if isinstance(value, ast.Assign) and isinstance(value.target, ast.Variable) and value.target.name in columns:
            first = first or argument
            given.append(f".{value.target.name} = {show_expression(value.value)}")
        elif not isinstance(value, ast.Wildcard):
            return None
    if first is None:
        return None
    return diagnostic(
        Code.PLAIN_ASSIGNMENT,
        f"`{show_expression(first.value)}` is neither a condition nor an assignment",
        first.span,
        "a column is named with a dot",
        help=f"`{atom.relation.text}({', '.join(given)})`",
    )


def _all_named(atom: ast.Atom, signature: RelationEntry) -> str | None:
    """Returns the atom with a name for each argument, if each that has none can be given that of its column."""
    columns = [column.name for column in signature.columns]
    names = [
        argument.name.text if argument.name else columns[place] if place < len(columns) else None
        for place, argument in enumerate(atom.arguments)
    ]
    if None in names or len(set(names)) < len(names):
        return None
    given = (f".{name} = {show_expression(argument.value)}" for name, argument in zip(names, atom.arguments))
    return f"`{atom.relation.text}({', '.join(given)})`"


def _by_name(
    atom: ast.Atom, signature: RelationEntry, diagnostics: list[Diagnostic], *, head: bool
) -> list[ast.Expression | None] | None:
    places = {column.name: place for place, column in enumerate(signature.columns)}
    values: list[ast.Expression | None] = [None] * len(signature.columns)
    given: dict[str, Span] = {}
    before = len(diagnostics)
    for argument in atom.arguments:
        assert argument.name is not None
        name, span = argument.name.text, argument.name.span
        if name not in places:
            guess = suggest(name, places)
            message = f"relation `{short_name(signature.name)}` has no column `{name}`"
            help = (
                f"did you mean `.{guess}`?" if guess else f"the columns are {_listed(list(places))}" if places else None
            )
            related = [(signature.span, f"its columns are {_listed(list(places))}")] if places else []
            label = "no such column"
            diagnostics.append(diagnostic(Code.UNKNOWN_COLUMN, message, span, label, related=related, help=help))
        elif name in given:
            message = f"column `{name}` is given twice"
            related = [(given[name], "first here")]
            diagnostics.append(diagnostic(Code.REPEATED_ARGUMENT, message, span, "here again", related=related))
        else:
            given[name] = span
            values[places[name]] = argument.value
    missing = [name for name in places if name not in given]
    if head and missing and len(diagnostics) == before:
        diagnostics.append(
            diagnostic(
                Code.MISSING_COLUMN,
                f"the head gives no value for {_listed(missing)} of `{short_name(signature.name)}`",
                atom.span,
                "a head needs every column",
                help=f"for example {_listed([f'.{name} = …' for name in missing])}",
            )
        )
    return values if len(diagnostics) == before else None


def _wrong_count(atom: ast.Atom, signature: RelationEntry, diagnostics: list[Diagnostic], *, head: bool) -> None:
    wanted, found = len(signature.columns), len(atom.arguments)
    help = None
    if not head and 0 < found < wanted:
        filled = [show_expression(argument.value) for argument in atom.arguments] + ["_"] * (wanted - found)
        help = f"`{atom.relation.text}({', '.join(filled)})` leaves the rest open"
    diagnostics.append(
        diagnostic(
            Code.WRONG_ARGUMENT_COUNT,
            f"relation `{short_name(signature.name)}` has {counted(wanted, 'column')}, {found} given",
            atom.span,
            f"expected {wanted}, found {found}",
            related=[(signature.span, "declared here")],
            help=help,
        )
    )


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
