"""An explanation → a tree of text.

A row that is used more than once is written out at its first place, with a number, and named by it afterwards. The
tree ends at a depth and at a number of lines, and says how much it leaves out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.database.queries.explain import Explanation, Premise, Step

_ORIGINS = {
    "input": "input",
    "fact": "fact of the program",
    "transformer": "",
    "delayed": "from an earlier epoch",
    "stream": "inserted into the stream in the last epoch",
    "circle": "only supports itself: recursion with groups reached a fixpoint that contains it",
}


def tree_text(explanation: Explanation, max_depth: int, max_lines: int) -> str:
    """Writes the tree, without a line end at its end."""
    uses = Counter(premise.step for step in explanation for premise in step.premises)
    lines: list[str] = []
    for line in _lines(explanation, uses, max_depth):
        if len(lines) >= max_lines:
            lines.append(f"… cut at {max_lines} lines; there are {len(explanation)} steps, height {explanation.height}")
            break
        lines.append(line)
    return "\n".join(lines)


def _lines(explanation: Explanation, uses: Counter[int | None], max_depth: int) -> Iterator[str]:
    shown: set[int] = set()
    # A stack of premises (None for the root), each with its indent, its depth, and whether it is the last of its step.
    pending: list[tuple[Premise | None, str, int, bool]] = [(None, "", 0, True)]
    while pending:
        premise, indent, depth, is_last = pending.pop()
        branch = "" if premise is None else indent + ("└─ " if is_last else "├─ ")
        step = explanation[0] if premise is None else None
        if premise is not None and premise.step is not None:
            step = explanation[premise.step]
        if step is None:
            assert premise is not None
            yield f"{branch}{premise.text}"
            continue
        label = f"   #{step.number}" if uses[step.number] > 1 and step.premises else ""
        if step.number in shown and step.premises:
            yield f"{branch}{step.text}   see #{step.number}"
            continue
        shown.add(step.number)
        yield f"{branch}{step.text}{_origin(step)}{label}"
        below = "  " if premise is None else indent + ("     " if is_last else "│    ")
        if step.rule is not None and step.origin == "rule":
            yield f"{below}by {step.rule}    {step.place}{_others(step)}"
        if not step.premises or step.origin == "fact":
            continue
        if depth >= max_depth:
            yield f"{below}└─ … more steps below, cut at depth {max_depth}"
            continue
        last = len(step.premises) - 1
        pending += [(each, below, depth + 1, place == last) for place, each in reversed(list(enumerate(step.premises)))]


def _origin(step: Step) -> str:
    said = _ORIGINS.get(step.origin, "")
    if step.origin == "input" and step.derivations:
        said += f", and derived {_times(step.derivations)}"
    if step.origin == "fact":
        said += f"    {step.place}"
    if step.is_past:
        said += ("; " if said else "") + "in an early round; a later one has another value"
    return f"   {said}" if said else ""


def _others(step: Step) -> str:
    """Writes the number of other derivations."""
    more = (step.derivations or 1) - 1
    return f"   (and {more} other {'way' if more == 1 else 'ways'})" if more > 0 else ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
