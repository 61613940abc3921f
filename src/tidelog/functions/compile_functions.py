"""The functions of a program → Python functions, for the expressions of rules to call.

Functions are compiled when something first needs them, together with all that they call, into one namespace; a program
that imports the whole library pays for what it uses. The namespace has no builtins (`vocabulary.py`).

`CompiledFunctions` is pickled as its source, its types and its extern functions, and built again from those: extern
functions must be picklable where the program runs in other processes. There, expressions can be compiled that call what
was called here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from types import CodeType
from typing import Any

from tidelog.check.program import Function
from tidelog.check.typed import Expression
from tidelog.deep_recursion import deeply
from tidelog.functions import links
from tidelog.functions.callees import Callees, Signature
from tidelog.functions.runtime_errors import FILE_NAME
from tidelog.functions.unit import UnitWriter
from tidelog.functions.vocabulary import TypeTemplate, vocabulary
from tidelog.library._runtime.extern import ExternContext
from tidelog.types import NamedType, Type, TypeVariable, parts
from tidelog.values.definitions import Definitions
from tidelog.values.function_value import FunctionCode, Key
from tidelog.values.text import function_text


def compile_functions(
    functions: Mapping[str, Function], definitions: Definitions, externs: Mapping[str, Callable[..., Any]]
) -> CompiledFunctions:
    """Returns the functions of a typed program, by their ids; `externs` are the Python functions of its extern
    functions, by their qualified names. None is compiled yet: see `CompiledFunctions.require`."""
    return CompiledFunctions(definitions, functions, externs)


class CompiledFunctions:
    """The functions compiled so far, and those still to compile. `context` is passed to extern functions that ask for
    it."""

    def __init__(
        self,
        definitions: Definitions,
        functions: Mapping[str, Function] | None = None,
        externs: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self.definitions = definitions
        self.callees = Callees({} if functions is None else functions, {} if externs is None else externs)
        self._externs: dict[str, Callable[..., Any]] = {}  # those that are used, by their ids
        self._units: list[links.Unit] = []
        self._names: dict[str, str] = {}
        self._functions: dict[str, Callable[..., Any]] = {}
        self.context = ExternContext(definitions, definitions.types, self._find)

    @property
    def source(self) -> str:
        """All Python source of the functions that are compiled so far."""
        return "".join(unit.source for unit in self._units)

    def require(self, ids: Iterable[str]) -> None:
        """Compiles functions and all that they call, as far as that is not done.

        Raises UsageError for extern functions without a Python function; it names all of those.
        """
        missing = [id_ for id_ in ids if id_ not in self.callees.signatures]
        if missing:
            deeply(self._compile, missing)

    def require_for(self, *expressions: Expression) -> None:
        """Compiles what the expressions call."""
        self.require([id_ for expression in expressions for id_ in self.callees.called(expression)])

    def extended(self, functions: Mapping[str, Function]) -> CompiledFunctions:
        """Returns the same with more functions to compile, for a query that calls what the program does not."""
        return CompiledFunctions(self.definitions, *self.callees.extended(functions)) if functions else self

    def grown(self, functions: Mapping[str, Function], definitions: Definitions) -> CompiledFunctions:
        """Returns the same with more functions and types, for rules that come at run time; what is compiled stays
        compiled."""
        more = CompiledFunctions(definitions, *self.callees.extended(functions))
        more.callees.go_on(self.callees)
        more._externs = dict(self._externs)
        more._units = list(self._units)
        more._names = dict(self._names)
        more._functions = dict(self._functions)
        return more

    def function(self, id_: str) -> Callable[..., Any]:
        """Returns a function by its id, to be called with the types that it needs, then its arguments.

        With `mut` parameters it returns its result and their new values.
        """
        self.require((id_,))
        found = self._functions.get(id_)
        if found is not None:
            return found
        python = self._externs[id_]
        return partial(python, self.context) if self.callees.signatures[id_].needs_types else python

    def function_code(self, key: Key) -> FunctionCode:
        """Returns the code of function values that come from this program."""
        return self.definitions.function_codes[key]

    def has_side_effects(self, *expressions: Expression) -> bool:
        """True where an expression can reach a function that says it has side effects."""
        return self.callees.has_side_effects(expressions)

    def writer(self) -> UnitWriter:
        """Returns a writer for a unit that calls functions which are compiled already."""
        return UnitWriter(self.callees, self.definitions, self._names)

    def build(self, unit: links.Unit) -> dict[str, Any]:
        """Runs the source of a unit and returns its namespace."""
        scope = vocabulary(partial(function_text, definitions=self.definitions))
        for name, link in unit.links:
            scope[name] = self._resolve(link)
        exec(_compiled(unit.source), scope)
        for entry in unit.codes:
            code = FunctionCode(entry.key, entry.text, entry.captured, entry.type_parameters, scope[entry.maker], self)
            scope[entry.name] = self.definitions.function_codes.setdefault(entry.key, code)
        if unit.codes and unit not in self._units:
            # Function values travel by the keys of their codes, so every process has to know all of them.
            self._units.append(unit)
        return scope

    def __reduce__(self) -> tuple[Any, ...]:
        state = tuple(self._units), dict(self._names), dict(self.callees.signatures), dict(self._externs)
        return CompiledFunctions._restored, (self.definitions, self.callees.met(), *state)

    @classmethod
    def _restored(
        cls,
        definitions: Definitions,
        functions: Mapping[str, Function],
        units: tuple[links.Unit, ...],
        names: dict[str, str],
        signatures: dict[str, Signature],
        externs: dict[str, Callable[..., Any]],
    ) -> CompiledFunctions:
        found = cls(definitions, functions)
        found._names, found._externs = names, externs
        found.callees.signatures = signatures
        for unit in units:
            found._add(unit)
        return found

    def _compile(self, ids: Iterable[str]) -> None:
        functions = self.callees.reach(ids)
        if any(self.callees.signatures[function.id].needs_types for function in functions):
            functions += self.callees.reach(self._named_by_attributes())
        for function in functions:
            if function.is_extern:
                python = self.callees.extern(function)
                if python is not None:
                    self._externs[function.id] = python
            else:
                self._names[function.id] = f"f{len(self._names)}"
        writer = self.writer()
        for function in functions:
            if not function.is_extern:
                writer.define(function)
        self._add(writer.finish())

    def _add(self, unit: links.Unit) -> None:
        if unit not in self._units:
            self._units.append(unit)
        scope = self.build(unit)
        for id_, name in unit.functions:
            self._functions[id_] = scope[name]

    def _named_by_attributes(self) -> list[str]:
        """Returns the functions that extern functions may find by their names, because an attribute of a field has
        them."""
        return [
            id_
            for definition in self.definitions.types.values()
            for constructor in definition.constructors or ()
            for field in constructor.fields
            for attribute in field.attributes
            if attribute.name == "deserialize_from_array"
            for id_ in self.callees.find(str(attribute.value).partition("(")[0])
        ]

    def _find(self, name: str, parameters: tuple[Type, ...]) -> Callable[..., Any]:
        """Returns the function of this name that takes these types."""
        name = name.partition("(")[0]
        for signature in self.callees.signatures.values():
            if signature.name != name and not signature.name.endswith(f"::{name}"):
                continue
            types: dict[str, Type] = {}
            if len(signature.parameters) == len(parameters) and all(
                _fits(own, given, types) for own, given in zip(signature.parameters, parameters)
            ):
                return partial(self.function(signature.id), *(types[variable] for variable in signature.needed))
        raise ValueError(f"there is no function {name}({', '.join(map(str, parameters))})")

    def _resolve(self, link: links.Link) -> Any:
        match link:
            case links.FunctionLink(id_):
                return self._functions[id_]
            case links.ExternLink(id_):
                return self._externs[id_]
            case links.ContextLink():
                return self.context
            case links.ClassLink(constructor):
                return self.definitions.class_of(constructor)
            case links.ConstantLink(constructor):
                return self.definitions.class_of(constructor)()
            case links.ValueLink(value):
                return value
            case links.TypeLink(type_):
                return type_
            case links.TemplateLink(type_, variables):
                return TypeTemplate(type_, variables)


@lru_cache(maxsize=4096)
def _compiled(source: str) -> CodeType:
    """Returns the compiled source. Cached: the same source comes back whenever a task of Spark unpickles its
    functions."""
    return compile(source, FILE_NAME, "exec")


def _fits(parameter: Type, given: Type, types: dict[str, Type]) -> bool:
    """True where a type is a parameter's type, once its variables are what `types` says; adds to those."""
    if isinstance(parameter, TypeVariable):
        return types.setdefault(parameter.name, given) == given
    if type(parameter) is not type(given):
        return False
    own, other = parts(parameter), parts(given)
    if not own or len(own) != len(other):
        return parameter == given
    if isinstance(parameter, NamedType) and isinstance(given, NamedType) and parameter.name != given.name:
        return False
    return all(_fits(each, part, types) for each, part in zip(own, other))
