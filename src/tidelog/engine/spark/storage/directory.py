"""A directory of Parquet files that a driver and its tasks share, on any file system that pyarrow knows.

    manifest-000000000007.json     the list of files that count; the highest number is in force (`publish`)
    epoch-5/Reach.base.….parquet   files of the state and of changes, in a folder for each epoch
    changes-000000000007.json      the files of the kept changes of an epoch (`change_lists`)

Files are written once, under names never used again. Names are relative to the directory; `state_files` gives them a
meaning. Tasks, and the driver for small changes, read and write them with pyarrow; Spark itself reads DataFrames. So
both have to know the file system by the same address.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.spark.encoding.scaled import to_files
from tidelog.engine.spark.session import is_on_this_machine
from tidelog.engine.storage_errors import damaged, missing_file

_MANIFEST = re.compile(r"manifest-(\d{12})\.json")
_EPOCH = re.compile(r"epoch-(\d+)")
_LIST = re.compile(r"changes-(\d{12})\.json")
_DRAFT = "draft."
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # two letters at least: `C:/` is a disk
# Hadoop's names of schemes, which Spark needs, and pyarrow's names of the same stores.
SAME_STORE = {"s3a": "s3", "s3n": "s3"}
_SAMPLED_ROWS = 1_000
_OBJECT_STORES = (pafs.S3FileSystem, pafs.GcsFileSystem)


class StateDirectory:
    """A directory of state files, on any file system that pyarrow knows. Travels to tasks as its address."""

    def __init__(self, address: str) -> None:
        self.address = address if is_address(address) else str(Path(address).absolute())
        self.remove: Callable[[], object] = lambda: None  # a directory that a user named is the user's

    @classmethod
    def temporary(cls) -> StateDirectory:
        """Makes a directory on this machine, removed with the last reference to the object, or by `remove`."""
        directory = cls(tempfile.mkdtemp(prefix="tidelog-"))
        directory.remove = weakref.finalize(directory, shutil.rmtree, directory.address, ignore_errors=True)
        return directory

    def __reduce__(self) -> tuple[type[StateDirectory], tuple[str]]:
        return StateDirectory, (self.address,)

    @cached_property
    def opened(self) -> tuple[pafs.FileSystem, str]:
        """The file system and the path on it. Raises UsageError for an address that pyarrow cannot open."""
        scheme = _ADDRESS.match(self.address)
        if scheme is None:
            return pafs.LocalFileSystem(), self.address
        known = SAME_STORE.get(scheme[1].lower(), scheme[1].lower())
        address = f"{known}{self.address[len(scheme[1]) :]}"
        if known == "file":
            address = re.sub("^file:/+", "file:///", address)
        try:
            filesystem, path = pafs.FileSystem.from_uri(address)
            if not path.strip("/"):
                raise ValueError("it has no path")
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _unusable(self.address, error) from error
        return filesystem, path.rstrip("/")

    @property
    def is_local(self) -> bool:
        return isinstance(self.opened[0], pafs.LocalFileSystem)

    @property
    def local_path(self) -> Path:
        """The path on this machine; only if it `is_local`."""
        return Path(self.opened[1])

    def spark_path(self, name: str) -> str:
        """Returns the address of a file for Spark, whose default file system may be another."""
        root = self.address.rstrip("/")
        return f"{root}/{name}" if is_address(root) else f"file://{root}/{name}"

    def local_folder(self, epoch: int) -> str:
        """Returns the path of an epoch's folder on this machine; only if the state is on its disk."""
        return self._path(f"epoch-{epoch}")

    def new_name(self, epoch: int, relation: str, kind: str) -> str:
        """Returns a name, never used before, for a file of this epoch."""
        plain = re.sub(r"[^A-Za-z0-9]+", "-", relation)
        return f"epoch-{epoch}/{plain}.{kind}.{uuid.uuid4().hex[:12]}.parquet"

    def make(self, epoch: int) -> None:
        """Makes the directory of an epoch's files, and the state's own if need be."""
        self.opened[0].create_dir(self._path(f"epoch-{epoch}"), recursive=True)

    def write(self, name: str, table: pa.Table) -> None:
        """Writes a table; it is read back with the same columns, all nullable."""
        stored = to_files(plain(table))
        pq.write_table(stored, self._path(name), filesystem=self.opened[0], use_dictionary=_repetitive(stored))

    def writer(self, name: str) -> PartWriter:
        """Returns a writer for one file in several pieces; without rows there is no file."""
        return PartWriter(self._path(name), self.opened[0])

    def read(self, name: str, columns: Sequence[str], where: pc.Expression | None = None) -> pa.Table:
        """Reads the named columns of a file; only the rows for which the condition `where` holds."""
        try:
            return pq.read_table(
                self._path(name), columns=list(columns), filesystem=self.opened[0], partitioning=None, filters=where
            )
        except FileNotFoundError as error:
            raise missing_file(self.address, name) from error
        except (pa.ArrowInvalid, OSError) as error:
            raise damaged(self.address, f"its file {name} cannot be read ({error})") from error

    def has_decimals(self, name: str) -> bool:
        """True if a column of a file is decimal; reads the footer only."""
        try:
            types = pq.read_schema(self._path(name), filesystem=self.opened[0]).types
        except FileNotFoundError as error:
            raise missing_file(self.address, name) from error
        except (pa.ArrowInvalid, OSError) as error:
            raise damaged(self.address, f"its file {name} cannot be read ({error})") from error
        return any(map(pa.types.is_decimal, types))

    def parts(self, name: str) -> list[str]:
        """Returns the Parquet files that Spark wrote under a name of ours (to it, a folder)."""
        selector = pafs.FileSelector(self._path(name), recursive=True)
        found = self.opened[0].get_file_info(selector)
        return sorted(
            f"{name}/{info.base_name}"
            for info in found
            if info.type == pafs.FileType.File and info.base_name.startswith("part-")
        )

    def row_count(self, names: Iterable[str]) -> int:
        """Returns the number of rows of the files; reads their footers only."""
        filesystem = self.opened[0]
        return sum(pq.ParquetFile(self._path(name), filesystem=filesystem).metadata.num_rows for name in names)

    def size(self, names: Iterable[str]) -> int:
        """Returns the size of the files in bytes."""
        infos = self.opened[0].get_file_info([self._path(name) for name in names])
        return sum(info.size or 0 for info in infos)

    def largest(self, names: Iterable[str], column: str) -> str | None:
        """Returns the largest text in a column of the files, None if all are null; reads only that column."""
        texts = [pc.max(self.read(name, [column])[column]).as_py() for name in names if self._has_values(name, column)]
        return max((text for text in texts if text is not None), default=None)

    def _has_values(self, name: str, column: str) -> bool:
        """False if the footer of a file says that a column has only nulls."""
        metadata = pq.ParquetFile(self._path(name), filesystem=self.opened[0]).metadata
        place = metadata.schema.names.index(column)
        groups = [metadata.row_group(number).column(place) for number in range(metadata.num_row_groups)]
        return any(
            each.statistics is None
            or not each.statistics.has_null_count
            or each.statistics.null_count < each.num_values
            for each in groups
        )

    def manifests(self) -> list[int]:
        """Returns the numbers of the manifests in the directory."""
        return [int(found[1]) for name in self.names() if (found := _MANIFEST.fullmatch(name))]

    def epochs(self) -> list[int]:
        """Returns the epochs that have a folder."""
        return [int(found[1]) for name in self.names() if (found := _EPOCH.fullmatch(name))]

    def foreign_names(self) -> list[str]:
        """Returns the names in the directory that are not ours."""
        ours = (_MANIFEST, _EPOCH, _LIST, re.compile(rf"{_DRAFT}.*|lock|form"))
        return sorted(name for name in self.names() if not any(each.fullmatch(name) for each in ours))

    def names(self) -> list[str]:
        """Returns the names in the directory; none, if it does not exist."""
        filesystem, root = self.opened
        return [info.base_name for info in filesystem.get_file_info(pafs.FileSelector(root, allow_not_found=True))]

    def read_manifest(self, version: int) -> str:
        """Reads the manifest of this number. Raises FileNotFoundError if there is none."""
        with self.opened[0].open_input_stream(self._path(_manifest_name(version))) as stream:
            return bytes(stream.read()).decode(errors="replace")

    def publish(self, version: int, manifest: str, *, reaches_disk: bool = False) -> None:
        """Writes the manifest of this number, in one step. Raises OSError if that fails."""
        self._publish(_manifest_name(version), manifest, reaches_disk=reaches_disk)

    def read_list(self, epoch: int) -> str:
        """Reads the list of the kept changes of an epoch. Raises FileNotFoundError if there is none."""
        with self.opened[0].open_input_stream(self._path(_list_name(epoch))) as stream:
            return bytes(stream.read()).decode(errors="replace")

    def write_list(self, epoch: int, text: str, *, reaches_disk: bool) -> None:
        """Writes the list of the kept changes of an epoch, over that of an earlier attempt."""
        self.remove_list(epoch)
        self._publish(_list_name(epoch), text, reaches_disk=reaches_disk)

    def remove_list(self, epoch: int) -> None:
        self._delete(self._path(_list_name(epoch)))

    def sweep_lists(self, keep: Iterable[int]) -> None:
        """Deletes all lists of kept changes but those of some epochs."""
        kept = set(keep)
        for name in self.names():
            found = _LIST.fullmatch(name)
            if found is not None and int(found[1]) not in kept:
                self._delete(self._path(name))

    def _publish(self, name: str, manifest: str, *, reaches_disk: bool) -> None:
        filesystem = self.opened[0]
        path = self._path(name)
        if isinstance(filesystem, _OBJECT_STORES):  # there a file appears when it is whole, and a move is a copy
            self._write_text(path, manifest)
            return
        draft = self._path(f"{_DRAFT}{uuid.uuid4().hex[:12]}")
        self._write_text(draft, manifest)
        if reaches_disk:
            _sync(draft)
        filesystem.move(draft, path)
        if reaches_disk:
            _sync(self.opened[1])

    def sync(self, names: Iterable[str]) -> None:
        """Flushes files and their names to the disk; only if the directory `is_local`."""
        paths = [Path(self._path(name)) for name in names]
        folders = {folder for path in paths for folder in (path.parent, path.parent.parent)}
        for path in (*paths, *folders):
            _sync(path)

    def sweep_manifests(self, keep: int) -> None:
        """Deletes all manifests and drafts but that of one number."""
        for name in self.names():
            if name != _manifest_name(keep) and (_MANIFEST.fullmatch(name) or name.startswith(_DRAFT)):
                self._delete(self._path(name))

    @staticmethod
    def epoch_of(name: str) -> int:
        """Returns the epoch in whose folder a file is."""
        return int(name.partition("/")[0].removeprefix("epoch-"))

    def sweep(self, epoch: int, keep: Iterable[str]) -> None:
        """Deletes the files of an epoch except those to keep; a file already gone is no error."""
        filesystem = self.opened[0]
        folder = self._path(f"epoch-{epoch}")
        found = filesystem.get_file_info(pafs.FileSelector(folder, recursive=True, allow_not_found=True))
        files = [info.path for info in found if info.type == pafs.FileType.File]
        kept_paths = {self._path(name) for name in keep}
        for path in files:
            if path not in kept_paths:
                self._delete(path)
        if not kept_paths.intersection(files) and filesystem.get_file_info(folder).type != pafs.FileType.NotFound:
            filesystem.delete_dir(folder)

    def _delete(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self.opened[0].delete_file(path)

    def _write_text(self, path: str, text: str) -> None:
        with self.opened[0].open_output_stream(path) as stream:
            stream.write(text.encode())

    def _path(self, name: str) -> str:
        return f"{self.opened[1]}/{name}"


class PartWriter:
    """Writes tables of one schema into one file, as they come; without rows there is no file."""

    def __init__(self, path: str, filesystem: pafs.FileSystem) -> None:
        self._path = path
        self._filesystem = filesystem
        self._writer: pq.ParquetWriter | None = None
        self.rows = 0

    def write(self, table: pa.Table) -> None:
        if not table.num_rows:
            return
        table = plain(table)
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._path, table.schema, filesystem=self._filesystem, use_dictionary=_repetitive(table)
            )
        self._writer.write_table(table)
        self.rows += table.num_rows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()


def _repetitive(table: pa.Table) -> list[str]:
    """Returns the columns whose values repeat, by a sample: a dictionary of the others would cost time for nothing."""
    places = np.arange(0, table.num_rows, max(1, table.num_rows // _SAMPLED_ROWS))
    sample = table.take(pa.array(places))
    return [name for name in table.column_names if 2 * pc.count_distinct(sample[name]).as_py() <= len(places)]


def is_address(text: str) -> bool:
    """True if the text is an address such as `s3://bucket/state` rather than a path."""
    return _ADDRESS.match(text) is not None


def _manifest_name(version: int) -> str:
    return f"manifest-{version:012}.json"


def _list_name(epoch: int) -> str:
    return f"changes-{epoch:012}.json"


def _sync(path: str | Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def temporary_directory(spark: Any) -> StateDirectory:
    """Makes a temporary directory. Raises UsageError if tasks run on other machines than this."""
    if not is_on_this_machine(spark):
        raise UsageError(
            "a database on a cluster needs a directory that all of its tasks can reach",
            code=Code.UNUSABLE_DIRECTORY,
            help="give one, for example `path='hdfs:///tidelog/reach'`",
        )
    return StateDirectory.temporary()


def _unusable(address: str, error: Exception) -> UsageError:
    said = str(error).splitlines()
    return UsageError(
        f"the state cannot be kept in {address}: pyarrow, which reads and writes it, cannot open this address"
        f" ({said[0] if said else type(error).__name__})",
        code=Code.UNUSABLE_DIRECTORY,
        help="addresses begin with `file:`, `hdfs:`, `viewfs:`, `s3:` (or `s3a:`), `gs:` or `abfs:`; HDFS needs libhdfs"
        " and CLASSPATH, and stores need their credentials, in the driver and in all tasks",
    )


def plain(table: pa.Table) -> pa.Table:
    """Returns the table with every column nullable, as Parquet readers and joins give them; it must have a column."""
    return pa.Table.from_arrays(table.columns, names=table.column_names)
