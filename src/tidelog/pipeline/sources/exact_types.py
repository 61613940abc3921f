"""Refuses columns of a lake table that a relation would round: `double` where it has `float`.

All other types of the formats are taken without loss, or refused where rows are fitted to the relation (`tidelog.io`).
Values of Python and NumPy are `double` for want of another type, so there a column that is declared as `float` asks for
rounding. The columns of a table in a lake were declared, too.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import inside_option
from tidelog.types import FLOAT


def refuse_rounding(relation: Relation, types: Mapping[str, pa.DataType], place: str) -> None:
    """Raises DataError for a column with values that the relation would round. `types` are those of the table."""
    for column in relation.columns:
        type_ = inside_option(column.type) or column.type
        found = types.get(column.name)
        if type_ == FLOAT and found is not None and pa.types.is_float64(found):
            raise DataError(
                f"{place}: the column `{column.name}` has values of type double, which `{relation.name}` would round to"
                " float",
                code=Code.WRONG_COLUMN_TYPE,
                help=f"declare it as `{column.name}: double`",
            )
