"""A column of values → the bucket of each, whose task maintains the rows with this value at their pivot.

The bucket depends on the value alone, not on where or how it is stored, so that all parts of a database agree in every
process and forever: the state on disk is cut by it. Words go through a mix whose every output bit depends on every
input bit; text and encoded values through CRC-32 of their bytes, once per distinct value.
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.engine.spark.encoding.scaled import to_file_column
from tidelog.rules.ir import Constant
from tidelog.rules.schema.stored import stored_column
from tidelog.values import Definitions


def bucket_of_column(column: pa.ChunkedArray, buckets: int) -> npt.NDArray[np.int64]:
    """Returns the bucket, from 0, of each value of a stored column."""
    words = [_words(chunk) for chunk in to_file_column(column).chunks] or [np.empty(0, np.uint64)]
    return (_mix(np.concatenate(words)) % np.uint64(buckets)).astype(np.int64)


def bucket_of_constant(constant: Constant, buckets: int, definitions: Definitions | None = None) -> int:
    """Returns the bucket of a constant of the program; a value that is not plain needs the definitions."""
    column = stored_column([constant.value], constant.type, definitions or Definitions())
    return int(bucket_of_column(pa.chunked_array([column]), buckets)[0])


def rows_of_bucket(table: pa.Table, column: int, buckets: int, bucket: int) -> pa.Table:
    """Returns the rows of the table whose value in the column belongs to the bucket."""
    if buckets == 1:
        return table
    return table.filter(pa.array(bucket_of_column(table.column(column), buckets) == bucket))


def _words(array: pa.Array) -> npt.NDArray[np.uint64]:
    """Returns one word per value: a number's own bits, the check sum of a text or an encoded value."""
    if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
        encoded = array.dictionary_encode()
        distinct = encoded.dictionary.cast(pa.binary()).to_pylist()
        sums = np.array([zlib.crc32(data) for data in distinct], dtype=np.uint64)
        places: npt.NDArray[np.int32] = encoded.indices.to_numpy()
        return sums[places]
    if pa.types.is_floating(array.type):
        bits: npt.NDArray[np.uint64] = array.cast(pa.float64()).to_numpy(zero_copy_only=False).view(np.uint64)
        return bits
    if pa.types.is_boolean(array.type):
        array = pc.cast(array, pa.uint8())
    values: npt.NDArray[np.integer] = array.to_numpy()
    return values.astype(np.int64 if pa.types.is_signed_integer(array.type) else np.uint64).view(np.uint64)


def _mix(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Applies the finaliser of SplitMix64."""
    mixed = words + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
