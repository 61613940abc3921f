"""RDF files → triples of texts: N-Triples by a reader of our own, Turtle and RDF/XML by rdflib.

A term is one text: an IRI as it is (`http://example.org/Ann`), a literal as N-Triples writes it (`"5"^^<http://…>`,
`"chat"@fr`), a blank node with its label (`_:b0`). No two terms have the same text, and a program compares IRIs without
brackets around them.

N-Triples are read a line at a time: 100,000 triples in half a second, where rdflib takes five. A wrong line is reported
with its number; rdflib's own message has the place in Turtle or XML.
"""

from __future__ import annotations

import plistlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tidelog.decompress import open_compressed, open_compressed_text
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, MissingDependencyError

Triple = tuple[str, str, str]

RDFLIB_FORMATS = {"ttl": "turtle", "owl": "xml", "rdf": "xml", "xml": "xml"}
ENDINGS = (".nt", ".ttl", ".owl", ".rdf", ".xml")

_IRI = r"<([^\x00-\x20<>\"{}|^`]*)>"
_BLANK = r"(_:[^\s<>\"]*[^\s<>\".])"
_LITERAL = r'("(?:[^"\\\n\r]|\\.)*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^<[^\x00-\x20<>"{}|^`]*>)?)'
_LINE = re.compile(
    rf"[ \t]*(?:{_IRI}|{_BLANK})[ \t]*{_IRI}[ \t]*(?:{_IRI}|{_BLANK}|{_LITERAL})[ \t]*\.[ \t]*(?:#.*)?\r?\n?"
)
_NOTHING = re.compile(r"[ \t]*(?:#.*)?\r?\n?")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([tbnrf\"'\\]))")
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_PLAIN_STRING = "^^<http://www.w3.org/2001/XMLSchema#string>"


def read_triples(path: Path) -> Iterator[Triple]:
    """Yields the triples of a file, whose name tells its format; it may be compressed (`.nt.gz`).

    Raises DataError where it cannot be read, MissingDependencyError where rdflib is needed and not there.
    """
    ending = path.name.removesuffix(".gz").rpartition(".")[2]
    if ending == "nt":
        yield from read_n_triples(path)
    elif ending in RDFLIB_FORMATS:
        yield from _read_by_rdflib(path, RDFLIB_FORMATS[ending])
    else:
        raise DataError(
            f"{path}: the name does not say what kind of RDF file it is",
            code=Code.UNREADABLE_FILE,
            help=f"use {', '.join(f'`{each}`' for each in ENDINGS)}",
        )


def read_n_triples(path: Path) -> Iterator[Triple]:
    """Yields the triples of a file of N-Triples."""
    number = 0
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, 1):
                found = _LINE.fullmatch(line)
                if found is None:
                    if _NOTHING.fullmatch(line) is None:
                        raise _not_a_triple(path, number, line)
                    continue
                subject, blank, property_, object_, other_blank, literal = found.groups()
                if "\\" in line:
                    subject, property_, object_ = (
                        text and _unescaped(text, path, number) for text in (subject, property_, object_)
                    )
                    literal = literal and _literal(literal, path, number)
                elif literal:
                    literal = literal.removesuffix(_PLAIN_STRING)
                yield (
                    blank if subject is None else subject,
                    property_,
                    literal or other_blank if object_ is None else object_,
                )
    except UnicodeDecodeError as error:
        raise DataError(f"{path}:{number + 1}: the file is not UTF-8: {error}", code=Code.UNREADABLE_FILE) from None
    except (OSError, EOFError) as error:
        raise DataError(f"{path}: cannot be read: {error}", code=Code.UNREADABLE_FILE) from error


def require_rdflib() -> Any:
    """Imports rdflib. Raises MissingDependencyError, with the command to run."""
    try:
        import rdflib
    except ImportError as error:
        raise MissingDependencyError(
            f"Turtle and RDF/XML are read by rdflib: {error}",
            code=Code.NO_RDFLIB,
            help='run `pip install "tidelog[rdf]"`; N-Triples (`.nt`) need nothing',
        ) from error
    return rdflib


def _read_by_rdflib(path: Path, format_: str) -> Iterator[Triple]:
    rdflib = require_rdflib()
    graph = rdflib.Graph()
    try:
        with open_compressed(path) if path.name.endswith(".gz") else path.open("rb") as file:
            graph.parse(data=_unwrapped(file.read()), format=format_, publicID=path.name)
    except DataError:
        raise
    except Exception as error:  # rdflib's parsers raise what their libraries raise
        raise DataError(f"{path}: cannot be read: {error}", code=Code.UNREADABLE_FILE) from error
    for subject, property_, value in graph:
        yield _text(subject, rdflib), _text(property_, rdflib), _text(value, rdflib)


def _unwrapped(data: bytes) -> bytes:
    """Returns the page inside a web archive of a browser: ontologies are often passed on like that."""
    if not data.startswith(b"bplist00"):
        return data
    archive = plistlib.loads(data)
    saved: bytes = archive["WebMainResource"]["WebResourceData"]
    return saved


def _text(term: Any, rdflib: Any) -> str:
    if isinstance(term, rdflib.URIRef):
        return str(term)
    if isinstance(term, rdflib.BNode):
        return f"_:{term}"
    # rdflib would write the canonical number in place of what the file has.
    text = '"' + str(term).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'
    if term.language:
        return f"{text}@{term.language}"
    return f"{text}^^<{term.datatype}>".removesuffix(_PLAIN_STRING) if term.datatype else text


def _opened(path: Path) -> Any:
    return open_compressed_text(path, encoding="utf-8") if path.name.endswith(".gz") else path.open(encoding="utf-8")


def _literal(text: str, path: Path, number: int) -> str:
    """Returns a literal in its canonical form: only the necessary characters are escaped."""
    end = text.rindex('"')
    value = _unescaped(text[1:end], path, number)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"{_unescaped(text[end + 1 :], path, number)}'.removesuffix(_PLAIN_STRING)


def _unescaped(text: str, path: Path, number: int) -> str:
    def character(match: re.Match[str]) -> str:
        short, long, name = match.groups()
        if name:
            return _CHARACTERS[name]
        value = int(short or long, 16)
        if value > 0x10FFFF or 0xD800 <= value < 0xE000:
            raise _not_a_triple(path, number, match.group())
        return chr(value)

    if "\\" in _ESCAPE.sub("", text):
        raise _not_a_triple(path, number, text)
    return _ESCAPE.sub(character, text)


def _not_a_triple(path: Path, number: int, line: str) -> DataError:
    shown = line.strip()
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return DataError(
        f"{path}:{number}: `{shown}` is not a triple",
        code=Code.UNREADABLE_FILE,
        help='a line of N-Triples is `<subject> <property> <object> .`, with an object like `"text"` or `_:b0`, too',
    )
