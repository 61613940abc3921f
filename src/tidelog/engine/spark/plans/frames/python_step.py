"""Conditions, assignments and unfoldings of a rule → one pass over Arrow batches with the compiled Python functions.

Spark's own expressions are used only where they are proven equal (`join_rule`); all others run here, by the functions
that the local engine calls. The steps keep the order of the rule, and a row that a condition drops does not reach the
steps behind it: a division is as safe as the condition in front of it makes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.errors import OverflowedError, TidelogError
from tidelog.engine.call_distinct import call_on_lists
from tidelog.engine.spark.encoding.columns import decode_values, encode_values, frame_type
from tidelog.engine.spark.task_errors import CarriedError, division_by_zero
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
    """A Python expression of a rule: the values of `arguments` → the alternatives of a row.

    A condition has no `targets`, and its row goes on or not; an assignment has one new column; an unfolding has a
    column for each of its variables, and any number of alternatives. `row` are the variables that are bound before it,
    with their columns: errors name their values.
    """

    function: ScalarFunction | Unfolding
    arguments: tuple[TypedColumn, ...]
    targets: tuple[TypedColumn, ...]
    row: tuple[tuple[str, TypedColumn], ...] = ()


@dataclass(frozen=True, slots=True)
class RulePlace:
    """The text and place of a rule, for errors."""

    text: str
    span: str
    stratum: str

    @contextmanager
    def carried_errors(self) -> Iterator[None]:
        """Turns errors of Python expressions of the rule into errors that a task of a DataFrame plan can raise."""
        try:
            yield
        except ZeroDivisionError as error:
            raise CarriedError(division_by_zero(self.text, self.span, self.stratum, error)) from None
        except TidelogError as error:
            if isinstance(error, OverflowedError):
                error.add_rule(self.text, self.span)
            raise CarriedError(error) from None


def apply_steps(
    frame: Any,
    columns: Sequence[TypedColumn],
    steps: Sequence[ScalarStep],
    place: RulePlace,
    definitions: Definitions,
) -> Any:
    """Returns the frame with its `columns` and the new ones, without the rows that a step dropped."""
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
        with place.carried_errors():
            for step in steps:
                values, length = _after(step, values, length, definitions)
        arrays = [pa.array(values[name], _ARROW[frame_type(type_)]) for name, type_ in kept]
        yield pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in kept])


def _after(
    step: ScalarStep, values: dict[str, list[Any]], length: int, definitions: Definitions
) -> tuple[dict[str, list[Any]], int]:
    """Returns the columns after the step, in the encoding of frames, and the number of their rows."""

    def row_values(row: int) -> dict[str, Any]:
        return {name: decode_values([values[of][row]], type_, definitions)[0] for name, (of, type_) in step.row}

    results = call_on_lists(
        step.function,
        [values[name] for name, _ in step.arguments],
        length,
        lambda column, i: decode_values(column, step.arguments[i][1], definitions),
        row_values,
        binds=bool(step.targets),
    )
    rows, places = results.rows.tolist(), results.places.tolist()
    found = {name: [column[row] for row in rows] for name, column in values.items()}
    for i, (name, type_) in enumerate(step.targets):
        encoded = encode_values(results.column(i), type_, definitions)
        found[name] = [encoded[place] for place in places]
    return found, len(rows)
