"""Sources and spans: where in which text something stands.

A span is a half-open range of character offsets in one source; it travels in every node from the parser to the engines.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A text with a name (a path, or `<text>`); two sources are the same only if they are one object."""

    name: str
    text: str
    line_starts: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        starts = [0] + [index + 1 for index, char in enumerate(self.text) if char == "\n"]
        object.__setattr__(self, "line_starts", tuple(starts))

    def position(self, offset: int) -> tuple[int, int]:
        """Returns the line and the column of an offset, both from 1."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Returns the text of a line (from 1), without its end."""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end].removesuffix("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """`source.text[start:end]`."""

    source: Source = field(compare=False, repr=False)
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"
