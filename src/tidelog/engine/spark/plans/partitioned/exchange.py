"""Messages between the tasks of one job that run at the same time: steps in which every task hears from every other.

A task that reaches a step writes one file for it, with a header for all tasks and a part for each, and waits for the
files of the others; then all have heard the same headers. Files are in the folder of the epoch, which all tasks reach.
The file of a large step is continued in further ones (`send`), so that its parts need not be in memory at once.

Spark runs the tasks of such a job together, and if one is lost, all of them again. A repeated task cannot know what the
lost ones have sent, so it never takes part: it finds the note of its first run (`begin`), and tells the others to stop.
The caller then starts a job with another name. So within one name every step happens once.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidelog.engine.spark.storage.directory import StateDirectory

LARGE_MESSAGE = 1 << 26
"""The bytes from which on parts are sent before the step."""

_SHORTEST, _LONGEST = 0.0003, 0.02
_LOOK_SECONDS = 0.1

Header = Mapping[str, Any]


class StoppedError(Exception):
    """Raised where another task has stopped; `reason` is what it said."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RepeatedError(Exception):
    """Raised in the task of a job of which a task was lost: the job has to be started again."""


class MessageFiles:
    """The files of one job in a folder of the state; each appears whole."""

    def __init__(self, directory: StateDirectory, epoch: int, job: str) -> None:
        self._filesystem, root = directory.opened
        self._prefix = f"{root}/epoch-{epoch}/sent.{job}"
        self._is_local = directory.is_local

    def write(self, name: str, parts: Sequence[bytes]) -> None:
        path = f"{self._prefix}.{name}"
        if not self._is_local:
            with self._filesystem.open_output_stream(path) as stream:
                for part in parts:
                    stream.write(part)
            return
        draft = Path(f"{path}.{uuid.uuid4().hex[:8]}.draft")
        with draft.open("wb") as file:
            for part in parts:
                file.write(part)
        draft.replace(path)

    def read(self, name: str, start: int, size: int) -> bytes | None:
        """Returns some bytes of a file, fewer at its end; None if it is not there."""
        path = f"{self._prefix}.{name}"
        try:
            if self._is_local:
                with Path(path).open("rb") as file:
                    file.seek(start)
                    return file.read(size)
            with self._filesystem.open_input_file(path) as stream:
                stream.seek(start)
                data: bytes = stream.read(size)
                return data
        except FileNotFoundError:
            return None

    def remove(self, name: str) -> None:
        with suppress(OSError):
            self._filesystem.delete_file(f"{self._prefix}.{name}")


_SIZE_BYTES = 8
_FIRST_READ = 1 << 14
_STOP = "stop"


@dataclass(slots=True)
class Exchange:
    """The place of one task among `count`, numbered from 0; `look` is called now and then while it waits, and may
    raise."""

    files: MessageFiles
    count: int
    me: int
    look: Callable[[], object] = lambda: None
    step: int = 0
    _continued: int = 0
    _old: list[str] = field(default_factory=list)
    _written: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Notes that this task runs. Raises RepeatedError if it has run before."""
        note = f"begun.{self.me}"
        if self.files.read(note, 0, 1) is not None:
            self.stop("a task was lost")
            raise RepeatedError
        self.files.write(note, [b"1"])

    def send(self, parts: Sequence[bytes]) -> None:
        """Sends a part to each task, in advance of the step."""
        self._write(f"{self.step}.{self.me}.{self._continued}", {}, parts)
        self._continued += 1

    def meet(self, header: Header, parts: Sequence[bytes] | None = None) -> tuple[list[Header], Iterator[bytes]]:
        """Takes a step: waits for all tasks. Returns their headers, by number, and the parts for this task, which must
        be read before the next step. Raises StoppedError if a task has stopped."""
        parts = parts or [b""] * self.count
        self._write(f"{self.step}.{self.me}", {"said": dict(header), "continued": self._continued}, parts)
        heard = [self._wait(f"{self.step}.{other}") for other in range(self.count)]
        # All have come to this step, so they have read what was sent in the one before.
        for name in self._old:
            self.files.remove(name)
        self._old, self._written = self._written, []
        step, self.step, self._continued = self.step, self.step + 1, 0
        return [each["said"] for each, _ in heard], self._received(step, heard)

    def stop(self, reason: str) -> None:
        """Tells all tasks that this one has stopped."""
        with suppress(OSError):
            self.files.write(_STOP, [reason.encode()])

    def _write(self, name: str, header: Header, parts: Sequence[bytes]) -> None:
        told = json.dumps({**header, "sizes": [len(part) for part in parts]}).encode()
        self.files.write(name, [len(told).to_bytes(_SIZE_BYTES, "little"), told, *parts])
        self._written.append(name)

    def _read_header(self, name: str) -> tuple[dict[str, Any], int] | None:
        """Returns the header of a file and where its parts begin."""
        data = self.files.read(name, 0, _FIRST_READ)
        if data is None:
            return None
        end = _SIZE_BYTES + int.from_bytes(data[:_SIZE_BYTES], "little")
        if end > len(data):
            data = self.files.read(name, 0, end)
            assert data is not None
        return json.loads(data[_SIZE_BYTES:end]), end

    def _wait(self, name: str) -> tuple[dict[str, Any], int]:
        pause, looked = _SHORTEST, time.monotonic()
        while (found := self._read_header(name)) is None:
            time.sleep(pause)
            pause = min(pause * 1.2, _LONGEST)
            if time.monotonic() - looked > _LOOK_SECONDS:
                reason = self.files.read(_STOP, 0, 1 << 20)
                if reason is not None:
                    raise StoppedError(reason.decode())
                self.look()
                looked = time.monotonic()
        return found

    def _received(self, step: int, heard: Sequence[tuple[dict[str, Any], int]]) -> Iterator[bytes]:
        for other, (header, start) in enumerate(heard):
            name = f"{step}.{other}"
            yield from self._part(name, header, start)
            for number in range(header["continued"]):
                more = self._read_header(f"{name}.{number}")
                if more is None:  # it was written before the file that tells of it
                    raise FileNotFoundError(f"{name}.{number}")
                yield from self._part(f"{name}.{number}", *more)

    def _part(self, name: str, header: Mapping[str, Any], start: int) -> Iterator[bytes]:
        sizes = header["sizes"]
        if sizes[self.me]:
            data = self.files.read(name, start + sum(sizes[: self.me]), sizes[self.me])
            if data is None or len(data) < sizes[self.me]:
                raise FileNotFoundError(name)
            yield data
