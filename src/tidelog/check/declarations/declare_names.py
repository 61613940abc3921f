"""The items of a module → its tables, with names only: what they stand for is resolved when all names are known.

Of two declarations of one name the first counts; the second is reported.
"""

from __future__ import annotations

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
                declaring.function(item)
            case ast.TransformerDeclaration():
                declaring.transformer(item)
            case ast.IndexDeclaration():
                declaring.index(item)
            case _:
                pass
    _name_overloads(module)


class _Declaring:
    def __init__(self, module: Module, diagnostics: list[Diagnostic]) -> None:
        self._module = module
        self._diagnostics = diagnostics

    def type(self, item: ast.TypeDeclaration) -> None:
        parameters = tuple(parameter.text for parameter in item.parameters)
        self._unrepeated([(each.text, each.span) for each in item.parameters], f"type `{item.name.text}`", "parameters")
        entry = TypeEntry(self._module.qualified(item.name.text), parameters, item, self._module)
        if self._new_type(item.name, entry) and isinstance(item.definition, ast.Constructors):
            for constructor in item.definition.constructors:
                self._constructor(constructor.name, entry)

    def relation(self, item: ast.RelationDeclaration) -> None:
        name = item.name.text
        earlier = self._module.relations.get(name)
        if earlier is not None:
            self._twice(Code.DUPLICATE_RELATION, "relation", item.name, earlier.span)
            return
        self._module.relations[name] = RelationEntry(self._module.qualified(name), item, self._module)
        if item.type is None:
            entry = TypeEntry(self._module.qualified(name), (), item, self._module)
            if self._new_type(item.name, entry):
                self._constructor(item.name, entry)

    def function(self, item: ast.FunctionDeclaration) -> None:
        name = item.name.text
        entry = FunctionEntry(self._module.qualified(name), self._module.qualified(name), item, self._module)
        self._module.functions.setdefault(name, []).append(entry)

    def transformer(self, item: ast.TransformerDeclaration) -> None:
        earlier = self._module.transformers.get(item.name.text)
        if earlier is not None:
            self._twice(Code.UNKNOWN_TRANSFORMER, "transformer", item.name, earlier.span)
            return
        entry = TransformerEntry(self._module.qualified(item.name.text), item, self._module)
        self._module.transformers[item.name.text] = entry

    def index(self, item: ast.IndexDeclaration) -> None:
        earlier = self._module.indexes.get(item.name.text)
        if earlier is not None:
            self._twice(Code.BAD_INDEX, "index", item.name, earlier.name.span)
            return
        self._module.indexes[item.name.text] = item

    def _new_type(self, name: ast.Name, entry: TypeEntry) -> bool:
        earlier = self._module.types.get(name.text)
        if earlier is None:
            self._module.types[name.text] = entry
            return True
        is_relation = isinstance(entry.declaration, ast.RelationDeclaration)
        label = "a relation declares a type, too" if is_relation else "declared again"
        self._diagnostics.append(
            diagnostic(
                Code.DUPLICATE_TYPE,
                f"type `{name.text}` is declared twice",
                name.span,
                label,
                related=[(earlier.span, "declared first")],
            )
        )
        return False

    def _constructor(self, name: ast.Name, entry: TypeEntry) -> None:
        earlier = self._module.constructors.get(name.text)
        if earlier is not None:
            self._twice(Code.DUPLICATE_CONSTRUCTOR, "constructor", name, earlier.span)
            return
        qualified = self._module.qualified(name.text)
        self._module.constructors[name.text] = ConstructorEntry(qualified, entry, name.span)

    def _twice(self, code: Code, what: str, name: ast.Name, first: Span) -> None:
        message = f"{what} `{name.text}` is declared twice"
        related = [(first, "declared first")]
        self._diagnostics.append(diagnostic(code, message, name.span, "declared again", related=related))

    def _unrepeated(self, names: list[tuple[str, Span]], owner: str, what: str) -> None:
        report_repeated(names, owner, what, self._diagnostics)


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
