"""Modules and what they declare: the tables in which names are looked up.

A name without a module means what its own module declares, else what the modules declare that it imports without an
alias. `m::name` is looked up in the module imported as `m`, or called `m`. Types, constructors, functions, relations
and transformers have separate tables; only functions share a name: all that are visible are candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeVar

from tidelog.check.program import Attribute, Constructor, Parameter, TypeDefinition
from tidelog.diagnostics.spans import Span
from tidelog.syntax import ast
from tidelog.types import NamedType, Type, TypeVariable

Entry = TypeVar("Entry")


@dataclass(slots=True, eq=False)
class TypeEntry:
    """A declared type. `definition` is None until its fields are resolved, and stays so for an alias.

    `alias` is what an alias stands for: None until it is resolved, and where nothing can be said about it.
    """

    name: str
    parameters: tuple[str, ...]
    declaration: ast.TypeDeclaration | ast.RelationDeclaration
    module: Module
    definition: TypeDefinition | None = None
    alias: Type | None = None
    is_resolved: bool = False

    @property
    def span(self) -> Span:
        return self.declaration.name.span

    @property
    def is_alias(self) -> bool:
        declaration = self.declaration
        return isinstance(declaration, ast.TypeDeclaration) and isinstance(declaration.definition, ast.Type)

    @property
    def type(self) -> NamedType:
        """The type with its own parameters as arguments."""
        return NamedType(self.name, tuple(TypeVariable(name) for name in self.parameters))


@dataclass(slots=True, eq=False)
class ConstructorEntry:
    """A constructor. `fields` are the names and types; a type that does not resolve is None."""

    name: str
    type: TypeEntry
    span: Span
    fields: tuple[tuple[str, Type | None], ...] = ()
    constructor: Constructor | None = None


@dataclass(slots=True, eq=False)
class FunctionEntry:
    """A declared function. `parameters` and `result` are None where one of their types does not resolve."""

    id: str
    name: str
    declaration: ast.FunctionDeclaration
    module: Module
    type_parameters: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] | None = None
    result: Type | None = None
    attributes: tuple[Attribute, ...] = ()

    @property
    def arity(self) -> int:
        return len(self.declaration.parameters)

    @property
    def span(self) -> Span:
        return self.declaration.name.span


@dataclass(frozen=True, slots=True)
class ColumnSignature:
    """A column; its type is None where the declaration names none that exists."""

    name: str
    type: Type | None
    span: Span
    reason: tuple[Span, str]  # why an argument must have this type, for the error when it has not


@dataclass(slots=True, eq=False)
class RelationEntry:
    """A declared relation. `value` is the type of a row without its `Ref`; None where it does not resolve."""

    name: str
    declaration: ast.RelationDeclaration
    module: Module
    columns: tuple[ColumnSignature, ...] = ()
    value: Type | None = None
    attributes: tuple[Attribute, ...] = ()

    @property
    def span(self) -> Span:
        return self.declaration.name.span

    @property
    def is_explicit(self) -> bool:
        """Declared as `R[T]`."""
        return self.declaration.type is not None

    @property
    def is_stream(self) -> bool:
        return self.declaration.kind == "stream"


@dataclass(slots=True, eq=False)
class TransformerEntry:
    """A declared transformer: for each parameter its name, its type, and whether it is a relation."""

    name: str
    declaration: ast.TransformerDeclaration
    module: Module
    type_parameters: tuple[str, ...] = ()
    inputs: tuple[tuple[str, Type | None, bool], ...] = ()
    outputs: tuple[tuple[str, Type | None, bool], ...] = ()

    @property
    def span(self) -> Span:
        return self.declaration.name.span


@dataclass(slots=True, eq=False)
class Module:
    """A module: its text, what it imports, and what it declares by unqualified name. The main one has no name.

    One that goes on with more text (`extended`) knows the declarations of the texts before it, too.
    """

    name: str
    program: ast.Program
    is_library: bool = False
    imports: list[tuple[Module, str | None]] = field(default_factory=list)
    types: dict[str, TypeEntry] = field(default_factory=dict)
    constructors: dict[str, ConstructorEntry] = field(default_factory=dict)
    functions: dict[str, list[FunctionEntry]] = field(default_factory=dict)
    relations: dict[str, RelationEntry] = field(default_factory=dict)
    transformers: dict[str, TransformerEntry] = field(default_factory=dict)
    indexes: dict[str, ast.IndexDeclaration] = field(default_factory=dict)
    is_declared: bool = False
    _open: list[Module] | None = None
    _items: set[int] | None = None

    def extended(self, program: ast.Program) -> Module:
        """Returns a module with all that this one declares, to which another text will add; this one stays as it is."""
        return Module(
            self.name,
            program,
            self.is_library,
            self.imports,
            dict(self.types),
            dict(self.constructors),
            {name: list(functions) for name, functions in self.functions.items()},
            dict(self.relations),
            self.transformers,
            self.indexes,
        )

    def holds(self, declaration: ast.Item) -> bool:
        """True if a declaration stands in the text of this very module, and not in one before it."""
        if self._items is None:
            self._items = {id(item) for item in self.program.items}
        return id(declaration) in self._items

    def qualified(self, name: str) -> str:
        """Returns the name as the whole program knows it."""
        return f"{self.name}::{name}" if self.name else name

    def places(self, prefix: str) -> list[Module]:
        """Returns the modules in which a name with this prefix is looked up; none when there is no such module."""
        if not prefix:
            if self._open is None:
                seen = [module for module, alias in self.imports if alias is None and module is not self]
                self._open = [self, *seen]
            return self._open
        found = [module for module, alias in self.imports if prefix in (alias, module.name)]
        return found or ([self] if prefix == self.name else [])

    def prefixes(self) -> set[str]:
        """Returns the prefixes that may stand before a `::` here."""
        return {alias or module.name for module, alias in self.imports}

    def find_types(self, name: str) -> list[TypeEntry]:
        return self._find(name, _TYPES)

    def find_constructors(self, name: str) -> list[ConstructorEntry]:
        return self._find(name, _CONSTRUCTORS)

    def find_relations(self, name: str) -> list[RelationEntry]:
        return self._find(name, _RELATIONS)

    def find_transformers(self, name: str) -> list[TransformerEntry]:
        return self._find(name, _TRANSFORMERS)

    def find_functions(self, name: str) -> list[FunctionEntry]:
        """Returns all functions of that name that are visible here, those of the module itself first."""
        prefix, _, last = name.rpartition("::")
        found = (function for place in self.places(prefix) for function in place.functions.get(last, ()))
        return list(dict.fromkeys(found))

    def _find(self, name: str, table: Callable[[Module], dict[str, Entry]]) -> list[Entry]:
        """Returns all that the name may mean: what the module declares itself hides what it imports."""
        prefix, _, last = name.rpartition("::")
        found: list[Entry] = []
        for place in self.places(prefix):
            entry = table(place).get(last)
            if entry is not None and place is self:
                return [entry]
            if entry is not None and entry not in found:
                found.append(entry)
        return found


# The tables of a module by what they hold; a lookup goes through those of all visible modules.
_TYPES: Callable[[Module], dict[str, TypeEntry]] = attrgetter("types")
_CONSTRUCTORS: Callable[[Module], dict[str, ConstructorEntry]] = attrgetter("constructors")
_RELATIONS: Callable[[Module], dict[str, RelationEntry]] = attrgetter("relations")
_TRANSFORMERS: Callable[[Module], dict[str, TransformerEntry]] = attrgetter("transformers")


@dataclass(slots=True)
class Environment:
    """All modules of a program by name; finds what a qualified name stands for."""

    modules: dict[str, Module]

    def type(self, name: str) -> TypeEntry:
        module, _, last = name.rpartition("::")
        return self.modules[module].types[last]

    def definition(self, name: str) -> TypeDefinition | None:
        """Returns the definition of a declared type; None when something is wrong with it."""
        return self.type(name).definition

    def constructor(self, name: str) -> ConstructorEntry:
        module, _, last = name.rpartition("::")
        return self.modules[module].constructors[last]

    def knows_type(self, name: str) -> bool:
        module, _, last = name.rpartition("::")
        return module in self.modules and last in self.modules[module].types
