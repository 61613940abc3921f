"""Rows for other libraries: a table of Arrow, pandas or polars, batches, and the Arrow C stream.

Relations, deltas and answers are `Tabular`. Whatever reads the Arrow C stream takes them as they are:

    pa.table(db.relation("Reach"))      polars.DataFrame(answer)      duckdb.sql("select * from reach")
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import MissingDependencyError
from tidelog.io.to_python import with_lists
from tidelog.maintain.limits import positive_whole
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import inside_option, is_plain
from tidelog.types import FloatType

BATCH = 10_000
"""The rows of a batch, unless somebody asks for another number."""


class Tabular(ABC):
    """Rows of the columns of one relation, which `to_arrow` gives as a table."""

    _relation: Relation

    @abstractmethod
    def to_arrow(self) -> pa.Table: ...

    def to_pandas(self) -> Any:
        """Returns `to_arrow()` as a pandas DataFrame."""
        return table_to_pandas(self.to_arrow(), self._relation)

    def to_polars(self) -> Any:
        """Returns `to_arrow()` as a polars DataFrame.

        Raises MissingDependencyError, with the command, where polars is missing.
        """
        try:
            import polars
        except ImportError as error:
            raise MissingDependencyError(
                "polars is not installed", code=Code.NO_POLARS, help="pip install 'polars>=1'"
            ) from error
        return polars.from_arrow(with_lists(self.to_arrow()))

    def batches(self, rows: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Yields the rows as Arrow record batches of at most so many rows, all of one epoch."""
        size = positive_whole("rows", rows)
        table = self.to_arrow().combine_chunks()
        return iter(table.to_batches(max_chunksize=size))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Returns the rows as an Arrow C stream: other libraries read it without copying."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def table_to_pandas(table: pa.Table, relation: Relation) -> Any:
    """Converts the table of a relation's rows to a pandas DataFrame; values that are not plain become Python objects.

    Raises MissingDependencyError, with the command, where pandas is missing.
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingDependencyError(
            "pandas is not installed", code=Code.NO_PANDAS, help="pip install 'pandas>=2.2,<3'"
        ) from error
    objects = [column.name for column in relation.columns if not is_plain(column.type)]
    frame = table.drop_columns(objects).to_pandas()
    # pandas itself would make integers with nulls floats, and nulls among floats NaN, also inside lists.
    for column in relation.columns:
        if column.name in objects:
            is_float = isinstance(inside_option(column.type), FloatType)
            frame[column.name] = (
                _nullable_floats(table.column(column.name))
                if is_float
                else pandas.Series(table.column(column.name).to_pylist(), dtype=object)
            )
    return frame[table.column_names]


def _nullable_floats(column: pa.ChunkedArray) -> Any:
    """Returns floats as an array of pandas in which null is not NaN: among objects NaN would be read as null."""
    import numpy as np
    import pandas
    import pyarrow.compute as pc

    is_null = np.asarray(column.is_null())
    return pandas.arrays.FloatingArray(np.array(pc.fill_null(column, 0.0)), is_null)
