"""A misspelt name and the names that exist → the one that was probably meant.

The distance counts insertions, deletions, replacements and swaps of neighbours as one step each. A guess is offered
only when it is near for its length: one step for short names, a third of the letters for long ones.
"""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 100


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """Returns the nearest candidate (the first of equals, in order of the alphabet), or None when none is near."""
    if len(name) > _LONGEST:
        return None
    allowed = max(1, len(name) // 3)
    best: tuple[int, str] | None = None
    for candidate in sorted(set(candidates)):
        if candidate == name or abs(len(candidate) - len(name)) > allowed:
            continue
        if candidate.lower() == name.lower():
            return candidate
        distance = edit_distance(name, candidate, allowed)
        # Two letters that share nothing are one step apart, and no hint.
        if distance <= allowed and distance < max(len(name), len(candidate)):
            best, allowed = (distance, candidate), distance - 1
    return best[1] if best else None


def did_you_mean(name: str, candidates: Iterable[str], otherwise: str | None = None) -> str | None:
    """Returns the help for a misspelt name: a question with the nearest candidate; `otherwise` when none is near."""
    meant = suggest(name, candidates)
    return f"did you mean `{meant}`?" if meant else otherwise


def edit_distance(left: str, right: str, limit: int | None = None) -> int:
    """Returns the number of steps from one word to the other; with a limit, any number past it stands for "more".

    Costs the product of the lengths, without what the words have in common at both ends.
    """
    start, end = 0, 0
    shorter = min(len(left), len(right))
    while start < shorter and left[start] == right[start]:
        start += 1
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    left, right = left[start : len(left) - end], right[start : len(right) - end]
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, char in enumerate(left, start=1):
        current = [row]
        for column, other in enumerate(right, start=1):
            step = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + (char != other))
            if row > 1 and column > 1 and char == right[column - 2] and left[row - 2] == other:
                step = min(step, before[column - 2] + 1)
            current.append(step)
        # A swap reaches back two rows, never below the better of them.
        if limit is not None and min(current) > limit and min(previous) > limit:
            return limit + 1
        before, previous = previous, current
    return previous[-1]
