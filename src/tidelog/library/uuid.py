"""The extern functions of `uuid`. An identifier is a number of 128 bits."""

from __future__ import annotations

from hashlib import sha1
from itertools import accumulate
from uuid import NAMESPACE_DNS, NAMESPACE_OID, NAMESPACE_URL, NAMESPACE_X500, UUID

from tidelog.library._runtime.extern import Externs, extern
from tidelog.library._runtime.option_result import Err, Ok
from tidelog.values.externs import itself
from tidelog.values.structs import Struct
from tidelog.values.vec import Vec

_URN = "urn:uuid:"
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_GROUPS = (8, 4, 4, 4, 12)
_ENDS = tuple(accumulate(_GROUPS))


@extern
def nil() -> int:
    return 0


@extern
def nAMESPACE_DNS() -> int:  # noqa: N802
    return NAMESPACE_DNS.int


@extern
def nAMESPACE_OID() -> int:  # noqa: N802
    return NAMESPACE_OID.int


@extern
def nAMESPACE_URL() -> int:  # noqa: N802
    return NAMESPACE_URL.int


@extern
def nAMESPACE_X500() -> int:  # noqa: N802
    return NAMESPACE_X500.int


@extern
def new_v5(namespace: int, name: Vec) -> int:
    digest = sha1(namespace.to_bytes(16, "big") + bytes(name), usedforsecurity=False).digest()
    return UUID(bytes=digest[:16], version=5).int


@extern
def from_u128_le(number: int) -> int:
    return int.from_bytes(number.to_bytes(16, "little"), "big")


@extern
def from_bytes(data: Vec) -> Struct:
    if len(data) != 16:
        return Err(f"invalid bytes length: expected 16, found {len(data)}")
    return Ok(int.from_bytes(bytes(data), "big"))


@extern
def parse_str(text: str) -> Struct:
    size = len(text.encode())
    digits = text.removeprefix(_URN) if size == len(_URN) + 36 else text
    if digits is text and size not in (32, 36):
        return Err(_wrong_length(size))
    problem = _problem(digits, size)
    return Err(problem) if problem else Ok(int(digits.replace("-", ""), 16))


@extern
def to_hyphenated_lower(uuid: int) -> str:
    return str(UUID(int=uuid))


@extern
def to_hyphenated_upper(uuid: int) -> str:
    return str(UUID(int=uuid)).upper()


@extern
def to_simple_lower(uuid: int) -> str:
    return f"{uuid:032x}"


@extern
def to_simple_upper(uuid: int) -> str:
    return f"{uuid:032X}"


@extern
def to_urn_lower(uuid: int) -> str:
    return _URN + to_hyphenated_lower(uuid)


@extern
def to_urn_upper(uuid: int) -> str:
    return _URN + to_hyphenated_upper(uuid)


def _wrong_length(size: int) -> str:
    return f"invalid length: expected one of [36, 32], found {size}"


def _wrong_group(wanted: int, found: int, group: int) -> str:
    return f"invalid group length: expected {wanted}, found {found} in group {group}"


def _problem(text: str, size: int) -> str | None:
    """Describes the first error in 32 digits, in one group or in five with hyphens between."""
    digits = group = at = 0
    for char in text:
        if digits >= 32 and group != 4:
            found = f"invalid number of groups: expected one of [1, 5], found {group + 1}"
            return found if group else _wrong_length(size)
        if char == "-" and digits == _ENDS[group]:
            group += 1
        elif char == "-":
            return _wrong_group(_GROUPS[group], digits - (_ENDS[group - 1] if group else 0), group)
        elif char in _HEXADECIMAL:
            digits += 1
        else:
            wanted = f"an optional prefix of `{_URN}` followed by 0123456789abcdefABCDEF-"
            return f"invalid character: expected {wanted}, found {char} at {at}"
        at += len(char.encode())
    return None if digits == 32 else _wrong_group(12, digits - 20, group)


EXTERNS: Externs = {"from_u128": itself, "as_u128": itself, "to_u128_le": from_u128_le}
