"""A place of a pipeline file → what Spark reads there: a frame of a starting table, or a stream of a feed.

| format | how it is read |
| --- | --- |
| `csv` | cells as text, by the header if there is one |
| `json` | each record as a variant, so that its values stay as they are |
| `kafka`, `text`, `socket` | the column `value` is a record in JSON |
| any other | the columns that Spark gives it |

So what a value may be is decided by `tidelog.io` alone, on either engine. What a feed's reader gives is one column, a
struct of the record (as JSON in `text`, or as a struct in `row`), of the text that could not be read (`bad`), and of
the file (`place`); so the streams of all feeds can be one.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.pipeline.settings import Place

CORRUPT = "_corrupt_record"
JSON_FORMATS = ("json", "jsonl")
VALUE_FORMATS = ("kafka", "text", "socket")
FILE_SOURCES = ("csv", "json", "jsonl", "parquet", "orc", "text", "avro", "xml")
_VARIANT = "_record"


def table_frame(spark: Any, place: Place, columns: Sequence[str]) -> Any:
    """The rows of a starting table, as Spark reads them; `columns` are those of a CSV file without a header."""
    return _loaded(spark, spark.read, place, columns)


def feed_stream(spark: Any, place: Place, columns: Sequence[str]) -> Any:
    """The stream of a feed, with the one column `record`."""
    return record_column(_loaded(spark, spark.readStream, place, columns), place)


def record_column(frame: Any, place: Place) -> Any:
    """The rows that Spark reads as records; see above."""
    from pyspark.sql import functions as f

    source = f.col("_metadata.file_path") if place.format in FILE_SOURCES else f.lit(place.written or place.format)
    nothing = f.lit(None).cast("string")
    if place.format in JSON_FORMATS:
        parts = [f.to_json(_VARIANT).alias("text"), f.col(CORRUPT).alias("bad")]
    elif place.format in VALUE_FORMATS:
        parts = [f.col("value").cast("string").alias("text"), nothing.alias("bad")]
    elif place.format == "csv":
        cells = f.struct(*(_cell(name, place) for name in frame.columns if name != CORRUPT))
        parts = [f.to_json(cells, {"ignoreNullFields": "true"}).alias("text"), f.col(CORRUPT).alias("bad")]
    else:
        row = f.struct(*(f.col(quoted_name(name)) for name in frame.columns))
        parts = [row.alias("row"), nothing.alias("bad")]
    records = frame.select(f.struct(*parts, source.alias("place")).alias("record"))
    # Where feeds are one stream, a record of one has null in the columns of the others, and in all that they hold.
    return records.select(f.col("record").cast(_nullable(records.schema["record"].dataType)).alias("record"))


def _cell(name: str, place: Place) -> Any:
    """A cell of a CSV file. To Spark an empty one is null, to us it is the empty text, unless `nullValue` is given."""
    from pyspark.sql import functions as f

    cell = f.col(quoted_name(name))
    return cell if "nullValue" in place.options else f.coalesce(cell, f.lit("")).alias(name)


def _loaded(spark: Any, reader: Any, place: Place, columns: Sequence[str]) -> Any:
    options = dict(place.options)
    format_ = "json" if place.format in JSON_FORMATS else place.format
    reader = reader.format(format_)
    if format_ == "json":
        reader = reader.schema(f"{_VARIANT} variant, {CORRUPT} string").option("singleVariantColumn", _VARIANT)
    elif format_ == "csv":
        names, has_header = _csv_columns(spark, place, columns)
        options = _csv_options(options, has_header)
        reader = reader.schema(", ".join(f"{quoted_name(name)} string" for name in (*names, CORRUPT)))
    elif format_ in FILE_SOURCES and format_ != "text" and not _is_batch(reader):
        # A stream of files wants to know their columns: those of the files that are there.
        schema = spark.read.format(format_).options(**_of_batches(options)).load(place.path).schema
        reader = reader.schema(schema)
    return reader.options(**options).load(place.path) if place.path else reader.options(**options).load()


def _csv_columns(spark: Any, place: Place, columns: Sequence[str]) -> tuple[list[str], bool]:
    """The columns of a CSV file, and whether its first line has their names."""
    header = place.options.get("header", "").lower()
    if header == "false":
        return list(columns), False
    lines = spark.read.format("text").load(place.path).head(1)
    separator = place.options.get("sep", place.options.get("delimiter", ","))
    cells = next(csv.reader([lines[0]["value"]], delimiter=separator), []) if lines else []
    if header == "true" and cells:
        return cells, True
    has_header = bool(cells) and set(columns) <= set(cells)
    return (cells if has_header else list(columns)), has_header or header == "true"


def _csv_options(options: Mapping[str, str], has_header: bool) -> dict[str, str]:
    """Quotes as in RFC 4180; a file whose header has other names than the first one is an error."""
    usual = {
        "header": "true" if has_header else "false",
        "enforceSchema": "false",
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": CORRUPT,
        "escape": '"',
        "multiLine": "true",
    }
    return {**usual, **options}


def _nullable(type_: Any) -> Any:
    """The type with null allowed everywhere inside."""
    from pyspark.sql import types as t

    match type_:
        case t.StructType():
            return t.StructType([t.StructField(each.name, _nullable(each.dataType), True) for each in type_.fields])
        case t.ArrayType():
            return t.ArrayType(_nullable(type_.elementType), True)
        case t.MapType():
            return t.MapType(_nullable(type_.keyType), _nullable(type_.valueType), True)
        case _:
            return type_


def _is_batch(reader: Any) -> bool:
    return type(reader).__name__ == "DataFrameReader"


def _of_batches(options: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in options.items() if not name.lower().startswith("max")}


def quoted_name(name: str) -> str:
    """The name of a column as Spark's SQL has it."""
    return "`" + name.replace("`", "``") + "`"
