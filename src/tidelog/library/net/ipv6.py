"""The extern functions of `net::ipv6`. An address is a number of 128 bits."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv6Address

from tidelog.library._runtime.extern import Externs, extern
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some
from tidelog.values.externs import itself
from tidelog.values.structs import Struct
from tidelog.values.vec import Vec


@extern
def ipv6_from_segment_vec(segments: Vec) -> Struct:
    if len(segments) != 8:
        return NONE
    return Some(int.from_bytes(b"".join(segment.to_bytes(2, "big") for segment in segments), "big"))


@extern
def ipv6_from_octet_vec(octets: Vec) -> Struct:
    return Some(int.from_bytes(bytes(octets), "big")) if len(octets) == 16 else NONE


@extern
def ipv6_segment_vec(address: int) -> Vec:
    return Vec(address >> shift & 0xFFFF for shift in range(112, -1, -16))


@extern
def ipv6_octet_vec(address: int) -> Vec:
    return Vec(address.to_bytes(16, "big"))


@extern
def ipv6_from_str(text: str) -> Struct:
    try:
        # Python also takes the name of an interface behind a `%`.
        return Err("invalid IP address syntax") if "%" in text else Ok(int(IPv6Address(text)))
    except AddressValueError:
        return Err("invalid IP address syntax")


@extern
def ipv6Addr2string(address: int) -> str:  # noqa: N802
    above, low = address >> 32, address & 0xFFFF_FFFF
    if above == 0xFFFF:
        return f"::ffff:{IPv4Address(low)}"
    if above == 0 and low > 1:
        return f"::{IPv4Address(low)}"
    return str(IPv6Address(address))


EXTERNS: Externs = {"ipv6_from_u128": itself, "ipv6_to_u128": itself}
