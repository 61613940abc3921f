"""A disk that has what was synced for certain, and of all else any part, after a power cut."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.database.storage.system_calls import Create, Mark, Operation, Rename, Sync, Truncate, Unlink, Write

SECTOR = 512

Files = dict[str, bytes]


@dataclass
class _File:
    """A file: its bytes as a process sees them, those on the disk, and what happened in between."""

    now: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    since: list[Write | Truncate] = field(default_factory=list)

    def change(self, operation: Write | Truncate) -> None:
        _apply(self.now, operation)
        self.since.append(operation)

    def sync(self) -> None:
        self.synced = bytes(self.now)
        self.since.clear()

    def some(self, chance: random.Random) -> bytes:
        """Returns the bytes after a power cut: of what was not synced, some sectors have reached the disk."""
        found = bytearray(self.synced)
        for each in self.since:
            if chance.random() < 0.5:
                _apply(found, each)
            elif isinstance(each, Write) and chance.random() < 0.5:
                for start in range(0, len(each.data), SECTOR):
                    if chance.random() < 0.5:
                        _apply(found, Write(each.name, each.offset + start, each.data[start : start + SECTOR]))
        return bytes(found)


class Disk:
    """The files of one directory. A name is on the disk when the directory was synced, not when the file was."""

    def __init__(self) -> None:
        self._now: dict[str, _File] = {}
        self._synced: dict[str, _File] = {}
        self._since: list[Create | Rename | Unlink] = []
        self._made: list[_File] = []

    def apply(self, operation: Operation, *, is_lie: bool = False) -> None:
        """Does what a process did; a sync that `is_lie` does nothing."""
        match operation:
            case Write(name) | Truncate(name):
                self._now[name].change(operation)
            case Create():
                self._made.append(_File())
                _rename(self._now, operation, self._made[-1])
                self._since.append(operation)
            case Rename() | Unlink():
                _rename(self._now, operation, None)
                self._since.append(operation)
            case Sync("") if not is_lie:
                self._synced = dict(self._now)
                self._since.clear()
            case Sync(name) if name and not is_lie:
                self._now[name].sync()
            case Sync() | Mark():
                pass

    def after_kill(self) -> Files:
        """Returns the files as they are when the process dies."""
        return {name: bytes(file.now) for name, file in self._now.items()}

    def after_power_cut(self, chance: random.Random | None = None) -> Files:
        """Returns only what was synced; with `chance`, some of the rest too: names as far as any, bytes at random."""
        if chance is None:
            return {name: file.synced for name, file in self._synced.items()}
        return self._with_names(chance.randrange(len(self._since) + 1), lambda file: file.some(chance))

    def with_all_names(self) -> Files:
        """Returns the names as they are, and of the bytes only what was synced."""
        return self._with_names(len(self._since), lambda file: file.synced)

    def with_all_bytes(self) -> Files:
        """Returns the bytes as they are, in files that were synced under their names."""
        return self._with_names(0, lambda file: bytes(file.now))

    def _with_names(self, count: int, bytes_of: Callable[[_File], bytes]) -> Files:
        names = dict(self._synced)
        created = iter(self._made[len(self._made) - sum(isinstance(each, Create) for each in self._since) :])
        for operation in self._since[:count]:
            _rename(names, operation, next(created) if isinstance(operation, Create) else None)
        return {name: bytes_of(file) for name, file in names.items()}


def _rename(names: dict[str, _File], operation: Create | Rename | Unlink, made: _File | None) -> None:
    match operation:
        case Create(name):
            assert made is not None
            names[name] = made
        case Rename(name, new):
            names[new] = names.pop(name)
        case Unlink(name):
            del names[name]


def _apply(content: bytearray, operation: Write | Truncate) -> None:
    match operation:
        case Write(_, offset, data):
            content.extend(bytes(max(offset + len(data) - len(content), 0)))
            content[offset : offset + len(data)] = data
        case Truncate(_, size):
            del content[size:]
            content.extend(bytes(size - len(content)))
