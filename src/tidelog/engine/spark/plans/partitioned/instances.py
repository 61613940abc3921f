"""Instances of rules (head, level, hash) ↔ bytes for another task, and the task of a word.

Numbers are their own words in every process. Other values have ids of the process that interned them, so they travel as
stored columns. The task of a value is the bucket of the value in state files (`storage/bucket`), so a task reads from
files the very rows that are sent to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidelog.engine.local.encoding.words import Values, Words, is_its_word
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import sent_instances as kernels
from tidelog.engine.spark.storage.bucket import bucket_of_column
from tidelog.rules.ir import Relation
from tidelog.types import is_word

_LEVEL = "level"


@dataclass(frozen=True, slots=True)
class InstanceCodec:
    """The instances of one relation; `values` are those of this process."""

    relation: Relation
    values: Values

    @property
    def width(self) -> int:
        """The words of an instance."""
        return len(self.relation.columns) + k.INSTANCE_EXTRA

    @property
    def is_plain(self) -> bool:
        """True if words mean the same in all processes."""
        return all(is_word(column.type) for column in self.relation.columns)

    def parts(self, instances: Words, column: int, count: int) -> Words:
        """Returns the task, of so many, of each instance by its value in a column."""
        type_ = self.relation.columns[column].type
        if is_its_word(type_):
            found: Words = np.empty(len(instances), dtype=np.int64)
            kernels.parts_of_column(instances, column, count, found)
            return found
        distinct, places = np.unique(instances[:, column], return_inverse=True)
        words = np.zeros((len(distinct), len(self.relation.columns)), dtype=np.int64)
        words[:] = instances[:1, : words.shape[1]]
        words[:, column] = distinct
        values = self.values.words_to_table(words, self.relation).column(column)
        return bucket_of_column(values, count)[places]

    def encode(self, instances: Words) -> bytes:
        if self.is_plain:
            return instances.tobytes()
        columns = len(self.relation.columns)
        table = self.values.words_to_table(instances[:, :columns], self.relation)
        table = table.append_column(_LEVEL, pa.array(instances[:, columns + k.INSTANCE_LEVEL]))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        data: bytes = sink.getvalue().to_pybytes()
        return data

    def decode(self, data: bytes) -> Words:
        if self.is_plain:
            return np.frombuffer(bytearray(data), dtype=np.int64).reshape(-1, self.width)
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            table = reader.read_all()
        columns = len(self.relation.columns)
        instances: Words = np.empty((table.num_rows, self.width), dtype=np.int64)
        instances[:, :columns] = self.values.table_to_words(table.select(range(columns)), self.relation)
        instances[:, columns + k.INSTANCE_LEVEL] = table.column(_LEVEL).to_numpy()
        kernels.hash_instances(instances)
        return instances
