"""Lengths and text in bytes: the parts that all encodings share."""

from __future__ import annotations


def write_length(number: int, out: bytearray) -> None:
    """Seven bits to a byte, lowest first, the top bit set on all but the last."""
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def read_length(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number, and the place behind it."""
    number = shift = 0
    while (byte := data[at]) > 0x7F:
        number |= (byte & 0x7F) << shift
        shift += 7
        at += 1
    return number | byte << shift, at + 1


def write_text(text: str, out: bytearray) -> None:
    data = text.encode()
    write_length(len(data), out)
    out.extend(data)


def read_text(data: bytes, at: int) -> tuple[str, int]:
    size, at = read_length(data, at)
    if at + size > len(data):
        raise ValueError("text ends before its end")
    return data[at : at + size].decode(), at + size
