"""Declarations → the relations of a program, with the types of their columns."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.check import types
from tidelog.check.program import Column, Relation
from tidelog.check.types import BitType, SignedType, Type
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.diagnostics.suggest import suggest
from tidelog.syntax import ast

TYPE_NAMES: dict[str, Type] = {
    "bool": types.BOOL,
    "string": types.STRING,
    "usize": types.U64,
    "isize": types.S64,
    **{f"u{width}": BitType(width) for width in (8, 16, 32, 64, 128)},
    **{f"s{width}": SignedType(width) for width in (8, 16, 32, 64, 128)},
}


@dataclass(frozen=True, slots=True)
class ColumnSignature:
    """A column; its type is None where the declaration names none that exists."""

    name: str
    type: Type | None
    span: Span
    reason: tuple[Span, str]  # why an argument must have this type, for the error when it has not


@dataclass(frozen=True, slots=True)
class Signature:
    """What rules may know of a relation while errors are still being looked for."""

    name: str
    role: str
    columns: tuple[ColumnSignature, ...]
    span: Span

    def relation(self) -> Relation:
        """The relation, once nothing was found wrong with it."""
        columns = []
        for column in self.columns:
            assert column.type is not None, "an unknown type is an error"
            columns.append(Column(column.name, column.type, column.span))
        return Relation(self.name, self.role, tuple(columns), self.span)


def declare(program: ast.Program, diagnostics: list[Diagnostic]) -> dict[str, Signature]:
    """The relations by name, in the order of the text. Of two declarations of one name the first counts."""
    signatures: dict[str, Signature] = {}
    for item in program.items:
        if not isinstance(item, ast.RelationDeclaration):
            continue
        name = item.name.text
        columns = _columns(item, diagnostics)
        if name in signatures:
            diagnostics.append(
                diagnostic(
                    Code.DUPLICATE_RELATION,
                    f"relation `{name}` is declared twice",
                    item.name.span,
                    "declared again",
                    related=[(signatures[name].span, "declared first")],
                )
            )
        else:
            signatures[name] = Signature(name, item.role, columns, item.name.span)
    return signatures


def resolve_type(syntax: ast.Type, diagnostics: list[Diagnostic]) -> Type | None:
    """The type that is meant, or None (and a diagnostic) when there is none of that name."""
    if isinstance(syntax, ast.SizedType):
        return BitType(syntax.width) if syntax.family == "bit" else SignedType(syntax.width)
    known = TYPE_NAMES.get(syntax.name)
    if known is None:
        guess = suggest(syntax.name, TYPE_NAMES)
        diagnostics.append(
            diagnostic(
                Code.UNKNOWN_TYPE,
                f"unknown type `{syntax.name}`",
                syntax.span,
                "no such type",
                help=f"did you mean `{guess}`?" if guess else None,
            )
        )
    return known


def _columns(item: ast.RelationDeclaration, diagnostics: list[Diagnostic]) -> tuple[ColumnSignature, ...]:
    columns: list[ColumnSignature] = []
    seen: dict[str, ast.Column] = {}
    for column in item.columns:
        name = column.name.text
        if name in seen:
            diagnostics.append(
                diagnostic(
                    Code.DUPLICATE_COLUMN,
                    f"relation `{item.name.text}` has two columns `{name}`",
                    column.name.span,
                    "here again",
                    related=[(seen[name].name.span, "first here")],
                )
            )
        seen.setdefault(name, column)
        reason = (column.span, f"column `{name}` is declared here")
        columns.append(ColumnSignature(name, resolve_type(column.type, diagnostics), column.span, reason))
    return tuple(columns)
