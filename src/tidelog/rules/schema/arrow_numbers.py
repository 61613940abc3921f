"""Numbers of NumPy → an Arrow array that shares their memory.

`pyarrow.array` does the same, but asks pandas first whether it is given a series: where pandas is installed that
imports it, which takes longer than many a small program runs. `Array.cast` imports `pyarrow.compute`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def arrow_numbers(numbers: npt.NDArray[Any], type_: pa.DataType | None = None) -> pa.Array:
    """Returns an array of numbers or truth values; of another type if it has the same bytes for each of them."""
    if numbers.dtype == np.bool_:
        data = np.packbits(numbers, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(numbers), [None, pa.py_buffer(data)])
    data = np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(type_ or pa.from_numpy_dtype(data.dtype), len(data), [None, pa.py_buffer(data)])
