"""Staged batches: what streaming queries write, and the database that owns the directory takes.

    staged/<feed>/<batch>.json        one batch of a query: its relation, its column of operations, its files
    staged/<feed>/<name>.parquet      the rows that one task wrote

A database has one writer, and Spark's tasks are not it. So a streaming query leaves each batch in the directory, and
the writer takes it as a transaction of its own (`take`), with the batch's number as its batch id. A batch appears with
its JSON file, whole or not at all. It is removed after the commit; if the process is killed between the two, the batch
is skipped the next time, because its number is committed.

The name of a feed is that of the query in its checkpoint, so a query that goes on from its checkpoint goes on with its
numbers, and one with a new checkpoint is another feed.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, TransactionError, UsageError
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.storage_errors import damaged
from tidelog.io.values import quoted
from tidelog.pipeline.operations import WORDS, Verb

if TYPE_CHECKING:
    from tidelog.database.database import Database
    from tidelog.database.transactions.transaction import Transaction

FOLDER = "staged"
_BATCH = re.compile(r"(\d{12})\.json")
_VERBS = {**WORDS, "update_postimage": Verb.INSERT, "update_preimage": Verb.DELETE}
_NOT_THERE = (Code.KEY_NOT_FOUND, Code.DIFFERENT_ROW)


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """One batch of a query. `op` is the column with the operation of a row, None if all rows are inserted."""

    relation: str
    op: str | None
    files: tuple[str, ...]


class StagedFeed:
    """The staged batches of one query, in the directory of a database."""

    def __init__(self, directory: StateDirectory, name: str) -> None:
        self.name = name
        self._filesystem, root = directory.opened
        self._folder = f"{root}/{FOLDER}/{name}"

    def write_part(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> str | None:
        """Writes the rows of one task to a file, and returns its name; None without rows."""
        name, writer = f"{uuid.uuid4().hex}.parquet", None
        try:
            for batch in batches:
                if writer is None:
                    self._filesystem.create_dir(self._folder, recursive=True)
                    writer = pq.ParquetWriter(f"{self._folder}/{name}", schema, filesystem=self._filesystem)
                writer.write_batch(batch)
        finally:
            if writer is not None:
                writer.close()
        return None if writer is None else name

    def publish(self, number: int, batch: StagedBatch) -> None:
        """Makes a batch visible. One that is visible already, which Spark commits a second time, stays as it is."""
        if number in self.numbers():
            self.remove_parts(batch.files)
            return
        self._filesystem.create_dir(self._folder, recursive=True)
        path = f"{self._folder}/{number:012}.json"
        draft = f"{path}.{uuid.uuid4().hex[:8]}.draft"
        with self._filesystem.open_output_stream(draft) as stream:
            stream.write(json.dumps(asdict(batch)).encode())
        self._filesystem.move(draft, path)

    def numbers(self) -> list[int]:
        """Returns the numbers of the visible batches, in their order."""
        return sorted(int(found[1]) for name in self._names() if (found := _BATCH.fullmatch(name)))

    def batch(self, number: int) -> StagedBatch:
        """Reads one batch. Raises DataError for a file that Tidelog has not written."""
        with self._filesystem.open_input_stream(f"{self._folder}/{number:012}.json") as stream:
            text = stream.read()
        try:
            body = json.loads(text)
            relation, op, files = body["relation"], body["op"], tuple(body["files"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise damaged(self._folder, f"its batch {number} cannot be read") from error
        is_plain = isinstance(relation, str) and isinstance(op, str | None)
        if not is_plain or not all(isinstance(name, str) and "/" not in name for name in files):
            raise damaged(self._folder, f"its batch {number} is not as it was written")
        return StagedBatch(relation, op, files)

    def read(self, batch: StagedBatch) -> pa.Table:
        """Returns the rows of a batch, which has some."""
        return pa.concat_tables(
            pq.read_table(f"{self._folder}/{name}", filesystem=self._filesystem, partitioning=None)
            for name in batch.files
        )

    def remove(self, number: int, batch: StagedBatch) -> None:
        """Removes a committed batch: first its JSON file, so that no batch is visible without its rows."""
        with suppress(FileNotFoundError):
            self._filesystem.delete_file(f"{self._folder}/{number:012}.json")
        self.remove_parts(batch.files)

    def remove_parts(self, names: Iterable[str]) -> None:
        """Removes files of rows; one that is gone is no error."""
        for name in names:
            with suppress(FileNotFoundError):
                self._filesystem.delete_file(f"{self._folder}/{name}")

    def _names(self) -> list[str]:
        selector = pafs.FileSelector(self._folder, allow_not_found=True)
        return [info.base_name for info in self._filesystem.get_file_info(selector)]


def staged_feeds(directory: StateDirectory) -> list[StagedFeed]:
    """Returns the feeds that have staged something in the directory of a database, by name."""
    filesystem, root = directory.opened
    found = filesystem.get_file_info(pafs.FileSelector(f"{root}/{FOLDER}", allow_not_found=True))
    names = sorted(info.base_name for info in found if info.type == pafs.FileType.Directory)
    return [StagedFeed(directory, name) for name in names]


def take(database: Database) -> int:
    """Commits all staged batches of a durable database, each as one transaction; returns their number.

    The batches of a query are taken in their order. Raises the errors of `Transaction.insert` for a batch whose rows do
    not fit; that batch and the later ones of its query stay staged.
    """
    taken = 0
    for feed in staged_feeds(StateDirectory(_address(database))):
        for number in feed.numbers():
            batch = feed.batch(number)
            with database.transaction(batch=(feed.name, number)) as tx:
                if not tx.skipped and batch.files:
                    _write(tx, batch, feed.read(batch), has_key=database.relations[batch.relation].key is not None)
            taken += not tx.skipped
            feed.remove(number, batch)
    return taken


def _address(database: Database) -> str:
    """Returns the directory of a durable database. Raises UsageError for one in memory."""
    with database._locked.engine() as engine:
        directory = getattr(engine, "directory", None) or getattr(engine, "address", None)
    if directory is None:
        raise UsageError(
            "only a durable database has staged batches",
            code=Code.UNUSABLE_DIRECTORY,
            help="open the program with `path=...`, the directory that the streaming queries write to",
        )
    return str(directory)


def _write(tx: Transaction, batch: StagedBatch, rows: pa.Table, *, has_key: bool) -> None:
    """Writes the rows of a batch: the deleted ones first, because rows of one batch have no order."""
    deleted = None
    if batch.op is not None:
        deleted = pa.array([_verb(word, batch) is Verb.DELETE for word in rows[batch.op].to_pylist()])
        rows = rows.drop_columns(batch.op)
    inserted = rows if deleted is None else rows.filter(pc.invert(deleted))
    if not has_key:
        if deleted is not None:
            tx.delete(batch.relation, rows.filter(deleted))
        tx.insert(batch.relation, inserted)
        return
    for row in rows.filter(deleted).to_pylist() if deleted is not None else ():
        try:
            tx.delete(batch.relation, [row])
        except TransactionError as error:  # a replaced row, or one that is not there, is no error of a feed
            if error.code not in _NOT_THERE:
                raise
    tx.upsert(batch.relation, inserted)


def _verb(word: Any, batch: StagedBatch) -> Verb:
    verb = _VERBS.get(word) if isinstance(word, str) else None
    if verb is None or verb is Verb.REPLACE:
        raise DataError(
            f"a row for `{batch.relation}` has the operation {quoted(word)} in the column `{batch.op}`",
            code=Code.BAD_OPERATION,
            help="write `insert` or `delete` (or `+` and `-`); an update is a row with `update_preimage` and one with"
            " `update_postimage`",
        )
    return verb
