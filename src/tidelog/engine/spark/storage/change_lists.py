"""Kept changes on Spark: for each of the last epochs a small file that lists the files of its changes.

    changes-000000000007.json     epoch 7: the time of its commit, and the files of each output relation

An epoch writes the files of its changes anyway; a list only keeps them from being removed. It is written before the
manifest of its epoch, which says from which epoch on there are lists, so a list of an epoch that was not committed does
not count. A commit costs its own list and those that it removes, however many there are.
"""

from __future__ import annotations

import json
import time
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tidelog.engine.kept_changes import Retention
from tidelog.engine.spark.storage.check_manifest import check_list
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.state_files import Changed, changed_from_json
from tidelog.engine.storage_errors import damaged

Kept = Mapping[str, Any]
"""The part of a manifest about kept changes: `retention`, and `since`, the epoch after which all lists are there. Empty
if none are kept."""


@dataclass(frozen=True, slots=True)
class ChangeList:
    """The changes of one epoch."""

    epoch: int
    time: float
    changes: Mapping[str, Changed]

    @property
    def files(self) -> frozenset[str]:
        return frozenset(name for each in self.changes.values() for name in each.files)

    def to_json(self) -> str:
        body = asdict(self)
        return json.dumps({"checksum": _checksum(body), "list": body})


class ChangeLists:
    """The lists of a directory, as its writer knows them."""

    def __init__(self, directory: StateDirectory, *, reaches_disk: bool) -> None:
        self._directory = directory
        self._reaches_disk = reaches_disk
        self._lists: dict[int, ChangeList] = {}
        self._files: dict[int, Counter[str]] = {}  # by the epoch in whose folder they are

    def files_in(self, epoch: int) -> frozenset[str]:
        """Returns the files in the folder of an epoch that are kept."""
        return frozenset(self._files.get(epoch, ()))

    def begin(self, kept: Kept, epoch: int) -> None:
        """Reads the lists of a state, and removes all others. Raises DataError where one is missing or damaged."""
        for each in list(self._lists):
            self._forget(each)
        for each in range(kept["since"] + 1, epoch + 1) if kept else ():
            try:
                self._note(read_list(self._directory, each))
            except FileNotFoundError as error:
                raise damaged(self._directory.address, f"it has no list of the changes of epoch {each}") from error
        self._directory.sweep_lists(keep=self._lists.keys())

    def plan(self, kept: Kept, epoch: int, changes: Mapping[str, Changed]) -> Kept:
        """Writes the list of the next epoch; returns the part of its manifest."""
        if not kept:
            return kept
        before = self._lists.get(epoch - 1)
        now = time.time() if before is None else max(time.time(), before.time)  # times do not fall
        planned = ChangeList(epoch, now, changes)
        self._directory.write_list(epoch, planned.to_json(), reaches_disk=self._reaches_disk)
        self._note(planned)
        retention = Retention.of_document(kept["retention"])
        since = kept["since"]
        while not retention.outlasts(since + 1, self._lists[since + 1].time, epoch, now):
            since += 1
        return {**kept, "since": since}

    def drop(self, epoch: int) -> None:
        """Forgets the list of an epoch that was not committed."""
        if epoch in self._lists:
            self._forget(epoch)

    def expire(self, kept: Kept) -> frozenset[str]:
        """Removes the lists that the manifest in force does not need; returns the files that they alone kept."""
        gone = []
        for epoch in list(self._lists):  # in their order
            if kept and epoch > kept["since"]:
                break
            gone.append(self._forget(epoch))
            self._directory.remove_list(epoch)
        names = frozenset[str]().union(*gone)
        return frozenset(name for name in names if name not in self.files_in(self._directory.epoch_of(name)))

    def _note(self, found: ChangeList) -> None:
        self._lists[found.epoch] = found
        for name in found.files:
            self._files.setdefault(self._directory.epoch_of(name), Counter())[name] += 1

    def _forget(self, epoch: int) -> frozenset[str]:
        files = self._lists.pop(epoch).files
        for name in files:
            folder = self._directory.epoch_of(name)
            self._files[folder][name] -= 1
            self._files[folder] += Counter()  # without those that nobody keeps
            if not self._files[folder]:
                del self._files[folder]
        return files


def read_list(directory: StateDirectory, epoch: int) -> ChangeList:
    """Reads the list of an epoch. Raises FileNotFoundError if there is none, DataError where it is damaged."""
    try:
        document = json.loads(directory.read_list(epoch))
        body = document["list"]
        if _checksum(body) != document["checksum"]:
            raise damaged(directory.address, f"its list of the changes of epoch {epoch} is not as it was written")
        check_list(body)
        changes = {name: changed_from_json(each) for name, each in body["changes"].items()}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        what = f"its list of the changes of epoch {epoch} cannot be read ({error})"
        raise damaged(directory.address, what) from error
    return ChangeList(body["epoch"], body["time"], {name: each for name, each in changes.items() if each is not None})


def _checksum(body: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())
