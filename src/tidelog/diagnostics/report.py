"""Diagnostics: what is wrong, where, and what to do about it, rendered as text that reads without colour.

    error[E302]: head variable `z` is not bound by the body
      --> reach.dl:4:10
       |
     4 | Reach(x, z) :- Edge(x, y).
       |          ^ no positive literal mentions `z`
       |
       = help: bind it, for example `Reach(x, z) :- Edge(x, y), Edge(y, z).`

The message stands alone and never advises; the help can be pasted. One label is the primary one: it gives the `-->`
line and is drawn with `^`, the others with `-`. Labels are drawn in the order in which they are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from unicodedata import category, east_asian_width

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.shown import Shown, preformatted
from tidelog.diagnostics.spans import Span

_TAB = "    "
_WIDEST_LINE = 120
_BEFORE_LABEL = 40


@dataclass(frozen=True, slots=True)
class Label:
    """A place in a source and what is to be said about it."""

    span: Span
    text: str
    primary: bool = False


@dataclass(frozen=True, slots=True)
class Diagnostic(Shown):
    """One error or warning. `labels` has exactly one primary label; `notes` and `help` follow the source lines."""

    code: Code
    message: str
    labels: tuple[Label, ...]
    notes: tuple[str, ...] = ()
    help: str | None = None

    @property
    def span(self) -> Span:
        """Where it is: the span of the primary label."""
        return next(label.span for label in self.labels if label.primary)

    @property
    def severity(self) -> str:
        """`error` or `warning`."""
        return "warning" if self.code.is_warning else "error"

    def _text(self, width: int) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        """Renders for notebooks: the text with its carets."""
        return preformatted(self.render())

    def __str__(self) -> str:
        return self.render()

    def render(self) -> str:
        """Returns the text of the diagnostic, without a line end after it."""
        width = max(len(str(_first_line(label.span))) for label in self.labels)
        bar = " " * (width + 2) + "|"
        lines = [f"{self.severity}[{self.code}]: {self.message}", f"{' ' * (width + 1)}--> {self.span}", bar]
        source, shown = self.span.source, 0
        for label in self.labels:
            number = _first_line(label.span)
            if label.span.source is not source:
                source, shown = label.span.source, 0
                lines += [f"{' ' * (width + 1)}::: {label.span}", bar]
            text, start, length = _marked_line(label.span)
            if number != shown:
                if shown and number != shown + 1:
                    lines.append("...")
                lines.append(f" {number:>{width}} | {text}".rstrip())
                shown = number
            mark = ("^" if label.primary else "-") * length
            lines.append(f"{bar} {' ' * start}{mark} {label.text}".rstrip())
        remarks = [f"note: {note}" for note in self.notes] + ([f"help: {self.help}"] if self.help else [])
        if remarks:
            lines.append(bar)
            lines += [f"{' ' * (width + 2)}= {remark}" for remark in remarks]
        return "\n".join(lines)


def diagnostic(
    code: Code,
    message: str,
    span: Span,
    label: str,
    *,
    related: Iterable[tuple[Span, str]] = (),
    notes: Iterable[str] = (),
    help: str | None = None,
) -> Diagnostic:
    """Returns a diagnostic at `span`; related places of the same source are drawn in the order of the text."""
    labels = [Label(span, label, primary=True)] + [Label(other, text) for other, text in related]
    labels.sort(key=lambda label: (label.span.source is not span.source, label.span.start, not label.primary))
    return Diagnostic(code, message, tuple(labels), tuple(notes), help)


def _first_line(span: Span) -> int:
    return span.source.position(span.start)[0]


def _marked_line(span: Span) -> tuple[str, int, int]:
    """Returns the line where the span begins, as drawn, and the column and length of the mark under it.

    A span over several lines is marked to the end of the first. A very long line is cut around the mark.
    """
    number, column = span.source.position(span.start)
    line = span.source.line(number)
    start = column - 1
    end = max(start + 1, min(start + span.end - span.start, len(line)))
    if len(line) > _WIDEST_LINE:
        left = max(0, min(start - _BEFORE_LABEL, len(line) - _WIDEST_LINE))
        right = left + _WIDEST_LINE
        before, after = ("..." if left else ""), ("..." if right < len(line) else "")
        line = before + line[left:right] + after
        start, end = start - left + len(before), min(end, right) - left + len(before)
    drawn = [_drawn(char) for char in line]
    offset = sum(_columns(text) for text in drawn[:start])
    return "".join(drawn), offset, max(1, sum(_columns(text) for text in drawn[start:end]))


def _drawn(char: str) -> str:
    if char == "\t":
        return _TAB
    return "\N{REPLACEMENT CHARACTER}" if category(char) in ("Cc", "Cs", "Cf", "Zl", "Zp") else char


def _columns(text: str) -> int:
    """Returns the number of terminal columns that the text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if category(char) in ("Mn", "Me") else 2 if east_asian_width(char) in "WF" else 1 for char in text)
