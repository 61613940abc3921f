"""Programs that use the library, from their text to calls of their functions."""

from __future__ import annotations

from typing import Any

from tidelog.check.check import check
from tidelog.check.program import TypedProgram
from tidelog.diagnostics.spans import Source
from tidelog.functions.compile_functions import CompiledFunctions, compile_functions
from tidelog.library._runtime.registry import library_externs
from tidelog.library._runtime.representations import LIBRARY_TYPES
from tidelog.syntax.parse import parse
from tidelog.values.definitions import Definitions


def checked(text: str) -> TypedProgram:
    return check(parse(Source("test.dl", text)))


def compiled(text: str) -> CompiledFunctions:
    """Returns the functions of a program."""
    program = checked(text)
    return compile_functions(program.functions, Definitions(program.types, LIBRARY_TYPES), library_externs())


def value(expression: str, type_: str, imports: str = "", more: str = "") -> Any:
    """Returns the value of an expression of the type, in a program with these imports and declarations."""
    lines = "\n".join(f"import {name}" for name in imports.split())
    return compiled(f"{lines}\n{more}\nfunction main(): {type_} {{ {expression} }}\n").function("main")()
