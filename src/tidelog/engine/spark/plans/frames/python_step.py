"""Conditions, assignments and unfoldings of a rule → one pass over Arrow batches with the compiled Python functions.

Spark's own expressions serve only where they are proven equal (`body.py`); everything else runs here, by the very
functions that the local engine calls. The steps keep the order of the rule, and a row that a condition drops does not
reach the steps behind it: a division is as safe as the condition in front of it makes it. A function is called once for
each distinct argument of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.errors import TidelogError
from tidelog.engine.spark.encoding.columns import decode_values, encode_values, frame_type
from tidelog.engine.spark.epoch.task_errors import CarriedError, division_by_zero
from tidelog.functions.scalar import ScalarFunction
from tidelog.rules.lower.unfold import Unfolding
from tidelog.types import Type
from tidelog.values import Definitions

TypedColumn = tuple[str, Type]
_ARROW = {
    "boolean": pa.bool_(),
    "long": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
}


@dataclass(frozen=True, slots=True)
class ScalarStep:
    """What is done with each row: from the values of `arguments` come the ways in which it goes on.

    A condition has no `targets`, and its row goes on or not; an assignment has one new column, and an unfolding a
    column for each of its variables, and as many ways as it finds.
    """

    function: ScalarFunction | Unfolding
    arguments: tuple[TypedColumn, ...]
    targets: tuple[TypedColumn, ...]

    def ways(self, arguments: tuple[Any, ...]) -> Sequence[tuple[Any, ...]]:
        result = self.function.call(*arguments)
        if isinstance(self.function, Unfolding):
            found: list[tuple[Any, ...]] = result
            return found
        return [(result,)] if self.targets else [()] if result else []


@dataclass(frozen=True, slots=True)
class RulePlace:
    """What an error says about the rule."""

    text: str
    span: str
    stratum: str


def apply_steps(
    frame: Any,
    columns: Sequence[TypedColumn],
    steps: Sequence[ScalarStep],
    place: RulePlace,
    definitions: Definitions,
) -> Any:
    """The frame with all of its columns (named in `columns`) and the new ones, without the rows that were dropped."""
    kept = [*columns, *(target for step in steps for target in step.targets)]
    schema = ", ".join(f"{name} {frame_type(type_)}" for name, type_ in kept)
    return frame.mapInArrow(partial(_pass, tuple(steps), tuple(kept), place, definitions), schema)


def _pass(
    steps: tuple[ScalarStep, ...],
    kept: tuple[TypedColumn, ...],
    place: RulePlace,
    definitions: Definitions,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        values: dict[str, list[Any]] = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        length = batch.num_rows
        for step in steps:
            try:
                values, length = _stepped(step, values, length, definitions)
            except ZeroDivisionError:
                raise CarriedError(division_by_zero(place.text, place.span, place.stratum)) from None
            except TidelogError as error:
                raise CarriedError(error) from None
        arrays = [pa.array(values[name], _ARROW[frame_type(type_)]) for name, type_ in kept]
        yield pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in kept])


def _stepped(
    step: ScalarStep, values: dict[str, list[Any]], length: int, definitions: Definitions
) -> tuple[dict[str, list[Any]], int]:
    """The columns, in the encoding of frames, and how many rows they have after the step."""
    encoded = list(zip(*(values[name] for name, _ in step.arguments), strict=True)) if step.arguments else [()] * length
    distinct = list(dict.fromkeys(encoded))
    columns = zip(*distinct) if step.arguments else ()
    decoded = [decode_values(list(column), type_, definitions) for column, (_, type_) in zip(columns, step.arguments)]
    arguments = zip(*decoded) if step.arguments else iter(distinct)
    known = {key: step.ways(each) for key, each in zip(distinct, arguments, strict=True)}
    going_on = [known[key] for key in encoded]
    places = [row for row, ways in enumerate(going_on) for _ in ways]
    found = {name: [column[row] for row in places] for name, column in values.items()}
    for i, (name, type_) in enumerate(step.targets):
        results = [way[i] for ways in going_on for way in ways]
        found[name] = encode_values(results, type_, definitions)
    return found, len(places)
