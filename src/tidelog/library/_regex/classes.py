"""Classes of a regular expression as sets of characters: sorted ranges of code points.

A range is a pair of code points, both included; ranges of a set neither overlap nor touch.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache

Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
EVERYTHING: Ranges = ((0, LAST),)
NOTHING: Ranges = ()

# No character beyond has a case, up to and including Unicode 15.
_LAST_CASED = 0x1E943

_LONG_NAMES = {
    "letter": "L", "casedletter": "LC", "lc": "LC", "uppercaseletter": "Lu", "lowercaseletter": "Ll",
    "titlecaseletter": "Lt", "modifierletter": "Lm", "otherletter": "Lo", "mark": "M", "combiningmark": "M",
    "nonspacingmark": "Mn", "spacingmark": "Mc", "enclosingmark": "Me", "number": "N", "decimalnumber": "Nd",
    "digit": "Nd", "letternumber": "Nl", "othernumber": "No", "punctuation": "P", "punct": "P",
    "connectorpunctuation": "Pc", "dashpunctuation": "Pd", "openpunctuation": "Ps", "closepunctuation": "Pe",
    "initialpunctuation": "Pi", "finalpunctuation": "Pf", "otherpunctuation": "Po", "symbol": "S", "mathsymbol": "Sm",
    "currencysymbol": "Sc", "modifiersymbol": "Sk", "othersymbol": "So", "separator": "Z", "spaceseparator": "Zs",
    "lineseparator": "Zl", "paragraphseparator": "Zp", "other": "C", "control": "Cc", "cntrl": "Cc", "format": "Cf",
    "privateuse": "Co", "unassigned": "Cn",
}  # fmt: skip

_WHITE_SPACE: Ranges = (
    (0x9, 0xD), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000),
)  # fmt: skip
# Letters in circles and squares, which are letters to Unicode although their category says symbols.
_LETTER_SYMBOLS: Ranges = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))

POSIX: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0, 0x7F),),
    "blank": ((0x9, 0x9), (0x20, 0x20)),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": ((0x30, 0x39),),
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x9, 0xD), (0x20, 0x20)),
    "upper": ((0x41, 0x5A),),
    "word": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}


def union(*sets: Ranges) -> Ranges:
    found: list[tuple[int, int]] = []
    for low, high in sorted(each for ranges in sets for each in ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return tuple(found)


def negate(ranges: Ranges) -> Ranges:
    starts = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), LAST]
    return tuple((start, end) for start, end in zip(starts, ends) if start <= end)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    return negate(union(negate(left), negate(right)))


def difference(left: Ranges, right: Ranges) -> Ranges:
    return intersection(left, negate(right))


def symmetric_difference(left: Ranges, right: Ranges) -> Ranges:
    return difference(union(left, right), intersection(left, right))


def in_any_case(ranges: Ranges) -> Ranges:
    """Returns the characters, and those that differ from them only by case."""
    found = [
        (other, other)
        for code, others in _case_variants().items()
        if any(low <= code <= high for low, high in ranges)
        for other in others
    ]
    return union(ranges, tuple(found))


def letters_digits(name: str, *, unicode: bool) -> Ranges:
    r"""Returns the class `\d`, `\s` or `\w`."""
    if not unicode:
        return POSIX[{"d": "digit", "s": "space", "w": "word"}[name]]
    match name:
        case "d":
            return category("Nd")
        case "s":
            return _WHITE_SPACE
        case _:
            return _word()


def category(name: str) -> Ranges:
    """Returns the characters of a general category by its short name: `Lu`, or `L` for all that begin with it."""
    if name == "LC":
        return union(*(category(each) for each in ("Lu", "Ll", "Lt")))
    return union(*(ranges for own, ranges in _categories().items() if own.startswith(name)))


def property_named(name: str) -> Ranges | None:
    r"""Returns the characters of `\p{name}`: a general category or one of a few properties; None for other names."""
    plain = "".join(char for char in name.lower() if char not in " _-")
    for prefix in ("gc=", "generalcategory="):
        plain = plain.removeprefix(prefix)
    short = _LONG_NAMES.get(plain, plain.capitalize())
    if short == "LC" or any(own.startswith(short) for own in _categories()):
        return category(short)
    match plain:
        case "any":
            return EVERYTHING
        case "ascii":
            return POSIX["ascii"]
        case "assigned":
            return negate(category("Cn"))
        case "whitespace" | "wspace" | "space":
            return _WHITE_SPACE
        case _:
            return None


@cache
def _categories() -> dict[str, Ranges]:
    """Returns the characters of every general category."""
    found: dict[str, list[tuple[int, int]]] = {}
    current, start = unicodedata.category("\0"), 0
    for code in range(1, LAST + 1):
        own = unicodedata.category(chr(code))
        if own != current:
            found.setdefault(current, []).append((start, code - 1))
            current, start = own, code
    found.setdefault(current, []).append((start, LAST))
    return {name: tuple(ranges) for name, ranges in found.items()}


@cache
def _word() -> Ranges:
    names = ("L", "Nl", "M", "Nd", "Pc")
    return union(*(category(name) for name in names), ((0x200C, 0x200D),), _LETTER_SYMBOLS)


@cache
def _case_variants() -> dict[int, tuple[int, ...]]:
    """Returns, for every character with a case, the others that differ only by case."""
    same: dict[str, list[int]] = {}
    for code in range(_LAST_CASED + 1):
        folded = chr(code).casefold()
        if len(folded) == 1 and (folded != chr(code) or chr(code).upper() != chr(code)):
            same.setdefault(folded, []).append(code)
    return {code: tuple(codes) for codes in same.values() for code in codes if len(codes) > 1}


def python_class(ranges: Iterable[tuple[int, int]]) -> str:
    """Returns a class of Python's `re` with exactly these characters."""
    parts = [_escaped(low) if low == high else f"{_escaped(low)}-{_escaped(high)}" for low, high in ranges]
    return f"[{''.join(parts)}]" if parts else "(?!)"


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
