"""One replication slot of a Postgres server, shared by all feeds of a pipeline that name it.

The server keeps its log from the slot's place on. A batch is decoded from there by SQL (`pg_logical_slot_peek_...`),
which moves nothing; the slot is advanced after the commit. So a batch that was interrupted is decoded again, the same.
All feeds of a slot end each batch at the same place, after the commit of a transaction: a transaction is whole in one
epoch.

The first rows are read in one transaction of the server, which sees a snapshot. The slot is older than it: a
transaction of the log that the snapshot sees is left out. Both sides agree on every transaction, because the snapshot
is taken when all transactions that ran as the slot was made have ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, UsageError
from tidelog.pipeline.sources.postgres.catalog import Table, TypeCatalog, quoted
from tidelog.pipeline.sources.postgres.pgoutput import SourceTransaction, UnreadableMessageError, read_messages
from tidelog.pipeline.sources.postgres.types import SESSION

_LAG = 16 << 20
"""So many bytes of the log may be without changes of the feeds before an empty batch moves the slot."""

_FETCHED = 10_000
_open: dict[tuple[str, str, str], Slot] = {}


@dataclass(frozen=True, slots=True)
class Visible:
    """The transactions that a snapshot sees. After `until`, a place in the log, it sees none."""

    oldest: int
    next: int
    running: frozenset[int]
    until: int

    def sees(self, xid: int) -> bool:
        """True if the snapshot sees a transaction; `xid` has the lower 32 bits of its number."""
        number = (self.next & ~0xFFFFFFFF) | xid
        if number - self.next > 1 << 31:
            number -= 1 << 32
        elif self.next - number > 1 << 31:
            number += 1 << 32
        return number < self.next and number not in self.running

    @property
    def document(self) -> dict[str, Any]:
        return {"oldest": self.oldest, "next": self.next, "running": sorted(self.running), "until": lsn(self.until)}

    @staticmethod
    def of_document(document: dict[str, Any]) -> Visible:
        running = frozenset(document["running"])
        return Visible(document["oldest"], document["next"], running, place_of(document["until"]))


class Slot:
    """A slot and its publication, on a connection that is made when it is needed."""

    def __init__(self, dsn: str, name: str, publication: str) -> None:
        self.name = name
        self.publication = publication
        self.types = TypeCatalog()
        self.users: dict[str, int | None] = {}
        """The place up to which each feed has committed; None if it has not begun."""
        self.tables: dict[str, Table] = {}
        self.most = 500_000
        self._dsn = dsn
        self._connection: Any = None
        self._snapshot: Any = None
        self._visible: Visible | None = None
        self._decoded: tuple[int, int, list[SourceTransaction]] | None = None
        self._asked: set[str] = set()
        self._planned: int | None = None

    # Connections

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """Yields a cursor; each statement is a transaction of its own. Raises DataError with what the server says."""
        with self.saying():
            if self._connection is None or self._connection.closed:
                self._connection = self._connected()
            with self._connection.cursor() as cursor:
                yield cursor

    @contextmanager
    def saying(self) -> Iterator[None]:
        """Turns errors of the server in the block into a DataError."""
        import psycopg2

        try:
            yield
        except psycopg2.Error as error:
            said = " ".join(str(error).split()) or type(error).__name__
            raise DataError(
                f"Postgres says, of the slot `{self.name}`: {said}",
                code=Code.SOURCE_FAILED,
                help=_help(error),
            ) from error

    def _connected(self) -> Any:
        import psycopg2

        connection = psycopg2.connect(self._dsn, fallback_application_name="tidelog", client_encoding="UTF8")
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(SESSION)
        return connection

    def close(self) -> None:
        self.end_snapshot()
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
            self._connection = None
        self._decoded = None

    # The state of the slot

    def system(self, cursor: Any) -> str:
        """Returns the identity of the server and the database."""
        cursor.execute(
            "SELECT (SELECT system_identifier FROM pg_control_system()), oid FROM pg_database"
            " WHERE datname = current_database()"
        )
        server, database = cursor.fetchone()
        return f"{server}/{database}"

    def check(self, cursor: Any, committed: int | None) -> None:
        """Raises an error by name where the slot cannot go on from a place; None if the feed has not begun."""
        cursor.execute("SELECT current_setting('wal_level')")
        (level,) = cursor.fetchone()
        if level != "logical":
            raise UsageError(
                f"the server writes its log with `wal_level = {level}`, which has no rows for a slot",
                code=Code.UNSUPPORTED_SOURCE,
                help="set `wal_level = logical` in postgresql.conf, and restart the server",
            )
        found = self._described(cursor)
        if found is None:
            if committed is not None:
                raise self.lost("the server has no slot of this name")
            return
        if committed is not None and found[2] == "lost":
            raise self.lost("the server has removed the log that the slot needs (`max_slot_wal_keep_size`)")
        if committed is not None and place_of(found[1]) > committed:
            raise self.lost(f"it stands at {found[1]}, behind the last commit of this state, {lsn(committed)}")
        if committed is not None:
            cursor.execute("SELECT pg_current_wal_flush_lsn()")
            (end,) = cursor.fetchone()
            if place_of(end) < committed:
                raise self.lost(
                    f"the server's log ends at {end}, before the last commit of this state, {lsn(committed)}"
                )

    def lost(self, why: str) -> UsageError:
        return UsageError(
            f"the changes of the slot `{self.name}` after the last commit are lost: {why}",
            code=Code.POSITION_GONE,
            help="give the pipeline a new `state`, which begins with the present rows; one slot is for one pipeline",
        )

    def _described(self, cursor: Any) -> tuple[str, str, str | None] | None:
        """Returns the plugin, the place and the state of the slot. Raises UsageError for one of another kind."""
        cursor.execute(
            "SELECT plugin, confirmed_flush_lsn::text, wal_status, database = current_database()"
            " FROM pg_replication_slots WHERE slot_name = %s",
            (self.name,),
        )
        found = cursor.fetchone()
        if found is None:
            return None
        plugin, place, status, is_here = found
        if plugin != "pgoutput" or not is_here:
            raise UsageError(
                f"the slot `{self.name}` is of another kind: plugin {plugin}"
                f"{'' if is_here else ', in another database'}",
                code=Code.UNSUPPORTED_SOURCE,
                help="name another `slot`; it is made by the first run",
            )
        return plugin, place, status

    # The first rows

    def start(self) -> tuple[int, Visible]:
        """Begins a snapshot for new feeds; returns the place of the slot, and what the snapshot sees.

        Makes the publication and the slot where they are missing. The snapshot stays until `end_snapshot`.
        """
        with self.cursor() as cursor:
            self._publish_tables(cursor)
            if self._described(cursor) is None:
                cursor.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (self.name,))
            found = self._described(cursor)
            assert found is not None
            if self._visible is None:
                self._await_running(cursor)
                self._begin_snapshot()
        assert self._visible is not None
        return place_of(found[1]), self._visible

    def _publish_tables(self, cursor: Any) -> None:
        """Makes the publication, with the tables of all feeds, or adds those that it lacks."""
        tables = sorted(self.tables.values(), key=lambda each: each.full_name)
        cursor.execute("SELECT 1 FROM pg_publication WHERE pubname = %s", (self.publication,))
        listed = ", ".join(f"{'' if each.kind == 'p' else 'ONLY '}{each.quoted}" for each in tables)
        if cursor.fetchone() is None:
            cursor.execute(
                f"CREATE PUBLICATION {quoted(self.publication)} FOR TABLE {listed}"
                " WITH (publish_via_partition_root = true)"
            )
            return
        cursor.execute(
            "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", (self.publication,)
        )
        present = set(cursor.fetchall())
        for each in tables:
            if (each.schema, each.name) not in present:
                only = "" if each.kind == "p" else "ONLY "
                cursor.execute(f"ALTER PUBLICATION {quoted(self.publication)} ADD TABLE {only}{each.quoted}")

    def _await_running(self, cursor: Any) -> None:
        """Waits until all transactions that run now have ended: the log before the slot may have their commits, while a
        snapshot does not see them yet."""
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        (limit,) = cursor.fetchone()
        while True:
            cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
            if cursor.fetchone()[0] >= limit:
                return
            time.sleep(0.02)

    def _begin_snapshot(self) -> None:
        connection = self._connected()
        connection.autocommit = False
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint,"
                " ARRAY(SELECT x::text::bigint FROM pg_snapshot_xip(s) AS x)"
                " FROM (SELECT pg_current_snapshot() AS s) AS now"
            )
            oldest, following, running = cursor.fetchone()
            cursor.execute("SELECT pg_current_wal_insert_lsn()::text")
            (until,) = cursor.fetchone()
        self._snapshot = connection
        self._visible = Visible(oldest, following, frozenset(running), place_of(until))

    def snapshot_is(self, visible: Visible) -> bool:
        """True if the snapshot of this process is the one described."""
        return self._visible == visible

    def first_rows(self, table: Table, columns: Sequence[str]) -> Iterator[tuple[str | None, ...]]:
        """Yields the rows of a table in the snapshot, as texts."""
        import psycopg2.extensions

        types = tuple(psycopg2.extensions.string_types)
        as_text = psycopg2.extensions.new_type(types, "tidelog text", lambda value, _: value)
        listed = ", ".join(map(quoted, columns)) or "NULL"
        only = "" if table.kind == "p" else "ONLY "
        with self.saying(), self._snapshot.cursor(name="tidelog") as cursor:
            psycopg2.extensions.register_type(as_text, cursor)
            cursor.itersize = _FETCHED
            cursor.execute(f"SELECT {listed} FROM {only}{table.quoted}")
            yield from cursor

    def end_snapshot(self) -> None:
        if self._snapshot is not None:
            with suppress(Exception):
                self._snapshot.close()
        self._snapshot = self._visible = None

    # Changes

    def latest(self, feed: str, begin: int) -> int | None:
        """Returns the end of the next batch of a feed: the same for all feeds that ask once each."""
        if feed in self._asked:
            self._asked.clear()
        if not self._asked:
            self._planned = self._plan()
        self._asked.add(feed)
        return self._planned if self._planned is not None and self._planned > begin else None

    def _plan(self) -> int | None:
        committed = min((each for each in self.users.values() if each is not None), default=None)
        if committed is None:
            return None
        with self.cursor() as cursor:
            cursor.execute("SELECT pg_current_wal_flush_lsn()::text")
            flushed = place_of(cursor.fetchone()[0])
            if flushed <= committed:
                return None
            found = self._decode(cursor, None)
            news = [each for each in found if each.end > committed and each.changes]
            if news:
                end = found[-1].end
                self._decoded = (committed, end, [each for each in found if each.end > committed])
                return end
            if flushed - committed <= _LAG:
                return None
            return max(found[-1].end, committed) if found else flushed

    def transactions(self, begin: int, end: int) -> list[SourceTransaction]:
        """Returns the transactions whose commits are after one place, up to another one."""
        held = self._decoded
        if held is None or held[0] > begin or held[1] != end:
            with self.cursor() as cursor:
                found = self._decode(cursor, end)
            held = self._decoded = (begin, end, found)
        return [each for each in held[2] if begin < each.end <= end]

    def _decode(self, cursor: Any, end: int | None) -> list[SourceTransaction]:
        """Decodes the log from the slot on: up to a place, or so many changes."""
        cursor.execute(
            "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s, %s, 'proto_version', '1',"
            " 'publication_names', %s)",
            (
                self.name,
                None if end is None else lsn(end),
                self.most if end is None else None,
                quoted(self.publication),
            ),
        )
        wanted = {each.oid for each in self.tables.values()}
        try:
            return list(read_messages((row[0] for row in cursor), wanted))
        except (UnreadableMessageError, UnicodeDecodeError, ValueError) as error:
            raise DataError(
                f"the changes of the slot `{self.name}` cannot be read: {error}", code=Code.SOURCE_FAILED
            ) from error

    def acknowledge(self, feed: str, place: int) -> None:
        """Notes that a feed has committed up to a place; advances the slot when all feeds have."""
        self.users[feed] = place
        self._decoded = None
        if any(each is None for each in self.users.values()):
            return
        self.end_snapshot()
        least = min(each for each in self.users.values() if each is not None)
        with self.cursor() as cursor:
            found = self._described(cursor)
            if found is None:
                raise self.lost("the server has no slot of this name")
            if place_of(found[1]) < least:
                cursor.execute("SELECT pg_replication_slot_advance(%s, %s)", (self.name, lsn(least)))


def open_slot(dsn: str, name: str, publication: str, feed: str) -> Slot:
    """Returns the slot for a feed; feeds that name the same one share it."""
    key = dsn, name, publication
    slot = _open.setdefault(key, Slot(dsn, name, publication))
    slot.users.setdefault(feed, None)
    return slot


def release_slot(slot: Slot, feed: str) -> None:
    """Ends the use of a slot by a feed; the last one closes it."""
    slot.users.pop(feed, None)
    slot.tables.pop(feed, None)
    if not slot.users:
        for key, each in list(_open.items()):
            if each is slot:
                del _open[key]
        slot.close()


def lsn(place: int) -> str:
    """Returns a place in the log as Postgres writes it."""
    return f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"


def place_of(text: str) -> int:
    """Reads what `lsn` writes."""
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


def _help(error: Any) -> str | None:
    """Returns the help for the server's refusals that have one."""
    match getattr(error, "pgcode", None):
        case "42501":
            return (
                "the role needs `REPLICATION` and `SELECT` on the tables; who owns the tables may make the publication:"
                " `CREATE PUBLICATION name FOR TABLE a, b WITH (publish_via_partition_root = true)`"
            )
        case "55006":
            return "another process reads the slot: one slot is for one pipeline"
        case "53400":
            return "raise `max_replication_slots` of the server, or drop a slot that nobody needs"
    return None
