"""A document of texts and possible line breaks → lines of a given width.

A document is a text, a tuple of documents, or one of the classes below. A group is written on one line if it fits and
nothing in it demands a break; else every Line that is directly in it breaks. This is the layout of Oppen and Wadler,
with one addition: a Suffix waits for the end of its line, so that a comment can never swallow what follows it.
"""

from __future__ import annotations

from dataclasses import dataclass

INDENT = 4


@dataclass(frozen=True, slots=True)
class Line:
    """A place for a line break; where it does not break it is `flat`. With `blank`, it breaks into an empty line too.

    Without a flat form it always breaks.
    """

    flat: str | None = " "
    blank: bool = False


@dataclass(frozen=True, slots=True)
class Indent:
    """The lines that begin in `inner` stand further right."""

    inner: Doc


@dataclass(frozen=True, slots=True)
class Group:
    """Lines that break together. `group` makes one."""

    inner: Doc
    breaks: bool


@dataclass(frozen=True, slots=True)
class Suffix:
    """A text for the end of the line. The groups around it break, so that this is near."""

    text: str


Doc = str | tuple["Doc", ...] | Line | Indent | Group | Suffix

SOFT = Line("")
LINE = Line(" ")
HARD = Line(None)


def group(inner: Doc, *, breaks: bool = False) -> Group:
    """Returns a group that breaks if it is told to or if something inside must."""
    return Group(inner, breaks or demands_break(inner))


def demands_break(doc: Doc) -> bool:
    """True if the document cannot be written on one line."""
    stack: list[Doc] = [doc]
    while stack:
        match stack.pop():
            case tuple() as docs:
                stack.extend(docs)
            case Indent(inner):
                stack.append(inner)
            case Group(_, True) | Line(None) | Suffix():
                return True
    return False


def joined(separator: Doc, docs: list[Doc]) -> tuple[Doc, ...]:
    """Returns the documents with the separator between them."""
    found: list[Doc] = []
    for doc in docs:
        found += [separator, doc] if found else [doc]
    return tuple(found)


def flat(doc: Doc) -> str:
    """Returns the document on one line, but for texts that are several lines themselves."""
    return render(doc, None)


def render(doc: Doc, width: int | None) -> str:
    """Returns the text of the document; None stands for a line without end. Costs a little more than the length of the
    text."""
    out: list[str] = []
    suffixes: list[str] = []
    column = 0
    stack: list[tuple[int, bool, Doc]] = [(0, width is not None, doc)]
    while stack:
        indent, broken, top = stack.pop()
        match top:
            case str():
                out.append(top)
                end = top.rfind("\n")
                column = column + len(top) if end < 0 else len(top) - end - 1
            case tuple():
                stack.extend((indent, broken, each) for each in reversed(top))
            case Indent(inner):
                stack.append((indent + INDENT, broken, inner))
            case Group(inner, breaks):
                # A group inside one that fits does so too.
                split = broken and width is not None and (breaks or not _fits(inner, stack, width - column))
                stack.append((indent, split, inner))
            case Suffix(text):
                suffixes.append(text)
            case Line(flat_text, blank):
                if flat_text is not None and not broken:
                    out.append(flat_text)
                    column += len(flat_text)
                    continue
                _end_line(out, suffixes, indent)
                out.append("\n\n" if blank else "\n")
                out.append(" " * indent)
                column = indent
    _end_line(out, suffixes, 0)
    return "".join(out)


def _end_line(out: list[str], suffixes: list[str], indent: int) -> None:
    """Ends a line with what waits for its end; of several such texts each has a line."""
    while out and not out[-1].strip(" "):
        out.pop()
    for place, suffix in enumerate(suffixes):
        begins_line = not out or out[-1].endswith("\n")
        out.append(suffix if begins_line else f"\n{' ' * indent}{suffix}" if place else f" {suffix}")
    suffixes.clear()


def _fits(doc: Doc, rest: list[tuple[int, bool, Doc]], room: int) -> bool:
    """True if the document, and what follows it up to the next line break, has room."""
    stack: list[tuple[bool, Doc]] = [(False, doc)]
    below = len(rest)
    while room >= 0:
        if not stack:
            if not below:
                return True
            below -= 1
            stack.append(rest[below][1:])
        broken, top = stack.pop()
        match top:
            case str():
                end = top.find("\n")
                if end >= 0:
                    return end <= room
                room -= len(top)
            case tuple():
                stack.extend((broken, each) for each in reversed(top))
            case Indent(inner):
                stack.append((broken, inner))
            case Group(inner, breaks):
                stack.append((broken and breaks, inner))
            case Line(flat_text):
                if broken or flat_text is None:
                    return True
                room -= len(flat_text)
    return False
