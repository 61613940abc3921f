"""Tables as HTML, for notebooks: text in, escaped text out, nothing but `<table>` and a line above it.

At most `SHOWN` rows are printed, and of a long text only the beginning; the caption says how many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Any

SHOWN = 20
"""So many rows of a table are printed."""

_LONGEST = 200


def html_table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[Any]], total: int | None = None) -> str:
    """Returns the first rows under a caption. `total` is how many rows there are, where that may be more than are
    printed."""
    shown = list(islice(rows, SHOWN))
    note = f" ({SHOWN} of {total:,} rows)" if total is not None and total > len(shown) else ""
    lines = [f"<p><b>{escape(caption)}</b>{note}</p>", "<table>", _line("th", headings)]
    lines += [_line("td", row) for row in shown]
    return "\n".join([*lines, "</table>"])


def _line(tag: str, cells: Sequence[Any]) -> str:
    return "<tr>" + "".join(f"<{tag}>{_cell(cell)}</{tag}>" for cell in cells) + "</tr>"


def _cell(cell: Any) -> str:
    return escape(cell_text(cell))


def cell_text(cell: Any) -> str:
    """Returns the text of a value, of a long one only the beginning; control characters are escaped."""
    text = cell if isinstance(cell, str) else _text(cell)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _text(cell: Any) -> str:
    try:
        return str(cell)
    except ValueError:  # Python prints no integers of some thousands of digits
        if not isinstance(cell, int):
            return f"<{type(cell).__name__}>"
    sign, size = "-" if cell < 0 else "", abs(cell)
    below = size.bit_length() * 30103 // 100000 - _LONGEST - 2
    return f"{sign}{size // 10**below}"
