"""Edits of a shared text: those of `crdt.zip`, or generated ones; and the size of their text, found without Tidelog."""

from __future__ import annotations

import io
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import numpy as np

from tidelog.bench.benchmark import Scale, Settings
from tidelog.bench.inputs.dataset import SEED, Dataset, Numbers, number_table, unreadable

INSERT = ("ctr", "node", "after_ctr", "after_node")
REMOVE = ("ctr", "node")
KNOWN = {"Text": 104_851}
Name = tuple[int, int]


def crdt(settings: Settings) -> Dataset:
    """Returns the real edits at full scale, a prefix of them at smaller ones; generated ones without `crdt.zip`."""
    path = settings.file("crdt.zip")
    if path is None:
        return generated(settings.pick(200, 20_000, 180_000))
    inserts, removes = read_crdt(path)
    if settings.scale is Scale.FULL:
        return _dataset("CRDT", str(path), inserts, removes, known=KNOWN)
    # A character comes after its parent, so that the beginning of the edits is whole.
    last = np.sort(inserts[:, 0])[settings.pick(200, 20_000, 0)]
    inserts, removes = inserts[inserts[:, 0] <= last], removes[removes[:, 0] <= last]
    return _dataset(f"CRDT up to {last}", str(path), inserts, removes)


def read_crdt(path: Path) -> tuple[Numbers, Numbers]:
    """Returns the inserts and the removes. Raises UsageError for an archive that has none."""
    try:
        with ZipFile(path) as archive:
            members = {Path(member).name: member for member in archive.namelist()}
            inserts, removes = (
                np.loadtxt(io.BytesIO(archive.read(members[name])), dtype=np.uint32, ndmin=2)
                for name in ("insert.txt", "remove.txt")
            )
    except (BadZipFile, KeyError, OSError, ValueError) as error:
        raise unreadable(path, error) from error
    return inserts, removes


def generated(characters: int) -> Dataset:
    """Generates so many characters: most after the one typed before, a few elsewhere; 40% are removed, in runs."""
    generator = np.random.default_rng(SEED)
    counters = np.arange(1, characters + 1)
    nodes = generator.integers(0, 3, characters)
    after = counters - 1
    jumps = generator.random(characters) < 0.04
    after[jumps] = generator.integers(0, counters[jumps])
    all_nodes = np.concatenate([[0], nodes])
    inserts = np.stack([counters, nodes, after, all_nodes[after]], axis=1).astype(np.uint32)
    runs = np.repeat(generator.random(characters // 20 + 1) < 0.4, 20)[:characters]
    return _dataset(f"{characters} edits", "generated", inserts, inserts[runs][:, :2], seed=SEED)


def _dataset(
    name: str,
    source: str,
    inserts: Numbers,
    removes: Numbers,
    seed: int | None = None,
    known: dict[str, int] | None = None,
) -> Dataset:
    tables = {"Insert": number_table(inserts, *INSERT), "Remove": number_table(removes, *REMOVE)}
    return Dataset(name, source, tables, seed, known or {})


def text_size(dataset: Dataset) -> int:
    """Returns the pairs of neighbours among the visible characters."""
    inserts, removes = (
        zip(*(column.to_pylist() for column in dataset.tables[name].columns)) for name in dataset.tables
    )
    removed = set(removes)
    children: dict[Name, list[Name]] = {}
    for counter, node, after_counter, after_node in inserts:
        children.setdefault((after_counter, after_node), []).append((counter, node))
    known = {child for each in children.values() for child in each}
    shown = 0
    for root in children.keys() - known:
        # The root is no character: the text begins after it.
        waiting = sorted(children[root])
        here = 0
        while waiting:
            name = waiting.pop()
            here += name not in removed
            waiting += sorted(children.get(name, ()))
        shown += max(0, here - 1)
    return shown
