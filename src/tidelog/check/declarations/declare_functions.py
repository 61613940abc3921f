"""Function and transformer declarations → signatures."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.check.declarations.attributes import read_attributes
from tidelog.check.declarations.declare_names import report_repeated
from tidelog.check.inference.drafts import type_variables
from tidelog.check.names.resolve_name import Names
from tidelog.check.names.resolve_type import TypeResolver, substitute
from tidelog.check.names.scope import FunctionEntry, Module, TransformerEntry
from tidelog.check.program import Parameter
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.syntax import ast
from tidelog.types import UNIT, FunctionType, Type, TypeVariable


def declare_functions(module: Module, diagnostics: list[Diagnostic]) -> None:
    """Resolves the signatures of a module's functions and transformers, those that its text declares."""
    resolver = TypeResolver(Names(module, diagnostics), diagnostics)
    resolver.variables = None
    for functions in module.functions.values():
        new = [entry for entry in functions if module.holds(entry.declaration)]
        for entry in new:
            _declare_function(entry, resolver, diagnostics)
        if new and len(functions) > 1:
            _report_clashes(functions, diagnostics)
    for transformer in module.transformers.values():
        _declare_transformer(transformer, resolver)


def _declare_function(entry: FunctionEntry, resolver: TypeResolver, diagnostics: list[Diagnostic]) -> None:
    declaration = entry.declaration
    names = [(each.name.text, each.name.span) for each in declaration.parameters]
    report_repeated(names, f"function `{declaration.name.text}`", "parameters", diagnostics)
    types = [resolver.resolve(each.type.type) for each in declaration.parameters]
    entry.result = UNIT if declaration.result is None else resolver.resolve(declaration.result)
    entry.attributes = read_attributes(declaration.attributes, "function", diagnostics)
    parameters = []
    for parameter, type_ in zip(declaration.parameters, types):
        attributes = read_attributes(parameter.attributes, "parameter", diagnostics)
        if type_ is not None:
            parameters.append(Parameter(parameter.name.text, type_, parameter.type.mutable, attributes))
    mentioned = [*(type_ for type_ in types if type_ is not None), *([entry.result] if entry.result else [])]
    entry.type_parameters = _variables(mentioned)
    if len(parameters) == len(types):
        entry.parameters = tuple(parameters)


def _declare_transformer(entry: TransformerEntry, resolver: TypeResolver) -> None:
    declaration = entry.declaration
    entry.inputs = tuple(_transformer_parameter(each, resolver) for each in declaration.inputs)
    entry.outputs = tuple(_transformer_parameter(each, resolver) for each in declaration.outputs)
    mentioned = [type_ for _, type_, _ in (*entry.inputs, *entry.outputs) if type_ is not None]
    entry.type_parameters = _variables(mentioned)


def _transformer_parameter(
    parameter: ast.TransformerParameter, resolver: TypeResolver
) -> tuple[str, Type | None, bool]:
    name = parameter.name.text
    if isinstance(parameter.type, ast.RelationType):
        return name, resolver.resolve(parameter.type.type), True
    taken = [(resolver.resolve(each.type.type), each.type.mutable) for each in parameter.type.parameters]
    result = resolver.resolve(parameter.type.result)
    parameters = tuple((type_, mutable) for type_, mutable in taken if type_ is not None)
    if result is None or len(parameters) < len(taken):
        return name, None, False
    return name, FunctionType(parameters, result), False


def _variables(types: Iterable[Type]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for type_ in types for name in type_variables(type_)))


def _report_clashes(functions: list[FunctionEntry], diagnostics: list[Diagnostic]) -> None:
    """Reports extern functions that share a name, and overloads with the same types."""
    extern = next((entry for entry in functions if entry.declaration.body is None), None)
    if extern is not None:
        diagnostics.append(
            diagnostic(
                Code.DUPLICATE_FUNCTION,
                f"extern function `{extern.name}` shares its name",
                extern.span,
                "an extern function is found by its name",
                related=[(other.span, "the same name") for other in functions if other is not extern],
            )
        )
        return
    seen: dict[object, FunctionEntry] = {}
    for entry in functions:
        signature = _signature(entry)
        earlier = seen.setdefault(signature, entry) if signature is not None else entry
        if earlier is not entry:
            diagnostics.append(
                diagnostic(
                    Code.DUPLICATE_FUNCTION,
                    f"function `{entry.name}` is declared twice with the same types",
                    entry.span,
                    "declared again",
                    related=[(earlier.span, "declared first")],
                )
            )


def _signature(entry: FunctionEntry) -> object:
    """Returns the types that tell overloads apart, whatever their type variables are called."""
    if entry.parameters is None or entry.result is None:
        return None
    renamed = {name: TypeVariable(str(place)) for place, name in enumerate(entry.type_parameters)}
    types = tuple(substitute(parameter.type, renamed) for parameter in entry.parameters)
    return types, substitute(entry.result, renamed)
