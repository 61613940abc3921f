"""Object code of LLVM → an image: one piece of memory that runs at any address.

A small static linker for the ELF objects of x86-64 that `compile_kernels` makes (position-independent, small code
model). The image has two parts, each of whole pages: instructions, then constants, variables and the *slots* that the
loader fills with the addresses of outside functions (`externals`) and of places in the image (`internals`). Nothing
else depends on where the image is. Calls of outside functions go through a jump behind the instructions.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

PAGE = 4096

_SECTION_SYMBOLS, _SECTION_RELOCATIONS, _SECTION_EMPTY = 2, 4, 8
_ALLOCATED, _EXECUTABLE = 0x2, 0x4
_ABSOLUTE_64, _RELATIVE_32, _CALL_32, _RELATIVE_64 = 1, 2, 4, 24
_SLOT_32 = (9, 41, 42)
_NUMBAS = ("NRT_", "numba_", "_ZN", ".numba")  # names that only Numba could resolve


class CannotLinkError(Exception):
    """An object needs something that this linker does not have."""


@dataclass
class Image:
    """A linked image: its bytes, the size of its instructions, and what the loader must fill in."""

    content: bytes
    text_size: int
    start: int  # of the function that Python calls
    externals: dict[str, int] = field(default_factory=dict)  # name → place of its slot
    internals: dict[int, int] = field(default_factory=dict)  # place of an address → the place in the image it names


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


def link(code: bytes, start: str) -> Image:
    """Links one object; `start` is the name of the function that Python calls."""
    if code[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", code, 18)[0] != 62:
        raise CannotLinkError("not an object of x86-64")
    return _Linker(code).link(start)


class _Linker:
    def __init__(self, code: bytes) -> None:
        self.code = code
        self.sections = _sections(code)
        table = next(each for each in self.sections if each.kind == _SECTION_SYMBOLS)
        names = self.sections[table.link]
        self.symbols = []
        for at in range(table.offset, table.offset + table.size, 24):
            name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", code, at)
            self.symbols.append((_text(code, names.offset + name), section, value))
        self.places: dict[int, int] = {}  # section → its place in the image
        self.slots: dict[str, int] = {}
        self.jumps: dict[str, int] = {}

    def link(self, start: str) -> Image:
        kept = [
            (number, each)
            for number, each in enumerate(self.sections)
            if each.flags & _ALLOCATED and each.size and each.name != ".eh_frame"
        ]
        relocations = [each for each in self._relocations() if each[0] in dict(kept)]
        called, named = self._outside(relocations)
        end = self._lay_out([pair for pair in kept if pair[1].flags & _EXECUTABLE], 0)
        end = -(-end // 16) * 16
        for name in called:
            self.jumps[name] = end
            end += 8
        text_size = -(-end // PAGE) * PAGE
        end = self._lay_out([pair for pair in kept if not pair[1].flags & _EXECUTABLE], text_size)
        end = -(-end // 8) * 8
        for name in sorted({*called, *named}):
            self.slots[name] = end
            end += 8
        content = bytearray(-(-end // PAGE) * PAGE)
        for number, each in kept:
            if each.kind != _SECTION_EMPTY:
                place = self.places[number]
                content[place : place + each.size] = self.code[each.offset : each.offset + each.size]
        for name, place in self.jumps.items():
            content[place : place + 6] = b"\xff\x25" + struct.pack("<i", self.slots[name] - place - 6)
        internals: dict[int, int] = {}
        externals = {name: place for name, place in self.slots.items() if not name.startswith("\0")}
        for relocation in relocations:
            self._apply(relocation, content, internals)
        for name, place in self.slots.items():
            if name.startswith("\0"):
                internals[place] = self._place(int(name[1:]))
        return Image(bytes(content), text_size, self._start(start), externals, internals)

    def _relocations(self) -> list[tuple[int, int, int, int, int]]:
        """Returns section, offset, kind, symbol and addend of each relocation."""
        found = []
        for each in self.sections:
            if each.kind == _SECTION_RELOCATIONS:
                for at in range(each.offset, each.offset + each.size, 24):
                    offset, info, addend = struct.unpack_from("<QQq", self.code, at)
                    found.append((each.info, offset, info & 0xFFFFFFFF, info >> 32, addend))
        return found

    def _outside(self, relocations: list[tuple[int, int, int, int, int]]) -> tuple[list[str], list[str]]:
        """Returns the outside functions that are called, and what needs a slot beside them."""
        called, named = set(), set()
        for _, _, kind, symbol, _ in relocations:
            name, section, _ = self.symbols[symbol]
            if kind in _SLOT_32:
                named.add(name if section == 0 else f"\0{symbol}")
            elif section == 0:
                if kind != _CALL_32:
                    raise CannotLinkError(f"relocation {kind} of {name}")
                called.add(name)
        if strange := [name for name in sorted({*called, *named}) if name.startswith(_NUMBAS)]:
            raise CannotLinkError(f"{', '.join(strange)} of Numba's run-time system")
        return sorted(called), sorted(named)

    def _lay_out(self, sections: list[tuple[int, _Section]], end: int) -> int:
        for number, each in sections:
            align = max(each.align, 1)
            end = -(-end // align) * align
            self.places[number] = end
            end += each.size
        return end

    def _place(self, symbol: int) -> int:
        name, section, value = self.symbols[symbol]
        if section not in self.places:
            raise CannotLinkError(f"{name or 'a section'} is not part of the image")
        return self.places[section] + int(value)

    def _apply(self, relocation: tuple[int, int, int, int, int], content: bytearray, internals: dict[int, int]) -> None:
        section, offset, kind, symbol, addend = relocation
        at = self.places[section] + offset
        name, defined_in, _ = self.symbols[symbol]
        if kind in _SLOT_32:
            target = self.slots[name if defined_in == 0 else f"\0{symbol}"]
        elif defined_in == 0:
            target = self.jumps[name]
        else:
            target = self._place(symbol)
        if kind == _ABSOLUTE_64:
            internals[at] = target + addend
        elif kind == _RELATIVE_64:
            struct.pack_into("<q", content, at, target + addend - at)
        elif kind in (_RELATIVE_32, _CALL_32, *_SLOT_32):
            struct.pack_into("<i", content, at, target + addend - at)
        else:
            raise CannotLinkError(f"relocation {kind}")

    def _start(self, name: str) -> int:
        for number, (each, section, _) in enumerate(self.symbols):
            if each == name and section != 0:
                return self._place(number)
        raise CannotLinkError(f"no function {name}")


def _sections(code: bytes) -> list[_Section]:
    start = struct.unpack_from("<Q", code, 40)[0]
    size, count, names = struct.unpack_from("<HHH", code, 58)
    raw = [struct.unpack_from("<IIQQQQIIQQ", code, start + size * k) for k in range(count)]
    text = raw[names][4]
    return [
        _Section(_text(code, text + name), kind, flags, offset, length, link_, info, align)
        for name, kind, flags, _, offset, length, link_, info, align, _ in raw
    ]


def _text(code: bytes, at: int) -> str:
    return code[at : code.index(b"\0", at)].decode()
