"""The comments in the library's modules → `docs/reference/functions.md`.

    // The text in small letters: `to_lowercase("AbC") == "abc"`.
    extern function string_to_lowercase(s: string): string
    function to_lowercase(s: string): string { string_to_lowercase(s) }

The comment above a function is its meaning; the code at the end of it, behind a colon, is an example: an expression
that is true. Functions of which one only calls the other with the same arguments are one entry, and so are those of
`fp` that differ in `_f` and `_d`. `make reference` runs this after a comment or a function has changed; a test compares
the page with the comments, and runs the examples.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.diagnostics.spans import Source
from tidelog.syntax import ast
from tidelog.syntax.parse import parse

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "functions.md"
LIBRARY = ROOT / "src" / "tidelog" / "library"
EVERYWHERE = ("ddlog_std", "internment", "debug")
"""The modules that programs see without an import."""

_WITH_EXAMPLE = re.compile(r"(?P<meaning>.*): `(?P<example>[^`]+)`\.")
_HEADING = re.compile(r"// -{8,} (?P<heading>.+)")
_CALL = re.compile(r"\{ (?P<callee>\w+)\((?P<arguments>[\w, ]*)\) \}")

INTRODUCTION = """\
# Functions of the library

Made from the comments in the library's modules by `make reference`. Each example is an expression that is true, and
the tests run all of them. A call `f(x, y)` may be written `x.f(y)`. In the examples, `g` is a group of the numbers 1, 2
and 3 with the key "k", `pairs` a group of `("a", 1)`, `("a", 2)` and `("b", 1)`, and `sets` a group of the sets of 1
and of 2. Functions with side effects, transformers and groups of references have no example.

Functions with the same name are told apart by their arguments. "Also" names those that do the same under another name,
which only one of them has: `vec_len` is the `len` of vectors. In `fp`, names with `_f` are for `float`, names with `_d`
for `double`.
"""


@dataclass
class Entry:
    """One function with all its names and overloads."""

    signatures: list[str] = field(default_factory=list)
    meaning: str = ""
    example: str = ""


@dataclass
class Module:
    """A module of the library: what its head says, and its entries under their headings."""

    name: str
    head: str
    sections: dict[str, list[Entry]]

    def entries(self) -> list[Entry]:
        """Returns the entries of all sections, in the order of the page."""
        return [entry for entries in self.sections.values() for entry in entries]


def modules() -> list[Module]:
    """Returns the modules that have functions or transformers, those first that need no import."""
    found = []
    for path in sorted(LIBRARY.rglob("*.dl")):
        name = "::".join(path.relative_to(LIBRARY).with_suffix("").parts)
        if not name.startswith("souffle"):  # what the translation of Soufflé's programs calls
            found.append(_module(name, path.read_text(encoding="utf-8")))
    found = [each for each in found if each.sections]
    return sorted(found, key=lambda each: (each.name not in EVERYWHERE, each.name))


def page() -> str:
    """Returns the whole page."""
    parts = [INTRODUCTION]
    for module in modules():
        use = "Needs no import." if module.name in EVERYWHERE else f"`import {module.name}`"
        parts.append(f"\n## {module.name}\n\n{use}\n\n{module.head}\n")
        for heading, entries in module.sections.items():
            parts.append(f"\n### {heading}\n\n" if heading else "\n")
            parts.extend(_shown(entry) for entry in entries)
    return "".join(parts)


@dataclass(frozen=True)
class _Declared:
    name: str
    signature: str
    calls: str | None  # the function that it only calls, with its own arguments
    comment: str
    heading: str


def _module(name: str, text: str) -> Module:
    lines = text.splitlines()
    items = parse(Source(f"{name}.dl", text)).items
    declared = [
        _declared(item, lines)
        for item in items
        if isinstance(item, ast.FunctionDeclaration | ast.TransformerDeclaration)
    ]
    entries: dict[str, Entry] = {}
    sections: dict[str, list[Entry]] = {}
    for each in declared:
        if each.comment:
            found = _WITH_EXAMPLE.fullmatch(each.comment)
            entry = Entry([], f"{found['meaning']}.", found["example"]) if found else Entry([], each.comment)
            entries.setdefault(each.name, entry)
            entries[each.signature] = entry
            sections.setdefault(each.heading, []).append(entry)
    calls = {each.name: each.calls for each in declared if each.calls and not each.comment}
    for each in declared:
        if not each.name.startswith("_"):
            _described(each, entries, calls).signatures.append(each.signature)
    return Module(name, _head(lines), sections)


def _described(function: _Declared, entries: dict[str, Entry], calls: dict[str, str]) -> Entry:
    """Returns the entry with the function's own comment, or with that of the function that it calls."""
    if function.comment:
        return entries[function.signature]
    target = function.calls or function.name.removesuffix("_d") + "_f"
    while target not in entries and target in calls:
        target = calls[target]
    if target not in entries:
        raise ValueError(f"`{function.signature}` has no comment that says what it means")
    return entries[target]


def _declared(item: ast.FunctionDeclaration | ast.TransformerDeclaration, lines: list[str]) -> _Declared:
    line = item.span.source.position(item.name.span.start)[0] - 1
    text = item.span.source.text
    body = item.body if isinstance(item, ast.FunctionDeclaration) else None
    end = body.span.start if body else item.span.end
    signature = " ".join(text[item.name.span.start : end].split()).rstrip("={ ")
    calls = None
    if body and isinstance(item, ast.FunctionDeclaration) and (found := _CALL.fullmatch(body.span.text)):
        own = ", ".join(each.name.text for each in item.parameters)
        calls = found["callee"] if found["arguments"] == own else None
    return _Declared(item.name.text, signature, calls, _comment(lines, line), _heading(lines, line))


def _comment(lines: list[str], line: int) -> str:
    """Returns the text of the comment right above a line, or above the attributes there."""
    above = line - 1
    while lines[above].startswith("#["):
        above -= 1
    found: list[str] = []
    while above >= 0 and lines[above].startswith("//") and not _HEADING.match(lines[above]):
        found.insert(0, lines[above].removeprefix("//").strip())
        above -= 1
    return " ".join(found)


def _heading(lines: list[str], line: int) -> str:
    found = [match["heading"] for each in lines[:line] if (match := _HEADING.match(each))]
    return found[-1][0].upper() + found[-1][1:] if found else ""


def _head(lines: list[str]) -> str:
    """Returns the comment at the top of a module; lines that are set in stay a block of their own."""
    head: list[str] = []
    for line in lines:
        if not line.startswith("//"):
            break
        head.append(line.removeprefix("//").removeprefix(" ").rstrip())
    return "\n".join(head)


def _shown(entry: Entry) -> str:
    """Returns the lines of an entry: the signatures of its shortest name, the meaning, other names, the example."""
    names = list(dict.fromkeys(each.split("(")[0] for each in entry.signatures))
    short = min(names, key=len)
    signatures = "<br>\n  ".join(f"`{each}`" for each in entry.signatures if each.startswith(f"{short}("))
    others = ", ".join(f"`{each}`" for each in names if each != short)
    also = f" Also {others}." if others else ""
    example = f"<br>\n  `{entry.example}`" if entry.example else ""
    return f"- {signatures}<br>\n  {entry.meaning}{also}{example}\n"


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
