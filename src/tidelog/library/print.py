"""The extern functions of `print`: lines on standard output."""

from __future__ import annotations

import sys
from typing import Any

from tidelog.library._runtime.extern import ExternContext, extern
from tidelog.types import Type
from tidelog.values.text import debug_text


@extern
def print(message: str) -> tuple[()]:
    sys.stdout.write(f"{message}\n")
    return ()


@extern(needs_types=True)
def debug(context: ExternContext, type_: Type, value: Any) -> tuple[()]:
    return print(debug_text(value, type_, context.definitions))
