"""Branches on columns: each is evaluated on the rows that take it, so that no other row can make it fail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tidelog.engine.local.execution.columns.column import Column
from tidelog.engine.local.execution.columns.frame import Frame
from tidelog.types import BOOL, Type

Code = Callable[[Frame], Column]  # an expression on the variables of some rows


def choice(condition: Code, then: Code, otherwise: Code, type_: Type) -> Code:
    """`if`: each side is evaluated on the rows that take it."""

    def run(frame: Frame) -> Column:
        chosen = condition(frame)
        first, second = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        if not len(second):
            return then(frame)
        if not len(first):
            return otherwise(frame)
        return frame.chosen([(first, frame.inside(first, then)), (second, frame.inside(second, otherwise))], type_)

    return run


def lazy(op: str, left: Code, right: Code) -> Code:
    """`and`, `or`, `=>`: the right side is evaluated where the left one does not decide."""

    def run(frame: Frame) -> Column:
        known = left(frame)
        if op == "=>":
            known = ~known
        open_ = np.flatnonzero(known if op == "and" else ~known)
        if not len(open_):
            return known
        if len(open_) == frame.count:
            return right(frame)
        decided = np.flatnonzero(~known if op == "and" else known)
        return frame.chosen([(open_, frame.inside(open_, right)), (decided, known[decided])], BOOL)

    return run
