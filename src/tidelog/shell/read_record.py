"""Tokens → a record."""

from __future__ import annotations

from pathlib import Path

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.shell.place import IncompleteError, Place, bad_command
from tidelog.shell.records import ArrayRecord, Record, Scalar, Serialized, StructRecord, TupleRecord
from tidelog.shell.scan import Scanner, Token

# Python converts no more decimal digits than this at once.
_DIGITS_AT_ONCE = 4000


def read_record(scanner: Scanner) -> Record:
    """Takes one record. Raises DataError if there is none, IncompleteError if the input ends in it."""
    token = scanner.take()
    place = token.place
    match token.kind, token.text:
        case "word", "true" | "false":
            return Scalar(token.text == "true", place)
        case "word", name:
            if scanner.take_symbol("{"):
                return read_fields(scanner, name, "}", place)
            return StructRecord(name, (), None, place)
        case "integer", text:
            return Scalar(_integer(text), place)
        case "float", text:
            return Scalar(float(text), place, text)
        case "string", text:
            return Scalar(text, place)
        case "symbol", "$":
            name = read_name(scanner, "the name of a branch")
            fields = read_list(scanner, ")") if scanner.take_symbol("(") else ()
            return StructRecord(name, fields, None, place)
        case "symbol", "%":
            return Scalar(_file_text(scanner.take()), place)
        case "symbol", "@":
            return _serialized(scanner, place)
        case "symbol", "(":
            return TupleRecord(read_list(scanner, ")"), place)
        case "symbol", "[":
            return ArrayRecord(read_list(scanner, "]"), place)
        case _:
            raise unexpected(token, "a value")


def read_list(scanner: Scanner, end: str) -> tuple[Record, ...]:
    """Takes records between commas, and the symbol after the last."""
    found: list[Record] = []
    if scanner.take_symbol(end):
        return ()
    while True:
        found.append(read_record(scanner))
        if scanner.take_symbol(end):
            return tuple(found)
        expect(scanner, ",", f"`,` or `{end}`")
        if scanner.take_symbol(end):
            return tuple(found)


def read_fields(scanner: Scanner, name: str, end: str, place: Place) -> StructRecord:
    """Takes the fields of a struct, all by position or all by name, and the symbol after the last."""
    first = scanner.peek()
    if first.kind != "symbol" or first.text != ".":
        return StructRecord(name, read_list(scanner, end), None, place)
    names: list[str] = []
    fields: list[Record] = []
    while True:
        expect(scanner, ".", "`.` and the name of a field")
        field = scanner.peek()
        names.append(read_name(scanner, "the name of a field"))
        if names[-1] in names[:-1]:
            raise bad_command(field.place, f"the field `{names[-1]}` is given twice")
        expect(scanner, "=", f"`=` behind the field `{names[-1]}`")
        fields.append(read_record(scanner))
        if scanner.take_symbol(end):
            return StructRecord(name, tuple(fields), tuple(names), place)
        expect(scanner, ",", f"`,` or `{end}`")
        if scanner.take_symbol(end):
            return StructRecord(name, tuple(fields), tuple(names), place)


def read_name(scanner: Scanner, what: str) -> str:
    """Takes a word. Raises DataError, which names the expected text."""
    token = scanner.take()
    if token.kind != "word":
        raise unexpected(token, what)
    return token.text


def expect(scanner: Scanner, symbol: str, what: str) -> None:
    """Takes the symbol. Raises DataError, which names the expected text."""
    if not scanner.take_symbol(symbol):
        raise unexpected(scanner.peek(), what)


def unexpected(token: Token, wanted: str) -> DataError:
    """Returns the error for a token in the wrong place."""
    if token.kind == "end":
        return IncompleteError(token.place)
    shown = "a string" if token.kind == "string" else f"`{token.text}`"
    return bad_command(token.place, f"{wanted} was expected here, not {shown}")


def _serialized(scanner: Scanner, place: Place) -> Serialized:
    format_ = read_name(scanner, "the name of a format, as in `@json`")
    if scanner.take_symbol("%"):
        return Serialized(format_, _file_text(scanner.take()), place)
    token = scanner.take()
    if token.kind != "string":
        raise unexpected(token, f"a string behind `@{format_}`")
    return Serialized(format_, token.text, place)


def _file_text(token: Token) -> str:
    """Returns the content of the file that a string names."""
    if token.kind != "string":
        raise unexpected(token, "the name of a file in quotes")
    try:
        return Path(token.text).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8 text"
        raise DataError(
            f"{token.place}: cannot read the file {token.text}: {reason}", code=Code.UNREADABLE_FILE
        ) from error


def _integer(text: str) -> int:
    digits = text.removeprefix("-").lstrip().replace("_", "")
    value = int(digits, 16) if digits[:2] in ("0x", "0X") else _decimal(digits)
    return -value if text.startswith("-") else value


def _decimal(digits: str) -> int:
    if len(digits) <= _DIGITS_AT_ONCE:
        return int(digits)
    half = len(digits) // 2
    shift: int = 10**half
    return _decimal(digits[:-half]) * shift + _decimal(digits[-half:])
