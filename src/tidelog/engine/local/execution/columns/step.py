"""The expressions of rules that kernels evaluate on columns: a condition, an assignment, or a pattern.

A step is tried on every batch. A batch that it gives up is evaluated in Python; after many of those it is not tried any
more. `in_python` names what of a step kernels call Python for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tidelog.check import typed
from tidelog.deep_recursion import at_any_depth, deeply
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.columns.column import Column, FewRowsError, NeedsPythonError, Places, as_words
from tidelog.engine.local.execution.columns.compile_expression import ColumnCompiler
from tidelog.engine.local.execution.columns.compile_patterns import NotColumnsError
from tidelog.engine.local.execution.columns.frame import AllLeftError, Frame
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.rules.ir import Unfold
from tidelog.types import Type

Run = Callable[[Frame], tuple[Places | None, list[Column]]]
_PATIENCE = 8


class ColumnStep:
    """An expression on columns: a frame → the rows that go on (None: all of them), and the words of each result."""

    def __init__(self, run: Run, in_python: Sequence[str] = ()) -> None:
        self._run = run
        self._patience = _PATIENCE
        self.in_python = tuple(in_python)

    def run(self, frame: Frame, types: Sequence[Type]) -> tuple[Places | None, list[Words]] | None:
        """Returns the rows that go on, and the results in them; None if Python has to evaluate the batch."""
        if not self._patience or not frame.count:
            return None
        try:
            with np.errstate(all="ignore"):
                found = at_any_depth(self._words, frame, types)
        except FewRowsError:
            return None
        except (NeedsPythonError, AllLeftError, RecursionError):
            self._patience -= 1
            return None
        self._patience = min(self._patience + 1, _PATIENCE)
        return found

    def _words(self, frame: Frame, types: Sequence[Type]) -> tuple[Places | None, list[Words]]:
        places, columns = self._run(frame)
        return places, [as_words(column, type_, frame.values) for column, type_ in zip(columns, types, strict=True)]


def compile_condition(expression: typed.Expression, functions: CompiledFunctions) -> ColumnStep | str:
    """Returns the step of a condition, or what in it needs Python."""

    def make(compiler: ColumnCompiler) -> Run:
        code = compiler.compile(expression)
        return lambda frame: (np.flatnonzero(code(frame)), [])

    return _step(make, functions)


def compile_value(expression: typed.Expression, functions: CompiledFunctions) -> ColumnStep | str:
    """Returns the step of an assignment, or what in it needs Python."""

    def make(compiler: ColumnCompiler) -> Run:
        code = compiler.compile(expression)
        return lambda frame: (None, [code(frame)])

    return _step(make, functions)


def compile_pattern(unfold: Unfold, functions: CompiledFunctions) -> ColumnStep | str:
    """Returns the step that takes values apart, or lists the items of collections; or what in it needs Python."""

    def make(compiler: ColumnCompiler) -> Run:
        run = compiler.unfold(unfold.pattern, unfold.expression, each=unfold.each)
        return _numbered(run) if unfold.numbered else run

    return _step(make, functions)


def _numbered(run: Run) -> Run:
    """Returns the step with one more column: the number of each item among those of the same row."""

    def run_and_number(frame: Frame) -> tuple[Places | None, list[Column]]:
        places, columns = run(frame)
        if places is None:
            return None, [*columns, np.zeros(frame.count, dtype=np.int64)]
        first = np.flatnonzero(np.diff(places, prepend=-1))
        lengths = np.diff(first, append=len(places))
        return places, [*columns, np.arange(len(places)) - np.repeat(first, lengths)]

    return run_and_number


def _step(make: Callable[[ColumnCompiler], Run], functions: CompiledFunctions) -> ColumnStep | str:
    compiler = ColumnCompiler(functions)
    try:
        run = deeply(make, compiler)
    except NotColumnsError as error:
        return str(error)
    except RecursionError:
        return "an expression that is nested deeply"
    return ColumnStep(run, tuple(compiler.python_parts))
