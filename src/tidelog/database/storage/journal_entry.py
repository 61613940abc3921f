"""The operations of an epoch ↔ bytes: an entry of the journal.

    number of operations, then for each: relation, sign, form, and
    RULES    a text of rules that were added or removed; these are first, and have no relation
    ROWS     the number of rows, then their values, each with its length before its canonical bytes (`values.encode`)
    TABLE    a stream of Arrow's IPC format, with its length before it

Few rows are written value by value; many rows of plain columns are written as a table. The bytes name relations and
hold values: they do not depend on ids, on this process or on this machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from tidelog.engine.interface import Operation, Row
from tidelog.io.fit import fitter
from tidelog.io.tables import fit_table
from tidelog.io.to_python import rows_to_table
from tidelog.rules.ir import Relation, RuleProgram
from tidelog.rules.schema.arrow import is_plain_relation
from tidelog.values.encode import decoder, encoder
from tidelog.values.lengths import read_length, read_text, write_length, write_text

_ROWS, _TABLE, _RULES = 0, 1, 2
Call = tuple[int, str]  # +1 or -1, and a text of rules
# From here on Arrow is smaller and faster than Python's loop over the values.
_MANY = 256
_MOST_EMPTY_ROWS = 1 << 24  # of a relation without columns, in one entry


def write_entry(operations: Sequence[Operation], program: RuleProgram, calls: Sequence[Call] = ()) -> bytes:
    """Writes texts of rules, then operations, whose rows are lists of values or Arrow tables."""
    out = bytearray()
    write_length(len(calls) + len(operations), out)
    for sign, text in calls:
        write_text("", out)
        write_length(_unsigned(sign), out)
        out.append(_RULES)
        write_text(text, out)
    for operation in operations:
        relation = program.relations[operation.relation]
        write_text(relation.name, out)
        write_length(_unsigned(operation.sign), out)
        rows = operation.rows
        if isinstance(rows, list) and len(rows) >= _MANY and relation.columns and is_plain_relation(relation):
            rows = rows_to_table(rows, relation, program.functions.definitions)
        if isinstance(rows, pa.Table) and relation.columns:
            out.append(_TABLE)
            data = _table_bytes(rows)
            write_length(data.size, out)
            out.extend(data)
        else:
            out.append(_ROWS)
            _write_rows([()] * len(rows) if isinstance(rows, pa.Table) else rows, relation, program, out)
    return bytes(out)


def read_calls(data: bytes) -> tuple[Call, ...]:
    """Reads the texts of rules at the start of an entry, each with its sign; the rest is not read."""
    return _read_calls(data)[0]


def _read_calls(data: bytes) -> tuple[tuple[Call, ...], int, int]:
    """Returns the texts, the number of operations behind them, and where those start."""
    count, at = read_length(data, 0)
    calls: list[Call] = []
    while len(calls) < count:
        name, behind = read_text(data, at)
        sign, behind = read_length(data, behind)
        if name or data[behind] != _RULES:
            break
        text, at = read_text(data, behind + 1)
        calls.append((_signed(sign), text))
    return tuple(calls), count - len(calls), at


def read_entry(data: bytes, program: RuleProgram) -> list[Operation]:
    """Reads the operations of an entry. Raises ValueError or KeyError for bytes that are no entry of this program.

    Texts of rules are skipped: the program already has those rules.
    """
    _, count, at = _read_calls(data)
    operations = []
    for _ in range(count):
        name, at = read_text(data, at)
        relation = program.relations[name]
        sign, at = read_length(data, at)
        form, at = data[at], at + 1
        rows: Any
        if form == _TABLE:
            size, at = read_length(data, at)
            with pa.ipc.open_stream(memoryview(data)[at : at + size]) as reader:
                rows = reader.read_all()
            rows.validate(full=True)
            rows = fit_table(rows, relation)
            at += size
        else:
            rows, at = _read_rows(data, at, relation, program)
        operations.append(Operation(name, _signed(sign), rows))
    if at != len(data):
        raise ValueError("an entry is longer than its operations")
    return operations


def _write_rows(rows: Sequence[Row], relation: Relation, program: RuleProgram, out: bytearray) -> None:
    definitions = program.functions.definitions
    encoders = [encoder(column.type, definitions) for column in relation.columns]
    write_length(len(rows), out)
    for row in rows:
        for encode, value in zip(encoders, row, strict=True):
            encoded = encode(value)
            write_length(len(encoded), out)
            out += encoded


def _read_rows(data: bytes, at: int, relation: Relation, program: RuleProgram) -> tuple[list[Row], int]:
    definitions = program.functions.definitions
    decoders = [decoder(column.type, definitions) for column in relation.columns]
    fitters = [fitter(column.type, definitions) for column in relation.columns]
    count, at = read_length(data, at)
    if count > max(len(data), _MOST_EMPTY_ROWS):
        raise ValueError(f"{count:,} rows are more than its bytes can be")
    rows = []
    for _ in range(count):
        row = []
        for decode, fit in zip(decoders, fitters):
            size, at = read_length(data, at)
            row.append(fit(decode(data[at : at + size])))
            at += size
        rows.append(tuple(row))
    return rows, at


def _table_bytes(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_options()) as writer:
        writer.write_table(table)
    return sink.getvalue()


@cache
def _options() -> pa.ipc.IpcWriteOptions:
    return pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)


def _unsigned(number: int) -> int:
    """Maps small numbers of either sign to small lengths: 0, -1, 1, -2, 2, …"""
    return number << 1 if number >= 0 else ~number << 1 | 1


def _signed(number: int) -> int:
    return ~(number >> 1) if number & 1 else number >> 1
