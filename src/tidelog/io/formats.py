"""File names ↔ formats: the ending of a name tells the format of the file.

| ending | format |
| --- | --- |
| `.csv` | commas, quotes as in RFC 4180 (`""` inside quotes), a header or none |
| `.tsv` | the same with tabs |
| `.facts` | tabs, no quotes and no header, as Soufflé has them |
| `.jsonl`, `.ndjson` | JSON Lines: one row per line, as an object by column name or as an array |
| `.parquet` | Parquet: a file, or a folder of parts as Spark writes it |
| `.arrow`, `.feather` | an Arrow IPC file or stream, such as Feather |
| `.nt`, `.ttl` | RDF triples, N-Triples and Turtle, for a relation of three texts; these are only read |

The text formats may also be compressed (`.csv.gz`, `.csv.zst`; RDF only `.gz`). A first line whose cells are the column
names, in any order, is a header of a CSV or TSV file (`headers` has the details). Text is UTF-8. A number, a Boolean or
a text, such as an `istring` or a `time::Date`, is plain text in a cell; a value of any other type is JSON there
(`[1, 2]`, `{"tag": "Circle", "r": 2}`). The `None` of an `Option` is an empty cell without quotes, or `null`; other
values of an `Option` are written as those of its type, or as JSON where that would be read as `None`.
`rules/schema` has the types in Parquet, `io/to_python.py` the forms in JSON.

A relation without columns has the line `()` in a CSV, TSV or facts file when it holds, `{}` in JSON Lines, and in
Parquet one row with the column `_present`. The file of a multiset has each row as often as its weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

NULLARY_LINE = "()"
NULLARY_COLUMN = "_present"


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of file. `delimiter` is that of cells, if it has them; `plain` text has neither quotes nor a header."""

    name: str
    delimiter: str | None = None
    plain: bool = False


CSV = Format("csv", ",")
TSV = Format("tsv", "\t")
FACTS = Format("facts", "\t", plain=True)
JSON_LINES = Format("jsonl")
PARQUET = Format("parquet")
ARROW = Format("arrow")
N_TRIPLES = Format("nt")
TURTLE = Format("ttl")
FORMATS = {format_.name: format_ for format_ in (CSV, TSV, FACTS, JSON_LINES, PARQUET, ARROW, N_TRIPLES, TURTLE)}
_ENDINGS = {**FORMATS, "feather": ARROW, "ndjson": JSON_LINES}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


def split_name(path: Path) -> tuple[str, Format] | None:
    """Splits a file name: `Edge.csv.gz` → (`Edge`, CSV); None for other files."""
    packed = compression(path)
    name = path.name if packed is None else path.name[: path.name.rindex(".")]
    stem, _, ending = name.rpartition(".")
    format_ = _ENDINGS.get(ending)
    if not stem or format_ is None or (packed and format_ in (PARQUET, ARROW)):
        return None
    if packed == "zstd" and format_ in (N_TRIPLES, TURTLE):
        return None
    return stem, format_


def compression(path: Path) -> str | None:
    """Returns the compression that the name of a file tells, as Arrow names it: `gzip`, `zstd` or None."""
    return _COMPRESSIONS.get(path.suffix)


def endings() -> str:
    """Lists the endings of files that can be read, for a help."""
    return ", ".join(f"`.{name}`" for name in _ENDINGS) + "; text also with `.gz` or `.zst` behind it"
