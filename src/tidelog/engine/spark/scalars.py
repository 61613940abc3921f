"""Conditions and assignments of a rule → one pass over Arrow batches with the compiled Python functions.

Spark's own expressions serve only where they are proven equal (`body.py`); everything else runs here, by the very
functions that the local engine calls. The steps keep the order of the rule, and a row that a condition drops does not
reach the steps behind it: a division is as safe as the condition in front of it makes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from tidelog.check.types import BOOL, BoolType, Type, is_word
from tidelog.engine.spark.encode import decode_values, encode_value, frame_type
from tidelog.engine.spark.failure import CarriedError, division_by_zero
from tidelog.functions.scalar import ScalarFunction


@dataclass(frozen=True, slots=True)
class ScalarStep:
    """A function of some columns. `target` is the new column; None: rows with a false result are dropped."""

    function: ScalarFunction
    arguments: tuple[tuple[str, Type], ...]
    target: str | None
    result: Type


@dataclass(frozen=True, slots=True)
class RulePlace:
    """What an error says about the rule."""

    text: str
    span: str
    stratum: str


def apply_steps(frame: Any, columns: Sequence[tuple[str, Type]], steps: Sequence[ScalarStep], place: RulePlace) -> Any:
    """The frame with all of its columns (named in `columns`) and the new ones, without the rows that were dropped."""
    kept = [*columns, *((step.target, step.result) for step in steps if step.target is not None)]
    schema = ", ".join(f"{name} {frame_type(type_)}" for name, type_ in kept)
    return frame.mapInArrow(partial(_pass, tuple(steps), tuple(kept), place), schema or "nothing boolean")


def _pass(
    steps: tuple[ScalarStep, ...],
    kept: tuple[tuple[str, Type], ...],
    place: RulePlace,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        values: dict[str, list[Any]] = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        length = batch.num_rows
        for step in steps:
            arguments = [decode_values(values[name], type_) for name, type_ in step.arguments]
            try:
                rows = zip(*arguments, strict=True) if arguments else iter([()] * length)
                results = [step.function.call(*row) for row in rows]
            except ZeroDivisionError:
                raise CarriedError(division_by_zero(place.text, place.span, place.stratum)) from None
            if step.target is not None:
                values[step.target] = [encode_value(result, step.result) for result in results]
            else:
                assert step.result == BOOL
                values = {name: [v for v, r in zip(column, results) if r] for name, column in values.items()}
                length = sum(results)
        yield pa.RecordBatch.from_arrays(
            [pa.array(values[name], _arrow_of(type_)) for name, type_ in kept], names=[name for name, _ in kept]
        )


def _arrow_of(type_: Type) -> pa.DataType:
    if isinstance(type_, BoolType):
        return pa.bool_()
    return pa.int64() if is_word(type_) else pa.string()
