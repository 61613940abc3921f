"""The functions of the program, in Python."""

from __future__ import annotations

from collections.abc import Iterable


def find(text: str, part: str) -> dict[str, object] | None:
    place = text.find(part)
    return None if place < 0 else {"at": place, "rest": text[place + 1 :]}


def checksum(values: Iterable[int]) -> int:
    return sum(values) % 65536


def _shout(text: str) -> str:
    return text.upper() + "!"


EXTERNS = {"words::shout": _shout}
