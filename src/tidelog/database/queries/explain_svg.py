"""An explanation → a drawing: a box for each step, with its row and its rule, above the steps that it rests on.

Conditions and computed values stand in the box of their step. A large proof is cut: steps beyond a number are left out,
those nearest to the explained row are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.diagnostics.svg import Box, Drawing, Line, draw

if TYPE_CHECKING:
    from tidelog.database.queries.explain import Step

_MOST_STEPS = 150
_KINDS = {"input": "given", "fact": "given", "rule": "derived", "group": "special"}


def draw_proof(steps: Sequence[Step]) -> Drawing:
    """Draws the steps of a proof."""
    shown = _nearest(steps)
    numbers = {step.number: place for place, step in enumerate(shown)}
    boxes = [_box(step, numbers) for step in shown]
    lines = dict.fromkeys(
        Line(numbers[step.number], numbers[premise.step])
        for step in shown
        for premise in step.premises
        if premise.step is not None and premise.step in numbers
    )
    return draw(boxes, list(lines), f"proof of {steps[0].text}")


def _nearest(steps: Sequence[Step]) -> list[Step]:
    """Returns the steps nearest to the first, level by level."""
    found = {0: steps[0]}
    pending = [steps[0]]
    for step in pending:
        for premise in step.premises:
            if premise.step is not None and premise.step not in found and len(found) < _MOST_STEPS:
                found[premise.step] = steps[premise.step]
                pending.append(steps[premise.step])
    return list(found.values())


def _box(step: Step, numbers: dict[int, int]) -> Box:
    lines = [f"{step.text}{' (earlier)' if step.is_past else ''}"]
    if step.origin == "rule" and step.rule is not None:
        lines.append(f"by {step.rule}")
    elif step.origin not in ("group", "rule"):
        lines.append(step.origin)
    lines += [premise.text for premise in step.premises if premise.step is None]
    left_out = sum(premise.step is not None and premise.step not in numbers for premise in step.premises)
    if left_out:
        lines.append(f"… {left_out} more below")
    return Box(tuple(lines), _KINDS.get(step.origin, "plain"))
