"""The numbers of `autoinc()`: a row that is derived again has the number that it had.

    id(n, x) :- n = autoinc(), person(x).

The row of `x` keeps `n` as long as `person(x)` is there. That is possible where a counter is a whole column of the head
and is used nowhere else; all other counters begin behind the numbers that are in use.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.souffle import terms
from tidelog.souffle.constants import wrapped

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """The columns of a head that are counters, and the steps of the body without them."""

    columns: tuple[int, ...]
    steps: tuple[terms.Step, ...]


class KeptNumbers:
    """`before` has the rows of the last result; numbers are `first`, `first + stride`, …"""

    def __init__(
        self, rules: Sequence[terms.Planned], before: Mapping[str, Iterable[Row]], first: int, stride: int, bits: int
    ) -> None:
        self._stride, self._bits = stride, bits
        self._counted = {id(rule): found for rule in rules if (found := _counted(rule)) is not None}
        # By relation, the columns that are numbers, and the others: the numbers that such rows had.
        self._had: dict[tuple[str, tuple[int, ...], Row], list[Row]] = {}
        self._given: dict[tuple[str, tuple[int, ...], Row], list[Row]] = {}
        self._is_restarted = False
        self._next = first
        for head, columns in {(rule.head, found.columns) for rule in rules if (found := self.columns(rule))}:
            for row in sorted(before.get(head, ()), key=lambda row: [row[place] for place in columns], reverse=True):
                numbers = tuple(row[place] for place in columns)
                self._had.setdefault((head, columns, _without(row, columns)), []).append(numbers)
                for number in numbers:
                    if number >= self._next and (number - first) % stride == 0:
                        self._next = number + stride

    def next(self) -> int:
        """Returns a number that no row has."""
        number = self._next
        self._next += self._stride
        return wrapped(number, "number", self._bits)

    def columns(self, rule: terms.Planned) -> Counted | None:
        """Returns the counters of a rule; None if it has none, or if they are used in another way."""
        return self._counted.get(id(rule))

    def filled(self, rule: terms.Planned, row: Row, rows: Collection[Row]) -> Row:
        """Returns a row with its numbers: those that it had, or the next ones; `rows` are those that exist already."""
        columns = self._counted[id(rule)].columns
        key = (rule.head, columns, row)
        waiting = self._had.get(key, [])
        while waiting:
            numbers = waiting.pop()
            if self._is_restarted or _with(row, columns, numbers) not in rows:
                break
        else:
            numbers = tuple(self.next() for _ in columns)
        self._given.setdefault(key, []).append(numbers)
        return _with(row, columns, numbers)

    def restart(self) -> None:
        """Gives the same numbers once more: the rules are evaluated again."""
        self._had = {key: numbers[::-1] for key, numbers in self._given.items()}
        self._given, self._is_restarted = {}, True


def _counted(rule: terms.Planned) -> Counted | None:
    names = {step.variable.name: step.variable.name for step in rule.steps if _is_counter(step)}
    if not names:
        return None
    rest: list[terms.Step] = []
    for step in rule.steps:
        if isinstance(step, terms.Bind) and isinstance(step.value, terms.Var) and step.value.name in names:
            names[step.variable.name] = names[step.value.name]  # another name of the counter
        elif not _is_counter(step):
            rest.append(step)
    columns, counters, others = [], [], []
    for place, each in enumerate(rule.terms):
        if isinstance(each, terms.Var) and each.name in names:
            columns.append(place)
            counters.append(names[each.name])
        else:
            others.append(each)
    used = {name for each in others for name in terms.variables(each)} | terms.used_by(rest)
    each_once = len(counters) == len(set(counters)) == len(set(names.values()))
    if not each_once or used & set(names) or any(map(_holds_counter, others)):
        return None
    return Counted(tuple(columns), tuple(rest))


def _is_counter(step: terms.Step) -> bool:
    return isinstance(step, terms.Bind) and isinstance(step.value, terms.Count) and not step.value.rounds


def _holds_counter(term: terms.Term) -> bool:
    match term:
        case terms.Count(_, rounds):
            return not rounds
        case terms.Op(_, arguments) | terms.Make(_, arguments):
            return any(map(_holds_counter, arguments))
        case _:
            return False


def _without(row: Row, columns: tuple[int, ...]) -> Row:
    return tuple(None if place in columns else value for place, value in enumerate(row))


def _with(row: Row, columns: tuple[int, ...], numbers: Row) -> Row:
    found = dict(zip(columns, numbers, strict=True))
    return tuple(found.get(place, value) for place, value in enumerate(row))
