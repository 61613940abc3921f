"""Publishes the state: a directory, and the last manifest in it.

A commit is one more manifest, under the next number. All files that it names are complete by then (and on the disk, if
requested). The manifest with the highest number is in force, so a commit has happened when its manifest has its name,
and not before. Nothing else is ever replaced, so this works on file systems that cannot rename over a file (HDFS), and
on object stores, where a file appears whole or not at all.

One process writes. On a local disk a lock ensures that. No lock works on all other file systems, so there a writer
checks before each commit that the last manifest is its own: of two writers, one is refused at its next commit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.manifest import Basis, Manifest, expire, retire
from tidelog.engine.storage_errors import damaged, in_use, not_a_database, not_written

_log = logging.getLogger("tidelog")
_NOTHING = Manifest(version=0, epoch=-1)


class Published:
    """The manifest in force. `keep_epochs` is for how many epochs files stay after the last one that needed them."""

    def __init__(self, directory: StateDirectory, *, keep_epochs: int, reaches_disk: bool) -> None:
        self.directory = directory
        self.manifest = last_manifest(directory) or _NOTHING
        self._keep_epochs = keep_epochs
        self._old: frozenset[str] = frozenset()  # files that the manifests before this one named
        self._reaches_disk = reaches_disk and directory.is_local

    @property
    def is_new(self) -> bool:
        return not self.manifest.version

    def refresh(self) -> None:
        """Reads the manifest that another process has published since."""
        found = last_manifest(self.directory)
        if found is None:
            raise not_a_database(self.directory.address, "there is no manifest in it any more")
        self.manifest = found

    def publish(self, manifest: Manifest, changes: Iterable[str], held: Iterable[str]) -> None:
        """Makes this the manifest in force; sets its number and its retired files. `remove_old` should follow.

        `changes` are files with the changes of the epoch, `held` those that may still be read. Raises UsageError if
        another process has published meanwhile, TransactionError if it cannot be written; then nothing has happened.
        """
        old = self.manifest
        retired = expire(retire(manifest, old, changes), manifest.epoch - self._keep_epochs, held)
        new = replace(manifest, version=old.version + 1, retired=retired)
        self._check_ours()
        try:
            if self._reaches_disk:
                self.directory.sync(new.named - old.named)
            self.directory.publish(new.version, new.to_json(), reaches_disk=self._reaches_disk)
        except OSError as error:
            raise not_written(self.directory.address, error.strerror or error) from error
        self.manifest = new
        self._old |= old.named

    def remove_old(self, held: Iterable[str] = ()) -> None:
        """Removes the files that the manifest in force does not name, except those that are `held`, and the temporary
        files of its epoch. A state can be pinned until the next one is in force, so this asks again what is held.
        """
        held = frozenset(held)
        names = self._old - self.manifest.named
        folders = {self.manifest.epoch, *(self.directory.epoch_of(name) for name in names)}
        try:
            for epoch in folders:
                self.directory.sweep(epoch, keep=self.manifest.named | held)
            self.directory.sweep_manifests(keep=self.manifest.version)
        except OSError as error:
            _log.warning("%s: old files could not be removed (%s)", self.directory.address, error)
        self._old = names & held

    def become_writer(self) -> None:
        """Begins to write, and removes the remains of a crash: files that no manifest names, drafts, older manifests.

        The manifest is published again first. So another writer, where no lock keeps it out, cannot commit any more:
        the files that it is writing are about to be removed. Raises as `publish` does.
        """
        self._check_ours()
        if not self.is_new:
            self.publish(self.manifest, (), ())
            self.remove_old()
        elif not self.directory.is_local:
            return  # two writers that begin at the same time cannot know of one another
        for epoch in self.directory.epochs():
            self.directory.sweep(epoch, keep=self.manifest.named)
        self.directory.sweep_manifests(keep=self.manifest.version)

    def _check_ours(self) -> None:
        if max(self.directory.manifests(), default=0) != self.manifest.version:
            raise in_use(self.directory.address, "another process, which has committed since this one did")


def last_manifest(directory: StateDirectory) -> Manifest | None:
    """Returns the manifest in force; None if there is none.

    Raises DataError if it is damaged, UsageError if another version of Tidelog wrote it.
    """
    for _ in range(100):
        versions = directory.manifests()
        if not versions:
            return None
        try:
            text = directory.read_manifest(max(versions))
        except FileNotFoundError:
            continue  # a writer has published another one meanwhile
        return Manifest.from_json(text, directory.address)
    raise damaged(directory.address, "its manifest cannot be read")


def stored_basis(directory: StateDirectory) -> Basis | None:
    """Returns the basis of the database in a directory; None if there is no database."""
    found = last_manifest(directory)
    return None if found is None else found.basis
