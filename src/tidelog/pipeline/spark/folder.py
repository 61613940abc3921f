"""A folder on any file system of pyarrow, for the files of a pipeline that Spark does not write."""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa
import pyarrow.fs as pafs

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.spark.storage.directory import is_address
from tidelog.pipeline.addresses import known_to_arrow, on_this_machine

_WHOLE = "_SUCCESS"
_MOVED = "_moved"
"""The marker of a folder whose files have all been copied."""


class Folder:
    """`address` is a path of this machine, or a URI."""

    def __init__(self, address: str) -> None:
        local = on_this_machine(address)
        self.address = address.rstrip("/") if local is None else str(local)

    @cached_property
    def _opened(self) -> tuple[pafs.FileSystem, str]:
        if not is_address(self.address):
            return pafs.LocalFileSystem(), self.address
        try:
            filesystem, path = pafs.FileSystem.from_uri(known_to_arrow(self.address))
        except (pa.ArrowException, OSError) as error:
            raise UsageError(
                f"{self.address} cannot be reached: {error}",
                code=Code.UNUSABLE_DIRECTORY,
                help="use a path, or an address such as `hdfs://…` or `s3://…`",
            ) from error
        return filesystem, path.rstrip("/")

    def __truediv__(self, name: str) -> Folder:
        return Folder(f"{self.address}/{name}")

    def spark_path(self, name: str = "") -> str:
        """Returns the full address for Spark, whose default file system may be another."""
        address = f"{self.address}/{name}" if name else self.address
        return address if is_address(address) else f"file://{address}"

    def names(self) -> list[str]:
        """Returns the names directly in the folder; none if it does not exist."""
        filesystem, path = self._opened
        return [each.base_name for each in filesystem.get_file_info(pafs.FileSelector(path, allow_not_found=True))]

    def times(self) -> dict[str, int]:
        """Returns when each file directly in the folder was last changed, in milliseconds, if the file system knows."""
        filesystem, path = self._opened
        found = filesystem.get_file_info(pafs.FileSelector(path, allow_not_found=True))
        return {
            each.base_name: each.mtime_ns // 1_000_000
            for each in found
            if each.type == pafs.FileType.File and each.mtime_ns is not None
        }

    def exists(self, name: str) -> bool:
        filesystem, path = self._opened
        return bool(filesystem.get_file_info(f"{path}/{name}").type != pafs.FileType.NotFound)

    def move(self, old: str, new: str) -> None:
        """Renames a folder, over one that has the new name.

        An object store cannot rename folders: there the files are copied, `_SUCCESS` last, and then deleted. An
        interrupted move is completed by the next call.
        """
        filesystem, path = self._opened
        if not self.exists(f"{old}/{_MOVED}"):
            self.remove(new)
            try:
                filesystem.move(f"{path}/{old}", f"{path}/{new}")
            except (OSError, NotImplementedError, pa.ArrowException):
                self._copy(old, new)
                # From here on the copy is whole, and the original may be in parts.
                with filesystem.open_output_stream(f"{path}/{old}/{_MOVED}") as stream:
                    stream.write(b"")
            else:
                return
        for name in self._files(old):
            if name != _MOVED:
                filesystem.delete_file(f"{path}/{old}/{name}")
        filesystem.delete_dir(f"{path}/{old}")

    def _copy(self, old: str, new: str) -> None:
        filesystem, path = self._opened
        self.remove(new)
        filesystem.create_dir(f"{path}/{new}", recursive=True)
        for name in sorted(self._files(old), key=lambda name: name == _WHOLE):
            folder = f"{new}/{name}".rpartition("/")[0]
            filesystem.create_dir(f"{path}/{folder}", recursive=True)
            filesystem.copy_file(f"{path}/{old}/{name}", f"{path}/{new}/{name}")

    def _files(self, name: str) -> list[str]:
        """Returns the files below a folder, relative to it."""
        filesystem, path = self._opened
        found = filesystem.get_file_info(pafs.FileSelector(f"{path}/{name}", recursive=True))
        root = f"{path}/{name}/"
        return [each.path.removeprefix(root) for each in found if each.type == pafs.FileType.File]

    def remove(self, name: str) -> None:
        """Removes a folder and its content, if it exists."""
        filesystem, path = self._opened
        if self.exists(name):
            filesystem.delete_dir(f"{path}/{name}")

    def read_text(self, name: str) -> str | None:
        """Returns the text of a file, or None if it does not exist."""
        filesystem, path = self._opened
        if not self.exists(name):
            return None
        with filesystem.open_input_stream(f"{path}/{name}") as stream:
            return bytes(stream.read()).decode()

    def write_text(self, name: str, text: str) -> None:
        """Writes a small file, whole or not at all."""
        filesystem, path = self._opened
        filesystem.create_dir(path, recursive=True)
        with filesystem.open_output_stream(f"{path}/.{name}.new") as stream:
            stream.write(text.encode())
        filesystem.move(f"{path}/.{name}.new", f"{path}/{name}")
