"""Types ↔ bytes, for values that carry types: functions that were made where a type variable stood for a type."""

from __future__ import annotations

from tidelog import types
from tidelog.values.lengths import read_length, read_text, write_length, write_text

_PLAIN: tuple[types.Type, ...] = (types.BOOL, types.STRING, types.BIGINT, types.FLOAT, types.DOUBLE)
_BIT, _SIGNED, _TUPLE, _NAMED, _FUNCTION, _VARIABLE, _DECIMAL, _DATE, _TIMESTAMP, _DURATION = range(
    len(_PLAIN), len(_PLAIN) + 10
)
_TIMES: dict[int, types.Type] = {_DATE: types.DATE, _TIMESTAMP: types.TIMESTAMP, _DURATION: types.DURATION}


def write_type(type_: types.Type, out: bytearray) -> None:
    match type_:
        case types.BitType(width):
            out.append(_BIT)
            write_length(width, out)
        case types.SignedType(width):
            out.append(_SIGNED)
            write_length(width, out)
        case types.TupleType(items):
            out.append(_TUPLE)
            _write_types(items, out)
        case types.NamedType(name, arguments):
            out.append(_NAMED)
            write_text(name, out)
            _write_types(arguments, out)
        case types.FunctionType(parameters, result):
            out.append(_FUNCTION)
            _write_types((*(parameter for parameter, _ in parameters), result), out)
            out.extend(mutable for _, mutable in parameters)
        case types.TypeVariable(name):
            out.append(_VARIABLE)
            write_text(name, out)
        case types.DecimalType(precision, scale):
            out.append(_DECIMAL)
            write_length(precision, out)
            write_length(scale, out)
        case types.DateType() | types.TimestampType() | types.DurationType():
            out.append(next(kind for kind, each in _TIMES.items() if each == type_))
        case _:
            out.append(_PLAIN.index(type_))


def read_type(data: bytes, at: int) -> tuple[types.Type, int]:
    """Returns the type, and the place behind it."""
    kind, at = data[at], at + 1
    if kind < len(_PLAIN):
        return _PLAIN[kind], at
    if kind in (_BIT, _SIGNED):
        width, at = read_length(data, at)
        return (types.BitType(width) if kind == _BIT else types.SignedType(width)), at
    if kind == _TUPLE:
        items, at = _read_types(data, at)
        return types.TupleType(items), at
    if kind == _NAMED:
        name, at = read_text(data, at)
        arguments, at = _read_types(data, at)
        return types.NamedType(name, arguments), at
    if kind == _FUNCTION:
        (*parameters, result), at = _read_types(data, at)
        mutable = [byte != 0 for byte in data[at : at + len(parameters)]]
        return types.FunctionType(tuple(zip(parameters, mutable)), result), at + len(parameters)
    if kind == _VARIABLE:
        name, at = read_text(data, at)
        return types.TypeVariable(name), at
    if kind == _DECIMAL:
        precision, at = read_length(data, at)
        scale, at = read_length(data, at)
        return types.DecimalType(precision, scale), at
    if kind in _TIMES:
        return _TIMES[kind], at
    raise ValueError("these are not the bytes of a type")


def _write_types(parts: tuple[types.Type, ...], out: bytearray) -> None:
    write_length(len(parts), out)
    for type_ in parts:
        write_type(type_, out)


def _read_types(data: bytes, at: int) -> tuple[tuple[types.Type, ...], int]:
    count, at = read_length(data, at)
    parts = []
    for _ in range(count):
        type_, at = read_type(data, at)
        parts.append(type_)
    return tuple(parts), at
