"""A pattern that is ready to be searched for, in time linear in the text.

The end of the leftmost, preferred match is found by a forward reading, its beginning by a backward one from there: the
earliest beginning of any match with this end is that of the leftmost match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from tidelog.library._regex.automaton import backward, forward
from tidelog.library._regex.lazy_dfa import LazyDfa, find_end, find_start
from tidelog.library._regex.parse import parse
from tidelog.library._regex.python_pattern import is_quick_in_python, python_pattern


class Pattern:
    """A compiled regular expression. Raises BadPatternError or TooLargeError."""

    def __init__(self, pattern: str) -> None:
        self._tree = parse(pattern)
        self._python: re.Pattern[str] | None = None
        if is_quick_in_python(self._tree):
            self._python = re.compile(python_pattern(self._tree))
        else:
            self._forward = LazyDfa(forward(self._tree), prefers=True)

    @cached_property
    def _backward(self) -> LazyDfa:
        return LazyDfa(backward(self._tree), prefers=False)

    def matches(self, text: str) -> bool:
        """True if there is a match anywhere."""
        if self._python is not None:
            return self._python.search(text) is not None
        return find_end(self._forward, text, 0, first=True) is not None

    def find(self, text: str, at: int = 0) -> tuple[int, int] | None:
        """Returns the first match from a place on: its start and its end."""
        if self._python is not None:
            found = self._python.search(text, at)
            return found.span() if found else None
        end = find_end(self._forward, text, at, first=False)
        return None if end is None else (find_start(self._backward, text, end, at), end)

    def find_all(self, text: str) -> Iterator[tuple[int, int]]:
        """Yields the matches that do not overlap, from left to right, without empty ones directly after another."""
        at, last = 0, -1
        while at <= len(text):
            found = self.find(text, at)
            if found is None:
                return
            start, end = found
            if start == end == last:
                at += 1
                continue
            yield found
            at = last = end
