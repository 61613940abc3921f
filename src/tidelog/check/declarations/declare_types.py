"""Type declarations → definitions: the fields of constructors, what extern types iterate over.

A relation with columns declares a struct of its name. Names of all modules are known before this starts.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.check.declarations.attributes import find_attribute, read_attributes
from tidelog.check.declarations.declare_names import report_repeated
from tidelog.check.inference.drafts import type_variables
from tidelog.check.names.resolve_name import Names
from tidelog.check.names.resolve_type import TypeResolver, expand_alias
from tidelog.check.names.scope import Module, TypeEntry
from tidelog.check.program import Attribute, Constructor, Field, TypeDefinition
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, Label, diagnostic
from tidelog.syntax import ast
from tidelog.types import Type


def declare_types(module: Module, diagnostics: list[Diagnostic]) -> None:
    """Resolves the types that the text of a module declares."""
    new = [entry for entry in module.types.values() if module.holds(entry.declaration)]
    for entry in new:
        if entry.is_alias:
            _report_cycle(entry, diagnostics)
    for entry in new:
        _declare(entry, diagnostics)


def _declare(entry: TypeEntry, diagnostics: list[Diagnostic]) -> None:
    declaration = entry.declaration
    if isinstance(declaration, ast.RelationDeclaration):
        _declare_row(entry, declaration, diagnostics)
        return
    attributes = read_attributes(declaration.attributes, "type", diagnostics)
    resolver = _resolver(entry, diagnostics)
    match declaration.definition:
        case None:
            item = _item(declaration, attributes, resolver)
            entry.definition = TypeDefinition(entry.name, entry.parameters, None, attributes, entry.span, item)
        case ast.Constructors(constructors):
            found = [_constructor(constructor, entry, resolver, diagnostics) for constructor in constructors]
            _report_clashing_fields(entry, constructors, found, diagnostics)
            known = tuple(constructor for constructor in found if constructor is not None)
            if len(known) == len(found):
                _report_unused(entry, known, diagnostics)
                entry.definition = TypeDefinition(entry.name, entry.parameters, known, attributes, entry.span)
        case _:
            expand_alias(entry, diagnostics)
    entry.is_resolved = True


def _declare_row(entry: TypeEntry, declaration: ast.RelationDeclaration, diagnostics: list[Diagnostic]) -> None:
    """Declares the struct of a relation. `declare_relations` reports errors in its columns."""
    resolver = _resolver(entry, [])
    fields = [(column.name.text, resolver.resolve(column.type)) for column in declaration.columns]
    constructor = entry.module.constructors.get(declaration.name.text)
    known = tuple(Field(name, type_) for name, type_ in fields if type_ is not None)
    if constructor is not None and constructor.type is entry:
        constructor.fields = tuple(fields)
        if len(known) == len(fields):
            constructor.constructor = Constructor(entry.name, known)
            entry.definition = TypeDefinition(entry.name, (), (constructor.constructor,), (), entry.span)
    entry.is_resolved = True


def _constructor(
    syntax: ast.Constructor, entry: TypeEntry, resolver: TypeResolver, diagnostics: list[Diagnostic]
) -> Constructor | None:
    names = [(each.name.text, each.name.span) for each in syntax.fields]
    report_repeated(names, f"constructor `{syntax.name.text}`", "fields", diagnostics)
    types = [(each.name.text, resolver.resolve(each.type)) for each in syntax.fields]
    attributes = read_attributes(syntax.attributes, "constructor", diagnostics)
    known = []
    for field, (name, type_) in zip(syntax.fields, types):
        given = read_attributes(field.attributes, "field", diagnostics)
        own = tuple(_resolved(each, entry, diagnostics) for each in given)
        if type_ is not None:
            known.append(Field(name, type_, own))
    constructor = entry.module.constructors.get(syntax.name.text)
    if constructor is None or constructor.span is not syntax.name.span:
        return None
    constructor.fields = tuple(types)
    if len(known) == len(types):
        constructor.constructor = Constructor(constructor.name, tuple(known), attributes)
    return constructor.constructor


def _resolved(attribute: Attribute, entry: TypeEntry, diagnostics: list[Diagnostic]) -> Attribute:
    """Returns the attribute; where its value names a function, with that function's id."""
    if attribute.name != "deserialize_from_array":
        return attribute
    name = str(attribute.value)
    functions = entry.module.find_functions(name)
    if len(functions) == 1:
        return replace(attribute, value=functions[0].id)
    if functions:
        message = f"function `{name}` may be any of {len(functions)}"
        diagnostics.append(diagnostic(Code.AMBIGUOUS_CALL, message, attribute.span, "nothing says which one"))
    else:
        Names(entry.module, diagnostics).unknown_function(name, attribute.span)
    return attribute


def _item(declaration: ast.TypeDeclaration, attributes: tuple[Attribute, ...], resolver: TypeResolver) -> Type | None:
    """Returns the type of the items that an extern type iterates over, or None."""
    iterated = find_attribute(attributes, "iterate_by_ref") or find_attribute(attributes, "iterate_by_val")
    for attribute in declaration.attributes:
        if iterated and attribute.span is iterated.span and isinstance(attribute.value, ast.Annotation):
            return resolver.resolve(attribute.value.type)
    return None


def _resolver(entry: TypeEntry, diagnostics: list[Diagnostic]) -> TypeResolver:
    resolver = TypeResolver(Names(entry.module, diagnostics), diagnostics)
    resolver.variables = frozenset(entry.parameters)
    resolver.where = f"by `{entry.name}`" if entry.parameters else "in this type"
    return resolver


def _report_clashing_fields(
    entry: TypeEntry,
    constructors: tuple[ast.Constructor, ...],
    found: list[Constructor | None],
    diagnostics: list[Diagnostic],
) -> None:
    """Reports a field with different types in several constructors: it can be read without knowing the constructor."""
    first: dict[str, tuple[Type, ast.Field]] = {}
    for syntax, constructor in zip(constructors, found):
        for field, declared in zip(syntax.fields, constructor.fields if constructor else ()):
            earlier = first.setdefault(declared.name, (declared.type, field))
            if earlier[0] != declared.type:
                diagnostics.append(
                    diagnostic(
                        Code.CLASHING_FIELDS,
                        f"field `{declared.name}` of `{entry.name}` has two types",
                        earlier[1].span,
                        f"here `{earlier[0]}`",
                        related=[(field.span, f"here `{declared.type}`")],
                    )
                )


def _report_unused(entry: TypeEntry, constructors: tuple[Constructor, ...], diagnostics: list[Diagnostic]) -> None:
    declaration = entry.declaration
    assert isinstance(declaration, ast.TypeDeclaration)
    used = {name for each in constructors for field in each.fields for name in type_variables(field.type)}
    for parameter in declaration.parameters:
        if parameter.text not in used:
            message = f"type parameter `'{parameter.text}` of `{entry.name}` is not used"
            label = "no field mentions it"
            diagnostics.append(diagnostic(Code.UNUSED_TYPE_PARAMETER, message, parameter.span, label))


def _report_cycle(start: TypeEntry, diagnostics: list[Diagnostic]) -> None:
    """Reports an alias that leads back to itself, and marks it so that nothing expands it."""
    way = _way_back(start)
    if way is None:
        return
    start.is_resolved = True
    shown = " → ".join(f"`{entry.name}`" for entry in [*way, start])
    labels = [Label(start.span, "an alias of itself", primary=True)]
    labels += [Label(entry.span, "by way of this") for entry in way[1:]]
    message = f"alias {shown} has no end"
    help = "a type that contains itself needs a constructor: `typedef T = C{x: Option<Ref<T>>}`"
    diagnostics.append(Diagnostic(Code.RECURSIVE_ALIAS, message, tuple(labels), help=help))


def _way_back(start: TypeEntry) -> list[TypeEntry] | None:
    """Returns the aliases on a way from the entry to itself."""
    came_from: dict[TypeEntry, TypeEntry] = {}
    stack = [start]
    while stack:
        entry = stack.pop()
        if entry.is_resolved and entry.alias is None:
            continue
        assert isinstance(entry.declaration, ast.TypeDeclaration)
        assert isinstance(entry.declaration.definition, ast.Type)
        for node in ast.nodes(entry.declaration.definition):
            for target in entry.module.find_types(node.name) if isinstance(node, ast.NamedType) else ():
                if target is start:
                    way = [entry]
                    while way[-1] is not start:
                        way.append(came_from[way[-1]])
                    return way[::-1]
                if target.is_alias and target not in came_from:
                    came_from[target] = entry
                    stack.append(target)
    return None
