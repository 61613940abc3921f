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
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tidelog.engine.kept_changes import Retention
from tidelog.engine.spark.storage.change_lists import ChangeLists
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.manifest import Basis, Manifest, expire, retire
from tidelog.engine.spark.storage.state_files import Changed
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
        self._lists = ChangeLists(directory, reaches_disk=self._reaches_disk)

    @property
    def is_new(self) -> bool:
        return not self.manifest.version

    def refresh(self) -> None:
        """Reads the manifest that another process has published since."""
        found = last_manifest(self.directory)
        if found is None:
            raise not_a_database(self.directory.address, "there is no manifest in it any more")
        self.manifest = found

    def publish(
        self,
        manifest: Manifest,
        changes: Iterable[str],
        held: Iterable[str],
        outputs: Mapping[str, Changed] | None = None,
    ) -> None:
        """Makes this the manifest in force; sets its number, its retired files and the epochs of kept changes.
        `remove_old` should follow.

        `changes` are files with the changes of the epoch, `held` those that may still be read, and `outputs` the
        changes of output relations, to be kept if the manifest says so; None without a new epoch. Raises UsageError
        if another process has published meanwhile, TransactionError if it cannot be written; then nothing has happened.
        """
        old = self.manifest
        retired = expire(retire(manifest, old, changes), manifest.epoch - self._keep_epochs, held)
        new = replace(manifest, version=old.version + 1, retired=retired)
        self._check_ours()
        try:
            if outputs is not None:
                new = replace(new, kept=self._lists.plan(new.kept, new.epoch, outputs))
            if self._reaches_disk:
                self.directory.sync(new.named - old.named)
            self.directory.publish(new.version, new.to_json(), reaches_disk=self._reaches_disk)
        except BaseException as error:
            if outputs is not None:
                self._lists.drop(new.epoch)
            if isinstance(error, OSError):
                raise not_written(self.directory.address, error.strerror or error) from error
            raise
        self.manifest = new
        self._old |= old.named | self._lists.expire(new.kept)

    def remove_old(self, held: Iterable[str] = ()) -> None:
        """Removes the files that the manifest in force does not name, except those that are `held`, and the temporary
        files of its epoch. A state can be pinned until the next one is in force, so this asks again what is held.
        """
        held = frozenset(held)
        named = self.manifest.named
        names = self._old - named
        folders = {self.manifest.epoch, *(self.directory.epoch_of(name) for name in names)}
        try:
            for epoch in folders:
                self.directory.sweep(epoch, keep=named | held | self._lists.files_in(epoch))
            self.directory.sweep_manifests(keep=self.manifest.version)
        except OSError as error:
            _log.warning("%s: old files could not be removed (%s)", self.directory.address, error)
        self._old = names & held

    def remove_attempt(self, epoch: int) -> None:
        """Removes the files of an attempt at the next epoch that came to nothing.

        They stay where no lock keeps writers apart and another one has begun: it makes the same epoch in the same
        folder, and removes what no manifest names when it begins.
        """
        if self._is_ours():
            self.directory.sweep(epoch, keep=())

    def become_writer(self, keep_changes: Retention | None = None) -> None:
        """Begins to write, and removes the remains of a crash: files that no manifest names, drafts, older manifests.
        `keep_changes` replaces the setting of the state.

        The manifest is published again first. So another writer, where no lock keeps it out, cannot commit any more:
        the files that it is writing are about to be removed. Raises as `publish` does.
        """
        self._check_ours()
        self._set_retention(keep_changes)
        if not self.is_new:
            self._lists.begin(self.manifest.kept, self.manifest.epoch)
            self.publish(self.manifest, (), ())
            self.remove_old()
        elif not self.directory.is_local:
            return  # two writers that begin at the same time cannot know of one another
        for epoch in self.directory.epochs():
            self.directory.sweep(epoch, keep=self.manifest.named | self._lists.files_in(epoch))
        self.directory.sweep_manifests(keep=self.manifest.version)

    def _set_retention(self, wanted: Retention | None) -> None:
        """Notes a setting of kept changes for the next manifest."""
        if wanted is None:
            return
        since = self.manifest.kept.get("since", self.manifest.epoch)
        kept = {"retention": wanted.document, "since": since} if wanted else {}
        self.manifest = replace(self.manifest, kept=kept)

    def _is_ours(self) -> bool:
        """True if no other process has published since."""
        return max(self.directory.manifests(), default=0) == self.manifest.version

    def _check_ours(self) -> None:
        if not self._is_ours():
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
