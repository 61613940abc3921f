"""The time to write the next checkpoint: when a replay of the journal would take much longer than writing one.

The estimate of a replay is the time of the epochs since the last checkpoint. So a database that was closed or killed
opens within seconds, and the disk is not busy with checkpoints that save nothing.
"""

from __future__ import annotations

_SECONDS = 5.0
_SECONDS_AT_CLOSE = 0.25
_SECONDS_PER_ROW = 250e-9  # to index it
_TIMES_ITS_COST = 8
_BYTES = 16 << 20


class CheckpointPolicy:
    """Estimates the cost of a replay from the epochs since the last checkpoint."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._bytes = 0
        self._cost = 0.0
        self._size = 0

    def add_epoch(self, seconds: float, size: int) -> None:
        """Counts an epoch that took so many seconds, with an entry of so many bytes."""
        self._seconds += seconds
        self._bytes += size

    def begin(self) -> None:
        """Starts counting again: a checkpoint of all epochs so far is being written.

        If the write fails, the next checkpoint is due after the same amount again.
        """
        self._seconds, self._bytes = 0.0, 0

    def finish(self, seconds: float, size: int) -> None:
        """Notes the time that a checkpoint took, and its bytes."""
        self._cost, self._size = seconds, size

    def is_due(self) -> bool:
        return self._seconds > max(_SECONDS, _TIMES_ITS_COST * self._cost) or self._bytes > max(_BYTES, self._size)

    def is_due_at_close(self, rows: int) -> bool:
        """True if opening would take long without a checkpoint: even a short replay has to index all rows first."""
        return self._seconds > 0 and self._seconds + rows * _SECONDS_PER_ROW > _SECONDS_AT_CLOSE
