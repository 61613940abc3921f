"""Variant → a Python function that runs it over tables, row by row, with weights (`rule_loops`).

Literals before the delta in the body are read with the epoch's changes, those after it without: so every combination
counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import mul
from typing import Any, Protocol

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.execution.rule_loops import RuleLoops
from tidelog.engine.local.storage.weighted_table import Row, Table
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.plan.variant import Antijoin, DeltaKind, Join, Variant
from tidelog.rules.ir import Rule

Emit = Callable[[Row, int], None]
Run = Callable[[Iterable[tuple[Row, int]]], None]


class Readable(Protocol):
    """The part of a relation's interface that a run needs; see `Table`."""

    def weight(self, row: Row, *, new: bool) -> int: ...

    def find(self, columns: tuple[int, ...], key: Row, *, new: bool) -> Iterable[tuple[Row, int]]: ...


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Makes runs from variants, for one engine. `combine`, `mul` or `max`, makes the weight of a combination from those
    of its rows. `pace` returns the function that the run of a rule calls before each slow step (`Watch.pace`).
    """

    tables: Mapping[str, Readable]
    values: Values
    functions: CompiledFunctions
    combine: Callable[[int, int], int] = mul
    pace: Callable[[Rule], Callable[[], None]] | None = None

    def run(self, variant: Variant, emit: Emit, *, all_new: bool | None = None) -> Run:
        """Returns a function that takes the rows of the delta with their weights and emits heads with theirs.

        With `all_new` everything but the delta is read with the epoch's changes; if it is false, without them. The
        delta of a rule's own hidden fact is `[((), 1)]`.
        """

        def access(step: Join | Antijoin) -> tuple[Callable[..., Any], str]:
            table = self.tables[step.atom.relation]
            is_new = step.position < variant.delta.position if all_new is None else all_new
            return table.find if isinstance(step, Join) else table.weight, f"new={is_new}"

        pace = None if self.pace is None else self.pace(variant.rule)
        values = self.values
        loops = RuleLoops(variant.rule, access, values, self.functions, values.word, self.combine, pace)
        return loops.compile(variant.delta.atom, variant.steps, "emit({head}, {weight})", emit=emit)


def delta_rows(variant: Variant, tables: Mapping[str, Table]) -> list[tuple[Row, int]]:
    """Returns the changed rows that a variant starts from. A row inserted into a negated relation removes instances."""
    delta = variant.delta
    if delta.atom is None:
        return [((), 1)]
    table = tables[delta.atom.relation]
    if delta.kind is DeltaKind.POSITIVE:
        return list(table.delta.items())
    inserted, deleted = table.presence_changes()
    return [(row, -1) for row in inserted] + [(row, 1) for row in deleted]
