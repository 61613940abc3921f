"""A type as written → the type that is meant: names are looked up, aliases expanded.

Opt<u8>   (typedef Opt<'X> = Option<'X>)   →   ddlog_std::Option<bit<8>>
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog import types
from tidelog.check.inference.drafts import LARGEST, type_variables
from tidelog.check.names.resolve_name import Names
from tidelog.check.names.scope import TypeEntry
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.suggest import suggest
from tidelog.syntax import ast
from tidelog.types import BitType, FunctionType, NamedType, SignedType, TupleType, Type, TypeVariable

BUILT_IN: dict[str, Type] = {
    "bool": types.BOOL,
    "string": types.STRING,
    "bigint": types.BIGINT,
    "float": types.FLOAT,
    "double": types.DOUBLE,
    "usize": types.U64,
    "isize": types.S64,
    **{f"u{width}": BitType(width) for width in (8, 16, 32, 64, 128)},
    **{f"s{width}": SignedType(width) for width in (8, 16, 32, 64, 128)},
}

# Types whose names are looked up last, so that a program may have types of its own with these names.
LATE: dict[str, Type] = {"date": types.DATE, "timestamp": types.TIMESTAMP, "duration": types.DURATION}
DECIMAL = "decimal"


class TypeResolver:
    """Resolves the types of one module.

    `variables` are the type variables that are known where the type stands, None where any may be introduced; `where`
    says what that place is.
    """

    def __init__(self, names: Names, diagnostics: list[Diagnostic]) -> None:
        self._names = names
        self._diagnostics = diagnostics
        self.variables: frozenset[str] | None = frozenset()
        self.where = "here"

    def resolve(self, syntax: ast.Type) -> Type | None:
        """Returns the type, or None (and a diagnostic) when it or a part of it does not exist."""
        match syntax:
            case ast.SizedType(family, width):
                return BitType(width) if family == "bit" else SignedType(width)
            case ast.NamedType(name, arguments):
                return self._named(syntax, name, arguments)
            case ast.TypeNumber(value):
                message = f"expected a type, found `{value}`"
                label = "only `decimal<P, S>`, `bit<N>` and `signed<N>` take numbers"
                self._diagnostics.append(diagnostic(Code.WRONG_TYPE_ARGUMENTS, message, syntax.span, label))
                return None
            case ast.TypeVariable(name):
                return self._variable(syntax, name)
            case ast.TupleType(items):
                found = [self.resolve(item) for item in items]
                known = tuple(item for item in found if item is not None)
                return TupleType(known) if len(known) == len(found) else None
            case ast.FunctionType(arguments, result):
                taken = [(self.resolve(argument.type), argument.mutable) for argument in arguments]
                parameters = tuple((type_, mutable) for type_, mutable in taken if type_ is not None)
                returned = types.UNIT if result is None else self.resolve(result)
                if returned is None or len(parameters) < len(taken):
                    return None
                return FunctionType(parameters, returned)

    def _named(self, syntax: ast.Type, name: str, arguments: tuple[ast.Type, ...]) -> Type | None:
        if name == DECIMAL and not self._names.module.find_types(name):
            return self._decimal(syntax, arguments)
        given = [self.resolve(argument) for argument in arguments]
        built_in = BUILT_IN.get(name)
        if built_in is None and name in LATE and not self._names.module.find_types(name):
            built_in = LATE[name]
        if built_in is not None:
            return built_in if self._takes(syntax, name, 0, len(given)) else None
        entry = self._names.type(name, syntax.span, (*BUILT_IN, *LATE, DECIMAL))
        if entry is None or not self._takes(syntax, name, len(entry.parameters), len(given), entry):
            return None
        known = tuple(argument for argument in given if argument is not None)
        if len(known) < len(given):
            return None
        if not entry.is_alias:
            return NamedType(entry.name, known)
        meaning = expand_alias(entry, self._diagnostics)
        if meaning is None:
            return None
        type_ = substitute(meaning, dict(zip(entry.parameters, known)))
        if not _is_too_large(type_):
            return type_
        message = f"type `{name}` has more than {LARGEST} parts"
        self._diagnostics.append(diagnostic(Code.TOO_WIDE, message, syntax.span, "too large a type"))
        return None

    def _decimal(self, syntax: ast.Type, arguments: tuple[ast.Type, ...]) -> Type | None:
        """Returns `decimal<P, S>`; without S there are no digits behind the point."""
        numbers = [each.value for each in arguments if isinstance(each, ast.TypeNumber)]
        if numbers and len(numbers) == len(arguments):
            precision, scale = numbers[0], numbers[1] if len(numbers) > 1 else 0
            if len(numbers) <= 2 and 1 <= precision <= types.MOST_DIGITS and scale <= precision:
                return types.DecimalType(precision, scale)
        self._diagnostics.append(
            diagnostic(
                Code.WRONG_TYPE_ARGUMENTS,
                "`decimal<P, S>` takes its digits, and those of them behind the point",
                syntax.span,
                f"P is 1 to {types.MOST_DIGITS}, S is 0 to P",
                help="for example `decimal<10, 2>`",
            )
        )
        return None

    def _takes(self, syntax: ast.Type, name: str, wanted: int, found: int, entry: TypeEntry | None = None) -> bool:
        if wanted == found:
            return True
        counted = {0: "no arguments", 1: "1 argument"}.get(wanted, f"{wanted} arguments")
        self._diagnostics.append(
            diagnostic(
                Code.WRONG_TYPE_ARGUMENTS,
                f"type `{name}` takes {counted}, {found} given",
                syntax.span,
                f"expected {wanted}, found {found}",
                related=[(entry.span, "declared here")] if entry and not entry.module.is_library else [],
                help=_pattern(name, entry) if entry else None,
            )
        )
        return False

    def _variable(self, syntax: ast.Type, name: str) -> Type | None:
        if self.variables is None or name in self.variables:
            return TypeVariable(name)
        guess = suggest(name, self.variables)
        self._diagnostics.append(
            diagnostic(
                Code.UNKNOWN_TYPE_VARIABLE,
                f"unknown type variable `'{name}`",
                syntax.span,
                f"not declared {self.where}" if self.variables else f"there are no type variables {self.where}",
                help=f"did you mean `'{guess}`?" if guess else None,
            )
        )
        return None


def _is_too_large(type_: Type) -> bool:
    count, stack = 0, [type_]
    while stack and count <= LARGEST:
        count += 1
        stack.extend(types.parts(stack.pop()))
    return count > LARGEST


def expand_alias(entry: TypeEntry, diagnostics: list[Diagnostic]) -> Type | None:
    """Returns the type that an alias stands for, in terms of its parameters. Cyclic aliases were reported before."""
    if not entry.is_resolved:
        entry.is_resolved = True
        declaration = entry.declaration
        assert isinstance(declaration, ast.TypeDeclaration)
        assert isinstance(declaration.definition, ast.Type)
        resolver = TypeResolver(Names(entry.module, diagnostics), diagnostics)
        resolver.variables = frozenset(entry.parameters)
        resolver.where = f"by `{entry.name}`"
        entry.alias = resolver.resolve(declaration.definition)
    return entry.alias


def substitute(type_: Type, meaning: Mapping[str, Type]) -> Type:
    """Returns the type with types in place of its type variables."""
    if not meaning or not type_variables(type_):
        return type_
    match type_:
        case TypeVariable(name):
            return meaning.get(name, type_)
        case TupleType(items):
            return TupleType(tuple(substitute(item, meaning) for item in items))
        case NamedType(name, arguments):
            return NamedType(name, tuple(substitute(argument, meaning) for argument in arguments))
        case FunctionType(parameters, result):
            taken = tuple((substitute(parameter, meaning), mutable) for parameter, mutable in parameters)
            return FunctionType(taken, substitute(result, meaning))
        case _:
            return type_


def _pattern(name: str, entry: TypeEntry) -> str:
    """Returns the type as it is written, for a help."""
    parameters = ", ".join(f"'{parameter}" for parameter in entry.parameters)
    return f"it is written `{name}<{parameters}>`" if parameters else f"it is written `{name}`"
