"""The syntax tree of a regular expression: flags, named classes and escapes are resolved in it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidelog.library._regex.classes import Ranges


class Look(Enum):
    """A condition on the place between two characters."""

    START = "start of the text"
    END = "end of the text"
    LINE_START = "start of a line"
    LINE_END = "end of a line"
    WORD = "word boundary"
    NOT_WORD = "no word boundary"
    ASCII_WORD = "word boundary, ASCII"
    ASCII_NOT_WORD = "no word boundary, ASCII"


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; without parts, the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first of the branches with which the whole matches."""

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """From `least` to `most` times, or without end; as often as possible, or as seldom if `lazy`."""

    body: Node
    least: int
    most: int | None
    lazy: bool


Node = Chars | Look | Sequence | Choice | Repeat


def matches_empty(node: Node) -> bool:
    """True if the empty text may match."""
    match node:
        case Chars():
            return False
        case Look():
            return True
        case Sequence(parts):
            return all(map(matches_empty, parts))
        case Choice(branches):
            return any(map(matches_empty, branches))
        case Repeat(body, least):
            return least == 0 or matches_empty(body)


def only_empty(node: Node) -> bool:
    """True if no text but the empty one matches: nothing takes a character."""
    match node:
        case Chars():
            return False
        case Look():
            return True
        case Sequence(children) | Choice(children):
            return all(map(only_empty, children))
        case Repeat(body, _, most):
            return most == 0 or only_empty(body)
