"""Conditions, assignments and patterns of all rules, for rewrites: one pass over Arrow batches.

Each rewrite is looked at by the steps of the prefix that it has come to, if that has any; the others go by. Functions
are called as in `scalars`: once for each distinct argument of a batch, and not for what a step before has dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.diagnostics.errors import TidelogError
from tidelog.engine.spark.encoding.words import Words
from tidelog.engine.spark.epoch.task_errors import CarriedError, division_by_zero
from tidelog.engine.spark.strategies.circuit.rule_rows import Step
from tidelog.rules.lower.unfold import Unfolding


def compute(rewrites: Any, steps: Mapping[int, tuple[Step, ...]], words: Words, schema: str) -> Any:
    """The rewrites (prefix, level and words, as `schema` has them) that go on, with the words that were made."""
    return rewrites.mapInArrow(partial(_pass, dict(steps), words), schema)


def _pass(
    steps: Mapping[int, tuple[Step, ...]], words: Words, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        prefixes = batch.column(0)
        looked_at = pc.is_in(prefixes, pa.array([*steps], prefixes.type))
        yield batch.filter(pc.invert(looked_at))
        rest = batch.filter(looked_at)
        for prefix in pc.unique(rest.column(0)).to_pylist():
            own = rest.filter(pc.equal(rest.column(0), prefix))
            columns = [own.column(i).to_pylist() for i in range(own.num_columns)]
            for step in steps[prefix]:
                columns = _stepped(step, columns, words)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, batch.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _stepped(step: Step, columns: list[list[Any]], words: Words) -> list[list[Any]]:
    """The columns (prefix, level, words) of the rewrites that go on."""
    given = [columns[2 + slot] for slot, _ in step.arguments]
    keys = [*zip(*given, strict=True)] if given else [()] * len(columns[0])
    distinct = [*dict.fromkeys(keys)]
    decoded = [words.to_values([key[i] for key in distinct], type_) for i, (_, type_) in enumerate(step.arguments)]
    arguments = [*zip(*decoded, strict=True)] if decoded else distinct
    try:
        known = {key: _ways(step, each, words) for key, each in zip(distinct, arguments, strict=True)}
    except ZeroDivisionError:
        place = step.place
        raise CarriedError(division_by_zero(place.text, place.span, place.stratum)) from None
    except TidelogError as error:
        raise CarriedError(error) from None
    going_on = [(row, way) for row, key in enumerate(keys) for way in known[key]]
    for i, (slot, _, is_known) in enumerate(step.targets):
        if is_known:
            going_on = [(row, way) for row, way in going_on if columns[2 + slot][row] == way[i]]
    found = [[column[row] for row, _ in going_on] for column in columns]
    for i, (slot, _, _) in enumerate(step.targets):
        found[2 + slot] = [way[i] for _, way in going_on]
    return found


def _ways(step: Step, arguments: Sequence[Any], words: Words) -> list[tuple[Any, ...]]:
    """The words that each way gives."""
    result = step.function.call(*arguments)
    if isinstance(step.function, Unfolding):
        ways = result
    else:
        ways = [(result,)] if step.targets else [()] if result else []
    columns = [words.of_values([way[i] for way in ways], type_) for i, (_, type_, _) in enumerate(step.targets)]
    return [*zip(*columns, strict=True)] if columns else [() for _ in ways]
