"""Atoms → terms, one for each column of their relation.

    R(x, Some{y})       x, and a pattern             (columns)
    r in R(.a = x)      x, _, and `r` for the row
    R[r], R[R{x, y}]    the same, written for rows
    T[(x, y)]           a pattern                    (`relation T[(A, B)]` has one column)

Reading an atom infers its expressions and gives back a function that makes the typed atom once all types are known.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.check import program, typed
from tidelog.check.functions.elaborate import Elaborator
from tidelog.check.inference import Inference, Reasons
from tidelog.check.inference.arguments import arrange_fields
from tidelog.check.inference.drafts import BROKEN, Draft, describe, named, short_name
from tidelog.check.inference.patterns import pattern
from tidelog.check.inference.state import BrokenDraftError
from tidelog.check.inference.values import REF
from tidelog.check.names.scope import RelationEntry
from tidelog.check.rule.arrange import arrange
from tidelog.check.rule.binders import Matching
from tidelog.check.rule.state import RuleState
from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression
from tidelog.types import NamedType, Type

Column = tuple[ast.Expression | None, Draft, Reasons]  # what is written for a column, its type, and why


@dataclass(slots=True)
class ReadAtom:
    """An atom that was read. `literals` go before it, `atom` makes it."""

    entry: RelationEntry | None
    columns: list[Column] = field(default_factory=list)
    row: ast.Node | None = None
    more_rows: list[ast.Node] = field(default_factory=list)
    whole: ast.Expression | None = None  # an expression for the whole row of a relation with columns
    location: ast.Expression | None = None


def find_relation(at: Inference, atom: ast.Atom) -> RelationEntry | None:
    """Returns the relation of an atom; reports one that does not exist."""
    return at.names.relation(atom.relation.text, atom.relation.span)


def row_draft(entry: RelationEntry) -> Draft:
    """Returns the type of a variable that stands for a row."""
    if entry.value is None:
        return BROKEN
    return named(REF, entry.value) if entry.declaration.reference else entry.value


def read_columns(at: Inference, atom: ast.Atom, entry: RelationEntry | None, *, head: bool) -> list[Column]:
    """Infers what the arguments of an atom say about each column.

    Where the relation is unknown or the arguments do not fit it, they are taken as they are, of any type.
    """
    arranged = None if entry is None else arrange(atom, entry, at.diagnostics, head=head)
    if entry is None or arranged is None:
        return [(argument.value, BROKEN, ()) for argument in atom.arguments]
    return [(value, column.type or BROKEN, (column.reason,)) for value, column in zip(arranged, entry.columns)]


def as_value(atom: ast.Atom, at: Inference, entry: RelationEntry) -> ast.Expression | None:
    """Returns the arguments of an atom on a relation `R[T]` as one value: the constructor of the relation's name.

    None, and a report, where there is no such constructor.
    """
    has_constructor = bool(at.module.find_constructors(atom.relation.text))
    if atom.bare or (not atom.arguments and not has_constructor):
        return ast.Wildcard(span=atom.span)
    if not has_constructor:
        if entry.value is not None:
            _report_columns(atom, at, entry, entry.value)
        return None
    value: ast.Expression = ast.Struct(atom.relation, atom.arguments, span=atom.span)
    return ast.Reference(value, span=atom.span) if atom.reference else value


def _whole(atom: ast.Atom) -> ast.Expression | None:
    """Returns the value or pattern for a row: `&R[p]` is `R[&p]`."""
    if atom.value is None or not atom.reference:
        return atom.value
    return ast.Reference(atom.value, span=atom.value.span)


def _one_column(atom: ast.Atom, entry: RelationEntry, value: ast.Expression | None) -> list[Column]:
    """Returns the column of a relation `R[T]`; where no value can be made of the arguments, they are of any type."""
    if value is None:
        return [(argument.value, BROKEN, ()) for argument in atom.arguments]
    return [(value, row_draft(entry), (entry.columns[0].reason,))]


def _report_columns(atom: ast.Atom, at: Inference, entry: RelationEntry, rows: Type) -> None:
    """Reports arguments for a relation whose rows are values of a type that has another name."""
    arguments = ", ".join(
        f".{argument.name.text} = {show_expression(argument.value)}"
        if argument.name
        else show_expression(argument.value)
        for argument in atom.arguments
    )
    definition = at.environment.definition(rows.name) if isinstance(rows, NamedType) else None
    value = f"({arguments})" if len(atom.arguments) != 1 else arguments
    if definition is not None and definition.constructors:
        value = f"{short_name(definition.constructors[0].name)}{{{arguments}}}"
    at.report(
        Code.UNKNOWN_COLUMN,
        f"relation `{short_name(entry.name)}` has no columns: its rows are {describe(rows)}",
        atom.span,
        "arguments stand for columns",
        related=[(entry.span, "declared here")],
        help=f"`{atom.relation.text}[{value}]`",
    )


# In a body


def read_body_atom(state: RuleState, atom: ast.Atom, binder: Matching) -> ReadAtom:
    """Reads an atom of a body: binds, compares, and infers what is computed."""
    at = state.at
    entry = find_relation(at, atom)
    read = ReadAtom(entry)
    whole = _whole(atom)
    if entry is not None and entry.is_explicit:
        value = whole if whole is not None else as_value(atom, at, entry)
        read.columns = _one_column(atom, entry, value)
    elif whole is not None and entry is not None:
        _open_row(state, read, entry, whole, binder)
    elif whole is not None:
        read.columns = [(whole, BROKEN, ())]
    else:
        read.columns = read_columns(at, atom, entry, head=False)
    if atom.binding is not None and binder.may_bind_row(at, atom):
        _bind_row(state, read, atom)
    for written, draft, reasons in read.columns:
        if written is not None:
            pattern(at, written, draft, binder, reasons)
    binder.finish()
    return read


def _bind_row(state: RuleState, read: ReadAtom, atom: ast.Atom) -> None:
    assert atom.binding is not None
    name, span = atom.binding.text, atom.binding.span
    if not state.already_bound(name, span):
        draft = row_draft(read.entry) if read.entry else BROKEN
        state.bind(atom.binding, name, draft, span)
        _add_row(read, atom.binding)


def _open_row(state: RuleState, read: ReadAtom, entry: RelationEntry, value: ast.Expression, binder: Matching) -> None:
    """Takes `R[value]` on a relation with columns apart, as far as it is written as a pattern."""
    at = state.at
    draft = row_draft(entry)
    everything: list[Column] = [(None, BROKEN, ()) for _ in entry.columns]
    reasons: Reasons = ((entry.span, "the relation is declared here"),)
    while True:
        match value:
            case ast.Annotation(operand, type_):
                at.agree(operand, at.resolve(type_), draft, *reasons)
                value = operand
            case ast.Block((operand,), False):
                value = operand
            case ast.Reference(operand) if entry.declaration.reference and entry.value is not None:
                value, draft = operand, entry.value
            case ast.Binding(_, inner):
                binder.declaration(at, value, draft)
                _add_row(read, value)
                value = inner
            case ast.Wildcard():
                read.columns = everything
                return
            case ast.Variable(name) if name not in state.scope:
                binder.variable(at, value, draft, reasons)
                _add_row(read, value)
                read.columns = everything
                return
            case ast.VariableDeclaration():
                binder.declaration(at, value, draft)
                _add_row(read, value)
                read.columns = everything
                return
            case ast.Struct(constructor) if draft == entry.value and at.module.find_constructors(constructor.text):
                _open_struct(at, read, entry, value)
                return
            case _:
                binder.other(at, value, draft, reasons)
                read.whole = value
                return


def _add_row(read: ReadAtom, node: ast.Node) -> None:
    if read.row is None:
        read.row = node
    else:
        read.more_rows.append(node)


def _open_struct(at: Inference, read: ReadAtom, entry: RelationEntry, value: ast.Struct) -> None:
    (constructor,) = at.module.find_constructors(value.constructor.text)[:1]
    if constructor.type.name != entry.name:
        assert entry.value is not None
        at.mismatch(
            value, NamedType(constructor.type.name), entry.value, [(entry.span, "the relation is declared here")]
        )
        read.columns = [(argument.value, BROKEN, ()) for argument in value.arguments]
        return
    values = arrange_fields(at, value, constructor, needs_all=False)
    if values is None:
        read.columns = [(argument.value, BROKEN, ()) for argument in value.arguments]
    else:
        read.columns = [(each, column.type or BROKEN, (column.reason,)) for each, column in zip(values, entry.columns)]


# In a head


def read_head_atom(state: RuleState, atom: ast.Atom) -> ReadAtom:
    """Finds the columns of a head; its expressions are inferred by the caller, who checks their variables first."""
    at = state.at
    entry = find_relation(at, atom)
    read = ReadAtom(entry, location=atom.location)
    whole = _whole(atom)
    if entry is not None and entry.is_explicit:
        value = whole if whole is not None else as_value(atom, at, entry)
        if isinstance(value, ast.Wildcard) and atom.value is None:
            value = ast.Struct(atom.relation, span=atom.span)
        read.columns = _one_column(atom, entry, value)
    elif whole is not None and entry is not None:
        _open_head(at, read, entry, whole)
    elif whole is not None:
        read.columns = [(whole, BROKEN, ())]
    else:
        read.columns = read_columns(at, atom, entry, head=True)
    return read


def _open_head(at: Inference, read: ReadAtom, entry: RelationEntry, value: ast.Expression) -> None:
    inner = value
    if isinstance(inner, ast.Reference) and entry.declaration.reference:
        inner = inner.operand
    if isinstance(inner, ast.Struct):
        found = at.module.find_constructors(inner.constructor.text)
        if found and found[0].type.name == entry.name:
            values = arrange_fields(at, inner, found[0], needs_all=True)
            if values is not None:
                read.columns = [
                    (each, column.type or BROKEN, (column.reason,)) for each, column in zip(values, entry.columns)
                ]
                return
    reasons: Reasons = ((entry.span, "the relation is declared here"),)
    read.whole = value
    read.columns = [(value, row_draft(entry), reasons)]


# The typed forms


def typed_atom(read: ReadAtom, atom: ast.Atom, make: Elaborator, before: list[program.Literal]) -> program.Atom:
    """Returns the typed atom; what must be computed for it as a whole goes to `before`."""
    assert read.entry is not None
    at = make.at
    terms: list[program.Term]
    if read.whole is not None:
        terms = list(_columns_of(read, read.whole, make, before))
    else:
        terms = [_term(value, make, atom) for value, _, _ in read.columns]
    row = None
    if read.row is not None:
        local = at.locals[id(read.row)]
        row = typed.Var(local.unique, type=at.solved(local.draft, local.span), span=local.span)
    location = None if read.location is None else make.expression(read.location)
    return program.Atom(read.entry.name, tuple(terms), atom.span, row, atom.delay, atom.prime, location)


def more_rows(read: ReadAtom, make: Elaborator) -> list[program.Literal]:
    """Further names of a row that has one already."""
    if not read.more_rows:
        return []
    assert read.row is not None
    first = make.at.locals[id(read.row)]
    found: list[program.Literal] = []
    for node in read.more_rows:
        local = make.at.locals[id(node)]
        type_ = make.at.solved(local.draft, local.span)
        value = typed.Var(first.unique, type=make.at.solved(first.draft, local.span), span=local.span)
        found.append(program.Assign(local.unique, type_, value, local.span))
    return found


def _columns_of(
    read: ReadAtom, whole: ast.Expression, make: Elaborator, before: list[program.Literal]
) -> list[typed.Expression]:
    """Returns the columns of a row that is given as one value."""
    assert read.entry is not None
    value = make.expression(whole)
    if not isinstance(value, typed.Var):
        fresh = make.fresh(value.type, value.span)
        before.append(program.Assign(fresh.name, fresh.type, value, value.span))
        value = fresh
    if read.entry.declaration.reference and value.type != read.entry.value:
        assert isinstance(value.type, NamedType)
        value = typed.Deref(value, type=value.type.arguments[0], span=value.span)
    columns: list[typed.Expression] = []
    for column in read.entry.columns:
        if column.type is None:
            raise BrokenDraftError
        columns.append(typed.Field(value, column.name, type=column.type, span=value.span))
    return columns


def _plain(value: ast.Expression | None) -> ast.Expression | None:
    """Returns the expression without the annotations and braces around it."""
    while True:
        match value:
            case ast.Annotation(inner) | ast.Block((inner,), False):
                value = inner
            case _:
                return value


def _term(value: ast.Expression | None, make: Elaborator, atom: ast.Atom) -> program.Term:
    value = _plain(value)
    if value is None or isinstance(value, ast.Wildcard):
        return program.Wild(atom.span if value is None else value.span)
    if not isinstance(value, ast.Tuple | ast.Struct | ast.Reference | ast.Binding | ast.VariableDeclaration):
        return make.expression(value)
    taken_apart = make.pattern(value)
    if isinstance(taken_apart, typed.BindPattern):
        return typed.Var(taken_apart.name, type=taken_apart.type, span=taken_apart.span)
    opens = any(
        isinstance(each, typed.AnyPattern | typed.BindPattern | typed.AsPattern)
        for each in typed.subpatterns(taken_apart)
    )
    return taken_apart if opens else make.expression(value)
