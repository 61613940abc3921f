"""Changes of rows of a source → inserts and deletes of a relation, exact also for rows that have copies.

The signs of a row in a batch add up to its net change, so an update that leaves the columns of the relation as they are
changes nothing. A row of a set is inserted when its first copy appears, and deleted when its last one disappears
(`copies`). Multisets take the net change as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.bad_rows import BadRecord, OnBad
from tidelog.io.rows import Batch, to_rows
from tidelog.io.tables import columns_help, fit_parts
from tidelog.io.values import Row, quoted
from tidelog.pipeline.copies import Copies
from tidelog.pipeline.sources.source import RowChanges
from tidelog.rules.ir import Kind, Relation
from tidelog.rules.schema.arrow import is_option, is_plain_relation, with_plain_columns
from tidelog.values import Definitions

_SIGN = "sign"
_JOINED = 64
"""So many parts are added up at a time, so that memory is bounded by the net change."""

Present = Callable[[Sequence[Row]], Iterable[Row]]
"""Returns those of the rows that are committed facts of a relation."""


@dataclass(slots=True)
class NetChanges:
    """The operations of a batch on one relation. `copies` has the new numbers of copies, where they change.

    `unknown` counts deletes of rows that were not there, which have no effect; `first` is the first such row.
    """

    deletes: list[Row] = field(default_factory=list)
    inserts: list[Row] = field(default_factory=list)
    copies: dict[Row, int] = field(default_factory=dict)
    unknown: int = 0
    first: Row = ()


@dataclass(slots=True)
class Fitter:
    """Fits the rows of changes to a relation; `count` has the number of rows read, bad ones included."""

    relation: Relation
    definitions: Definitions
    on_bad: OnBad
    count: int = 0

    def fit(self, content: Iterable[RowChanges]) -> Iterator[tuple[int, Batch]]:
        """Yields the inserted (+1) and deleted (-1) rows that fit. Calls `on_bad`, which may raise, for an inserted row
        that does not fit. A deleted one is left out: the relation never had it.
        """
        import pyarrow.compute as pc

        for changes in content:
            rows = changes.rows
            self.count += rows.num_rows
            yield from ((+1, part) for part in self._parts(self._inserted(changes), changes.place, self.on_bad))
            if changes.signs is not None:
                deleted = self._selected(rows.filter(pc.less(changes.signs, 0)), changes.place)
                yield from ((-1, part) for part in self._parts(deleted, changes.place, _ignore))

    def _inserted(self, changes: RowChanges) -> pa.Table:
        import pyarrow.compute as pc

        rows = changes.rows if changes.signs is None else changes.rows.filter(pc.greater(changes.signs, 0))
        return self._selected(rows, changes.place)

    def _parts(self, rows: pa.Table, place: str, on_bad: OnBad) -> Iterator[Batch]:
        if rows.num_rows:
            where = partial(_place, place)
            yield from fit_parts(rows, with_plain_columns(self.relation), self.definitions, where, on_bad)

    def _selected(self, rows: pa.Table, place: str) -> pa.Table:
        """Returns the columns of the relation; a missing `Option` has only nulls."""
        names = set(rows.column_names)
        wanted = []
        for column in self.relation.columns:
            if column.name in names:
                wanted.append(column.name)
            elif not is_option(column.type):
                raise DataError(
                    f"{place}: the rows for `{self.relation.name}` lack the column `{column.name}`",
                    code=Code.WRONG_COLUMNS,
                    help=columns_help(self.relation),
                )
        return rows.select(wanted)


def net_weights(parts: Iterable[tuple[int, Batch]], relation: Relation, definitions: Definitions) -> dict[Row, int]:
    """Adds up fitted rows; returns the rows whose number changes, with the change."""
    if not is_plain_relation(relation) or not relation.columns:
        return _counted(parts, relation, definitions)
    net = _net_table(parts, relation)
    return {} if net is None else _weights(net, relation, definitions)


def net_changes(weights: Mapping[Row, int], relation: Relation, copies: Copies, present: Present) -> NetChanges:
    """Returns the operations for net weights. Raises DataError for a delete from a stream."""
    found = NetChanges()
    if relation.kind is not Kind.SET:
        for row, weight in weights.items():
            (found.inserts if weight > 0 else found.deletes).extend([row] * abs(weight))
        if relation.kind is Kind.STREAM and found.deletes:
            raise DataError(
                f"`{relation.name}` is a stream, and takes no deletes such as {quoted(found.deletes[0])}",
                code=Code.BAD_OPERATION,
            )
        return found
    there = set(present(list(weights)))
    for row, weight in weights.items():
        before = 1 + copies.of(row) if row in there else 0
        after = before + weight
        if after < 0:
            found.first = found.first if found.unknown else row
            found.unknown += 1
            after = 0
        if after and not before:
            found.inserts.append(row)
        elif before and not after:
            found.deletes.append(row)
        beyond = max(after - 1, 0)
        if beyond != copies.of(row):
            found.copies[row] = beyond
    return found


def rows_with_copies(
    parts: Iterable[tuple[int, Batch]], relation: Relation, definitions: Definitions
) -> dict[Row, int]:
    """Returns the rows that occur more than once among inserted rows, with the number of copies beyond the first."""
    import pyarrow.compute as pc

    if not is_plain_relation(relation) or not relation.columns:
        weights = _counted(parts, relation, definitions)
        return {row: weight - 1 for row, weight in weights.items() if weight > 1}
    net = _net_table(parts, relation)
    if net is None:
        return {}
    return _weights(net.filter(pc.greater(net.column(net.num_columns - 1), 1)), relation, definitions, -1)


def _counted(parts: Iterable[tuple[int, Batch]], relation: Relation, definitions: Definitions) -> dict[Row, int]:
    weights: Counter[Row] = Counter()
    for sign, batch in parts:
        for row in to_rows(batch, relation, definitions) if isinstance(batch, pa.Table) else batch:
            weights[row] += sign
    return {row: weight for row, weight in weights.items() if weight}


def _net_table(parts: Iterable[tuple[int, Batch]], relation: Relation) -> pa.Table | None:
    """Adds up the signs of a plain relation's rows, in the last column; None if there are no rows."""
    added: list[pa.Table] = []
    for sign, batch in parts:
        assert isinstance(batch, pa.Table)
        added.append(batch.append_column(_sign_name(relation), pa.repeat(pa.scalar(sign, pa.int64()), len(batch))))
        if len(added) >= _JOINED:
            added = [_added_up(added, relation)]
    return _added_up(added, relation) if added else None


def _added_up(tables: Sequence[pa.Table], relation: Relation) -> pa.Table:
    import pyarrow.compute as pc

    names, sign = [column.name for column in relation.columns], _sign_name(relation)
    added = pa.concat_tables(tables).group_by(names).aggregate([(sign, "sum")])
    added = added.select([*names, f"{sign}_sum"]).rename_columns([*names, sign])
    return added.filter(pc.not_equal(added.column(sign), 0))


def _weights(net: pa.Table, relation: Relation, definitions: Definitions, more: int = 0) -> dict[Row, int]:
    rows = to_rows(net.select([column.name for column in relation.columns]), relation, definitions)
    return {row: weight + more for row, weight in zip(rows, net.column(net.num_columns - 1).to_pylist(), strict=True)}


def _sign_name(relation: Relation) -> str:
    return "".join(column.name for column in relation.columns) + _SIGN


def _place(place: str, index: int) -> str:
    return f"{place}, row {index + 1}"


def _ignore(bad: BadRecord) -> None:
    """Leaves out a deleted row that does not fit."""
