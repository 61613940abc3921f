"""File names ↔ formats: the ending of a name tells the format of the file.

| ending | format |
| --- | --- |
| `.csv` | commas, quotes as in RFC 4180 (`""` inside quotes), a header or none |
| `.tsv` | the same with tabs |
| `.facts` | tabs, no quotes and no header, as Soufflé has them |
| `.jsonl` | JSON Lines: one row per line, as an object by column name or as an array |
| `.parquet` | Parquet: a file, or a folder of parts as Spark writes it |
| `.nt`, `.ttl` | RDF triples, N-Triples and Turtle, for a relation of three texts; these are only read |

The text formats may also be compressed (`.csv.gz`). A first line whose cells are the column names, in any order, is a
header of a CSV or TSV file. Text is UTF-8. A number, a Boolean or a text, such as an `istring` or a `time::Date`, is
plain text in a cell; a value of any other type is JSON there (`[1, 2]`, `{"tag": "Circle", "r": 2}`, `null`
for the `None` of an `Option`, for which an empty cell will also do).
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
N_TRIPLES = Format("nt")
TURTLE = Format("ttl")
FORMATS = {format_.name: format_ for format_ in (CSV, TSV, FACTS, JSON_LINES, PARQUET, N_TRIPLES, TURTLE)}


def split_name(path: Path) -> tuple[str, Format] | None:
    """Splits a file name: `Edge.csv.gz` → (`Edge`, CSV); None for other files."""
    stem, _, ending = path.name.removesuffix(".gz").rpartition(".")
    format_ = FORMATS.get(ending)
    if not stem or format_ is None or (is_compressed(path) and format_ is PARQUET):
        return None
    return stem, format_


def is_compressed(path: Path) -> bool:
    return path.name.endswith(".gz")
