"""Rows of one call → the rows of an operation: a table of stored columns, or a DataFrame with columns named by
position, whose values that are not plain are encoded. The column of an `Option` may be missing: it is null.

A DataFrame is lazy, so here only its columns are checked, by name and kind of type; its values are checked by the
commit, in the job that reads them.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.encoding.columns import taken_from
from tidelog.engine.spark.encoding.nested import stored
from tidelog.rules.ir import Relation
from tidelog.rules.schema.arrow import is_option
from tidelog.rules.schema.stored import stored_schema, stored_table
from tidelog.types import written_type
from tidelog.values import Definitions


def stage(relation: Relation, rows: Any, definitions: Definitions) -> Any:
    """Accepts a list of rows, a table of the relation's stored columns, or a Spark DataFrame.

    Raises DataError when it does not fit.
    """
    if isinstance(rows, list):
        return stored_table(rows, relation, definitions)
    if not isinstance(rows, pa.Table):
        return _stage_frame(relation, rows, definitions)
    schema = stored_schema(relation)
    if rows.schema.names != schema.names or rows.schema.types != schema.types:
        found, wanted = _shown(rows.schema), _shown(schema)
        raise DataError(f"rows for `{relation.name}` have the columns {found}, not {wanted}", code=Code.WRONG_COLUMNS)
    return rows


def _stage_frame(relation: Relation, frame: Any, definitions: Definitions) -> Any:
    wanted = [column.name for column in relation.columns]
    fields = list(frame.schema.fields)
    names = [field.name for field in fields]
    needed = {column.name for column in relation.columns if not is_option(column.type)}
    if len(set(names)) != len(names) or not needed <= set(names) <= set(wanted):
        columns = ", ".join(f"{column.name}: {written_type(column.type)}" for column in relation.columns)
        raise DataError(
            f"the DataFrame for `{relation.name}` has the columns {', '.join(names) or 'none'}",
            code=Code.WRONG_COLUMNS,
            help=f"the columns are `{columns}`",
        )
    for column in relation.columns:
        if column.name not in names:
            continue
        found = fields[names.index(column.name)].dataType
        if not taken_from(found, column.type):
            raise DataError(
                f"column `{column.name}` of the DataFrame for `{relation.name}` holds `{found.simpleString()}` values"
                f" where {written_type(column.type)} is wanted",
                code=Code.WRONG_COLUMN_TYPE,
                help="cast the column first",
            )
    # By position first: Spark does not tell apart names that differ only in case.
    numbered = frame.toDF(*(f"i{place}" for place in range(len(names))))
    found_or_null = (f.col(f"i{names.index(name)}") if name in names else f.lit(None) for name in wanted)
    ordered = numbered.select(*(each.alias(f"c{i}") for i, each in enumerate(found_or_null)))
    return stored(ordered, relation, definitions)


def _shown(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema) or "none"
