"""A folder on any file system that pyarrow knows: what a pipeline does there beside what Spark writes."""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa
import pyarrow.fs as pafs

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError


class Folder:
    """`address` is a path of this machine, or a URI."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")

    @cached_property
    def _opened(self) -> tuple[pafs.FileSystem, str]:
        if "://" not in self.address:
            return pafs.LocalFileSystem(), self.address
        try:
            filesystem, path = pafs.FileSystem.from_uri(self.address)
        except (pa.ArrowException, OSError) as error:
            raise UsageError(
                f"{self.address} cannot be reached: {error}",
                code=Code.UNUSABLE_DIRECTORY,
                help="use a path, or an address such as `hdfs://…` or `s3://…`",
            ) from error
        return filesystem, path

    def __truediv__(self, name: str) -> Folder:
        return Folder(f"{self.address}/{name}")

    def spark_path(self, name: str = "") -> str:
        """The address for Spark, whose file system of choice may be another."""
        address = f"{self.address}/{name}" if name else self.address
        return address if "://" in address else f"file://{address}"

    def names(self) -> list[str]:
        """What is directly in the folder; nothing where there is none."""
        filesystem, path = self._opened
        return [each.base_name for each in filesystem.get_file_info(pafs.FileSelector(path, allow_not_found=True))]

    def exists(self, name: str) -> bool:
        filesystem, path = self._opened
        return bool(filesystem.get_file_info(f"{path}/{name}").type != pafs.FileType.NotFound)

    def move(self, old: str, new: str) -> None:
        """Renames a folder, over one that has the new name."""
        filesystem, path = self._opened
        self.remove(new)
        filesystem.move(f"{path}/{old}", f"{path}/{new}")

    def remove(self, name: str) -> None:
        """Removes a folder with all that is in it, if there is one."""
        filesystem, path = self._opened
        if self.exists(name):
            filesystem.delete_dir(f"{path}/{name}")

    def read_text(self, name: str) -> str | None:
        """The text of a file; None where there is none."""
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
