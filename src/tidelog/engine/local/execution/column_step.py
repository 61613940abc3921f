"""The expressions of rules that kernels evaluate on columns: a condition, an assignment, or a pattern.

A step is tried on every batch. A batch that it gives up is evaluated in Python; after many of those it is not tried any
more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tidelog.check import typed
from tidelog.deep_recursion import deeply
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution import string_functions as strings
from tidelog.engine.local.execution.columns import Column, Frame, NeedsPythonError, Places, as_text, as_words
from tidelog.engine.local.execution.compile_columns import ColumnCompiler, NotColumnsError
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.rules.ir import Unfold
from tidelog.types import Type

Run = Callable[[Frame], tuple[Places | None, list[Column]]]
_PATIENCE = 8


class ColumnStep:
    """An expression on columns: a frame → the rows that go on (None: all of them), and the words of each result."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._patience = _PATIENCE

    def run(self, frame: Frame, types: Sequence[Type]) -> tuple[Places | None, list[Words]] | None:
        """Returns the rows that go on, and the results in them; None if Python has to evaluate the batch."""
        if not self._patience:
            return None
        try:
            places, columns = self._run(frame)
            results = [as_words(column, type_, frame.values) for column, type_ in zip(columns, types, strict=True)]
        except NeedsPythonError:
            self._patience -= 1
            return None
        self._patience = min(self._patience + 1, _PATIENCE)
        return places, results


def compile_condition(expression: typed.Expression, functions: CompiledFunctions) -> ColumnStep | str:
    """Returns the step of a condition, or what in it needs Python."""

    def make() -> Run:
        code = ColumnCompiler(functions).compile(expression)
        return lambda frame: (np.flatnonzero(code(frame)), [])

    return _step(make)


def compile_value(expression: typed.Expression, functions: CompiledFunctions) -> ColumnStep | str:
    """Returns the step of an assignment, or what in it needs Python."""

    def make() -> Run:
        code = ColumnCompiler(functions).compile(expression)
        return lambda frame: (None, [code(frame)])

    return _step(make)


def compile_pattern(unfold: Unfold, functions: CompiledFunctions) -> ColumnStep | str:
    """Returns the step that takes values apart, or what in it needs Python. Of collections, only the parts of `split`
    are listed by kernels."""

    def make() -> Run:
        compiler = ColumnCompiler(functions)
        if not unfold.each:
            return compiler.unfold(unfold.pattern, unfold.expression)
        call = compiler.split_call(unfold.expression)
        if call is None or not isinstance(unfold.pattern, typed.BindPattern):
            raise NotColumnsError("the items of a collection")
        text, separator = call

        def run(frame: Frame) -> tuple[Places | None, list[Column]]:
            counts, parts = strings.split(as_text(text(frame), frame.values), as_text(separator(frame), frame.values))
            return np.repeat(np.arange(frame.count), counts), [parts]

        return run

    return _step(make)


def _step(make: Callable[[], Run]) -> ColumnStep | str:
    try:
        return ColumnStep(deeply(make))
    except NotColumnsError as error:
        return str(error)
    except RecursionError:
        return "an expression that is nested deeply"
