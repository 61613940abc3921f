"""The text before the cursor → possible completions."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.diagnostics.errors import TidelogError
from tidelog.rules.ir import Role
from tidelog.shell.read_command import ALONE, KEYWORDS
from tidelog.shell.rows import Rows
from tidelog.shell.scan import Scanner, Token

_UPDATES = ("insert", "insert_or_update", "delete", "delete_key", "modify", "clear")
_INDEXED = ("query_index", "dump_index")
_RULES = ("add_rule", "remove_rule")
_ASKED = ("explain", "why_not", "query", *_RULES)


def completions(text: str, rows: Rows) -> list[str]:
    """Returns the words that are valid at the end of the text and begin with its unfinished last word."""
    start = max((place for place, char in enumerate(text, 1) if not (char.isalnum() or char in "_:")), default=0)
    begun = text[start:]
    before = _last_command(text[:start])
    if before is None:
        return []
    return [word for word in _words(before, rows) if word.startswith(begun)]


def _words(before: list[Token], rows: Rows) -> Iterable[str]:
    if not before:
        return [word if word in ALONE else f"{word} " for word in KEYWORDS]
    keyword = before[0].text
    if len(before) == 1:
        if keyword in _UPDATES:
            return rows.names(Role.INPUT)
        if keyword in _INDEXED:
            return sorted(rows.indexes)
        if keyword in _ASKED:
            return sorted(rows.relations)
        fixed = {"dump": rows.names(Role.OUTPUT), "commit": ["dump_changes"], "profile": ["cpu", "change", "timely"]}
        return fixed.get(keyword, [])
    if keyword == "profile":
        return ["on", "off"]
    if keyword == "query" or keyword in _RULES:
        return [*sorted(rows.relations), "not", "var", "FlatMap", "true", "false", *rows.constructors()]
    if keyword == "explain" and before[-1].text in (")", "]"):
        return ["shortest"]
    if keyword not in (*_UPDATES, *_ASKED, "query_index"):
        return []
    if before[-1].text == ".":
        relation = rows.relations.get(before[1].text)
        return [column.name for column in relation.columns] if relation is not None else []
    return ["true", "false", *rows.constructors()]


def _last_command(text: str) -> list[Token] | None:
    """Returns the tokens of the command at the end of the text; None inside a string or in an invalid text."""
    lines = iter(text.splitlines(keepends=True))
    scanner = Scanner(lambda: next(lines, None))
    found: list[Token] = []
    depth = 0
    try:
        while (token := scanner.take()).kind != "end":
            found.append(token)
            if token.kind == "symbol":
                depth += (token.text in "([{") - (token.text in ")]}")
                if token.text == ";" or (token.text == "," and depth <= 0 and found[0].text not in ("query", *_RULES)):
                    found, depth = [], 0
    except TidelogError:
        return None
    return found
