"""The constructors of a program's types as Python classes, to build and to recognise values with.

    program.types.Circle(r=2)            a constructor of the program itself; relations are structs, too
    program.types.Some(1)                one of the standard library
    program.types.net.Host("a")          one of the module `net`, also `program.types["net::Host"]`
    program.types.None_()                a name that Python reserves has an underscore behind it

A class is called with the fields, in order or by name, and its values have the fields as attributes; `isinstance` and
`match` tell the constructors of a union apart. The values of fields are checked when a value is inserted. The fields of
a type that can hold itself must be hashable, so no lists and dicts there: a dict for the whole value may have them.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from typing import Any

from tidelog.diagnostics.suggest import suggest
from tidelog.values import Definitions, Struct

_STANDARD = "ddlog_std::"


class Types:
    """The constructors below one module; `prefix` is its name with `::`, or nothing for the whole program."""

    __slots__ = ("_definitions", "_names", "_prefix")

    def __init__(self, definitions: Definitions, prefix: str = "") -> None:
        self._definitions = definitions
        self._prefix = prefix
        self._names = [name for name in definitions.constructor_classes() if name.startswith(prefix)]

    def __getitem__(self, name: str) -> type[Struct]:
        """Returns the class of a constructor by its qualified name (`net::Host`). Raises KeyError."""
        for qualified in (self._prefix + name, _STANDARD + name):
            if qualified in self._names:
                return self._definitions.class_of(qualified)
        raise KeyError(self._unknown(name))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        plain = name.removesuffix("_") if keyword.iskeyword(name.removesuffix("_")) else name
        try:
            return self[plain]
        except KeyError:
            module = f"{self._prefix}{plain}::"
            if any(each.startswith(module) for each in self._names):
                return Types(self._definitions, module)
            raise AttributeError(self._unknown(name)) from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._prefix + name in self._names

    def __iter__(self) -> Iterator[str]:
        """Yields the names of all constructors."""
        return (name.removeprefix(self._prefix) for name in self._names)

    def __dir__(self) -> list[str]:
        local = {name.partition("::")[0] for name in self}
        standard = {name.removeprefix(_STANDARD) for name in self._names if name.startswith(_STANDARD)}
        return sorted(f"{name}_" if keyword.iskeyword(name) else name for name in local | standard)

    def __repr__(self) -> str:
        return f"<Types {', '.join(dir(self))}>"

    def _unknown(self, name: str) -> str:
        meant = suggest(name, dir(self))
        where = f" in `{self._prefix.removesuffix('::')}`" if self._prefix else ""
        return f"there is no constructor `{name}`{where}" + (f"; did you mean `{meant}`?" if meant else "")
