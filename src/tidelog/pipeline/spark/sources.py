"""A place of a pipeline file → the frame of a starting table, or the stream of a feed.

| format | how it is read |
| --- | --- |
| `csv` | each file as a text; large files of a starting table as cells of text, by the header if there is one |
| `json` | each file as a text with a record in each line; large files of a starting table as unnumbered lines |
| `kafka`, `text`, `socket` | the column `value` is a record in JSON; in files, one per line |
| any other | the columns that Spark gives it |

So `tidelog.io` alone decides which values are valid, on either engine. If the place has Spark's own options for CSV or
JSON, Spark's reader is used: cells as text, and a record in JSON as a variant.

A reader gives one column, a struct of the record (as JSON in `text`, as a struct in `row`, or as a whole file in
`file`), of the unreadable text (`bad`), and of the file (`place`); so the streams of all feeds can be one.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.pipeline.settings import NULL_OPTION, Place

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
"""Options of all file formats."""


def table_frame(spark: Any, place: Place, columns: Sequence[str]) -> Any:
    """Returns the records of a starting table, in the column `record`; `columns` are for CSV files without a header."""
    whole = is_whole_text(place) and _are_small(spark, place)
    return _record_column(_loaded(spark, spark.read, place, columns, whole), place, whole)


def feed_stream(spark: Any, place: Place, columns: Sequence[str], schema: Any = None) -> Any:
    """Returns the stream of a feed, with the column `record`. `schema` has the columns of files with typed columns."""
    whole = is_whole_text(place)
    return _record_column(_loaded(spark, spark.readStream, place, columns, whole, schema), place, whole)


def has_columns(place: Place) -> bool:
    """True if the source is files with typed columns."""
    return place.format in FILE_SOURCES and place.format not in ("csv", "text", *JSON_FORMATS)


def columns_of_files(spark: Any, place: Place) -> Any | None:
    """Returns the columns of the present files; None if there are none."""
    from pyspark.errors import AnalysisException

    try:
        return spark.read.format(place.format).options(**_of_batches(place.options)).load(place.path).schema
    except AnalysisException as error:
        if error.getCondition() != "UNABLE_TO_INFER_SCHEMA":
            raise
        return None


def is_whole_text(place: Place) -> bool:
    """True if CSV or JSON files can be read as whole texts, for the local reader to split."""
    if _is_lines(place):
        return True
    options = {name.lower() for name in place.options} - _OF_ANY_FILES - {"header", "sep", NULL_OPTION.lower()}
    return place.format == "csv" and not options and len(place.options.get("sep", ",")) == 1


def _are_small(spark: Any, place: Place) -> bool:
    """True if each file is small enough to be one value in a task."""
    options = {name: value for name, value in place.options.items() if name.lower() in _OF_ANY_FILES}
    files = spark.read.format("binaryFile").options(**_of_batches(options)).load(place.path)
    return not files.where(files["length"] > _LARGEST_TEXT).head(1)


def _is_lines(place: Place) -> bool:
    """True if the records of a JSON file are read as lines, for the local reader."""
    return place.format in JSON_FORMATS and {name.lower() for name in place.options} <= _OF_ANY_FILES


def _record_column(frame: Any, place: Place, whole: bool) -> Any:
    """Returns the rows of Spark's reader as the column of records described above."""
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
        cells = f.struct(*(f.col(quoted_name(name)) for name in frame.columns if name != CORRUPT))
        ignored = "true" if NULL_OPTION in place.options else "false"
        parts = [f.to_json(cells, {"ignoreNullFields": ignored}).alias("text"), f.col(CORRUPT).alias("bad")]
    else:
        row = f.struct(*(f.col(quoted_name(name)) for name in frame.columns))
        parts = [row.alias("row"), nothing.alias("bad")]
    records = frame.select(f.struct(*parts, source.alias("place")).alias("record"))
    # Where feeds are one stream, a record of one has null in the columns of the others, and in all that they hold.
    return records.select(f.col("record").cast(_nullable(records.schema["record"].dataType)).alias("record"))


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
    """Returns the columns of a CSV file, and True if its first line has their names."""
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
    """Returns Spark's options for quotes as in RFC 4180; a file with another header than the first one is an error."""
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
    """Returns the type with null allowed everywhere inside."""
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
    """Returns the name of a column, quoted for Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"
