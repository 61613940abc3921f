"""File names ↔ formats: how the name of a file says what is in it.

| ending | what it is |
| --- | --- |
| `.csv` | commas, quotes as in RFC 4180 (`""` inside quotes), a header or none |
| `.tsv` | the same with tabs |
| `.facts` | tabs, no quotes and no header, as Soufflé has them |
| `.parquet` | Parquet: a file, or a folder of parts as Spark writes it |

The text formats may also be compressed (`.csv.gz`). A first line whose cells are the column names, in any order, is a
header. Text is UTF-8. A relation without columns has the line `()` in a text file when it holds, and in Parquet one
row with the column `_present`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

NULLARY_LINE = "()"
NULLARY_COLUMN = "_present"


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of file. `delimiter` is None for Parquet; `plain` text has neither quotes nor a header."""

    name: str
    delimiter: str | None = None
    plain: bool = False


CSV = Format("csv", ",")
TSV = Format("tsv", "\t")
FACTS = Format("facts", "\t", plain=True)
PARQUET = Format("parquet")
FORMATS = {format_.name: format_ for format_ in (CSV, TSV, FACTS, PARQUET)}


def split_name(path: Path) -> tuple[str, Format, bool] | None:
    """The stem, the format and whether it is compressed: `Edge.csv.gz` → (`Edge`, CSV, True); None for other files."""
    name = path.name
    compressed = name.endswith(".gz")
    stem, _, ending = name.removesuffix(".gz").rpartition(".")
    format_ = FORMATS.get(ending)
    if not stem or format_ is None or (compressed and format_ is PARQUET):
        return None
    return stem, format_, compressed
