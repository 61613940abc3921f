"""A directory of Parquet files that a driver and its tasks share, on any file system that pyarrow knows.

Files are written once, under names never used again, in one folder per epoch; `manifest.json` is the only file that is
ever replaced, by a rename. Here names are relative to the directory; `state` knows what the files mean.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

MANIFEST = "manifest.json"


class StateDirectory:
    """A directory of state files, on any file system that pyarrow knows. Travels to tasks as its address."""

    def __init__(self, address: str) -> None:
        self.address = address if "://" in address else str(Path(address).absolute())
        self.remove: Callable[[], object] = _keep

    @classmethod
    def temporary(cls) -> StateDirectory:
        """A new directory on this machine, which goes when nothing refers to the object any more, or by `remove`."""
        directory = cls(tempfile.mkdtemp(prefix="tidelog-"))
        directory.remove = weakref.finalize(directory, shutil.rmtree, directory.address, ignore_errors=True)
        return directory

    def __reduce__(self) -> tuple[type[StateDirectory], tuple[str]]:
        return StateDirectory, (self.address,)

    @cached_property
    def _opened(self) -> tuple[pafs.FileSystem, str]:
        if "://" in self.address:
            filesystem, path = pafs.FileSystem.from_uri(self.address)
            return filesystem, path
        return pafs.LocalFileSystem(), self.address

    @property
    def is_local(self) -> bool:
        return isinstance(self._opened[0], pafs.LocalFileSystem)

    def spark_path(self, name: str) -> str:
        """The address of a file for Spark, whose file system of choice may be another."""
        return f"{self.address}/{name}" if "://" in self.address else f"file://{self.address}/{name}"

    def local_folder(self, epoch: int) -> str:
        """The path of an epoch's folder for programs on this machine; only where the state is on its disk."""
        return self._path(f"epoch-{epoch}")

    def new_name(self, epoch: int, relation: str, kind: str) -> str:
        """A name, never used before, for a file of this epoch."""
        plain = re.sub(r"[^A-Za-z0-9]+", "-", relation)
        return f"epoch-{epoch}/{plain}.{kind}.{uuid.uuid4().hex[:12]}.parquet"

    def make(self, epoch: int) -> None:
        """Makes the directory of an epoch's files, and the state's own if need be."""
        self._opened[0].create_dir(self._path(f"epoch-{epoch}"), recursive=True)

    def write(self, name: str, table: pa.Table) -> None:
        """Writes a table; what is read back has the same columns, all nullable."""
        pq.write_table(plain(table), self._path(name), filesystem=self._opened[0])

    def read(self, name: str, columns: Sequence[str]) -> pa.Table:
        """The named columns of a file."""
        return pq.read_table(self._path(name), columns=list(columns), filesystem=self._opened[0], partitioning=None)

    def parts(self, name: str) -> list[str]:
        """The Parquet files that Spark wrote under a name of ours (to it, a folder)."""
        selector = pafs.FileSelector(self._path(name), recursive=True)
        found = self._opened[0].get_file_info(selector)
        return sorted(
            f"{name}/{info.base_name}"
            for info in found
            if info.type == pafs.FileType.File and info.base_name.startswith("part-")
        )

    def row_count(self, names: Iterable[str]) -> int:
        """How many rows the files have; reads their footers only."""
        filesystem = self._opened[0]
        return sum(pq.ParquetFile(self._path(name), filesystem=filesystem).metadata.num_rows for name in names)

    def largest(self, names: Iterable[str], column: str) -> str | None:
        """The largest text in a column of the files, None when it is null everywhere; reads only that column."""
        texts = [pc.max(self.read(name, [column])[column]).as_py() for name in names]
        return max((text for text in texts if text is not None), default=None)

    def publish(self, manifest: str) -> None:
        """Makes this text the manifest, in one step."""
        filesystem, root = self._opened
        draft = f"{root}/{MANIFEST}.{uuid.uuid4().hex[:12]}"
        with filesystem.open_output_stream(draft) as stream:
            stream.write(manifest.encode())
        filesystem.move(draft, f"{root}/{MANIFEST}")

    def has_manifest(self) -> bool:
        info = self._opened[0].get_file_info(f"{self._opened[1]}/{MANIFEST}")
        return bool(info.type != pafs.FileType.NotFound)

    def sweep(self, epoch: int, keep: Iterable[str]) -> None:
        """Deletes the files of an epoch except those to keep; a file already gone is no error."""
        kept = set(keep)
        filesystem = self._opened[0]
        folder = self._path(f"epoch-{epoch}")
        found = filesystem.get_file_info(pafs.FileSelector(folder, recursive=True, allow_not_found=True))
        files = [info.path for info in found if info.type == pafs.FileType.File]
        kept_paths = {self._path(name) for name in kept}
        for path in files:
            if path not in kept_paths:
                filesystem.delete_file(path)
        if not kept_paths.intersection(files) and filesystem.get_file_info(folder).type != pafs.FileType.NotFound:
            filesystem.delete_dir(folder)

    def _path(self, name: str) -> str:
        return f"{self._opened[1]}/{name}"


def _keep() -> None:
    """A directory that a user named is the user's."""


def plain(table: pa.Table) -> pa.Table:
    """The table with every column nullable, as Parquet readers and joins give them; it must have a column."""
    return pa.Table.from_arrays(table.columns, names=table.column_names)
