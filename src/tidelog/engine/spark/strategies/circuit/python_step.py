"""Conditions, assignments and patterns of all rules, for rewrites: one pass over Arrow batches.

Each rewrite goes through the steps of its prefix, if the prefix has any. A function is called once for each distinct
argument of a batch, and not for rewrites that an earlier step has dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.engine.call_distinct import call_on_lists
from tidelog.engine.spark.strategies.circuit.rule_rows import Step
from tidelog.engine.spark.strategies.circuit.words import Words


def run_steps(rewrites: Any, steps: Mapping[int, tuple[Step, ...]], words: Words, schema: str) -> Any:
    """Returns the rewrites (prefix, level and words, by `schema`) that go on, with the computed words."""
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
                with step.place.carried_errors():
                    columns = _after(step, columns, words)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, batch.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _after(step: Step, columns: list[list[Any]], words: Words) -> list[list[Any]]:
    """Returns the columns (prefix, level, words) of the rewrites that go on."""

    def row_values(row: int) -> dict[str, Any]:
        return {name: words.to_values([columns[2 + slot][row]], type_)[0] for name, slot, type_ in step.compute.row}

    results = call_on_lists(
        step.compute.function,
        [columns[2 + slot] for slot, _ in step.compute.arguments],
        len(columns[0]),
        lambda column, i: words.to_values(column, step.compute.arguments[i][1]),
        row_values,
        binds=bool(step.compute.results),
    )
    going_on = [*zip(results.rows.tolist(), results.places.tolist())]
    made = [words.of_values(results.column(i), type_) for i, (_, type_, _) in enumerate(step.compute.results)]
    for computed, (slot, _, is_known) in zip(made, step.compute.results):
        if is_known:
            going_on = [(row, place) for row, place in going_on if columns[2 + slot][row] == computed[place]]
    found = [[column[row] for row, _ in going_on] for column in columns]
    for computed, (slot, _, _) in zip(made, step.compute.results):
        found[2 + slot] = [computed[place] for _, place in going_on]
    return found
