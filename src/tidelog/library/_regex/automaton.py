"""The tree of a regular expression → a nondeterministic automaton (Thompson), and its classes of characters.

The states that a state leads to without a character are in the order of preference. Characters that all sets of the
pattern treat alike are one class. A backward automaton reads the text from its end: sequences are reversed, and a
condition on what is before a place is one on what is behind it.

A repetition of something that may match the empty text is one that happens at least once, or is left out: `e*` is
`(e+)?`. So the preference between another round and the end is that of the crate `regex` in `(|a)*` too.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from tidelog.deep_recursion import deeply
from tidelog.library._regex import classes
from tidelog.library._regex.classes import Ranges
from tidelog.library._regex.tree import Chars, Choice, Look, Node, Repeat, Sequence, matches_empty, only_empty

MOST_STATES = 1 << 18

# What is known of the character on one side of a place, as bits.
EDGE, NEWLINE, WORD, ASCII_WORD = 1, 2, 4, 8

_MIRRORED = {
    Look.START: Look.END,
    Look.END: Look.START,
    Look.LINE_START: Look.LINE_END,
    Look.LINE_END: Look.LINE_START,
}
# The bits of the place before and behind that each condition reads.
_READS = {
    Look.START: EDGE,
    Look.END: EDGE,
    Look.LINE_START: EDGE | NEWLINE,
    Look.LINE_END: EDGE | NEWLINE,
    Look.WORD: WORD,
    Look.NOT_WORD: WORD,
    Look.ASCII_WORD: ASCII_WORD,
    Look.ASCII_NOT_WORD: ASCII_WORD,
}


class TooLargeError(Exception):
    """An automaton would have too many states, in the crate's words."""

    def __init__(self) -> None:
        super().__init__("Compiled regex exceeds size limit of 10485760 bytes.")


@dataclass(slots=True)
class Take:
    """Takes one character of a set (by its number)."""

    set: int
    then: int


@dataclass(slots=True)
class Split:
    """Leads to several states, the preferred one first."""

    to: tuple[int, ...]


@dataclass(slots=True)
class Assert:
    """Leads on if a condition holds."""

    look: Look
    then: int


@dataclass(slots=True)
class Match:
    """The end of the pattern."""


State = Take | Split | Assert | Match


@dataclass(slots=True)
class Alphabet:
    """The classes of characters: `starts` has their intervals, `numbers` the class of each interval."""

    starts: list[int]
    numbers: list[int]
    sets: list[frozenset[int]]  # of a class: the numbers of the sets that have it
    kinds: list[int]  # of a class: its bits

    def of(self, char: str) -> int:
        """Returns the class of a character."""
        return self.numbers[bisect_right(self.starts, ord(char)) - 1]

    def intervals(self, wanted: set[int]) -> Ranges:
        """Returns the characters of some classes."""
        ends = [*(start - 1 for start in self.starts[1:]), classes.LAST]
        found = (((low, high),) for low, high, number in zip(self.starts, ends, self.numbers) if number in wanted)
        return classes.union(*found)


@dataclass(slots=True)
class Automaton:
    """States from `start` on, and the alphabet; `reads` has the bits that conditions look at."""

    states: list[State]
    start: int
    alphabet: Alphabet
    reads: int


def forward(tree: Node) -> Automaton:
    """Returns the automaton that begins anywhere, as early as possible; raises TooLargeError."""
    return deeply(_Builder(backward=False).whole, tree)


def backward(tree: Node) -> Automaton:
    """Returns the automaton that reads from the end of a match to its beginning; raises TooLargeError."""
    return deeply(_Builder(backward=True).whole, tree)


@dataclass(slots=True)
class _Builder:
    """Makes states from the last to the first: each knows the state behind it."""

    backward: bool
    states: list[State] = field(default_factory=list)
    sets: dict[Ranges, int] = field(default_factory=dict)
    reads: int = 0

    def whole(self, tree: Node) -> Automaton:
        start = self._node(tree, self._add(Match()))
        if not self.backward:
            loop = self._add(Split(()))
            self.states[loop] = Split((start, self._add(Take(self._set(classes.EVERYTHING), loop))))
            start = loop
        return Automaton(self.states, start, _alphabet(self.sets, self.reads), self.reads)

    def _add(self, state: State) -> int:
        if len(self.states) >= MOST_STATES:
            raise TooLargeError
        self.states.append(state)
        return len(self.states) - 1

    def _set(self, ranges: Ranges) -> int:
        return self.sets.setdefault(ranges, len(self.sets))

    def _node(self, node: Node, then: int) -> int:
        """Adds a node that leads to `then`; returns where it begins."""
        match node:
            case Chars(ranges):
                return self._add(Take(self._set(ranges), then))
            case Look():
                self.reads |= _READS[node]
                return self._add(Assert(_MIRRORED.get(node, node) if self.backward else node, then))
            case Sequence(parts):
                for part in parts if self.backward else reversed(parts):
                    then = self._node(part, then)
                return then
            case Choice(branches):
                return self._add(Split(tuple([self._node(branch, then) for branch in branches])))
            case Repeat():
                return self._repeat(node, then)

    def _repeat(self, node: Repeat, then: int) -> int:
        body, least, most = node.body, node.least, node.most
        if only_empty(body):
            # Once is as good as often.
            least, most = min(least, 1), 1 if most is None else min(most, 1)
        if most is None:
            then, least = self._without_end(node, least, then), max(least - 1, 0)
        else:
            end = then
            for _ in range(most - least):
                then = self._choose(node, self._node(body, then), end)
        for _ in range(least):
            then = self._node(body, then)
        return then

    def _without_end(self, node: Repeat, least: int, then: int) -> int:
        """Adds `e+` or `e*`."""
        loop = self._add(Split(()))
        first = self._node(node.body, loop)
        self.states[loop] = self._split(node, first, then)
        if least > 0:
            return first
        return self._choose(node, first, then) if matches_empty(node.body) else loop

    def _choose(self, node: Repeat, once_more: int, end: int) -> int:
        return self._add(self._split(node, once_more, end))

    def _split(self, node: Repeat, once_more: int, end: int) -> Split:
        return Split((end, once_more) if node.lazy else (once_more, end))


def _alphabet(sets: dict[Ranges, int], reads: int) -> Alphabet:
    """Returns the classes of characters that no set, and no bit of `reads`, tells apart."""
    kinds: list[tuple[int, Ranges]] = [
        (NEWLINE, ((10, 10),)),
        (WORD, classes.letters_digits("w", unicode=True) if reads & WORD else ()),
        (ASCII_WORD, classes.letters_digits("w", unicode=False)),
    ]
    changes: dict[int, list[int]] = {0: []}  # where sets (or kinds, as negative numbers) begin and end
    marked = [(number, ranges) for ranges, number in sets.items()]
    marked += [(-bit, ranges) for bit, ranges in kinds if reads & bit]
    for mark, ranges in marked:
        for low, high in ranges:
            changes.setdefault(low, []).append(mark)
            changes.setdefault(high + 1, []).append(mark)
    alphabet = Alphabet([], [], [], [])
    known: dict[frozenset[int], int] = {}
    active: set[int] = set()
    for start in sorted(changes):
        for mark in changes[start]:
            active ^= {mark}
        own = frozenset(active)
        if own not in known:
            known[own] = len(known)
            alphabet.sets.append(frozenset(mark for mark in own if mark >= 0))
            alphabet.kinds.append(sum(-mark for mark in own if mark < 0))
        alphabet.starts.append(start)
        alphabet.numbers.append(known[own])
    return alphabet
