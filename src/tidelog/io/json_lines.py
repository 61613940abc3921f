"""JSON Lines ↔ rows: one row per line, as an object by column name (this is written) or as an array in column order.

Values have the forms of `io/to_python.py`. A wrong line is reported as `file:line:1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tidelog.deep_recursion import at_any_depth
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.io.bad_rows import BadRecord, BadRows
from tidelog.io.rows import to_row
from tidelog.io.scaled import load_json
from tidelog.io.text import open_text
from tidelog.io.to_python import dump_json, json_form
from tidelog.io.values import Row
from tidelog.rules.ir import Relation
from tidelog.values import Definitions


def read_json_lines(path: Path, relation: Relation, definitions: Definitions, bad: BadRows) -> Iterator[Row]:
    """Yields the rows of the file; blank lines are skipped. Bad rows go to `bad`."""
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            place = f"{path}:{number}:1"
            try:
                row = to_row(_parsed(line, relation, place), relation, definitions, place=place, wire=True)
            except DataError as error:
                bad.add(BadRecord(place, line.rstrip("\r\n"), error))
            else:
                yield row


def write_json_lines(rows: Sequence[Row], relation: Relation, definitions: Definitions) -> Iterator[bytes]:
    """Yields the lines of the rows, in their order."""
    forms = [(column.name, json_form(column.type, definitions)) for column in relation.columns]
    for row in rows:
        document = {name: form(value) for (name, form), value in zip(forms, row)}
        yield dump_json(document).encode() + b"\n"


def _parsed(line: str, relation: Relation, place: str) -> Any:
    try:
        document = at_any_depth(load_json, line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: the line is not JSON: {error}", code=Code.UNREADABLE_FILE) from None
    if not isinstance(document, dict | list):
        raise DataError(
            f"{place}: the line for `{relation.name}` is neither an object nor an array",
            code=Code.NOT_ROWS,
            help='a row is written `{"column": value}` or `[value]`',
        )
    # An array is a row here, also where a list could be the value of the only column.
    return tuple(document) if isinstance(document, list) else document
