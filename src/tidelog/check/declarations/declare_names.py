"""The items of a module → its tables, with names only: what they stand for is resolved when all names are known.

Of two declarations of one name the first counts; the second is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tidelog.check.names.scope import (
    ConstructorEntry,
    FunctionEntry,
    Module,
    RelationEntry,
    TransformerEntry,
    TypeEntry,
)
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.syntax import ast

_Declared = TypeEntry | ConstructorEntry | RelationEntry | TransformerEntry | ast.IndexDeclaration
Entry = TypeVar("Entry", bound=_Declared)


def declare_names(module: Module, diagnostics: list[Diagnostic]) -> None:
    """Fills the tables of the module."""
    declaring = _Declaring(module, diagnostics)
    for item in module.program.items:
        match item:
            case ast.TypeDeclaration():
                declaring.type(item)
            case ast.RelationDeclaration():
                declaring.relation(item)
            case ast.FunctionDeclaration():
                qualified = module.qualified(item.name.text)
                entry = FunctionEntry(qualified, qualified, item, module)
                module.functions.setdefault(item.name.text, []).append(entry)
            case ast.TransformerDeclaration():
                transformer = TransformerEntry(module.qualified(item.name.text), item, module)
                declaring.add(module.transformers, item.name, transformer, Code.UNKNOWN_TRANSFORMER, "transformer")
            case ast.IndexDeclaration():
                declaring.add(module.indexes, item.name, item, Code.BAD_INDEX, "index")
            case _:
                pass
    _name_overloads(module)


class _Declaring:
    def __init__(self, module: Module, diagnostics: list[Diagnostic]) -> None:
        self._module = module
        self._diagnostics = diagnostics

    def type(self, item: ast.TypeDeclaration) -> None:
        parameters = [(each.text, each.span) for each in item.parameters]
        report_repeated(parameters, f"type `{item.name.text}`", "parameters", self._diagnostics)
        types = tuple(each.text for each in item.parameters)
        entry = TypeEntry(self._module.qualified(item.name.text), types, item, self._module)
        constructors = item.definition.constructors if isinstance(item.definition, ast.Constructors) else ()
        self._type(entry, [each.name for each in constructors])

    def relation(self, item: ast.RelationDeclaration) -> None:
        entry = RelationEntry(self._module.qualified(item.name.text), item, self._module)
        is_new = self.add(self._module.relations, item.name, entry, Code.DUPLICATE_RELATION, "relation")
        if is_new and item.type is None:
            row = TypeEntry(entry.name, (), item, self._module)
            self._type(row, [item.name], "a relation declares a type, too")

    def _type(self, entry: TypeEntry, constructors: Sequence[ast.Name], again: str = "declared again") -> None:
        module = self._module
        if self.add(module.types, entry.declaration.name, entry, Code.DUPLICATE_TYPE, "type", again):
            for name in constructors:
                constructor = ConstructorEntry(module.qualified(name.text), entry, name.span)
                self.add(module.constructors, name, constructor, Code.DUPLICATE_CONSTRUCTOR, "constructor")

    def add(
        self,
        table: dict[str, Entry],
        name: ast.Name,
        entry: Entry,
        code: Code,
        what: str,
        again: str = "declared again",
    ) -> bool:
        """Adds an entry to a table; reports it, and returns False, if there is one of that name."""
        earlier = table.setdefault(name.text, entry)
        if earlier is entry:
            return True
        span = earlier.name.span if isinstance(earlier, ast.IndexDeclaration) else earlier.span
        message, related = f"{what} `{name.text}` is declared twice", [(span, "declared first")]
        self._diagnostics.append(diagnostic(code, message, name.span, again, related=related))
        return False


def report_repeated(names: list[tuple[str, Span]], owner: str, what: str, diagnostics: list[Diagnostic]) -> None:
    """Reports names that stand twice in one list: fields, parameters."""
    seen: dict[str, Span] = {}
    for name, span in names:
        if name in seen:
            message = f"{owner} has two {what} `{name}`"
            related = [(seen[name], "first here")]
            diagnostics.append(diagnostic(Code.REPEATED_NAME, message, span, "here again", related=related))
        seen.setdefault(name, span)


def _name_overloads(module: Module) -> None:
    """Functions that share a name get the types of their parameters, as written, into their ids.

    Those that were declared before keep the id by which they are called already.
    """
    for functions in module.functions.values():
        if len(functions) == 1:
            continue
        used = {function.id for function in functions if not module.holds(function.declaration)}
        for function in (each for each in functions if module.holds(each.declaration)):
            taken = ", ".join(" ".join(each.type.span.text.split()) for each in function.declaration.parameters)
            result = function.declaration.result
            name = f"{function.name}({taken})"
            if name in used and result is not None:
                name = f"{name}: {' '.join(result.span.text.split())}"
            count = 2
            unique = name
            while unique in used:
                unique, count = f"{name} #{count}", count + 1
            used.add(unique)
            function.id = unique
