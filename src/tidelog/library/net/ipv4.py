"""The extern functions of `net::ipv4`. An address is a number of 32 bits."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address

from tidelog.library._runtime.extern import Externs, extern
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some
from tidelog.values.externs import itself
from tidelog.values.structs import Struct
from tidelog.values.vec import Vec


@extern
def ipv4_from_octet_vec(octets: Vec) -> Struct:
    return Some(int.from_bytes(bytes(octets), "big")) if len(octets) == 4 else NONE


@extern
def ipv4_from_str(text: str) -> Struct:
    try:
        return Ok(int(IPv4Address(text)))
    except AddressValueError:
        return Err("invalid IP address syntax")


@extern
def ipv4Addr2string(address: int) -> str:  # noqa: N802
    return str(IPv4Address(address))


EXTERNS: Externs = {"ipv4_from_u32": itself, "ipv4_to_u32": itself}
