"""The manifest: one small JSON file that describes a database on Spark as of one commit.

It names the epoch, the files of every relation, the program that derived them, and the marks of the feeds of the
database. A file that it does not name does not count, so to replace the manifest is to commit (`publish`).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tidelog.engine.marks import Marks
from tidelog.engine.spark.storage.check_manifest import check_body
from tidelog.engine.spark.storage.state_files import Changed, Stored, changed_from_json, stored_from_json
from tidelog.engine.storage_errors import damaged, other_format

FORMAT = 3

Waiting = Mapping[str, tuple[Changed | None, ...]]
"""The changes to come of each delayed relation, in the order of the epochs."""


@dataclass(frozen=True, slots=True)
class Basis:
    """The origin of the rows: the program in the form in which the database layer stores it, a digest of its meaning,
    the declared versions of its extern functions, and the later changes of its rules (`rule_changes.rule_set`)."""

    program: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    externs: Mapping[str, str] = field(default_factory=dict)
    layer: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The visible state. Manifests are numbered (`version`); an epoch has one or, where only marks were set, several.

    `retired` has files that are no longer part of the state, by the last epoch that needed them: readers may still.
    `waiting` has for each delayed relation its changes in the epochs to come (`delays`). `kept` says which epochs have
    a list of their changes (`change_lists`); earlier versions of Tidelog did not write it.
    """

    version: int
    epoch: int
    basis: Basis = field(default_factory=Basis)
    relations: Mapping[str, Stored] = field(default_factory=dict)
    marks: Marks = field(default_factory=dict)
    retired: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    waiting: Waiting = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> frozenset[str]:
        """The files of the state."""
        stored = frozenset(name for stored in self.relations.values() for name in stored.files)
        return stored.union(*(each.files for queue in self.waiting.values() for each in queue if each is not None))

    @property
    def named(self) -> frozenset[str]:
        """The files of the state, and the retired ones."""
        return self.files.union(*self.retired.values())

    def to_json(self) -> str:
        body = asdict(self)
        body["retired"] = [[epoch, names] for epoch, names in self.retired.items()]
        return json.dumps({"format": FORMAT, "checksum": _checksum(body), "manifest": body}, indent=1)

    @staticmethod
    def from_json(text: str, place: str) -> Manifest:
        """Reads `to_json`. Raises DataError for a damaged text, UsageError for another format."""
        try:
            document = json.loads(text)
            if document["format"] != FORMAT:
                raise other_format(place, document["format"], FORMAT)
            body = document["manifest"]
            if _checksum(body) != document["checksum"]:
                raise damaged(place, "its manifest is not as it was written")
            check_body(body)
            return Manifest(
                body["version"],
                body["epoch"],
                Basis(**body["basis"]),
                {name: stored_from_json(value) for name, value in body["relations"].items()},
                body["marks"],
                {epoch: tuple(names) for epoch, names in body["retired"]},
                {name: tuple(map(changed_from_json, queue)) for name, queue in body["waiting"].items()},
                body.get("kept", {}),
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise damaged(place, f"its manifest cannot be read ({error})") from error


def retire(manifest: Manifest, old: Manifest, changes: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """Returns the retired files once `manifest` follows on `old`: with the files of the old state that are no longer
    needed, and the files of changes."""
    needed = manifest.files
    retired = {epoch: set(names) for epoch, names in old.retired.items()}
    retired.setdefault(old.epoch, set()).update(old.files - needed)
    retired.setdefault(manifest.epoch, set()).update(name for name in changes if name not in needed)
    return {epoch: tuple(sorted(names)) for epoch, names in retired.items() if names}


def expire(retired: Mapping[int, tuple[str, ...]], before: int, held: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """Returns the retired files without those of epochs before `before`, except those that are `held`."""
    kept = set(held)
    named = {epoch: names if epoch >= before else tuple(kept.intersection(names)) for epoch, names in retired.items()}
    return {epoch: names for epoch, names in named.items() if names}


def _checksum(body: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())
