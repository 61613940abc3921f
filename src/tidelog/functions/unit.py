"""Functions and expressions of the program → one unit of Python source.

    function f(x: u8): u8 { x + 1 }          def f0(v0):
                                                 return ((v0 + 1) & 255)

    |y| y + x   (u8)                         def k0(v0):
                                                 def call(v1):
                                                     return ((v1 + v0) & 255)
                                                 return call

A closure becomes a function that takes what the closure captures and gives the function that is called, so it holds the
values of the moment at which it was made. The source is made of mangled names, the names of `vocabulary.py`, operators
and literals; no text of the user gets into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from tidelog.check.program import Function
from tidelog.check.typed import Closure, Expression
from tidelog.functions import links
from tidelog.functions.callees import Callees, Signature, variables_of
from tidelog.functions.closure_text import closure_text
from tidelog.functions.statements import RESULT, Statements
from tidelog.functions.variable_use import VariableUse, variable_use
from tidelog.types import Type
from tidelog.values.definitions import Definitions
from tidelog.values.function_value import Key

_PREFIXES: dict[type[links.Link], str] = {
    links.ExternLink: "x",
    links.ClassLink: "n",
    links.ConstantLink: "e",
    links.ValueLink: "w",
    links.TypeLink: "y",
    links.TemplateLink: "z",
    links.ContextLink: "context",
}


class UnitWriter:
    """`names` are the mangled names of all functions that the unit may call, its own included."""

    def __init__(self, callees: Callees, definitions: Definitions, names: Mapping[str, str]) -> None:
        self.callees = callees
        self.definitions = definitions
        self._names = names
        self._links: dict[links.Link, str] = {}
        self._codes: dict[Key, links.CodeEntry] = {}
        self._defined: list[tuple[str, str]] = []
        self._sources: list[str] = []

    # What bodies refer to

    def link(self, link: links.Link) -> str:
        """Returns the name of something that the unit does not contain."""
        name = self._links.get(link)
        if name is None:
            prefix = _PREFIXES[type(link)]
            name = prefix if isinstance(link, links.ContextLink) else f"{prefix}{len(self._links)}"
            self._links[link] = name
        return name

    def function_name(self, id_: str) -> str:
        if self.callees.function(id_).is_extern:
            return self.link(links.ExternLink(id_))
        name = self._names[id_]
        self._links.setdefault(links.FunctionLink(id_), name)
        return name

    def before_arguments(self, signature: Signature) -> tuple[str, ...]:
        """Returns the arguments of a call that come before types and values."""
        return (self.link(links.ContextLink()),) if signature.needs_types else ()

    def function_code(self, id_: str) -> str:
        """Returns the code of a declared function as a value."""
        signature = self.callees.signatures[id_]
        key = (id_, 0, 0, "")
        entry = self._codes.get(key)
        if entry is None:
            entry = self._code(key, signature.name, (), signature.needed)
            types = [f"T{index}" for index in range(len(signature.needed))]
            given = [*self.before_arguments(signature), *types]
            arguments = [f"v{index}" for index in range(len(signature.parameters))]
            identity = self.callees.is_identity(id_)
            name = "" if identity else self.function_name(id_)
            result = arguments[0] if identity else f"{name}({', '.join((*given, *arguments))})"
            lines = [f"    return {name}"]
            if given or identity:
                lines = [f"    def call({', '.join(arguments)}):", f"        return {result}", "    return call"]
            self.add(entry.maker, types, lines)
        return entry.name

    def closure_code(self, node: Closure) -> tuple[str, tuple[str, ...]]:
        """Returns the code of a closure, and the type variables that its values are given."""
        key = _key(node)
        entry = self._codes.get(key)
        if entry is None:
            needed = self.callees.needed_by(node.body)
            for captured in node.captured:
                needed |= variables_of(captured.type)
            variables = tuple(sorted(needed))
            captured_types = tuple(captured.type for captured in node.captured)
            entry = self._code(key, closure_text(node), captured_types, variables)
            names = {each.name: f"v{index}" for index, each in enumerate(node.captured)}
            types = {variable: f"T{index}" for index, variable in enumerate(variables)}
            outer = [*types.values(), *names.values()]
            parameters = {each.name: f"v{index}" for index, each in enumerate(node.parameters, len(names))}
            mutable = tuple(parameters[each.name] for each in node.parameters if each.mutable)
            lines = self._body(node.body, {**names, **parameters}, types, mutable, list(parameters.values()))
            head = f"    def call({', '.join(parameters.values())}):"
            self.add(entry.maker, outer, [head, *(f"    {line}" for line in lines), "    return call"])
        return entry.name, entry.type_parameters

    def _code(self, key: Key, text: str, captured: tuple[Type, ...], variables: tuple[str, ...]) -> links.CodeEntry:
        number = len(self._codes)
        entry = self._codes[key] = links.CodeEntry(f"c{number}", f"k{number}", key, text, captured, variables)
        return entry

    # What the unit contains

    def define(self, function: Function) -> None:
        """Adds a function of the program that is not extern."""
        assert function.body is not None
        name = self._names[function.id]
        self._defined.append((function.id, name))
        types = {variable: f"T{index}" for index, variable in enumerate(self.callees.signatures[function.id].needed)}
        parameters = {each.name: f"v{index}" for index, each in enumerate(function.parameters)}
        mutable = tuple(parameters[each.name] for each in function.parameters if each.mutable)
        given = [*types.values(), *parameters.values()]
        self.add(name, given, self._body(function.body, parameters, types, mutable, given))

    def _body(
        self,
        body: Expression,
        names: dict[str, str],
        types: dict[str, str],
        mutable: tuple[str, ...],
        parameters: Sequence[str],
    ) -> list[str]:
        writer = Statements(self, self.variable_use(body), dict(names), types, mutable)
        writer.emit(body, RESULT)
        return writer.finish(parameters)

    def variable_use(self, *expressions: Expression) -> VariableUse:
        return variable_use(expressions, self.callees.mutable_places)

    def add(self, name: str, parameters: Iterable[str], lines: Iterable[str]) -> None:
        """Adds the source of a function: its body in lines that are indented."""
        self._sources.append(f"def {name}({', '.join(parameters)}):\n" + "".join(f"{line}\n" for line in lines))

    def finish(self) -> links.Unit:
        own = {name for _, name in self._defined}
        outside = tuple(
            (name, link)
            for link, name in self._links.items()
            if not (isinstance(link, links.FunctionLink) and name in own)
        )
        return links.Unit("".join(self._sources), outside, tuple(self._defined), tuple(self._codes.values()))


def _key(node: Closure) -> Key:
    """Returns the place of a closure; texts that are not files have one name, so what is written there counts as
    well."""
    types = ", ".join(str(type_) for type_ in (node.type, *(captured.type for captured in node.captured)))
    digest = sha256(f"{node.span.text}\n{types}".encode()).hexdigest()[:16]
    return node.span.source.name, node.span.start, node.span.end, digest
