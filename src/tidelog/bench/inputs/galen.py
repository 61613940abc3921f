"""GALEN: the ontology from `galen.zip`, or a generated one of its shape.

The shape: a forest of concepts with a few extra parents, roles on concepts, and few chains, conjunctions and
existentials that turn roles back into subsumptions.
"""

from __future__ import annotations

import io
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import numpy as np
import pyarrow.csv

from tidelog.bench.benchmark import Scale, Settings
from tidelog.bench.inputs.dataset import SEED, Dataset, distinct, number_table, unreadable

COLUMNS = {
    "ToldIsA": ("sub", "above"),
    "ToldHas": ("sub", "role", "what"),
    "Chain": ("first", "second", "whole"),
    "Both": ("one", "other", "above"),
    "Some": ("what", "role", "above"),
    "SubRole": ("role", "above"),
}
FILES = {"ToldIsA": "p", "ToldHas": "q", "Chain": "r", "Both": "c", "Some": "u", "SubRole": "s"}
KNOWN = {"IsA": 7_560_179, "Has": 16_595_494}
# A twentieth of the told facts derives in seconds; the shape of the rest stays.
_SMALL_SHARE = 0.05


def galen(settings: Settings) -> Dataset:
    """Returns the real ontology at full scale, a fixed sample of it at smaller ones; generated without `galen.zip`."""
    path = settings.file("galen.zip")
    if path is None:
        return generated(settings.pick(60, 1_000, 4_000))
    read = read_galen(path)
    if settings.scale is Scale.FULL:
        return read
    share = _SMALL_SHARE if settings.scale is Scale.SMALL else _SMALL_SHARE / 20
    generator = np.random.default_rng(SEED)
    tables = dict(read.tables)
    for name in ("ToldIsA", "ToldHas"):
        count = tables[name].num_rows
        tables[name] = tables[name].take(np.sort(generator.permutation(count)[: int(share * count)]))
    return Dataset(f"GALEN, {share:.2%} of p and q", str(path), tables, SEED)


def read_galen(path: Path) -> Dataset:
    """Reads the whole archive. Raises UsageError if it is not GALEN."""
    tables = {}
    try:
        with ZipFile(path) as archive:
            members = {Path(member).stem: member for member in archive.namelist()}
            for name, columns in COLUMNS.items():
                options = pyarrow.csv.ReadOptions(column_names=list(columns))
                read = pyarrow.csv.read_csv(io.BytesIO(archive.read(members[FILES[name]])), read_options=options)
                tables[name] = read.cast(number_table(np.empty((0, len(columns))), *columns).schema)
    except (BadZipFile, KeyError, OSError, ValueError) as error:
        raise unreadable(path, error) from error
    return Dataset("GALEN", str(path), tables, known=KNOWN)


def generated(concepts: int) -> Dataset:
    """Generates an ontology of so many concepts."""
    generator = np.random.default_rng(SEED)
    roles = 12
    concept = np.arange(1, concepts)
    # Parents are drawn from the nearer half below, which keeps the tree some ten levels deep.
    parents = np.stack([concept, generator.integers(concept // 3, concept)], axis=1)
    extra = generator.integers(0, concepts, (concepts // 10, 2))
    extra = np.stack([extra.max(axis=1), extra.min(axis=1)], axis=1)
    extra = extra[extra[:, 0] != extra[:, 1]]

    def drawn(count: int, *limits: int) -> np.ndarray:
        return np.stack([generator.integers(0, limit, count) for limit in limits], axis=1)

    def upward(rows: np.ndarray) -> np.ndarray:
        """Moves the last column far above the first, so that subsumption has no cycles."""
        rows[:, -1] = rows[:, 0] // 8
        return rows

    tables = {
        "ToldIsA": np.concatenate([parents, extra]),
        "ToldHas": drawn(concepts, concepts, roles, concepts),
        "Chain": np.array([[roles - 1, roles - 2, roles - 3], [roles - 4, roles - 1, roles - 4]]),
        "Both": upward(drawn(concepts // 2, concepts, concepts, concepts)),
        "Some": upward(drawn(concepts // 4, concepts, roles, concepts)),
        "SubRole": np.array([[role, role // 2] for role in range(1, roles)]),
    }
    given = {name: number_table(distinct(rows), *COLUMNS[name]) for name, rows in tables.items()}
    return Dataset(f"ontology of {concepts} concepts", "generated", given, SEED)
