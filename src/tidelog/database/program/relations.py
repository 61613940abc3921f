"""The declared relations of a program or a database, for people and tools that look around.

>>> program.relations["Edge"].columns
{'src': 'string', 'dst': 'string'}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidelog.diagnostics.shown import Shown, Table
from tidelog.rules.ir import Relation
from tidelog.types import written_type


@dataclass(frozen=True, slots=True)
class RelationInfo:
    """A declared relation: `role` is `input`, `output` or `internal`, `kind` is `relation`, `multiset` or `stream`.

    `columns` has the type of each column, as it is written in a program; `key` is the type of the primary key, if it
    has one. `rows` is the number of rows after the last commit; None for the relation of a program, which has no rows.
    """

    name: str
    columns: Mapping[str, str]
    role: str
    kind: str
    key: str | None = None
    rows: int | None = None

    def __str__(self) -> str:
        columns = ", ".join(f"{name}: {type_}" for name, type_ in self.columns.items())
        key = f" primary key: {self.key}" if self.key else ""
        role = "" if self.role == "internal" else f"{self.role} "
        count = "" if self.rows is None else f"    {self.rows:,} row{'' if self.rows == 1 else 's'}"
        return f"{role}{self.kind} {self.name}({columns}){key}{count}"


class Relations(Mapping[str, RelationInfo], Shown):
    """Each declared relation by its name, in the program's order. It is as of the moment in which it was asked for."""

    def __init__(self, relations: Mapping[str, Relation], rows: Mapping[str, int] | None = None) -> None:
        self._infos = {name: _info(each, None if rows is None else rows[name]) for name, each in relations.items()}

    def __getitem__(self, name: str) -> RelationInfo:
        return self._infos[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._infos)

    def __len__(self) -> int:
        return len(self._infos)

    def __repr__(self) -> str:
        return "\n".join(map(str, self._infos.values())) or "no relations"

    def _tables(self) -> Iterator[Table]:
        """Yields a line for each relation."""
        has_rows = any(each.rows is not None for each in self._infos.values())
        lines = [
            (
                each.name,
                f"{each.role} {each.kind}",
                ", ".join(f"{name}: {type_}" for name, type_ in each.columns.items()),
                *([f"{each.rows:,}"] if each.rows is not None else []),
            )
            for each in self._infos.values()
        ]
        headings = ("relation", "kind", "columns", *(["rows"] if has_rows else []))
        yield Table("relations", headings, lines, len(lines))


def _info(relation: Relation, rows: int | None) -> RelationInfo:
    columns = {column.name: written_type(column.type) for column in relation.columns}
    key = None if relation.key_type is None else written_type(relation.key_type)
    return RelationInfo(relation.name, columns, relation.role.value, relation.kind.value, key, rows)
