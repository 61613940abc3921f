"""Filters of the values in the join columns of a bucket: they tell which changes below never meet the bucket.

    Reach(x, z) :- Reach(x, y), Edge(y, z).        a change of Edge(7, _) meets a bucket only if its Reach has a y of 7

For each such column a bucket has a filter: a bit for each value of a hash, set where some row has had the value. So a
value whose bit is not set is in no row. Deleted rows do not clear bits; a recompute of the bucket makes a new filter.
The filters of a bucket of a relation are a small file beside its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.engine.spark.storage.bucket import bucket_of_column
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.storage_errors import damaged
from tidelog.rules.ir import Atom, Rule, Variable

_LEAST_BITS, _MOST_BITS = 1 << 9, 1 << 17
_BITS_PER_VALUE = 16
_EXAMINED_TOGETHER = 1 << 18


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """A bit for each value of a hash."""

    bits: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> KeyFilter:
        """Makes a filter of the values of a stored column, with room for as many again.

        The largest filter tells how many values there are, well enough; a smaller one is this one folded.
        """
        largest = cls(np.zeros(_MOST_BITS, dtype=np.bool_)).with_values(column).bits
        wanted = min(_BITS_PER_VALUE * int(np.count_nonzero(largest)), _MOST_BITS)
        size = max(_LEAST_BITS, 1 << (wanted - 1).bit_length())
        folded: npt.NDArray[np.bool_] = np.any(largest.reshape(-1, size), axis=0)
        return cls(folded)

    def with_values(self, column: pa.ChunkedArray) -> KeyFilter:
        bits = self.bits.copy()
        for start in range(0, len(column), _EXAMINED_TOGETHER):
            if bits.all():  # more values would change nothing
                break
            bits[bucket_of_column(column.slice(start, _EXAMINED_TOGETHER), len(bits))] = True
        return KeyFilter(bits)

    def may_have(self, column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
        """Returns, for each value, True if some row may have it; False is certain."""
        return self.bits[bucket_of_column(column, len(self.bits))]


def shared_columns(first: Atom, second: Atom) -> list[tuple[int, int]]:
    """Returns the pairs of columns in which two atoms have the same variable."""
    return [
        (i, second.terms.index(term))
        for i, term in enumerate(first.terms)
        if isinstance(term, Variable) and term in second.terms
    ]


def joined_columns(rules: Iterable[Rule], inside: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Returns, for each relation of a segment, the columns by which its rows join rows below."""
    found: dict[str, set[int]] = {}
    for rule in rules:
        own = [atom for atom in rule.positives if atom.relation in inside]
        for other in rule.atoms:
            if other.relation not in inside:
                for atom in own:
                    found.setdefault(atom.relation, set()).update(j for _, j in shared_columns(other, atom))
    return {name: tuple(sorted(columns)) for name, columns in found.items() if columns}


def write_filters(
    directory: StateDirectory, epoch: int, name: str, columns: Sequence[int], rows: pa.Table, old: str | None
) -> str | None:
    """Writes the filters of the rows, added to those of the file `old` if given. Returns the file's name.

    The name may be the old one, and is None if there is nothing to filter.
    """
    if not columns:
        return None
    if old is None:
        filters = {column: KeyFilter.of(rows.column(column)) for column in columns}
    else:
        known = read_filters(directory, old)
        if not known.keys() >= {*columns}:
            raise damaged(directory.address, f"its file {old} has no filter for a column that rules join")
        filters = {column: known[column].with_values(rows.column(column)) for column in columns}
        if all(np.array_equal(filters[column].bits, known[column].bits) for column in columns):
            return old
    file = directory.new_name(epoch, name, "keys")
    data = [np.packbits(each.bits).tobytes() for each in filters.values()]
    directory.write(file, pa.table({"column": pa.array(filters, pa.int64()), "bits": pa.array(data, pa.binary())}))
    return file


def read_filters(directory: StateDirectory, file: str) -> Mapping[int, KeyFilter]:
    """Reads the filters of a file, by column."""
    return _read(directory.address, file)


@lru_cache(maxsize=512)
def _read(address: str, file: str) -> Mapping[int, KeyFilter]:
    table = StateDirectory(address).read(file, ["column", "bits"])
    columns = table["column"].to_pylist()
    if (
        table.schema.types != [pa.int64(), pa.binary()]
        or len({*columns}) != len(columns)
        or not all(column is not None and data for column, data in zip(columns, table["bits"].to_pylist()))
    ):
        raise damaged(address, f"its file {file} is not what Tidelog writes")
    bits = [np.unpackbits(np.frombuffer(data, np.uint8)).astype(np.bool_) for data in table["bits"].to_pylist()]
    return dict(zip(columns, map(KeyFilter, bits), strict=True))
