"""Relation declarations → signatures: what rules may know of a relation while errors are still being looked for."""

from __future__ import annotations

from tidelog.check.declarations.attributes import find_attribute, read_attributes
from tidelog.check.names.resolve_name import Names
from tidelog.check.names.resolve_type import TypeResolver
from tidelog.check.names.scope import ColumnSignature, Module, RelationEntry
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.syntax import ast
from tidelog.types import NamedType


def declare_relations(module: Module, diagnostics: list[Diagnostic]) -> None:
    """Resolves the columns of a module's relations."""
    resolver = TypeResolver(Names(module, diagnostics), diagnostics)
    resolver.where = "in a relation"
    for item in module.program.items:
        if isinstance(item, ast.RelationDeclaration):
            entry = module.relations[item.name.text]
            if entry.declaration is item:
                _declare(entry, resolver, diagnostics)
            else:
                _columns(item, resolver, diagnostics)


def _declare(entry: RelationEntry, resolver: TypeResolver, diagnostics: list[Diagnostic]) -> None:
    declaration = entry.declaration
    entry.attributes = read_attributes(declaration.attributes, "relation", diagnostics)
    if declaration.type is None:
        entry.columns = _columns(declaration, resolver, diagnostics)
        entry.value = NamedType(entry.name)
    else:
        entry.value = resolver.resolve(declaration.type)
        reason = (declaration.type.span, "the type of the rows is declared here")
        entry.columns = (ColumnSignature("value", entry.value, declaration.type.span, reason),)
    functional = find_attribute(entry.attributes, "functional")
    if functional is not None and not 0 < int(functional.value or 0) < len(entry.columns):
        diagnostics.append(
            diagnostic(
                Code.BAD_ATTRIBUTE,
                f"`{declaration.name.text}` cannot be a function of {functional.value} of its columns",
                functional.span,
                f"it has {len(entry.columns)}, and at least one is the value",
            )
        )
    if declaration.key is not None and (declaration.role != "input" or declaration.kind != "relation"):
        what = "an `input relation`"
        found = f"{declaration.role} {declaration.kind}".strip()
        diagnostics.append(
            diagnostic(
                Code.BAD_KEY,
                f"only {what} has a primary key",
                declaration.key.span,
                f"`{declaration.name.text}` is {'an' if found[0] in 'io' else 'a'} `{found}`",
            )
        )


def _columns(
    item: ast.RelationDeclaration, resolver: TypeResolver, diagnostics: list[Diagnostic]
) -> tuple[ColumnSignature, ...]:
    columns: list[ColumnSignature] = []
    seen: dict[str, ast.Column] = {}
    for column in item.columns:
        name = column.name.text
        read_attributes(column.attributes, "field", diagnostics)
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
        columns.append(ColumnSignature(name, resolver.resolve(column.type), column.span, reason))
    return tuple(columns)
