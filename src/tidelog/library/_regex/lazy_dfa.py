"""An automaton, made deterministic while it reads: a character costs one look-up once its transition is known.

A place is the list of an automaton's states, in the order of preference, and what is before it. A transition sees the
character behind the place, so conditions are decided there, and whether a match ends *before* that character is known
one character later: it is part of the place that the transition leads to. Places that were met stay known, up to a
number of states; then they are all forgotten, and the reading goes on. So the time is linear in the text, whatever
the pattern: at worst each character costs the automaton's states once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from tidelog.library._regex.automaton import (
    ASCII_WORD,
    EDGE,
    NEWLINE,
    WORD,
    Assert,
    Automaton,
    Match,
    Split,
    Take,
)
from tidelog.library._regex.classes import python_class
from tidelog.library._regex.tree import Look
from tidelog.long_calls import look

_MOST_KEPT = 1_000_000  # states in the lists of all places
_ROUNDS = 8  # through a place that leads to itself, before its characters are skipped together
_STATES_BETWEEN_LOOKS = 50_000  # of the automaton, some tens of milliseconds
_END = -1  # the class of no character


class Place(dict[str, "Place"]):
    """A place, and the places behind it by character."""

    __slots__ = ("_by_class", "_skip", "_skipped", "before", "dfa", "is_dead", "is_match", "states")

    no_skip: ClassVar[re.Pattern[str]] = re.compile("")

    def __init__(self, dfa: LazyDfa, states: tuple[int, ...], before: int, is_match: bool) -> None:
        self.dfa, self.states, self.before, self.is_match = dfa, states, before, is_match
        self.is_dead = not states
        self._by_class: dict[int, Place] = {}
        self._skip, self._skipped = self.no_skip, 0

    def __missing__(self, char: str) -> Place:
        found = self[char] = self.behind(self.dfa.alphabet.of(char))
        return found

    def behind(self, number: int) -> Place:
        """Returns the place behind a character of a class."""
        found = self._by_class.get(number)
        if found is None:
            found = self._by_class[number] = self.dfa.step(self, number)
        return found

    def skip(self, text: str, at: int) -> int:
        """Returns the next place of the text whose character leads elsewhere, as far as is known."""
        loops = {number for number, place in self._by_class.items() if place is self}
        if len(loops) != self._skipped:
            self._skipped = len(loops)
            self._skip = re.compile(python_class(self.dfa.alphabet.intervals(loops)) + "*")
        found = self._skip.match(text, at)
        assert found is not None
        return found.end()


class LazyDfa:
    """The places of an automaton. `prefers` says whether a match ends all that is less preferred."""

    def __init__(self, automaton: Automaton, *, prefers: bool) -> None:
        self.alphabet = automaton.alphabet
        self._automaton = automaton
        self._prefers = prefers
        self._places: dict[tuple[tuple[int, ...], int, bool], Place] = {}
        self._kept = self._steps = 0

    def start(self, before: str) -> Place:
        """Returns the first place, behind a character or, with "", at the edge of the text."""
        kind = self.alphabet.kinds[self.alphabet.of(before)] if before else EDGE
        return self._place((self._automaton.start,), kind & self._automaton.reads, False)

    def step(self, place: Place, number: int) -> Place:
        """Returns the place behind a character of a class; costs the automaton's states at most."""
        kind = EDGE if number == _END else self.alphabet.kinds[number]
        sets = frozenset[int]() if number == _END else self.alphabet.sets[number]
        self._steps += len(place.states) + 1
        if self._steps > _STATES_BETWEEN_LOOKS:
            self._steps = 0
            look()
        taking, is_match = self._reached(place.states, place.before, kind)
        following = dict.fromkeys(take.then for take in taking if take.set in sets)
        states = tuple(following) if self._prefers else tuple(sorted(following))
        return self._place(states, kind & self._automaton.reads, is_match)

    def ends(self, place: Place, behind: str) -> bool:
        """True if a match ends at a place in front of a character, or in front of the edge of the text."""
        return place.behind(self.alphabet.of(behind) if behind else _END).is_match

    def _place(self, states: tuple[int, ...], before: int, is_match: bool) -> Place:
        key = states, before, is_match
        place = self._places.get(key)
        if place is None:
            if self._kept > _MOST_KEPT:
                self._places.clear()
                self._kept = 0
            place = self._places[key] = Place(self, states, before, is_match)
            self._kept += len(states) + 8
        return place

    def _reached(self, states: Iterable[int], before: int, behind: int) -> tuple[list[Take], bool]:
        """Returns the states that take a character, reached without one, and whether a match was reached."""
        every = self._automaton.states
        found: list[Take] = []
        is_match = False
        seen: set[int] = set()
        waiting = list(states)[::-1]
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            match every[number]:
                case Take() as take:
                    found.append(take)
                case Split(to):
                    waiting += reversed(to)
                case Assert(look, then):
                    if _holds(look, before, behind):
                        waiting.append(then)
                case Match():
                    is_match = True
                    if self._prefers:
                        break
        return found, is_match


def _holds(look: Look, before: int, behind: int) -> bool:
    match look:
        case Look.START:
            return bool(before & EDGE)
        case Look.END:
            return bool(behind & EDGE)
        case Look.LINE_START:
            return bool(before & (EDGE | NEWLINE))
        case Look.LINE_END:
            return bool(behind & (EDGE | NEWLINE))
        case Look.WORD:
            return bool((before ^ behind) & WORD)
        case Look.NOT_WORD:
            return not (before ^ behind) & WORD
        case Look.ASCII_WORD:
            return bool((before ^ behind) & ASCII_WORD)
        case Look.ASCII_NOT_WORD:
            return not (before ^ behind) & ASCII_WORD


def find_end(dfa: LazyDfa, text: str, at: int, *, first: bool) -> int | None:
    """Returns the end of the preferred match from `at` on; with `first`, the first place where it is known that
    there is one. None if there is none."""
    return _last_match(dfa, text, at, text[at - 1] if at else "", "", first=first)


def find_start(dfa: LazyDfa, text: str, end: int, limit: int) -> int:
    """Returns the earliest start, from `limit` on, of a match that ends at `end`; `dfa` reads backward."""
    before, behind = text[end : end + 1], text[limit - 1] if limit else ""
    length = _last_match(dfa, text[limit:end][::-1], 0, before, behind, first=False)
    assert length is not None, "a match that ends has begun"
    return end - length


def _last_match(dfa: LazyDfa, text: str, at: int, before: str, behind: str, *, first: bool) -> int | None:
    """Returns the last place of the text, read from `at` on, where a match ends; `before` and `behind` are the
    characters around what is read, "" at the edge."""
    place = dfa.start(before)
    end, length, rounds = None, len(text), 0
    while at < length:
        following = place[text[at]]
        if following is place:
            rounds += 1
            if rounds >= _ROUNDS:
                rounds = 0
                at = place.skip(text, at)
                if place.is_match:
                    end = at - 1
                continue
        else:
            rounds = 0
            if following.is_dead:
                return at if following.is_match else end
            place = following
        if place.is_match:
            end = at
            if first:
                return end
        at += 1
    return length if dfa.ends(place, behind) else end
