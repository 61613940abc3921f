"""A place of a pipeline file → what Spark reads there: a frame of a starting table, or a stream of a feed.

| format | how it is read |
| --- | --- |
| `csv` | each file as a text; where those of a starting table are large: cells as text, by the header if there is one |
| `json`, `kafka`, `text`, `socket` | the column `value` is a record in JSON; a line, where it is files |
| any other | the columns that Spark gives it |

So what a value may be is decided by `tidelog.io` alone, on either engine. Where the place has options of Spark's own
for CSV or JSON, Spark's reader is used: cells as text, and a record in JSON as a variant.

What a reader gives is one column, a struct of the record (as JSON in `text`, as a struct in `row`, or as a whole file
in `file`), of the text that could not be read (`bad`), and of the file (`place`); so the streams of all feeds can be
one.
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
_LARGEST_TEXT = 16 << 20
_OF_ANY_FILES = frozenset(
    option.lower()
    for option in (
        *("maxFilesPerTrigger", "maxBytesPerTrigger", "latestFirst", "maxFileAge", "maxCachedFiles", "fileNameOnly"),
        *("cleanSource", "sourceArchiveDir", "pathGlobFilter", "recursiveFileLookup", "modifiedBefore"),
        *("modifiedAfter", "ignoreMissingFiles", "ignoreCorruptFiles"),
    )
)
"""Options that are about files, whatever is in them."""


def table_frame(spark: Any, place: Place, columns: Sequence[str]) -> Any:
    """The records of a starting table, in the one column `record`; `columns` are those of a CSV file without a
    header."""
    whole = is_whole_text(place) and _are_small(spark, place)
    return _record_column(_loaded(spark, spark.read, place, columns, whole), place, whole)


def feed_stream(spark: Any, place: Place, columns: Sequence[str], schema: Any = None) -> Any:
    """The stream of a feed, with the one column `record`. `schema` has the columns of files that have some."""
    whole = is_whole_text(place)
    return _record_column(_loaded(spark, spark.readStream, place, columns, whole, schema), place, whole)


def has_columns(place: Place) -> bool:
    """Whether the source is files with columns of types of their own."""
    return place.format in FILE_SOURCES and place.format not in ("csv", "text", *JSON_FORMATS)


def columns_of_files(spark: Any, place: Place) -> Any | None:
    """The columns of the files that are there; None where there are none."""
    from pyspark.errors import AnalysisException

    try:
        return spark.read.format(place.format).options(**_of_batches(place.options)).load(place.path).schema
    except AnalysisException as error:
        if error.getCondition() != "UNABLE_TO_INFER_SCHEMA":
            raise
        return None


def is_whole_text(place: Place) -> bool:
    """Whether files of CSV can come as texts, for our own reader to take apart."""
    options = {name.lower() for name in place.options} - _OF_ANY_FILES - {"header", "sep"}
    return place.format == "csv" and not options and len(place.options.get("sep", ",")) == 1


def _are_small(spark: Any, place: Place) -> bool:
    """Whether each file is small enough to be one value in a task."""
    options = {name: value for name, value in place.options.items() if name.lower() in _OF_ANY_FILES}
    files = spark.read.format("binaryFile").options(**_of_batches(options)).load(place.path)
    return not files.where(files["length"] > _LARGEST_TEXT).head(1)


def _is_lines(place: Place) -> bool:
    """Whether the records of a JSON file come as lines, for our own reader."""
    return place.format in JSON_FORMATS and {name.lower() for name in place.options} <= _OF_ANY_FILES


def _record_column(frame: Any, place: Place, whole: bool) -> Any:
    """The rows that Spark reads as records; see above."""
    from pyspark.sql import functions as f

    source = f.col("_metadata.file_path") if place.format in FILE_SOURCES else f.lit(place.written or place.format)
    nothing = f.lit(None).cast("string")
    if whole:
        parts = [f.col("value").alias("file"), nothing.alias("bad")]
    elif place.format in VALUE_FORMATS or _is_lines(place):
        if place.format in FILE_SOURCES:
            frame = frame.where(f.col("value").rlike(r"\S"))
        parts = [f.col("value").cast("string").alias("text"), nothing.alias("bad")]
    elif place.format in JSON_FORMATS:
        parts = [f.to_json(_VARIANT).alias("text"), f.col(CORRUPT).alias("bad")]
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


def _loaded(spark: Any, reader: Any, place: Place, columns: Sequence[str], whole: bool, schema: Any = None) -> Any:
    options = dict(place.options)
    format_ = "json" if place.format in JSON_FORMATS else place.format
    if whole:
        format_ = "text"
        options = {name: value for name, value in options.items() if name not in ("header", "sep")}
        options["wholetext"] = "true"
    elif _is_lines(place):
        format_ = "text"
    reader = reader.format(format_)
    if format_ == "json":
        reader = reader.schema(f"{_VARIANT} variant, {CORRUPT} string").option("singleVariantColumn", _VARIANT)
    elif format_ == "csv":
        names, has_header = _csv_columns(spark, place, columns)
        options = _csv_options(options, has_header)
        reader = reader.schema(", ".join(f"{quoted_name(name)} string" for name in (*names, CORRUPT)))
    elif schema is not None:
        reader = reader.schema(schema)
    return reader.options(**options).load(place.path) if place.path else reader.options(**options).load()


def _csv_columns(spark: Any, place: Place, columns: Sequence[str]) -> tuple[list[str], bool]:
    """The columns of a CSV file, and whether its first line has their names."""
    header = place.options.get("header", "").lower()
    if header == "false":
        return list(columns), False
    lines = spark.read.format("text").load(place.path).head(1)
    cells = _cells(lines[0]["value"], place) if lines else []
    if header == "true" and cells:
        return cells, True
    has_header = bool(cells) and set(columns) <= set(cells)
    return (cells if has_header else list(columns)), has_header or header == "true"


def _cells(line: str, place: Place) -> list[str]:
    separator = place.options.get("sep", place.options.get("delimiter", ","))
    if len(separator) != 1:  # Spark has separators of several characters
        return line.split(separator)
    return next(csv.reader([line.removeprefix("\ufeff")], delimiter=separator), [])


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


def _of_batches(options: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in options.items() if not name.lower().startswith("max")}


def quoted_name(name: str) -> str:
    """The name of a column as Spark's SQL has it."""
    return "`" + name.replace("`", "``") + "`"
