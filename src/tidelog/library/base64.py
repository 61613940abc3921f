"""The extern functions of `base64`: the standard alphabet, with padding."""

from __future__ import annotations

from base64 import b64decode, b64encode
from string import ascii_lowercase, ascii_uppercase, digits

from tidelog.library._runtime.extern import extern
from tidelog.library._runtime.option_result import Err, Ok
from tidelog.values.structs import Struct
from tidelog.values.vec import Vec

_VALUES = {ord(char): value for value, char in enumerate(ascii_uppercase + ascii_lowercase + digits + "+/")}
_PAD = ord("=")


@extern
def encode(data: Vec) -> str:
    return b64encode(bytes(data)).decode()


@extern
def decode(text: str) -> Struct:
    data = text.encode()
    problem = _problem(data)
    return Err(problem) if problem else Ok(Vec(b64decode(data.rstrip(b"=") + b"==")))


def _problem(data: bytes) -> str | None:
    """Describes the error: a byte outside the alphabet, misplaced padding, a wrong length, or bits left over."""
    if len(data) % 4 == 1:
        last = len(data) - 1
        return "Invalid length" if data[last] in _VALUES or data[last] == _PAD else _invalid(data, last)
    end = next((at for at, byte in enumerate(data) if byte not in _VALUES), len(data))
    if end < len(data):
        padding = data[end:]
        if padding.strip(b"=") or end % 4 < 2 or len(padding) > 4 - end % 4:
            return _invalid(data, end)
    unused = {2: 0b1111, 3: 0b11}.get(end % 4, 0)
    if unused and _VALUES[data[end - 1]] & unused:
        return f"Invalid last byte {data[end - 1]} at position {end - 1}"
    return None


def _invalid(data: bytes, at: int) -> str:
    return f"Invalid byte {data[at]} at position {at}"
