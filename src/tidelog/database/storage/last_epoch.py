"""The number of the last epoch that was acknowledged, kept beside the journal.

SQLite ends its write-ahead log at the first frame whose checksum is wrong, without a word: right after a power cut,
wrong for a log whose bytes have flipped. So every commit leaves its number here, and a journal that ends before it is
damaged. The file is mapped: what is written stays when the process is killed, and costs no call of the system.

Two slots take turns, each with a checksum, so that one of them is whole at every moment. In a power cut a database
with durability "os" may lose its last commits, and this file may know of them: after another start of the machine its
word does not count there.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from pathlib import Path

_SLOT = struct.Struct("<QQII")  # epoch, start of the machine, whether commits reach the disk, checksum
_BODY = struct.Struct("<QQI")


class LastEpoch:
    """The two slots of a database that is open for writing."""

    def __init__(self, path: Path, *, reaches_disk: bool) -> None:
        self._reaches_disk = int(reaches_disk)
        self._start = _machine_start()
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.ftruncate(file, 2 * _SLOT.size)
            self._slots = mmap.mmap(file, 2 * _SLOT.size)
        finally:
            os.close(file)

    def write(self, epoch: int) -> None:
        """The epoch is in the journal."""
        body = _BODY.pack(epoch, self._start, self._reaches_disk)
        at = epoch % 2 * _SLOT.size
        self._slots[at : at + _SLOT.size] = body + zlib.crc32(body).to_bytes(4, "little")

    def close(self) -> None:
        self._slots.close()


def acknowledged(path: Path) -> int:
    """The last epoch that the journal must have; 0 where nothing is known."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return 0
    start = _machine_start()
    epochs = [0]
    for at in range(0, len(data) - _SLOT.size + 1, _SLOT.size):
        epoch, slot_start, reaches_disk, checksum = _SLOT.unpack_from(data, at)
        is_whole = zlib.crc32(data[at : at + _BODY.size]) == checksum
        if is_whole and (reaches_disk or (start and slot_start == start)):
            epochs.append(epoch)
    return max(epochs)


def _machine_start() -> int:
    """A number that is another one after each start of the machine; 0 where the system does not say."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        return 0
    return int(text.strip().replace("-", "")[:15], 16)
