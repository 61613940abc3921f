"""The Python functions of extern functions → functions that return values of the language.

A user's function may return what `insert` takes (`io.fit`): a list for a `Vec`, a dict for a struct, None for an
`Option`. A result that does not fit its type, and a division by zero, are errors of that function: the epoch fails,
and the error names the function and its place.
Results of types that have no form in Python (functions, `Any`, extern types of the program, type variables) are
taken as they are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import PurePath
from traceback import walk_tb
from typing import Any

from tidelog.check.program import Function
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.io.fit import Fitter, fitter
from tidelog.io.values import UnfitError, quoted
from tidelog.types import UNIT, FunctionType, NamedType, Type, TypeVariable, parts
from tidelog.values import Definitions


class FittedExterns:
    """The `functions` for the compiler; they fit their results once `know` has given the types."""

    def __init__(self, given: Mapping[str, Callable[..., Any]]) -> None:
        self._fitters: dict[str, Fitter] = {}
        self.functions = {name: self._fitted(name, python) for name, python in given.items()}

    def know(self, declared: Mapping[str, Function], definitions: Definitions) -> None:
        """Takes the declarations of the program's extern functions."""
        for function in declared.values():
            name = function.id if function.id in self.functions else function.name
            if function.is_extern and name in self.functions:
                self._fitters[name] = _fitter_of(function, definitions)

    def _fitted(self, name: str, python: Callable[..., Any]) -> Callable[..., Any]:
        def fitted(*arguments: Any) -> Any:
            try:
                result = python(*arguments)
            except ZeroDivisionError as error:
                # Not the division of a rule, which is reported with the rule.
                what = f"ZeroDivisionError: {error}"
                raise _failure(name, what, _place_of(error)) from error
            fit = self._fitters.get(name)
            try:
                return result if fit is None else fit(result)
            except UnfitError as error:
                raise _failure(name, f"TypeError: {_misfit(error)}", _place(python)) from None

        # Errors name the function that was called from the program.
        fitted.__code__ = fitted.__code__.replace(co_name=name.rpartition("::")[2])
        return wraps(python)(fitted)


def _failure(name: str, what: str, place: str) -> EvaluationError:
    called = name.rpartition("::")[2]
    return EvaluationError(f"extern function `{called}` failed: {what}{place}", code=Code.EXTERN_FAILED)


def _place(python: Callable[..., Any]) -> str:
    """Returns where a function is defined, behind a message; nothing for one that is not written in Python."""
    code = getattr(inspect.unwrap(python), "__code__", None)
    return f" ({PurePath(code.co_filename).name}:{code.co_firstlineno})" if code is not None else ""


def _place_of(error: Exception) -> str:
    """Returns the line that raised, behind a message."""
    frames = [(frame, line) for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename != __file__]
    if not frames:
        return ""
    frame, line = frames[-1]
    return f" ({PurePath(frame.f_code.co_filename).name}:{line})"


def _fitter_of(function: Function, definitions: Definitions) -> Fitter:
    """Returns the fitter of a function's result, which is a tuple with the new values of `mut` parameters, if any."""
    types = [function.result, *(each.type for each in function.parameters if each.mutable)]
    fitters = [_same if _is_opaque(type_, definitions, set()) else fitter(type_, definitions) for type_ in types]
    if len(fitters) == 1:
        return _same if function.result == UNIT else fitters[0]
    return lambda results: tuple(fit(result) for fit, result in zip(fitters, results, strict=True))


def _same(value: Any) -> Any:
    return value


def _is_opaque(type_: Type, definitions: Definitions, seen: set[Type]) -> bool:
    """True if values of the type hold something that has no form in Python."""
    if type_ in seen:
        return False
    seen.add(type_)
    inside = list(parts(type_))
    match type_:
        case FunctionType() | TypeVariable() | NamedType("ddlog_std::Any"):
            return True
        case NamedType(name):
            definition = definitions.types.get(name)
            if definition is not None and definition.constructors is None and definitions.extern(type_) is None:
                return True
            if definition is not None and definition.constructors is not None:
                inside += [field for variant in definitions.variants(type_) for _, field in variant.fields]
        case _:
            pass
    return any(_is_opaque(part, definitions, seen) for part in inside)


def _misfit(error: UnfitError) -> str:
    where = (
        f"its result has {quoted(error.value)} at `{error.path}`" if error.path else f"it gave {quoted(error.value)}"
    )
    return f"{where}, which is not a `{error.type}`{f': {error.reason}' if error.reason else ''}"
