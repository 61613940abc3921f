"""What trees are written on: the comments that still have to find their place, and the habits of the source.

**Comments** are not in the tree; they are put back by position. An *anchor* is an item, a literal, a statement, an arm,
or an element of any other list. When an anchor is written, the comments that stand before it and have no place yet go
in front of it; those inside it that no anchor below has taken, and those behind it on its last line, go behind it. What
is left at the end of a list stands there on lines of its own. So none is lost.

**Habits**: a list whose first element begins a line keeps one element per line; one empty line between elements stays;
a literal keeps its spelling. A page without a source has no comments and no habits: its text depends on the tree alone.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from tidelog.diagnostics.spans import Source, Span
from tidelog.syntax import ast
from tidelog.syntax.lex import comments
from tidelog.syntax.tokens import Token
from tidelog.syntax.write.layout import HARD, SOFT, Doc, Indent, Line, Suffix, group

N = TypeVar("N", bound=ast.Node)

_EMPTY_LINE = re.compile(r"\n[ \t\r]*\n[ \t]*\Z")
_LOOK_BACK = 200  # how far before something an empty line is looked for


class Page:
    """A page for one program. Nodes are written in the order of the text; each takes its comments off the page."""

    def __init__(self, source: Source | None = None) -> None:
        self._text = source.text if source else ""
        self._waiting: deque[Token] = deque(comments(source) if source else ())
        self.keeps = source is not None

    def anchored(self, node: N, write: Callable[[N], Doc], *, open_ended: bool = False) -> Doc:
        """Returns the node with its comments; if `open_ended`, those behind it are left for what encloses it."""
        if not self._waiting:
            return write(node)
        before = self._before(node.span.start)
        written = write(node)
        inside = self._inside(node.span)
        return (before, written, inside, () if open_ended else self.behind(node.span))

    def listed(
        self,
        open: str,
        elements: Sequence[N],
        close: str,
        write: Callable[[N], Doc],
        *,
        end: int | None = None,
        separator: str = ",",
        padding: Line = SOFT,
        last: str = "",
    ) -> Doc:
        """Returns a list in brackets, on one line or with an element on each; `last` stands behind the last element.

        Comments before the closing bracket stay inside: `end` is just behind it, if that is known.
        """
        parts: list[Doc] = []
        for element in elements:
            if parts:
                parts += [separator, self.gap(element)]
            parts.append(self.anchored(element, write))
        if parts and last:
            parts.append(last)
        if end is None and elements:
            end = self._closing(elements[-1].span.end, close)
        rest = self._rest(end, after_others=bool(parts)) if end is not None else ()
        if not parts and not rest:
            return f"{open}{close}"
        breaks = bool(elements) and self.begins_line(elements[0])
        return group((open, Indent((padding if parts else (), *parts, *rest)), padding, close), breaks=breaks)

    def items(self, items: Sequence[N], write: Callable[[N], Doc]) -> Doc:
        """Returns the elements of the outermost list, each on lines of its own, and every comment that is left."""
        parts: list[Doc] = []
        for item in items:
            if parts:
                parts.append(Line(None, self.gap(item).blank))
            parts.append(self.anchored(item, write))
        parts += self._rest(len(self._text) + 1, after_others=bool(parts))
        # Without an item before it, the first comment has no line to end.
        return tuple(parts[1:] if parts and not items else parts)

    def gap(self, node: ast.Node) -> Line:
        """Returns the line break before an element that is not the first of its list."""
        start = node.span.start
        return Line(" ", self._follows_empty_line(min(start, self._waiting[0].start) if self._waiting else start))

    def begins_line(self, node: ast.Node) -> bool:
        """True if the node is the first on its line in the source."""
        start = node.span.start
        return self.keeps and not self._text[self._text.rfind("\n", 0, start) + 1 : start].strip()

    def parts(self, first: ast.Node, second: ast.Node) -> bool:
        """True if the source has a line break between two nodes."""
        return self.keeps and "\n" in self._text[first.span.end : second.span.start]

    def has_comments(self, span: Span) -> bool:
        """True if a comment waits that stands before the end of the span."""
        return bool(self._waiting) and self._waiting[0].start < span.end

    def _before(self, position: int) -> Doc:
        parts: list[Doc] = []
        while self._waiting and self._waiting[0].start < position:
            comment = self._waiting.popleft()
            following = min(position, self._waiting[0].start) if self._waiting else position
            ends_line = "\n" in self._text[comment.end : following]
            parts.append(_shown(comment))
            parts.append(Line(None, self._follows_empty_line(following)) if ends_line else " ")
        return tuple(parts)

    def _inside(self, span: Span) -> Doc:
        parts: list[Doc] = []
        while self._waiting and self._waiting[0].start < span.end:
            comment = self._waiting.popleft()
            parts += [Suffix(_shown(comment))] if _is_line(comment) else [" ", _shown(comment)]
        return tuple(parts)

    def behind(self, span: Span) -> Doc:
        """Returns the comments behind a place, on the same line."""
        parts: list[Doc] = []
        end = span.end
        while self._waiting:
            comment = self._waiting[0]
            between = self._text[end : comment.start]
            if between.strip(" \t,;"):
                break
            line_end = self._text.find("\n", comment.end)
            following = self._text[comment.end : line_end if line_end >= 0 else None].strip()
            if _is_line(comment) or not following or following.startswith(("//", "/*")):
                parts.append(Suffix(_shown(comment)))
            elif not between.strip():
                parts += [" ", _shown(comment)]
            else:
                break
            self._waiting.popleft()
            end = comment.end
        return tuple(parts)

    def _rest(self, end: int, *, after_others: bool) -> tuple[Doc, ...]:
        """Returns the comments before a position, each behind a line break."""
        parts: list[Doc] = []
        while self._waiting and self._waiting[0].start < end:
            comment = self._waiting.popleft()
            blank = (after_others or bool(parts)) and self._follows_empty_line(comment.start)
            parts += [Line(None, blank) if blank else HARD, _shown(comment)]
        return tuple(parts)

    def _closing(self, position: int, close: str) -> int:
        """Returns the position of the bracket that follows `position` behind blanks, commas and comments."""
        for comment in self._waiting:
            if close in self._text[position : comment.start]:
                break
            position = comment.end
        return self._text.find(close, position)

    def _follows_empty_line(self, position: int) -> bool:
        return _EMPTY_LINE.search(self._text, max(0, position - _LOOK_BACK), position) is not None


def _is_line(comment: Token) -> bool:
    return comment.text.startswith("//")


def _shown(comment: Token) -> str:
    return comment.text.rstrip()
