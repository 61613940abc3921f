"""Tokens of a file → tokens without lines of the preprocessor: macros used, files included, conditions decided.

    #define EDGE(a, b) edge(a, b), a != b
    path(x, y) :- EDGE(x, y).

    path(x, y) :- edge(x, y), x != y.

It works on tokens, so a span is always one of a file that somebody wrote: tokens of a macro have the span of the place
where it is used, those of an included file have spans in that file. `.include` and `.once` are handled here, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Source, Span
from tidelog.souffle.text.evaluate_condition import FOREIGN, evaluate_condition
from tidelog.souffle.text.lex import lex
from tidelog.souffle.text.tokens import Kind, Token

_LINE = re.compile(r"\s*([A-Za-z_]\w*)\s*(.*)", re.DOTALL)
_DEFINE = re.compile(r"([A-Za-z_]\w*)(\(([^)]*)\))?(.*)", re.DOTALL)
_DEEPEST_INCLUDE = 64
_GIVEN = "<macros>"
_REST, _ARGUMENTS = "...", "__VA_ARGS__"
_MOST_TOKENS = 2_000_000


SearchPath = Sequence[Path] | Mapping[str, Source]
"""The directories to look for included files in, or the files of a stored program by `include:` and their paths."""


@dataclass(frozen=True, slots=True)
class Macro:
    """`parameters` is None for a macro without parentheses; an `open` one takes more arguments, as `__VA_ARGS__`."""

    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Preprocessed:
    """`sources` are the main file and all included ones, in the order in which they were first read."""

    tokens: list[Token]
    sources: tuple[Source, ...]
    diagnostics: list[Diagnostic]


def preprocess(
    source: Source,
    search_path: SearchPath = (),
    defined: Mapping[str, str] | None = None,
    macros: Mapping[str, str] | None = None,
) -> Preprocessed:
    """Returns the tokens that the parser reads; `defined` are macros that every program has, each with its text.

    `macros` are those that were given for this program: their definitions are a file that is included before it, and
    is stored with it.
    """
    running = _Preprocessing(search_path)
    for name, text in (defined or {}).items():
        tokens, _ = lex(Source(f"<{name}>", text))
        running.macros[name] = Macro(None, tuple(tokens[:-1]))
    given = running.given(macros or {})
    running.file(source, 0)
    if given is not None:
        running.sources.append(given)
    running.output.append(Token(Kind.END, "", "", Span(source, len(source.text), len(source.text))))
    return Preprocessed(running.output, tuple(running.sources), running.diagnostics)


class _Preprocessing:
    def __init__(self, search_path: SearchPath) -> None:
        self._stored = search_path if isinstance(search_path, Mapping) else {}
        self._search_path = () if isinstance(search_path, Mapping) else tuple(search_path)
        self.macros: dict[str, Macro] = {}
        self.output: list[Token] = []
        self.sources: list[Source] = []
        self.diagnostics: list[Diagnostic] = []
        self._once: set[Path] = set()

    def given(self, macros: Mapping[str, str]) -> Source | None:
        """Reads macros from outside, those of a stored program included; returns their definitions as a source."""
        text = "".join(f"#define {name} {value}\n" for name, value in macros.items())
        source = Source(_GIVEN, text) if text else self._stored.get(f"include:{_GIVEN}")
        if source is not None:
            self.file(source, 0)
            self.sources.clear()
        return source

    def file(self, source: Source, depth: int) -> None:
        self.sources.append(source)
        tokens, diagnostics = lex(source)
        self.diagnostics += diagnostics
        run: list[Token] = []
        # One entry for each open `#if`: whether its present branch counts, and whether one has counted.
        branches: list[tuple[bool, bool]] = []
        place = 0
        while place < len(tokens):
            token = tokens[place]
            place += 1
            counts = all(taken for taken, _ in branches)
            if token.kind is Kind.LINE:
                self.output += self.expand(run, frozenset())
                run = []
                self._line(token, branches, source, depth)
            elif token.kind is Kind.END:
                break
            elif not counts:
                continue
            elif token.text == ".include" and token.kind is Kind.DIRECTIVE:
                self.output += self.expand(run, frozenset())
                run = []
                named = tokens[place]
                if named.kind is Kind.STRING:
                    place += 1
                    self._include(named.value, named.span, source, depth)
                else:
                    self._report(Code.UNEXPECTED_TOKEN, "`.include` has no file", token.span, "a path is expected")
            elif token.text == ".once" and token.kind is Kind.DIRECTIVE:
                path = _path(source)
                if path in self._once:
                    break
                if path is not None:
                    self._once.add(path)
            else:
                run.append(token)
            if len(self.output) > _MOST_TOKENS:
                self._report(Code.NESTED_TOO_DEEPLY, "macros make too many tokens", token.span, "no end in sight")
                break
        self.output += self.expand(run, frozenset())
        if branches:
            end = Span(source, max(0, len(source.text) - 1), len(source.text))
            self._report(Code.UNEXPECTED_TOKEN, "`#endif` is missing", end, "the file ends inside a condition")

    # Lines

    def _line(self, token: Token, branches: list[tuple[bool, bool]], source: Source, depth: int) -> None:
        found = _LINE.match(token.value)
        if found is None:
            return
        word, rest = found.groups()
        counts = all(taken for taken, _ in branches)
        match word:
            case "ifdef" | "ifndef":
                holds = (rest.split()[:1] or [""])[0] in self.macros
                holds = holds is (word == "ifdef")
                branches.append((counts and holds, holds or not counts))
            case "if":
                holds = counts and self._holds(rest, token)
                branches.append((holds, holds or not counts))
            case "elif" | "else" | "endif" if not branches:
                self._report(Code.UNEXPECTED_TOKEN, f"`#{word}` without `#if`", token.span, "nothing is open here")
            case "elif":
                _, had = branches.pop()
                holds = not had and self._holds(rest, token)
                branches.append((holds, had or holds))
            case "else":
                _, had = branches.pop()
                branches.append((not had, True))
            case "endif":
                branches.pop()
            case _ if not counts:
                pass
            case "define":
                self._define(token, rest)
            case "undef":
                self.macros.pop((rest.split()[:1] or [""])[0], None)
            case "include":
                named = re.match(r'\s*["<]([^">]*)[">]', rest)
                if named is None:
                    self._report(Code.UNEXPECTED_TOKEN, "`#include` has no file", token.span, "a path is expected")
                else:
                    self._include(named[1], token.span, source, depth)
            case "pragma" if rest.split() == ["once"]:
                path = _path(source)
                if path is not None:
                    self._once.add(path)
            case "error":
                self._report(Code.UNEXPECTED_TOKEN, f"#error {rest.strip()}", token.span, "the program says so")

    def _define(self, token: Token, rest: str) -> None:
        start = token.span.end - len(rest)
        found = _DEFINE.match(rest)
        if found is None:
            self._report(Code.UNEXPECTED_TOKEN, "`#define` has no name", token.span, "a word is expected")
            return
        name, has_parameters, names, _ = found.groups()
        parameters = None
        if has_parameters is not None:
            parameters = tuple(each.strip() for each in names.split(",") if each.strip())
        is_open = False
        if parameters and parameters[-1] == _REST:
            parameters, is_open = parameters[:-1], True
        source = token.span.source
        joined = Source(source.name, source.text[: token.span.end].replace("\\\n", " \n").replace("\\\r\n", "  \n"))
        body, diagnostics = lex(joined, start + found.start(4), token.span.end)
        self.diagnostics += diagnostics
        self.macros[name] = Macro(parameters, tuple(body[:-1]), is_open)

    def _holds(self, text: str, token: Token) -> bool:
        """Returns whether a condition of `#if` holds."""

        def asked(found: re.Match[str]) -> str:
            return str(int((found[1] or found[2]) in self.macros))

        text = re.sub(r"defined\s*(?:\(\s*(\w+)\s*\)|(\w+))", asked, text)
        # Operators that the language itself does not have are words of it while macros are used.
        text = re.sub(r"&&|[&~?]", lambda found: f" {FOREIGN[found[0]]} ", text)
        source = Source("<condition>", text)
        tokens = self.expand(lex(source, 0)[0][:-1], frozenset())
        value = evaluate_condition([each.text for each in tokens])
        if value is None:
            self._report(
                Code.UNEXPECTED_TOKEN, "a condition cannot be read", token.span, "expected numbers and operators"
            )
        return bool(value)

    def _include(self, name: str, span: Span, source: Source, depth: int) -> None:
        if depth >= _DEEPEST_INCLUDE:
            self._report(Code.NESTED_TOO_DEEPLY, "files include each other", span, "too deep")
            return
        own = _path(source)
        folders = [*([own.parent] if own is not None else []), *self._search_path]
        for folder in folders:
            path = folder / name
            if path.resolve() in self._once:
                return
            stored = self._stored.get(f"include:{path}")
            if stored is not None:
                self.file(stored, depth + 1)
                return
            if path.is_file():
                try:
                    text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
                except OSError:
                    break
                self.file(Source(str(path), text), depth + 1)
                return
        self._report(
            Code.UNKNOWN_MODULE,
            f"the file `{name}` is not found",
            span,
            "included here",
            help=f"looked in: {', '.join(map(str, folders)) or 'no directory'}",
        )

    # Macros

    def expand(self, tokens: Sequence[Token], used: frozenset[str]) -> list[Token]:
        """Returns the tokens with macros replaced, except those in `used`, which are being replaced."""
        made: list[Token] = []
        place = 0
        while place < len(tokens):
            token = tokens[place]
            place += 1
            macro = self.macros.get(token.text) if token.kind in (Kind.WORD, Kind.KEYWORD) else None
            if macro is None or token.text in used:
                made.append(token)
                continue
            if macro.parameters is None:
                body = [replace(each, span=token.span) for each in macro.body]
                made += self.expand(_pasted(body), used | {token.text})
                continue
            taken = _arguments(tokens, place)
            if taken is None:
                made.append(token)
                continue
            arguments, place = taken
            if macro.open and len(arguments) >= len(macro.parameters):
                arguments = _with_rest(arguments, len(macro.parameters), token.span)
                macro = replace(macro, parameters=(*macro.parameters, _ARGUMENTS), open=False)
            assert macro.parameters is not None
            if len(arguments) != len(macro.parameters) and not (len(macro.parameters) == 0 and arguments == [[]]):
                self._report(
                    Code.WRONG_ARGUMENT_COUNT,
                    f"macro `{token.text}` takes {len(macro.parameters)} arguments, and has {len(arguments)}",
                    token.span,
                    "used here",
                )
                continue
            body = self._filled(macro, arguments, token, used)
            made += self.expand(_pasted(body), used | {token.text})
            if len(made) > _MOST_TOKENS:
                break
        return made

    def _filled(self, macro: Macro, arguments: list[list[Token]], at: Token, used: frozenset[str]) -> list[Token]:
        """Returns a macro's body with arguments in the place of parameters."""
        assert macro.parameters is not None
        given = dict(zip(macro.parameters, arguments, strict=False))
        made: list[Token] = []
        for place, each in enumerate(macro.body):
            before = macro.body[place - 1].text if place else ""
            after = macro.body[place + 1].text if place + 1 < len(macro.body) else ""
            if each.text in given and each.kind in (Kind.WORD, Kind.KEYWORD):
                argument = given[each.text]
                if before == "#":
                    made.pop()
                    text = "".join((" " if one.spaced and n else "") + one.text for n, one in enumerate(argument))
                    made.append(Token(Kind.STRING, f'"{text}"', text, at.span))
                else:
                    raw = before == "##" or after == "##"
                    put = argument if raw else self.expand(argument, used)
                    # An argument keeps its own place.
                    made += put
            else:
                made.append(replace(each, span=at.span))
        return made

    def _report(self, code: Code, message: str, span: Span, label: str, help: str | None = None) -> None:
        self.diagnostics.append(diagnostic(code, message, span, label, help=help))


def _arguments(tokens: Sequence[Token], place: int) -> tuple[list[list[Token]], int] | None:
    """Returns the arguments in parentheses from a place on, and the place behind them; None if there are none."""
    if place >= len(tokens) or tokens[place].text != "(" or tokens[place].kind is not Kind.MARK:
        return None
    depth, arguments = 1, [[]]  # type: tuple[int, list[list[Token]]]
    place += 1
    while place < len(tokens):
        token = tokens[place]
        place += 1
        if token.kind is Kind.MARK and token.text in ("(", "[", "{"):
            depth += token.text == "("
        elif token.kind is Kind.MARK and token.text == ")":
            depth -= 1
            if not depth:
                return arguments, place
        elif token.kind is Kind.MARK and token.text == "," and depth == 1:
            arguments.append([])
            continue
        arguments[-1].append(token)
    return None


def _with_rest(arguments: list[list[Token]], count: int, span: Span) -> list[list[Token]]:
    """Returns so many arguments, and one of all others with commas between them."""
    rest: list[Token] = []
    for place, each in enumerate(arguments[count:]):
        rest += [Token(Kind.MARK, ",", ",", span), *each] if place else each
    return [*arguments[:count], rest]


def _pasted(tokens: list[Token]) -> list[Token]:
    """Returns the tokens with `a ## b` joined to one."""
    made: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token.text == "##" and made and place + 1 < len(tokens):
            text = made.pop().text + tokens[place + 1].text
            joined, _ = lex(Source("<joined>", text), 0)
            made += [replace(each, span=token.span) for each in joined[:-1]]
            place += 2
            continue
        made.append(token)
        place += 1
    return made


def _path(source: Source) -> Path | None:
    return None if source.name.startswith("<") else Path(source.name).resolve()
