"""A table of a Postgres server as the feed of a relation: its rows first, then its changes, transaction by transaction.

    {"place": "0/16B3748", "table": "public.edge", "oid": 16385, "server": "7301.../5", "types": {"src": ["text", -1]},
     "snapshot": {...}}

is a position: a place in the server's log, the table with the types of the columns that the relation has, and what the
snapshot of the first rows sees, as long as the log has transactions that it may see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, UsageError
from tidelog.diagnostics.wording import listed
from tidelog.io.bad_rows import BadRecord
from tidelog.pipeline.records import CLEAR, Record
from tidelog.pipeline.settings import Feed, Place
from tidelog.pipeline.sources.postgres.catalog import Table, read_table
from tidelog.pipeline.sources.postgres.pgoutput import UNCHANGED, Change, SentTable
from tidelog.pipeline.sources.postgres.slot import Visible, lsn, open_slot, place_of, release_slot
from tidelog.pipeline.sources.postgres.types import PostgresType, Read, RefusedTypeError, reader, taken_by
from tidelog.rules.ir import Kind, Relation
from tidelog.rules.schema.arrow import is_option

Position = Mapping[str, Any]
_LIMIT = "maxChangesPerTrigger"


def open_source(place: Place, relation: Relation, feed: Feed | None = None) -> PostgresSource:
    """Opens the source of a feed. Raises UsageError for a starting table: the feed has the first rows."""
    if feed is None:
        raise UsageError(
            f"`[inputs.{relation.name}]` cannot be a table of Postgres",
            code=Code.UNSUPPORTED_SOURCE,
            help=f"write `[changes.{relation.name}]`: a feed begins with the rows of its table",
        )
    return PostgresSource(place.options, relation, feed)


class PostgresSource:
    """Implements `Source`. Feeds with the same `dsn` and `slot` share the slot."""

    gives_records = True

    def __init__(self, options: Mapping[str, str], relation: Relation, feed: Feed) -> None:
        self._relation = relation
        self._key = feed.key
        self._name = options["table"]
        name = options["slot"]
        self._slot = open_slot(options.get("dsn", ""), name, options.get("publication", name), relation.name)
        limit = options.get(_LIMIT)
        if limit is not None:
            self._slot.most = int(limit)
        self._table: Table | None = None

    def close(self) -> None:
        release_slot(self._slot, self._relation.name)

    def check(self, position: Position | None) -> None:
        with self._slot.cursor() as cursor:
            table = read_table(cursor, self._name)
            if table is None:
                raise UsageError(
                    f"the server has no table `{self._name}`",
                    code=Code.SOURCE_FAILED if position is None else Code.OTHER_SOURCE,
                    help="write the name with its schema, such as `public.edge`; a table that was made again belongs to"
                    " a new `state`",
                )
            self._table = self._slot.tables[self._relation.name] = table
            self._check_table(table)
            self._check_publication(cursor, table)
            types = self._types(cursor, table)
            if position is not None:
                self._check_same(table, position, self._slot.system(cursor), types)
            self._slot.check(cursor, None if position is None else place_of(position["place"]))
        self._slot.users[self._relation.name] = None if position is None else place_of(position["place"])

    def start(self, planned: Position | None) -> Position:
        if planned is not None and self._slot.snapshot_is(Visible.of_document(planned["snapshot"])):
            return planned
        place, visible = self._slot.start()
        table = self._known_table()
        with self._slot.cursor() as cursor:
            types = self._types(cursor, table)
            return {
                "place": lsn(place),
                "table": table.full_name,
                "oid": table.oid,
                "server": self._slot.system(cursor),
                "types": {name: _type_document(each) for name, each in types.items()},
                "snapshot": visible.document,
            }

    def latest(self, position: Position) -> Position | None:
        end = self._slot.latest(self._relation.name, place_of(position["place"]))
        if end is None:
            return None
        found = {**position, "place": lsn(end)}
        if "snapshot" in found and place_of(found["snapshot"]["until"]) <= end:
            del found["snapshot"]
        return found

    def read(self, begin: Position | None, end: Position) -> Iterable[Record | BadRecord]:
        if begin is None:
            return self._first_rows(end)
        return self._changes(begin, end)

    def acknowledge(self, position: Position) -> None:
        self._slot.acknowledge(self._relation.name, place_of(position["place"]))

    # Checks

    def _known_table(self) -> Table:
        assert self._table is not None, "`check` comes first"
        return self._table

    def _columns(self) -> list[str]:
        return [column.name for column in self._relation.columns]

    def _refuse(self, what: str, help: str) -> UsageError:
        return UsageError(f"the table `{self._name}` {what}", code=Code.UNSUPPORTED_SOURCE, help=help)

    def _check_table(self, table: Table) -> None:
        """Raises UsageError for a table that cannot be followed, or not by this relation and key."""
        name, relation = table.full_name, self._relation
        if table.kind not in "rp" or table.persistence != "p":
            kind = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}.get(table.kind, "no usual table")
            kind = "unlogged or temporary" if table.kind in "rp" else kind
            raise self._refuse(f"is {kind}, whose changes the server does not log", "follow the tables that it reads")
        columns = {each.name: each for each in table.columns}
        for column in relation.columns:
            if column.name not in columns and not is_option(column.type):
                raise UsageError(
                    f"the table `{name}` has no column `{column.name}`, which `{relation.name}` needs",
                    code=Code.WRONG_COLUMNS,
                    help=f"its columns are {listed(columns)}; an `Option` may be missing",
                )
            if column.name in columns and columns[column.name].is_generated:
                raise self._refuse(
                    f"computes its column `{column.name}` from others, and the server does not send it",
                    "compute it by a rule",
                )
        if relation.kind is Kind.STREAM:
            return
        if relation.kind is Kind.MULTISET:
            if table.identity != "f":
                raise self._refuse(
                    "does not send whole rows that are deleted, which a multiset needs",
                    f"ALTER TABLE {table.quoted} REPLICA IDENTITY FULL",
                )
            return
        if table.identity_columns is None:
            raise self._refuse(
                "has no replica identity, so the server cannot say which row was updated or deleted",
                f"give it a primary key, or: ALTER TABLE {table.quoted} REPLICA IDENTITY FULL",
            )
        fitting = [
            each for each in table.keys if table.identity_columns.issuperset(each) and set(each) <= columns.keys()
        ]
        here = [each for each in fitting if set(each) <= set(self._columns())]
        if not fitting:
            raise self._refuse(
                "has no primary key and no unique index of required columns, so it may have equal rows",
                f"give it a primary key, or declare `input multiset {relation.name}(...)`",
            )
        if not here:
            raise self._refuse(
                f"is found by its key ({', '.join(fitting[0])}), which `{relation.name}` does not have: two rows of the"
                " table may be one row of the relation",
                f"add the columns to `{relation.name}`, or declare `input multiset {relation.name}(...)`",
            )
        if not any(set(each) <= set(self._key) <= table.identity_columns for each in here):
            raise UsageError(
                f"the feed of `{relation.name}` has {f'the key {list(self._key)}' if self._key else 'no key'},"
                f" and the rows of `{name}` are found by ({', '.join(here[0])})",
                code=Code.BAD_SETTING,
                help=f"write `key = [{', '.join(_toml(each) for each in here[0])}]` in `[changes.{relation.name}]`",
            )

    def _check_publication(self, cursor: Any, table: Table) -> None:
        """Raises UsageError where a publication that is there leaves something out."""
        name = self._slot.publication
        cursor.execute(
            "SELECT pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot FROM pg_publication WHERE pubname = %s",
            (name,),
        )
        found = cursor.fetchone()
        if found is None:
            return
        *kinds, via_root = found
        missing = [each for each, is_sent in zip(("insert", "update", "delete", "truncate"), kinds) if not is_sent]
        if missing and (self._relation.kind is not Kind.STREAM or "insert" in missing):
            raise UsageError(
                f"the publication `{name}` leaves out {listed(missing)}",
                code=Code.UNSUPPORTED_SOURCE,
                help=f"ALTER PUBLICATION {name} SET (publish = 'insert, update, delete, truncate')",
            )
        if table.kind == "p" and not via_root:
            raise UsageError(
                f"the publication `{name}` sends the changes of partitions, not of `{table.full_name}`",
                code=Code.UNSUPPORTED_SOURCE,
                help=f"ALTER PUBLICATION {name} SET (publish_via_partition_root = true)",
            )
        cursor.execute("SELECT current_setting('server_version_num')::int >= 150000")
        if not cursor.fetchone()[0]:
            return
        cursor.execute(
            "SELECT attnames::text[], rowfilter FROM pg_publication_tables"
            " WHERE pubname = %s AND schemaname = %s AND tablename = %s",
            (name, table.schema, table.name),
        )
        listed_table = cursor.fetchone()
        if listed_table is None:
            return
        names, condition = listed_table
        if condition is not None:
            raise UsageError(
                f"the publication `{name}` has a condition for the rows of `{table.full_name}`",
                code=Code.UNSUPPORTED_SOURCE,
                help="leave the condition out, and write it as a rule",
            )
        left_out = [each for each in self._columns() if table.column(each) and each not in names]
        if left_out:
            raise UsageError(
                f"the publication `{name}` leaves out the column `{left_out[0]}` of `{table.full_name}`",
                code=Code.UNSUPPORTED_SOURCE,
                help=f"add it to the publication, or leave it out of `{self._relation.name}`",
            )

    def _types(self, cursor: Any, table: Table) -> dict[str, PostgresType]:
        """Returns the types of the columns that the relation has. Raises UsageError for one that does not fit."""
        found = {}
        for column in self._relation.columns:
            there = table.column(column.name)
            if there is not None:
                found[column.name] = self._slot.types.type_of(cursor, there.type_oid, there.modifier)
                self._reader(column.name, found[column.name])
        return found

    def _reader(self, name: str, type_: PostgresType) -> Read:
        column = next(each for each in self._relation.columns if each.name == name)
        try:
            return reader(type_, column.type)
        except RefusedTypeError:
            wanted = taken_by(type_)
            raise UsageError(
                f"the column `{name}` of `{self._name}` is `{type_}`, whose values do not all fit"
                f" `{self._relation.name}.{name}: {column.type}`",
                code=Code.WRONG_COLUMN_TYPE,
                help=f"declare it as {wanted}" if wanted else "leave it out: no type of the language has its values",
            ) from None

    def _check_same(self, table: Table, position: Position, server: str, types: Mapping[str, PostgresType]) -> None:
        """Raises UsageError where the table is another one than that of a position."""
        if server != position["server"]:
            raise self._other("is on another server, or in another database, than the one of this state")
        if table.oid != position["oid"]:
            raise self._other("was dropped and made again")
        self._check_types(position, types)

    def _check_types(self, position: Position, types: Mapping[str, PostgresType]) -> None:
        before = {name: _type_of_document(each) for name, each in position["types"].items()}
        for name in (column.name for column in self._relation.columns):
            if name in before and name not in types:
                raise self._other(f"has no column `{name}` any more: it was dropped or renamed")
            if name in types and name not in before:
                raise self._other(f"has a new column `{name}`, and the rows before it may have a value there")
            if name in types and not before[name].widens_to(types[name]):
                raise self._other(f"has changed its column `{name}` from `{before[name]}` to `{types[name]}`")

    def _other(self, what: str) -> UsageError:
        return UsageError(
            f"the table `{self._name}` {what}",
            code=Code.OTHER_SOURCE,
            help="give the pipeline a new `state`, which begins with the present rows",
        )

    # Records

    def _first_rows(self, end: Position) -> Iterator[Record | BadRecord]:
        """Yields the rows that the snapshot of this process sees. The relation is emptied before."""
        columns = list(end["types"])
        readers = [self._reader(name, _type_of_document(each)) for name, each in end["types"].items()]
        place = f"{end['table']}, as of {end['place']}"
        if self._relation.kind is not Kind.STREAM:
            yield Record(place, {}, op=CLEAR, order=0)
        for number, cells in enumerate(self._slot.first_rows(self._known_table(), columns), 1):
            yield _record(place, columns, cells[: len(columns)], readers, "c", number)

    def _changes(self, begin: Position, end: Position) -> Iterator[Record | BadRecord]:
        visible = Visible.of_document(begin["snapshot"]) if "snapshot" in begin else None
        writer = _Writer(self._relation, self._key)
        for transaction in self._slot.transactions(place_of(begin["place"]), place_of(end["place"])):
            if visible is not None and visible.sees(transaction.xid):
                continue
            place = f"{begin['table']} at {lsn(transaction.end)}"
            for change in transaction.changes:
                if change.table.oid == begin["oid"]:
                    yield from writer.records(place, change, lambda sent: self._layout(sent, begin))

    def _layout(self, sent: SentTable, begin: Position) -> _Layout:
        """Returns how the columns of the relation are found in the rows of a message. Raises UsageError where the table
        has changed in a way that the committed rows do not follow."""
        names = self._columns()
        places, types = {}, {}
        with self._slot.cursor() as cursor:
            for place, column in enumerate(sent.columns):
                if column.name in names:
                    places[column.name] = place
                    types[column.name] = self._slot.types.type_of(cursor, column.type_oid, column.modifier)
        self._check_types(begin, types)
        columns = [name for name in names if name in places]
        readers = [self._reader(name, types[name]) for name in columns]
        return _Layout(columns, [places[name] for name in columns], readers)


@dataclass(frozen=True, slots=True)
class _Layout:
    """The columns of the relation in the rows of a message: their names, places and readers."""

    columns: list[str]
    places: list[int]
    readers: list[Read]


class _Writer:
    """Writes the changes of a table as records, in their order."""

    def __init__(self, relation: Relation, key: tuple[str, ...]) -> None:
        self._relation = relation
        self._key = key
        self._layouts: dict[int, tuple[SentTable, _Layout]] = {}
        self._count = 0

    def records(
        self, place: str, change: Change, layout_of: Callable[[SentTable], _Layout]
    ) -> Iterator[Record | BadRecord]:
        """Yields one or two records for a change. Order numbers grow."""
        known = self._layouts.get(id(change.table))
        if known is None:
            known = self._layouts[id(change.table)] = change.table, layout_of(change.table)
        layout = known[1]
        new, old = (None if cells is None else [cells[i] for i in layout.places] for cells in (change.new, change.old))
        if new is not None and old is not None and change.is_old_whole:
            new = [was if now is UNCHANGED else now for now, was in zip(new, old)]
        match change.kind:
            case "T" if self._relation.kind is Kind.STREAM:
                return
            case "T":
                yield self._record(place, layout, None, CLEAR)
            case "I":
                yield self._record(place, layout, new, "c")
            case "D":
                yield self._record(place, layout, old, "d")
            case "U" if not self._key and self._relation.kind is Kind.MULTISET:
                yield self._record(place, layout, old, "d")
                yield self._record(place, layout, new, "c")
            case "U":
                moved = old is not None and any(
                    old[i] != new[i] for i, name in enumerate(layout.columns) if name in self._key and new is not None
                )
                yield self._record(place, layout, new, "u", old if moved else None)
                if moved:
                    yield self._record(place, layout, old, "d")

    def _record(self, place: str, layout: _Layout, cells: Any, op: str, before: Any = None) -> Record | BadRecord:
        self._count += 1
        if cells is None:
            return Record(place, {}, op=op, order=self._count)
        unchanged = frozenset(name for name, cell in zip(layout.columns, cells) if cell is UNCHANGED)
        if before is not None and unchanged:
            keys = [i for i, name in enumerate(layout.columns) if name in self._key]
            named = [layout.columns[i] for i in keys]
            found = _record(place, named, [before[i] for i in keys], [layout.readers[i] for i in keys], op, self._count)
            if isinstance(found, BadRecord):
                return found
            base: Mapping[str, Any] | None = found.values
        else:
            base = None
        return _record(place, layout.columns, cells, layout.readers, op, self._count, unchanged, base)


def _record(
    place: str,
    columns: list[str],
    cells: Any,
    readers: list[Read],
    op: str,
    order: int,
    unchanged: frozenset[str] = frozenset(),
    base: Mapping[str, Any] | None = None,
) -> Record | BadRecord:
    values = {}
    for name, cell, read in zip(columns, cells, readers):
        if cell is UNCHANGED:
            continue
        try:
            values[name] = None if cell is None else read(cell)
        except (ValueError, ArithmeticError, RecursionError) as error:
            wrong = DataError(f"{place}: {cell!r} cannot be read, for `{name}`: {error}", code=Code.WRONG_VALUE)
            return BadRecord(place, Record(place, dict(zip(columns, map(str, cells)))).text, wrong)
    return Record(place, values, op=op, order=order, unchanged=unchanged, base=base)


def _type_document(type_: PostgresType) -> Any:
    if type_.element is not None:
        return [type_.name, type_.modifier, type_.is_enum, _type_document(type_.element)]
    return [type_.name, type_.modifier, type_.is_enum]


def _type_of_document(document: Any) -> PostgresType:
    name, modifier, is_enum, *element = document
    return PostgresType(name, modifier, is_enum, _type_of_document(element[0]) if element else None)


def _toml(name: str) -> str:
    return f'"{name}"'
