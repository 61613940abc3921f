"""The costs of a database: time and rule instances per stratum and rule, rows and bytes per relation and arrangement.

Costs are of the last epoch and of all epochs since the database was opened; sizes are the present ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidelog.diagnostics.shown import Shown, Table, fit
from tidelog.maintain.report import waited


@dataclass(frozen=True, slots=True)
class Cost:
    """Rule instances that were born or died, and the seconds that they took."""

    instances: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.instances + other.instances, self.seconds + other.seconds)


@dataclass(frozen=True, slots=True)
class StratumProfile:
    """Relations that are maintained together. `strategy` and `rounds` are those of its last epoch."""

    relations: tuple[str, ...]
    strategy: str
    rounds: int
    epochs: int
    last: Cost
    total: Cost


@dataclass(frozen=True, slots=True)
class RuleProfile:
    """A rule as the program has it, and its place. Rules that the compiler made have a `#` in their text."""

    rule: str
    place: str
    relation: str
    last: Cost
    total: Cost


@dataclass(frozen=True, slots=True)
class RelationProfile:
    """`bytes` is all memory of the relation: rows, index and arrangements."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ArrangementProfile:
    """An index that plans probe: the rows of the relation by some of its columns. `keys` counts the distinct ones."""

    relation: str
    columns: tuple[str, ...]
    keys: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Profile(Shown):
    """`str()` is a table, `to_json()` the same for machines. Rules and strata that never ran are not listed.

    `pinned_bytes` is the memory that snapshots and readers of earlier commits hold, and copies made for queries.
    `last_compiling` and `total_compiling` are the seconds in which kernels were compiled or loaded, which no rule has.
    """

    epoch: int
    last_seconds: float
    total_seconds: float
    strata: tuple[StratumProfile, ...]
    rules: tuple[RuleProfile, ...]
    relations: tuple[RelationProfile, ...]
    arrangements: tuple[ArrangementProfile, ...]
    pinned_bytes: int = 0
    last_compiling: float = 0.0
    total_compiling: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Returns the profile as plain objects."""
        return asdict(self)

    def to_json(self) -> str:
        """Returns the profile as JSON text, on one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_text(self) -> str:
        """Returns the profile as tables, those with the highest cost first."""
        pinned = [f"snapshots hold {self.pinned_bytes:,} bytes"] if self.pinned_bytes else []
        return "\n\n".join([self._caption(), *self._text_tables(), *pinned])

    def _caption(self) -> str:
        last, total = waited(self.last_compiling), waited(self.total_compiling)
        head = f"epoch {self.epoch}: {_seconds(self.last_seconds)} s{last}"
        return f"{head}; all epochs: {_seconds(self.total_seconds)} s{total}"

    def sizes_text(self) -> str:
        """Returns the tables of sizes, without those of costs."""
        tables = list(self._sizes())
        return "\n\n".join(tables) if tables else "no rows"

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Profile: epoch {self.epoch}, {len(self.rules)} rules, {_seconds(self.total_seconds)} s>"

    def _text(self, width: int) -> str:
        return fit(self.to_text().splitlines(), width)

    def _tables(self) -> Iterator[Table]:
        """Yields rules by their cost, and relations by their size."""
        rules = sorted(self.rules, key=lambda each: (-each.total.seconds, -each.total.instances))
        costs = [(each.rule, each.place, *_costs(each)) for each in rules]
        yield Table(self._caption(), ("rule", "place", *_COST), costs, len(costs))
        relations = sorted(self.relations, key=lambda each: -each.bytes)
        sizes = [(each.name, f"{each.rows:,}", f"{each.bytes:,}") for each in relations]
        yield Table("sizes", ("relation", "rows", "bytes"), sizes, len(sizes))

    def _text_tables(self) -> Iterator[str]:
        strata = sorted(self.strata, key=lambda each: -each.total.seconds)
        yield from _table(
            ("stratum", "strategy", "rounds", "epochs", *_COST),
            [
                (", ".join(each.relations), each.strategy, str(each.rounds), str(each.epochs), *_costs(each))
                for each in strata
            ],
        )
        rules = sorted(self.rules, key=lambda each: (-each.total.seconds, -each.total.instances))
        yield from _table(("rule", "place", *_COST), [(each.rule, each.place, *_costs(each)) for each in rules])
        yield from self._sizes()

    def _sizes(self) -> Iterator[str]:
        relations = sorted(self.relations, key=lambda each: -each.bytes)
        yield from _table(
            ("relation", "rows", "bytes"), [(each.name, f"{each.rows:,}", f"{each.bytes:,}") for each in relations]
        )
        arrangements = sorted(self.arrangements, key=lambda each: -each.bytes)
        yield from _table(
            ("arrangement", "by", "keys", "rows", "bytes"),
            [
                (each.relation, ", ".join(each.columns), f"{each.keys:,}", f"{each.rows:,}", f"{each.bytes:,}")
                for each in arrangements
            ],
        )


def _costs(of: StratumProfile | RuleProfile) -> tuple[str, str, str, str]:
    return (
        f"{of.last.instances:,}",
        _seconds(of.last.seconds),
        f"{of.total.instances:,}",
        _seconds(of.total.seconds),
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.6f}"


_COST = ("last instances", "seconds", "all instances", "seconds")
_WIDEST = 60


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yields the lines of a table, none if it is empty; the first column is cut, numbers are aligned to the right."""
    rows = [(_cut(line[0]), *line[1:]) for line in lines]
    if not rows:
        return
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    is_number = [
        all(row[place].replace(",", "").replace(".", "").isdigit() for row in rows) for place in range(len(head))
    ]
    yield "\n".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width) for cell, width, number in zip(row, widths, is_number)
        ).rstrip()
        for row in (head, *rows)
    )


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
