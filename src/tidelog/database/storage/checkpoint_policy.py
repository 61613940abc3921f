"""When the next snapshot is due: when replaying the journal would take much longer than it takes to write one.

What a replay would take is what the epochs since the last snapshot took, with or without many bytes; so a database that
was closed, or was killed, is open again within seconds, and the disk is not busy with snapshots that save nothing.
"""

from __future__ import annotations

_SECONDS = 5.0
_SECONDS_AT_CLOSE = 0.25
_SECONDS_PER_ROW = 250e-9  # to index it
_TIMES_ITS_COST = 8
_BYTES = 16 << 20


class Pace:
    """Counts what a replay would have to do."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._bytes = 0
        self._cost = 0.0
        self._size = 0

    def note(self, seconds: float, size: int) -> None:
        """An epoch took this long, and its entry so many bytes."""
        self._seconds += seconds
        self._bytes += size

    def begun(self) -> None:
        """A snapshot of all epochs so far is being written; if that fails, it is tried again as much later."""
        self._seconds, self._bytes = 0.0, 0

    def written(self, seconds: float, size: int) -> None:
        """It was written in this time, and is so large."""
        self._cost, self._size = seconds, size

    def is_due(self) -> bool:
        return self._seconds > max(_SECONDS, _TIMES_ITS_COST * self._cost) or self._bytes > max(_BYTES, self._size)

    def is_due_at_close(self, rows: int) -> bool:
        """Whether opening would take long without a snapshot: even a short replay has to index all rows first."""
        return self._seconds > 0 and self._seconds + rows * _SECONDS_PER_ROW > _SECONDS_AT_CLOSE
