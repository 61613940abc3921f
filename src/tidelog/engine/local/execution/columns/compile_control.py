"""Control in typed expressions → functions of columns: blocks, `if`, `match`, loops, assignments and `return`.

    for (x in v) { if (x > 3) { return x }; sum = sum + x }

A round of a loop is evaluated on the rows whose collection has another item and that have not left (`frame`).
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tidelog.check import typed
from tidelog.engine.local.encoding.sequence_pool import is_sequence_type
from tidelog.engine.local.execution.columns.branches import Code, choice
from tidelog.engine.local.execution.columns.column import (
    Column,
    NeedsPythonError,
    Places,
    StructColumn,
    as_sequence,
    as_struct,
    as_words,
    merge,
    take,
    unit_column,
)
from tidelog.engine.local.execution.columns.compile_patterns import NotColumnsError, PatternCompiler, Scope
from tidelog.engine.local.execution.columns.frame import BREAK, CONTINUE, RESULT, RETURN, AllLeftError, Frame
from tidelog.types import UNIT, NamedType, TupleType, Type

Setter = Callable[[Frame, Column, Column], Column]
OPTION = "ddlog_std::Option"


class ControlCompiler(PatternCompiler, ABC):
    """Compiles control; `_code` sends it here."""

    _loops = 0

    def _block(self, expressions: Sequence[typed.Expression], scope: Scope, type_: Type) -> Code:
        codes = [self._code(each, scope) for each in expressions]
        if len(codes) == 1:
            return codes[0]

        def run_from(first: int, frame: Frame) -> Column:
            for place in range(first, len(codes) - 1):
                codes[place](frame)
                if frame.has_left:
                    return frame.go_on(partial(run_from, place + 1), type_)
            return codes[-1](frame)

        return partial(run_from, 0)

    def _declare(self, node: typed.Declare, scope: Scope) -> Code:
        value = self._code(node.value, scope)
        bind = self._binding(node.pattern, scope)

        def run(frame: Frame) -> Column:
            bind(frame, value(frame))
            return unit_column(frame.count)

        return run

    def _if(self, node: typed.IfElse, scope: Scope) -> Code:
        condition, then, otherwise = (self._code(each, scope) for each in (node.condition, node.then, node.otherwise))
        return choice(condition, then, otherwise, self._type(node, scope))

    def _match(self, node: typed.Match, scope: Scope) -> Code:
        subject, type_ = self._code(node.subject, scope), self._type(node, scope)
        arms = []
        for arm in node.arms:
            test = self._test(arm.pattern, scope)
            bind = self._binding(arm.pattern, scope)
            arms.append((test, bind, self._code(arm.body, scope)))

        def run(frame: Frame) -> Column:
            matched = subject(frame)
            rest: Places = np.arange(frame.count)
            parts: list[tuple[Places, Column | None]] = []
            for number, (test, bind, body) in enumerate(arms):
                own = frame if len(rest) == frame.count else frame.some(rest)
                fits = None if number == len(arms) - 1 else test(own, take(matched, rest))
                places = rest if fits is None else rest[fits]
                if fits is not None:
                    rest = rest[~fits]
                if not len(places):
                    continue
                parts.append((places, frame.inside(places, _arm(bind, body, take(matched, places)))))
                if fits is None or not len(rest):
                    break
            return frame.chosen(parts, type_)

        return run

    # Loops

    def _for(self, node: typed.For, scope: Scope) -> Code:
        type_ = self._type(node.iterable, scope)
        if not is_sequence_type(type_):
            raise NotColumnsError(f"a loop over a {type_}")
        iterable = self._code(node.iterable, scope)
        test, bind = self._test(node.pattern, scope), self._binding(node.pattern, scope)
        self._loops += 1
        body = self._code(node.body, scope)
        self._loops -= 1

        def run(frame: Frame) -> Column:
            column = as_sequence(iterable(frame), type_, frame.values)
            rows = frame.staying()
            rows = rows[column.lengths[rows] > 0]
            number = 0
            while len(rows):
                frame.work.add(len(rows))
                items = take(column.items, column.starts[rows] + number)
                inner = frame.some(rows)
                fits = test(inner, items)
                if fits is None or fits.all():
                    _round(inner, bind, items, body)
                elif fits.any():
                    places = np.flatnonzero(fits)
                    some = inner.some(places)
                    _round(some, bind, take(items, places), body)
                    inner.absorb(some, places)
                goes_on = np.ones(len(rows), dtype=np.bool_)
                if inner.left is not None:
                    goes_on = inner.left <= CONTINUE
                    inner.left[inner.left <= BREAK] = 0
                frame.absorb(inner, rows)
                number += 1
                rows = rows[goes_on]
                rows = rows[column.lengths[rows] > number]
            return unit_column(frame.count)

        return run

    def _leave(self, how: int) -> Code:
        def run(frame: Frame) -> Column:
            frame.mark(frame.staying(), how)
            raise AllLeftError

        return run

    def _return(self, node: typed.Return, scope: Scope) -> Code:
        if scope.result is None:
            raise NotColumnsError("`return`")
        value, type_ = self._code(node.value, scope), self._bare(scope.result, scope)

        def run(frame: Frame) -> Column:
            column = value(frame)
            places = frame.staying()
            if len(places):
                frame.assign_at(RESULT, places, take(column, places), type_)
                frame.mark(places, RETURN)
            raise AllLeftError

        return run

    def _try(self, node: typed.Try, scope: Scope) -> Code:
        """`operand?`: returns `None`, or the error, where there is no value."""
        operand, type_ = self._code(node.operand, scope), self._type(node.operand, scope)
        if scope.result is None or not isinstance(type_, NamedType):
            raise NotColumnsError("`?`")
        result, own = self._bare(scope.result, scope), self._type(node, scope)
        assert isinstance(result, NamedType)
        good = 1 if type_.name == OPTION else 0

        def run(frame: Frame) -> Column:
            struct = as_struct(operand(frame), type_, frame.values)
            is_good = struct.tags == good
            if not is_good.all():
                bad = np.flatnonzero(~is_good)
                if frame.left is not None:
                    bad = bad[frame.left[bad] == 0]
                if result.name == OPTION:
                    left = StructColumn(np.zeros(len(bad), dtype=np.int64), ((), None))
                else:
                    errors = struct.fields[1]
                    assert errors is not None
                    left = StructColumn(np.ones(len(bad), dtype=np.int64), (None, (take(errors[0], bad),)))
                if len(bad):
                    frame.assign_at(RESULT, bad, left, result)
                    frame.mark(bad, RETURN)
            places, fields = np.flatnonzero(is_good), struct.fields[good]
            if fields is None or not len(places):
                raise AllLeftError
            return merge(frame.count, [(places, take(fields[0], places))], own, frame.values)

        return run

    # Assignments

    def _set_place(self, node: typed.SetPlace, scope: Scope) -> Code:
        value = self._code(node.value, scope)
        set_ = self._assign(node.place, scope)

        def run(frame: Frame) -> Column:
            set_(frame, value(frame))
            return unit_column(frame.count)

        return run

    def _assign(self, place: typed.Place, scope: Scope) -> Callable[[Frame, Column], None]:
        """Returns the function that sets a variable, or a part of one."""
        key, type_ = scope.names[place.variable.name], self._bare(place.variable.type, scope)
        setter = self._setter(type_, place.steps)
        in_loop = self._loops > 0

        def run(frame: Frame, column: Column) -> None:
            if place.steps:
                column = setter(frame, frame.get(key), column)
            if in_loop and isinstance(column, StructColumn) and type_ != UNIT:
                # A struct that grows in a loop would be merged link by link in every round.
                column = as_words(column, type_, frame.values)
            if not frame.has_left:
                frame.assign(key, column, type_)
            elif len(places := frame.staying()):
                frame.assign_at(key, places, take(column, places), type_)

        return run

    def _setter(self, type_: Type, steps: Sequence[str | int]) -> Setter:
        if not steps:
            return lambda frame, old, new: new
        step, *rest = steps
        if isinstance(type_, TupleType):
            assert isinstance(step, int)
            variants: list[tuple[int | None, Type]] = [(step, type_.items[step])]
        else:
            assert isinstance(type_, NamedType)
            variants = []
            for variant in self._definitions.variants(type_):
                names = [name for name, _ in variant.fields]
                at = names.index(step) if isinstance(step, str) and step in names else None
                variants.append((at, self._bare(variant.fields[at][1], Scope()) if at is not None else UNIT))
        setters = [self._setter(own, rest) for _, own in variants]

        def run(frame: Frame, old: Column, new: Column) -> Column:
            struct = as_struct(old, type_, frame.values)
            fields = list(struct.fields)
            for number, ((at, own), setter) in enumerate(zip(variants, setters)):
                before, rows = fields[number], np.flatnonzero(struct.tags == number)
                if before is None or not len(rows):
                    continue
                if at is None:
                    raise NeedsPythonError
                inner = frame if len(rows) == frame.count else frame.some(rows)
                changed = setter(inner, take(before[at], rows), take(new, rows))
                after = merge(frame.count, [(rows, changed)], own, frame.values)
                fields[number] = (*before[:at], after, *before[at + 1 :])
            return StructColumn(struct.tags, tuple(fields))

        return run


def _arm(bind: Callable[[Frame, Column], None], body: Code, matched: Column) -> Code:
    def run(frame: Frame) -> Column:
        bind(frame, matched)
        return body(frame)

    return run


def _round(frame: Frame, bind: Callable[[Frame, Column], None], items: Column, body: Code) -> None:
    bind(frame, items)
    try:
        body(frame)
    except AllLeftError:
        return
