"""The pinned states of a database on Spark: manifests whose files stay, whatever is committed meanwhile.

A manifest never changes, and neither does a file that it names. So a state is pinned by a count beside its manifest,
and a commit removes no file that a pinned manifest names. Such files stay in the list of retired files of each later
manifest, so a process that ends without releasing its pins leaves nothing behind that a later writer does not remove.
"""

from __future__ import annotations

from threading import Lock

from tidelog.engine.spark.storage.manifest import Manifest


class Pins:
    """Manifests by their number, each with how often it is pinned."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[int, tuple[Manifest, int]] = {}

    def hold(self, manifest: Manifest) -> None:
        """Pins a manifest, once more."""
        with self._lock:
            _, count = self._held.get(manifest.version, (manifest, 0))
            self._held[manifest.version] = manifest, count + 1

    def release(self, manifest: Manifest) -> bool:
        """Ends one pin of a manifest; returns True if that was the last one."""
        with self._lock:
            _, count = self._held[manifest.version]
            if count > 1:
                self._held[manifest.version] = manifest, count - 1
                return False
            del self._held[manifest.version]
            return True

    def is_held(self, manifest: Manifest) -> bool:
        """True if a manifest is pinned."""
        return manifest.version in self._held

    @property
    def files(self) -> frozenset[str]:
        """The files of all pinned states."""
        with self._lock:
            held = [manifest for manifest, _ in self._held.values()]
        return frozenset().union(*(manifest.files for manifest in held))
