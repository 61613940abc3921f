"""A TOML text → the positions of its tables, keys and values, for messages that point at them.

Python's TOML reader gives no positions. This module scans the lines and notes the table header or key that a line
begins with. The content of an inline table has the position of the key before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tidelog.diagnostics.spans import Source, Span

Name = tuple[str, ...]
"""`("outputs", "Reach", "mode")`; the empty one is the file."""

_HEADER = re.compile(r"[ \t]*\[{1,2}[ \t]*([^\[\]#]+?)[ \t]*\]")
_KEY = re.compile(r"[ \t]*([\w\-.\"']+)[ \t]*=[ \t]*")
_COMMENT = re.compile(r"[ \t]*(#.*)?$")


@dataclass(frozen=True, slots=True)
class TomlSpans:
    """`names` has the position of each header and key, `values` of the text after a key, to the end of the line."""

    source: Source
    names: dict[Name, Span] = field(default_factory=dict)
    values: dict[Name, Span] = field(default_factory=dict)

    def of_name(self, name: Name) -> Span:
        """Returns the position of a name, or of the table around it if the name is not written."""
        while name and name not in self.names:
            name = name[:-1]
        return self.names.get(name, Span(self.source, 0, 0))

    def of_value(self, name: Name) -> Span:
        """Returns the position of a value."""
        return self.values.get(name) or self.of_name(name)


def toml_spans(source: Source) -> TomlSpans:
    """Scans the text once; it need not be valid TOML."""
    found = TomlSpans(source)
    table: Name = ()
    for start, line in zip(source.line_starts, source.text.split("\n")):
        header = _HEADER.match(line)
        key = None if header else _KEY.match(line)
        if header is not None:
            table = _parts(header[1])
            for length in range(1, len(table) + 1):
                found.names.setdefault(table[:length], _span(source, start, header, 1))
        elif key is not None:
            name = (*table, *_parts(key[1]))
            found.names.setdefault(name, _span(source, start, key, 1))
            end = len(line.rstrip()) if '"' in line else _COMMENT.search(line, key.end()).start()  # type: ignore[union-attr]
            found.values.setdefault(name, Span(source, start + key.end(), start + max(end, key.end() + 1)))
    return found


def _parts(dotted: str) -> Name:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _span(source: Source, start: int, match: re.Match[str], group: int) -> Span:
    return Span(source, start + match.start(group), start + match.end(group))
