"""The marks of extern functions of the library, and the context that such a function may need.

An extern function takes the values of its arguments in their order and returns a value. One with `mut` parameters
returns a tuple: its result, and then the new value of each `mut` parameter; nothing is ever changed in place. `()` is
the empty tuple. An impossible request (a text cut inside a character) is a ValueError, which ends the epoch.

    @extern
    def string_len(s): ...                       called as  string_len(s)

    @extern(needs_types=True)
    def hash64(context, type_, x): ...           called as  hash64(context, type_, x)

The types are those of the function's type variables, in the order in which its declaration mentions them first.

An extern function that Python or another module has already, under any name, is in the table `EXTERNS` of its module:

    EXTERNS: Externs = {"vec_len": len}          called as  len(v)

An error names the Python function that failed, so a function that can fail, or calls one of the program, has its own.

A transformer is marked in the same way. It takes relations (any iterables of rows) and functions in the order of its
inputs, and returns a tuple with a set of rows for each output. One whose result depends on its last result is a
`ContinuedTransformer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, overload, runtime_checkable

from tidelog.check.program import TypeDefinition
from tidelog.types import Type
from tidelog.values.definitions import Definitions

Function = TypeVar("Function", bound=Callable[..., Any])
Externs = Mapping[str, Callable[..., Any]]

_MARK = "__tidelog_needs_types__"


@overload
def extern(function: Function) -> Function: ...


@overload
def extern(*, needs_types: bool) -> Callable[[Function], Function]: ...


def extern(function: Function | None = None, *, needs_types: bool = False) -> Function | Callable[[Function], Function]:
    """Marks an extern function, and notes whether it is given the context and types before its arguments."""

    def mark(function: Function) -> Function:
        setattr(function, _MARK, needs_types)
        return function

    return mark if function is None else mark(function)


@runtime_checkable
class ContinuedTransformer(Protocol):
    """A transformer that is also given the rows of its outputs at the last commit, and may keep them."""

    def continued(self, before: Sequence[Sequence[tuple[Any, ...]]], given: Sequence[Any]) -> Sequence[Any]:
        """Returns the rows of each output, from those of the last commit, as tuples, and the rows of each input."""


def is_marked(value: object) -> bool:
    """True for a function that is marked as extern."""
    return isinstance(getattr(value, _MARK, None), bool)


def needs_types(function: object) -> bool:
    """True for a marked function that is given the context and types before its arguments."""
    return getattr(function, _MARK, None) is True


class ExternContext:
    """The program of an extern function.

    `definitions` makes values of its types and takes them apart, `types` has the attributes of the types, and
    `function` returns a function of the program, ready to be called, by its qualified name and the types of its
    parameters. `kept` caches data that extern functions derive from types.
    """

    def __init__(
        self,
        definitions: Definitions,
        types: Mapping[str, TypeDefinition],
        function: Callable[[str, tuple[Type, ...]], Callable[..., Any]] | None = None,
    ) -> None:
        self.definitions = definitions
        self.types = types
        self._function = function
        self.kept: dict[Any, Any] = {}

    def function(self, name: str, parameters: tuple[Type, ...]) -> Callable[..., Any]:
        if self._function is None:
            raise ValueError(f"function {name} cannot be called from here")
        return self._function(name, parameters)
