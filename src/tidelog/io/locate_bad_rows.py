"""A text file that Arrow could not read → its records one by one, each as a row or as a bad row with its error.

Python's CSV reader is slow and exact, so `read` uses it only after Arrow has failed. A place is `file:line:column`,
both counted from 1; the message also names the column.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.bad_rows import BadRecord
from tidelog.io.fit import cell_fitter, fitter
from tidelog.io.tables import columns_help
from tidelog.io.text import TextFile
from tidelog.io.values import Row, UnfitError, misfit
from tidelog.rules.ir import Column, Relation
from tidelog.rules.schema.arrow import is_option
from tidelog.types import StringType, written_type
from tidelog.values import Definitions


def locate(file: TextFile, relation: Relation, definitions: Definitions) -> DataError | None:
    """Returns the error of the first wrong record or cell; None when this reader finds nothing wrong."""
    try:
        bad = (row.error for row in checked_records(file, relation, definitions) if isinstance(row, BadRecord))
        return next(bad, None)
    except DataError as error:
        return error


def checked_records(file: TextFile, relation: Relation, definitions: Definitions) -> Iterator[Row | BadRecord]:
    """Yields every record, in the number and order of Arrow's reader. Raises DataError as `TextFile.records` does."""
    by_name = {column.name: place for place, column in enumerate(relation.columns)}
    fitters = [cell_fitter(relation.columns[by_name[name]].type, definitions, file.nulls) for name in file.names]
    absent = {
        place: fitter(column.type, definitions)(None)
        for place, column in enumerate(relation.columns)
        if column.name not in file.names
    }
    places = [by_name[name] for name in file.names]
    # In a plain file of one text, an empty line is the empty text.
    is_text = file.format.plain and len(places) == 1 and isinstance(relation.columns[0].type, StringType)
    for line, found in file.records():
        record: list[str | None] = [""] if not found and is_text else found
        if not record:
            continue
        if len(record) != len(places):
            at = f"{file.path}:{line}:{min(len(record), len(places)) + 1}"
            yield BadRecord(at, _text(file, record), _wrong_length(at, file, relation, len(record)))
            continue
        values = [absent.get(place) for place in range(len(relation.columns))]
        for number, (text, place, fit) in enumerate(zip(record, places, fitters), 1):
            try:
                values[place] = fit(text)
            except UnfitError as error:
                is_unicode = text is None or _is_unicode(text)
                if text is not None and error.value is text:
                    error.value = _printable(text)
                if not is_unicode:
                    error.reason = "the file is not UTF-8 text"
                at = f"{file.path}:{line}:{number}"
                wrong = misfit(at, relation, relation.columns[place], error)
                if text is not None and not is_unicode:
                    from_ = "utf-16" if number == 1 and text[:2] in _UTF_16_MARKS else "latin1"
                    wrong.help = f"convert it first, for example `iconv -f {from_} -t utf-8 {file.path.name} > new.csv`"
                elif text in _NULL_WORDS and error.value is not None:
                    wrong.help = _null_help(text, relation.columns[place], file.nulls)
                elif line == 1 and not file.format.plain:
                    wrong.help = _header_help(wrong.help, relation, file.format.delimiter or ",")
                yield BadRecord(at, _text(file, record), wrong)
                break
        else:
            yield tuple(values)


_UTF_16_MARKS = ("\udcff\udcfe", "\udcfe\udcff")
"""The bytes that begin a file in UTF-16, as they are read from a file that should be UTF-8."""

_NULL_WORDS = frozenset(
    {"NA", "N/A", "n/a", "NULL", "Null", "null", "None", "NaN", "nan", "<NA>", "NaT", "\\N", "-", "?"}
)
"""Cells by which other programs mean that there is no value."""


def _null_help(cell: str, column: Column, nulls: frozenset[str]) -> str:
    cells = ", ".join(f'"{each}"' for each in sorted({*nulls, cell}))
    reading = f"`tx.load(..., null=[{cells}])` and `tidelog run --null {cell}` read such a cell as null"
    if is_option(column.type):
        return reading
    return (
        f"if it stands for no value, declare the column `{column.name}: Option<{written_type(column.type)}>`; {reading}"
    )


def _is_unicode(text: str) -> bool:
    """False for a text with bytes that are not UTF-8."""
    return not any("\udc80" <= char <= "\udcff" for char in text)


def _header_help(help_: str | None, relation: Relation, delimiter: str) -> str:
    names = delimiter.join(column.name for column in relation.columns)
    header = f"if this line is a header, name the columns of the relation: `{names}`"
    return f"{help_}; {header}" if help_ else header


def _text(file: TextFile, record: list[str | None]) -> str:
    return _printable((file.format.delimiter or ",").join(cell or "" for cell in record))


def _wrong_length(place: str, file: TextFile, relation: Relation, found: int) -> DataError:
    wanted = len(file.names)
    separator = "tabs" if file.format.delimiter == "\t" else "commas"
    hint = ""
    if found == 1:
        other = '`tx.insert` takes what `pandas.read_csv(path, sep=";")` reads'
        hint = f"; {separator} separate the cells of a .{file.format.name} file; of other files {other}"
    return DataError(
        f"{place}: the line has {found} cell{'s' if found != 1 else ''}"
        f" where `{relation.name}` has {wanted} column{'s' if wanted != 1 else ''}",
        code=Code.WRONG_VALUE_COUNT,
        help=columns_help(relation) + hint,
    )


def _printable(text: str) -> str:
    r"""Writes undecodable bytes as `\xff`, as they are in the file."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
