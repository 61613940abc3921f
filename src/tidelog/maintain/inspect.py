"""`Inspect`: the changes of an epoch, from either engine → calls of its function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidelog.rules.ir import Inspection
from tidelog.types import NamedType
from tidelog.values import Definitions

Inspected = tuple[tuple[Any, ...], int, int]
"""A row, the change of its weight, and the round in which it was derived."""


def show_changes(inspection: Inspection, changes: Iterable[Inspected], epoch: int, definitions: Definitions) -> None:
    """Calls the function of an `Inspect` for every change, in the order of the rows."""
    for values, weight, rank in sorted(changes):
        extra: list[object] = [weight] if inspection.takes_weight else []
        if isinstance(inspection.time, NamedType):
            extra.append(definitions.class_of(inspection.time.name)(epoch, rank))
        elif inspection.time is not None:
            extra.append(epoch)
        inspection.function.call(*values, *extra)
