"""xxHash of a sequence of bytes, with 32 and with 64 bits: the hash functions behind `hash32`, `hash64`, `hash128`.

The bytes are consumed in stripes of four lanes; what is left is mixed in by lanes, half lanes and bytes; an avalanche
ends both. All arithmetic wraps.
"""

from __future__ import annotations

_LOW32 = (1 << 32) - 1
_LOW64 = (1 << 64) - 1

_A32, _B32, _C32, _D32, _E32 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_A64, _B64, _C64 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_D64, _E64 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def xxh64(data: bytes, seed: int) -> int:
    size, at = len(data), 0
    if size >= 32:
        lanes = [(seed + _A64 + _B64) & _LOW64, (seed + _B64) & _LOW64, seed, (seed - _A64) & _LOW64]
        while at + 32 <= size:
            for lane in range(4):
                lanes[lane] = _round64(lanes[lane], int.from_bytes(data[at : at + 8], "little"))
                at += 8
        value = sum(_turn64(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18))) & _LOW64
        for lane_value in lanes:
            value = ((value ^ _round64(0, lane_value)) * _A64 + _D64) & _LOW64
    else:
        value = (seed + _E64) & _LOW64
    value = (value + size) & _LOW64
    while at + 8 <= size:
        mixed = value ^ _round64(0, int.from_bytes(data[at : at + 8], "little"))
        value = (_turn64(mixed, 27) * _A64 + _D64) & _LOW64
        at += 8
    if at + 4 <= size:
        mixed = value ^ (int.from_bytes(data[at : at + 4], "little") * _A64 & _LOW64)
        value = (_turn64(mixed, 23) * _B64 + _C64) & _LOW64
        at += 4
    for byte in data[at:]:
        value = _turn64(value ^ (byte * _E64 & _LOW64), 11) * _A64 & _LOW64
    value = (value ^ (value >> 33)) * _B64 & _LOW64
    value = (value ^ (value >> 29)) * _C64 & _LOW64
    return value ^ (value >> 32)


def xxh32(data: bytes, seed: int) -> int:
    size, at = len(data), 0
    if size >= 16:
        lanes = [(seed + _A32 + _B32) & _LOW32, (seed + _B32) & _LOW32, seed, (seed - _A32) & _LOW32]
        while at + 16 <= size:
            for lane in range(4):
                word = int.from_bytes(data[at : at + 4], "little")
                lanes[lane] = _turn32((lanes[lane] + word * _B32) & _LOW32, 13) * _A32 & _LOW32
                at += 4
        value = sum(_turn32(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18))) & _LOW32
    else:
        value = (seed + _E32) & _LOW32
    value = (value + size) & _LOW32
    while at + 4 <= size:
        value = (value + int.from_bytes(data[at : at + 4], "little") * _C32) & _LOW32
        value = _turn32(value, 17) * _D32 & _LOW32
        at += 4
    for byte in data[at:]:
        value = _turn32((value + byte * _E32) & _LOW32, 11) * _A32 & _LOW32
    value = (value ^ (value >> 15)) * _B32 & _LOW32
    value = (value ^ (value >> 13)) * _C32 & _LOW32
    return value ^ (value >> 16)


def _round64(lane: int, word: int) -> int:
    return _turn64((lane + word * _B64) & _LOW64, 31) * _A64 & _LOW64


def _turn64(value: int, by: int) -> int:
    return ((value << by) | (value >> (64 - by))) & _LOW64


def _turn32(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _LOW32
