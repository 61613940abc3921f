"""Warnings about files of a feed that somebody wrote to after they were taken: their rows may be missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

_MOST = 5  # that are named one by one in a run: all files have other times where somebody has copied a folder


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file, and the end of the sentence that says what is different."""

    path: str
    difference: str = ""


class ChangeWarnings:
    """Warns of the first changed files of a run, and counts the others."""

    def __init__(self, warn: Callable[[str], object]) -> None:
        self._warn = warn
        self._told = 0

    def tell(self, changed: Sequence[ChangedFile]) -> None:
        """Warns of the files that were found to have changed."""
        named = changed[: max(_MOST - self._told, 0)]
        for each in named:
            self._warn(
                f"{each.path} has changed since its batch was planned{each.difference}, and files are read once. Rows"
                " of it may be missing: write a file elsewhere, move it into the folder when it is finished, and put"
                " the missing rows into a new file"
            )
        others = len(changed) - len(named)
        if others:
            are = "other file has" if others == 1 else "other files have"
            self._warn(
                f"{others:,} {are} changed since their batches were planned; the first: {changed[len(named)].path}"
            )
        self._told += len(changed)
