"""Functions as values: a declared function by its name, or a closure with what it has captured.

Two of them are equal when they come from the same place of the program and have captured equal values; their order is
that of the places, then of what they captured. A value is a `FunctionCode`, which lies in the compiled program, and the
captured values; that is also how it is written to bytes and pickled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import total_ordering
from typing import Any, Protocol

from tidelog.deep_recursion import through_c
from tidelog.types import Type

Key = tuple[str, int, int, str]


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """What is the same in all values that one expression makes.

    `key` is the function's id, or the closure's source, start, end and a digest of its text. `text` is how it prints.
    `captured` are the types of what it captures. `make` takes the types that stand for `type_parameters`, the type
    variables of the function around it, then the captured values, and gives the Python function. `home` is the
    compiled program, which knows it by its key.
    """

    key: Key
    text: str
    captured: tuple[Type, ...]
    type_parameters: tuple[str, ...]
    make: Callable[..., Callable[..., Any]] = field(compare=False, repr=False)
    home: FunctionHome = field(compare=False, repr=False)


class FunctionHome(Protocol):
    """Where the code of function values is found; it can be pickled."""

    def function_code(self, key: Key) -> FunctionCode: ...


@total_ordering
class FunctionValue:
    """`call` is the Python function: generated code calls that. Python code calls the value itself."""

    __slots__ = ("call", "captured", "code", "types")

    code: FunctionCode
    captured: tuple[Any, ...]
    types: tuple[Type, ...]
    call: Callable[..., Any]

    def __init__(self, code: FunctionCode, captured: tuple[Any, ...] = (), types: tuple[Type, ...] = ()) -> None:
        self.code = code
        self.captured = captured
        self.types = types
        self.call = code.make(*types, *captured)

    def __call__(self, *arguments: Any) -> Any:
        return through_c(self.call, arguments)

    def _identity(self) -> tuple[Any, ...]:
        return self.code.key, tuple(map(str, self.types)), self.captured

    def __eq__(self, other: object) -> bool:
        return self._identity() == other._identity() if isinstance(other, FunctionValue) else NotImplemented

    def __lt__(self, other: FunctionValue) -> bool:
        return self._identity() < other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"<{self.code.text}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.code.home, self.code.key, self.captured, self.types)


def _restore(home: FunctionHome, key: Key, captured: tuple[Any, ...], types: tuple[Type, ...]) -> FunctionValue:
    return FunctionValue(home.function_code(key), captured, types)
