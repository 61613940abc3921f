"""Text in quotes, as Rust's `escape_debug` writes it, except that a single quote stays as it is."""

from __future__ import annotations

import re
import unicodedata

_SIMPLE = {"\0": "\\0", "\t": "\\t", "\r": "\\r", "\n": "\\n", '"': '\\"', "\\": "\\\\"}
_PLAIN = re.compile(r"[ !#-\[\]-~]*")

# Unicode's Other_Grapheme_Extend, beyond the marks (Mn, Me) that extend a character in any case.
_EXTENDING = frozenset(
    map(
        chr,
        (
            *(0x9BE, 0x9D7, 0xB3E, 0xB57, 0xBBE, 0xBD7, 0xCC2, 0xCD5, 0xCD6, 0xD3E, 0xD57, 0xDCF, 0xDDF, 0x1B35),
            *(0x200C, 0x302E, 0x302F, 0xFF9E, 0xFF9F, 0x1133E, 0x11357, 0x114B0, 0x114BD, 0x115AF, 0x11930, 0x1D165),
            *range(0x1D16E, 0x1D173),
            *range(0xE0020, 0xE0080),
        ),
    )
)


def quote(text: str) -> str:
    r"""Returns the text in double quotes; what cannot be seen, or sticks to the character before it, is `\u{…}`."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    return f'"{"".join(map(_escape, text))}"'


def _escape(char: str) -> str:
    simple = _SIMPLE.get(char)
    if simple is not None:
        return simple
    extends = unicodedata.category(char) in ("Mn", "Me") or char in _EXTENDING
    return f"\\u{{{ord(char):x}}}" if extends or not char.isprintable() else char
