"""Objects that people look at: as HTML in a notebook, as text that fits the terminal in an interactive session.

A class says what to show as tables; `Shown` makes both forms of them. IPython asks for `_repr_html_` and
`_repr_pretty_`; nothing here needs it. Values are escaped in HTML, and in text a line is cut at the width of the
terminal and at so many rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any
from unicodedata import east_asian_width

from tidelog.diagnostics.html import SHOWN, cell_text, html_table

_MOST_LINES = 200
_GAP = "  "
_LEAST_WIDTH = 40
TEXT_WIDTH = 120
"""The width of text that may go to a file."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a caption. `total` is how many rows there are, where that may be more than are shown."""

    caption: str
    headings: Sequence[str]
    rows: Iterable[Sequence[Any]]
    total: int | None = None

    def html(self) -> str:
        return html_table(self.caption, self.headings, self.rows, self.total)

    def text(self, width: int) -> str:
        """Returns the first rows in columns, in lines of at most this width."""
        rows = [[cell_text(cell) for cell in row] for row in islice(self.rows, SHOWN)]
        more = f" ({len(rows)} of {self.total:,} rows)" if self.total is not None and self.total > len(rows) else ""
        lines = [f"{self.caption}{more}"]
        if rows and self.headings:
            table = [list(self.headings), *rows]
            widths = [max(text_width(row[place]) for row in table) for place in range(len(self.headings))]
            lines += [_GAP + _GAP.join(map(_padded, row, widths)).rstrip() for row in table]
        return fit(lines, width)


class Shown:
    """Shows the tables of `_tables`. A class with another text or HTML form overrides `_text` or `_repr_html_`."""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # IPython takes the method of the first class that has it, or a `__repr__`.
        cls._repr_pretty_ = Shown._repr_pretty_  # type: ignore[method-assign]

    def _tables(self) -> Iterable[Table]:
        raise NotImplementedError

    def _text(self, width: int) -> str:
        """Returns the text form, in lines of at most this width."""
        return "\n".join(table.text(width) for table in self._tables())

    def _repr_html_(self) -> str:
        """Renders for notebooks."""
        return "\n".join(table.html() for table in self._tables())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Renders for interactive sessions in a terminal."""
        printer.text(self._text(terminal_width()))


def terminal_width() -> int:
    """Returns the number of characters in a line of the terminal; 80 if there is none."""
    import shutil

    return max(shutil.get_terminal_size((80, 24)).columns, _LEAST_WIDTH)


def fit(lines: Iterable[str], width: int) -> str:
    """Cuts lines at a width, and a long text at its end; says how much is left out."""
    found = list(lines)
    shown = [cut(line, width) for line in found[:_MOST_LINES]]
    left_out = len(found) - len(shown)
    return "\n".join([*shown, f"… {left_out:,} more lines"] if left_out else shown)


def cut(line: str, width: int) -> str:
    """Returns a line of at most this width; where it is cut, it ends in `…`."""
    if text_width(line) <= width:
        return line
    shown, used = "", 1
    for char in line:
        used += _char_width(char)
        if used > width:
            break
        shown += char
    return f"{shown}…"


def preformatted(text: str) -> str:
    """Returns text as HTML that keeps its lines."""
    return f"<pre>{escape(text)}</pre>"


def text_width(text: str) -> int:
    """Returns the number of columns that a text takes in a terminal."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _char_width(char: str) -> int:
    return 2 if east_asian_width(char) in "WF" else 1


def _padded(text: str, width: int) -> str:
    return text + " " * (width - text_width(text))
