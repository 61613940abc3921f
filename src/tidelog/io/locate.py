"""A text file that did not read → the first place in it that is wrong, as a DataError.

Goes through the file record by record with Python's CSV reader, so it is slow and exact; `read` asks only after Arrow
has failed. The place is `file:line:column`, both counted from 1; the message also names the column.
"""

from __future__ import annotations

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.fit import cell_fitter
from tidelog.io.tables import columns_help
from tidelog.io.text import MalformedRecordError, TextFile
from tidelog.io.values import UnfitError, misfit
from tidelog.rules.ir import Relation
from tidelog.values import Definitions


def locate(file: TextFile, relation: Relation, definitions: Definitions) -> DataError | None:
    """The error for the first record or cell that is wrong; None when this reader finds nothing wrong."""
    by_name = {column.name: column for column in relation.columns}
    fitters = {column.name: cell_fitter(column.type, definitions) for column in relation.columns}
    try:
        for line, record in file.records():
            if not record:
                continue
            if len(record) != len(file.names):
                return _wrong_length(file, relation, line, len(record))
            for number, (text, name) in enumerate(zip(record, file.names), 1):
                try:
                    fitters[name](text)
                except UnfitError as error:
                    if error.value is text:
                        error.value = _printable(text)
                    return misfit(f"{file.path}:{line}:{number}", relation, by_name[name], error)
    except MalformedRecordError as error:
        return DataError(
            f"{file.path}:{error.line}:1: a quoted cell is not well formed: {error}", code=Code.UNREADABLE_FILE
        )
    return None


def _wrong_length(file: TextFile, relation: Relation, line: int, found: int) -> DataError:
    wanted = len(file.names)
    separator = "tabs" if file.format.delimiter == "\t" else "commas"
    hint = f"; {separator} separate the cells of a .{file.format.name} file" if found == 1 else ""
    return DataError(
        f"{file.path}:{line}:{min(found, wanted) + 1}: the line has {found} cell{'s' if found != 1 else ''}"
        f" where `{relation.name}` has {wanted} column{'s' if wanted != 1 else ''}",
        code=Code.WRONG_VALUE_COUNT,
        help=columns_help("", relation, []) + hint,
    )


def _printable(text: str) -> str:
    """Undecodable bytes as `\\xff`, which is what is in the file."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
