"""Exceptions inside functions of the program → errors for the user.

A function that overflows Python's stack runs again on a deeper one; only if that overflows too is it an error. Division
by zero, and a result that is no value of its type, pass unchanged: the evaluator of the rule reports which rule it was.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import PurePath
from traceback import walk_tb
from typing import Any

from tidelog.deep_recursion import deeply, is_deep
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError, OverflowedError, TidelogError
from tidelog.iso_texts import value_text
from tidelog.scaled_values import OutOfTypeError
from tidelog.values.quote import quote

FILE_NAME = "<functions>"
ROW_ERRORS = (OverflowedError, ZeroDivisionError)
"""The errors that say in which row they happened."""

_MOST_CHARACTERS = 60
_MOST_BITS = 1000


def name_row(error: Exception, values: Mapping[str, object]) -> None:
    """Adds to an error the variables that are bound in the row where it happened, unless it has more of them.

    Other errors stay as they are. Variables that only the compiler knows are left out.
    """
    if isinstance(error, ROW_ERRORS):
        named = {name: _shown(value) for name, value in values.items() if "#" not in name}
        if len(named) >= len(_row_of(error)):
            error.row = named  # type: ignore[union-attr]


def retry_deep(
    error: Exception, function: Callable[..., Any], arguments: tuple[Any, ...], names: tuple[str, ...] = ()
) -> Any:
    """Runs `function` again on a deeper stack if its first run raised RecursionError; raises other errors as users see
    them. `names` are the variables of a rule that the arguments are of."""
    name_row(error, dict(zip(names, arguments)))
    if isinstance(error, RecursionError):
        if not is_deep():
            return deeply(function, *arguments)
        message = "functions of the program call one another too deep"
        raise EvaluationError(message, code=Code.RECURSION_TOO_DEEP) from None
    if isinstance(error, TidelogError | ZeroDivisionError):
        raise error
    raise EvaluationError(_extern_failure(error), code=Code.EXTERN_FAILED) from error


def without_result(where: str, error: ZeroDivisionError | None = None) -> EvaluationError:
    """Returns the error of an expression that has no result: a division by zero, or a value that is none of its
    type; `where` says which expression it was."""
    row = {} if error is None else _row_of(error)
    values = f", with {', '.join(f'{name} = {text}' for name, text in row.items())}," if row else ""
    if isinstance(error, OutOfTypeError):
        return EvaluationError(
            f"{error}{values} {where}",
            code=Code.OUT_OF_TYPE,
            help="a wider type, or a condition before it that leaves such rows out",
        )
    return EvaluationError(
        f"division by zero{values} {where}",
        code=Code.DIVISION_BY_ZERO,
        help="a condition before it leaves zeros out, for example `y != 0` before `x / y`",
    )


def _row_of(error: Exception) -> Mapping[str, str]:
    """Returns the variables that an error has been told of; Python's own division knows of none."""
    found: Mapping[str, str] = getattr(error, "row", {})
    return found


def _shown(value: object) -> str:
    """Returns a date, a time, a decimal, a Boolean or a string as the language writes it, and any other value in short;
    a long text has its two ends."""
    match value:
        case date() | timedelta() | Decimal():
            return value_text(value)
        case bool():
            return "true" if value else "false"
        case int() if value.bit_length() > _MOST_BITS:
            return f"an integer of {value.bit_length()} bits"  # Python refuses to print the longest ones
        case int():
            return str(value)
        case str():
            half = _MOST_CHARACTERS // 2
            return quote(value if len(value) <= _MOST_CHARACTERS else f"{value[:half]}…{value[-half:]}")
    return reprlib.repr(value)


def _extern_failure(error: Exception) -> str:
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    frames = list(walk_tb(error.__traceback__))
    generated = [index for index, (frame, _) in enumerate(frames) if frame.f_code.co_filename == FILE_NAME]
    outside = frames[generated[-1] + 1 :] if generated else []
    if not outside:
        return f"an extern function failed: {what}"
    frame, _ = outside[0]
    last, line = outside[-1]
    place = f"{PurePath(last.f_code.co_filename).name}:{line}"
    return f"extern function `{frame.f_code.co_name}` failed: {what} ({place})"
