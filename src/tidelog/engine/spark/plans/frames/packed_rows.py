"""Packed rows: all relations of a stratum in one frame, so that one job serves them all, whatever the number of rules.

    hash   member  lo0  lo1  st0   ...     `member` is the relation of a row; its columns stand in slots of their type,
    8f..   0       7    9    ""             slots that it does not need hold a constant; `hash` is of all of these

Frames are spread over partitions by `hash` alone. Frames that are spread alike are joined and merged on the keys
(`hash` and the columns it is of) without moving a row: only the rows that a job has just found travel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.encoding.columns import frame_type
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.rules.ir import Relation, Stratum

HASH, MEMBER = "hash", "member"

HASHED_ROWS = 500_000
"""Up to so many rows a task hashes to join them; more are sorted, for which it may use its disk."""

_EMPTY: Mapping[str, Any] = {"boolean": False, "long": 0, "double": 0.0, "string": "", "binary": b""}


class PackedRows:
    """The slot of each column of each relation of the stratum in the common frame."""

    def __init__(
        self, spark: Any, stratum: Stratum, relations: Mapping[str, Relation], functions: CompiledFunctions
    ) -> None:
        self.functions = functions
        self._spark = spark
        self._partitions = int(spark.conf.get("spark.sql.shuffle.partitions"))
        self.members = {name: number for number, name in enumerate(stratum.relations)}
        self.places: dict[str, list[str]] = {}
        types: dict[str, str] = {}
        for name in stratum.relations:
            used: dict[str, int] = {}
            self.places[name] = []
            for column in relations[name].columns:
                type_ = frame_type(column.type)
                slot = f"{type_[:2]}{used.get(type_, 0)}"
                used[type_] = used.get(type_, 0) + 1
                types[slot] = type_
                self.places[name].append(slot)
        self.types = dict(sorted(types.items()))

    @property
    def keys(self) -> list[str]:
        return [HASH, MEMBER, *self.types]

    def empty(self, longs: Sequence[str] = ()) -> Any:
        """Returns a common frame without rows, with more columns of type long."""
        types = {HASH: "long", MEMBER: "long", **self.types, **dict.fromkeys(longs, "long")}
        return self._spark.createDataFrame([], ", ".join(f"{name} {type_}" for name, type_ in types.items()))

    def pack(self, rows: Any, name: str, more: Sequence[str] = ()) -> Any:
        """Returns rows of one relation, columns `c0`, ..., in the common frame, with the columns `more`."""
        column_of = {slot: f"c{i}" for i, slot in enumerate(self.places[name])}
        values = {
            MEMBER: long(self.members[name]),
            **{
                slot: f.col(column_of[slot]) if slot in column_of else f.lit(_EMPTY[type_]).cast(type_)
                for slot, type_ in self.types.items()
            },
        }
        named = [value.alias(slot) for slot, value in values.items()]
        return rows.select(f.xxhash64(*values.values()).alias(HASH), *named, *more)

    def pack_columns(self, values: Mapping[str, str], rows: Any, more: Sequence[str] = ()) -> Any:
        """Returns rows of any relations (column `member`) in the common frame; `values` has the slots, in SQL."""
        placed = rows.selectExpr(MEMBER, *(f"{value} as {slot}" for slot, value in values.items()), *more)
        return placed.selectExpr(f"xxhash64({', '.join([MEMBER, *self.types])}) as {HASH}", "*")

    def unpack(self, frame: Any, name: str, more: Sequence[str] = ()) -> Any:
        """Returns the rows of one relation, columns `c0`, ..., with the columns `more`."""
        rows = frame.filter(f.col(MEMBER) == self.members[name])
        return rows.select(*(f.col(slot).alias(f"c{i}") for i, slot in enumerate(self.places[name])), *more)

    def spread(self, frame: Any) -> Any:
        """Returns the same rows, spread over partitions by their hash."""
        return frame.repartition(self._partitions, HASH)

    def hashed(self, frame: Any, count: int) -> Any:
        """Returns spread rows, about `count`, with a hint to hash them in a join with other spread rows."""
        return frame.hint("shuffle_hash" if count <= HASHED_ROWS * self._partitions else "merge")


def long(value: int) -> Any:
    """Returns a constant column."""
    return f.lit(value).cast("long")
