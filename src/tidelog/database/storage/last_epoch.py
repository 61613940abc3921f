"""The number of the last acknowledged epoch, in a file beside the journal.

SQLite silently ends its write-ahead log at the first frame with a wrong checksum. That is right after a power cut, but
flipped bytes lose commits. So every commit writes its number here, and a journal that ends before it is damaged. The
file is mapped: a write survives the process and needs no system call.

The two slots are written in turn, each with a checksum, so one of them is always whole. In a power cut a database with
durability "os" may lose commits whose numbers are in this file: there the numbers count until the machine restarts.
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
        """Records that the epoch is in the journal."""
        body = _BODY.pack(epoch, self._start, self._reaches_disk)
        at = epoch % 2 * _SLOT.size
        self._slots[at : at + _SLOT.size] = body + zlib.crc32(body).to_bytes(4, "little")

    def close(self) -> None:
        self._slots.close()


def acknowledged(path: Path) -> int:
    """Returns the last epoch that the journal must have; 0 if unknown."""
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
    """Returns a number that differs after each start of the machine; 0 if the system has none."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        return 0
    return int(text.strip().replace("-", "")[:15], 16)
