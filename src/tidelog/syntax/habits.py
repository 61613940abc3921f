"""Words of other languages → what they are called in this one, for the help of an error.

A habit is a few tokens without blanks between them, at, or just before, the place where something else was expected.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from tidelog.diagnostics.suggest import suggest
from tidelog.syntax.tokens import Kind, Token

_COMMENT = "`//` begins a comment"
_ITEMS = "`contains([1, 2], x)` is true for an item of a vector"
_SOUFFLE = "this is the syntax of Soufflé; here "
SOUFFLE_DIRECTIVES = frozenset(("decl", "input", "output", "printsize", "type", "comp", "init", "functor", "pragma"))
_IF = "`if (x > 1) { 1 } else { 2 }` is one of two values"
_ELSE_IF = "`if (x > 1) 1 else if (x == 1) 2 else 3` is one of three values"
_BY_NAME = "`E(.a = x)` reads a column by its name"
_KEY = "a key stands behind the columns: `input relation T(id: u32) primary key (row) row.id`"
_SET = "a variable is set by `x = x + 1`"

# Where it begins (0: at the unexpected token), the tokens, what was expected (or anything), and what to write.
_HABITS: tuple[tuple[int, tuple[str, ...], str, str], ...] = (
    (0, ("&", "&"), "", "`and` joins conditions, `,` joins literals"),
    (-3, ("|", "|"), "", "`or` joins conditions, `++` joins strings"),
    (-2, ("|", "|"), "", "`or` joins conditions, `++` joins strings"),
    (-2, ("?", "?"), "", "`unwrap_or(x, y)` is `y` where `x` is `None`"),
    (-1, ("?", "?"), "", "`unwrap_or(x, y)` is `y` where `x` is `None`"),
    (0, ("<", "-"), "", "`:-` stands between head and body"),
    (0, (":",), "`:-`", "`:-` stands between head and body"),
    (0, ("=",), "`:-`", "`:-` stands between head and body"),
    (0, ("-",), "`:-`", "`:-` stands between head and body"),
    (0, ("or",), "`,` or `.`", "write alternatives as separate rules"),
    (0, ("and",), "`,` or `.`", "`,` joins literals"),
    (-1, ("<", ">"), "", "`!=` is true for values that differ"),
    (-1, (":", "="), "", "`var x = 1` binds a variable, `x == 1` compares"),
    (-1, ("+", "="), "", _SET),
    (-1, ("-", "="), "", _SET),
    (-1, ("*", "="), "", _SET),
    (-1, ("/", "="), "", _SET),
    (-1, ("++",), "an expression", "`x = x + 1` adds 1"),
    (0, ("'",), "an expression", 'text stands between double quotes: `"a"`'),
    (
        0,
        ("~",),
        "`,` or `.`",
        '`import regex` has `regex_match(regex("a.*"), s)`; `s.contains("a")` looks into a string',
    ),
    (0, ("|",), "`,` or `.`", "write alternatives as separate rules"),
    (-1, ("?",), "`,` or", _IF),
    (0, ("?",), "an expression", "a variable is a plain name: `x`"),
    (0, ("else",), "`,` or", "a branch with an operator or a type stands in parentheses: `if (x > 1) (x - 1) else 2`"),
    (0, ("elif",), "", _ELSE_IF),
    (0, ("elsif",), "", _ELSE_IF),
    (0, ("elseif",), "", _ELSE_IF),
    (-1, ("then",), "", "there is no `then`: `if (x > 1) { 1 } else { 2 }`"),
    (-1, ("*", "*"), "an expression", "there is no operator for powers; `x * x` is a square"),
    (-1, (".", "."), "the name of a column", "`_` stands for a column, and `A(.x = x)` leaves out all others"),
    (0, ("%",), "a declaration", _COMMENT),
    (0, ("/",), "a declaration", _COMMENT),
    (0, ("-", "-"), "", _COMMENT),
    (-1, ("-", "-"), "", _COMMENT),
    (-1, (")", "."), "a declaration", "a declaration ends without a `.`"),
    (-1, ("]", "."), "a declaration", "a declaration ends without a `.`"),
    (
        0,
        (".", "decl"),
        "a declaration",
        f"{_SOUFFLE}`input relation Edge(src: string, dst: string)` declares a relation",
    ),
    (
        0,
        (".", "input"),
        "a declaration",
        f"{_SOUFFLE}`input` stands before the declaration: `input relation Edge(x: s64)`",
    ),
    (
        0,
        (".", "output"),
        "a declaration",
        f"{_SOUFFLE}`output` stands before the declaration: `output relation Path(x: s64)`",
    ),
    (0, (".", "printsize"), "a declaration", f'{_SOUFFLE}the number of rows is `len(db.relation("Path"))`'),
    (0, (".", "type"), "a declaration", f"{_SOUFFLE}`typedef Name = string` names a type"),
    (0, (".", "comp"), "a declaration", f"{_SOUFFLE}a module is a file of its own: `import graph`"),
    (0, (".", "init"), "a declaration", f"{_SOUFFLE}a module is a file of its own: `import graph`"),
    (0, (".", "functor"), "a declaration", f"{_SOUFFLE}`extern function f(x: s64): s64` declares a function of Python"),
    (0, (".", "pragma"), "a declaration", f"{_SOUFFLE}options are given to `tidelog run` or `program.open`"),
    (0, (".",), "a declaration", "a relation is declared like this: `input relation Edge(src: string, dst: string)`"),
    (-1, ("#", "include"), "`[`", "`import graph` makes the names of the module `graph.dl` visible"),
    (-1, ("#",), "`[`", f"{_COMMENT}, `#[size = 8]` is an attribute"),
    (0, (";",), "`,` or `.`", "`,` joins literals; write alternatives as separate rules"),
    (0, ("->",), "`:`", "the type of the result stands behind a `:`, for example `function f(x: u8): u8 { x }`"),
    (0, ("->",), "`;`", "a field is read by a dot: `x.field`"),
    (0, ("where",), "`,` or `.`", "`,` joins literals"),
    (0, ("{",), "a relation's name", _ITEMS),
    (0, ("[",), "a relation's name", _ITEMS),
    (0, ("(",), "a relation's name", _ITEMS),
    (0, ("*",), "an expression", "`var n = count() by (shop)` counts rows; there is no `*`"),
    (0, ("=>",), "`->`", "an arm is written `pattern -> value`"),
    (0, ("]",), "`:`", "`x[7:0]` are bits of a number; `v.nth(0)` is the first item of a vector"),
    (0, ("]",), "an expression", "an empty vector is `vec_empty()`, an empty map `map_empty()`"),
    (0, ("(",), "`->`", "the fields of a constructor stand in braces: `Some{x}`"),
    (-1, ("[",), "the number of a bit", "`m.get(key)` looks something up in a map, `v.nth(0)` in a vector"),
    (0, ("struct",), "a type", "a struct is a type with one constructor: `typedef T = T{x: u8}`"),
    (0, ("enum",), "a type", "a type may have several constructors: `typedef T = A{x: u8} | B`"),
)
# Words of SQL behind a value or a literal.
_SQL_WORDS = {
    "like": '`starts_with(x, "a")`, `ends_with(x, "a")` and `contains(x, "a")` look into a string',
    "is": "`is_none(x)` is true for an `Option` without a value, `is_some(x)` for one with a value",
    "between": "two conditions make a range: `x >= 1, x <= 9`",
    "not": "`not R(x)` negates a relation, `not contains([1, 2], x)` a condition",
    "order": "a relation has no order; its rows are read in the order of their values",
    "limit": '`db.query("R(x)", limit=10)` reads some rows; a rule derives all of them',
    "group": "`var total = sum(price) by (shop)` is an aggregate over rows",
    "having": "a condition may follow an aggregate: `var n = count() by (shop), n > 1`",
    "join": "literals with a variable in common are joined: `A(x, y), B(y, z)`",
    "on": "literals with a variable in common are joined: `A(x, y), B(y, z)`",
    "union": "several rules for one relation are its union",
    "by": "the key of an aggregate stands in parentheses: `var n = count() by (shop)`, and `by ()` is for all rows",
    "mod": "`x % y` is a remainder",
    "if": _IF,
    "when": _IF,
    "over": "there are no windows; `var last = max((at, item)) by (shop)` finds the last item of each shop",
    "except": "`not B(x)` leaves out what is in `B`",
    "intersect": "literals with a variable in common are joined: `A(x), B(x)`",
    "as": "`var total = sum(price) by (shop)` names a value, `row in T(_, _)` a whole row",
    "else": _IF,
    "in": "`contains(v, x)` is true for an item of a vector or a set, `var x = FlatMap(v)` binds each item",
}
# Words that begin a statement of SQL.
_STATEMENTS = {
    "select": "a rule derives rows: `output relation R(x: s64)` and `R(x) :- A(x, y), y > 1.`",
    "create": "a table is a relation: `input relation T(a: s64, b: string)`",
    "insert": '`tx.insert("T", rows)` adds rows, and `T(1, "a").` is a fact of the program',
    "delete": '`tx.delete("T", rows)` deletes rows',
    "update": '`tx.modify("T", key, fields)` changes the row of a key',
    "with": "a rule derives rows: `output relation R(x: s64)` and `R(x) :- A(x, y), y > 1.`",
    "drop": 'delete the declaration from the program; `tx.clear("T")` deletes all rows',
}
# Types of SQL that have a size in parentheses.
_SIZED_TYPES = {
    **dict.fromkeys(("varchar", "char", "nvarchar", "text", "character"), "`string` has no length"),
    **dict.fromkeys(("decimal", "numeric", "number"), "digits, and those behind the point: `decimal<10, 2>`"),
    **dict.fromkeys(("int", "integer", "bigint", "float"), "the type has no size: `s64`, `double`"),
    **dict.fromkeys(("timestamp", "datetime"), "the type has no size: `timestamp` has microseconds"),
}
# Types with parameters, as other languages spell them.
_GENERIC_TYPES = {
    **dict.fromkeys(("Decimal", "Numeric", "DECIMAL", "NUMERIC"), "decimal<10, 2>"),
}
_NUMBER = re.compile(r"[us](8|16|32|64|128)|bigint|float|double|int|integer|long")
_AGGREGATES = frozenset(("count", "sum", "min", "max", "avg", "mean", "total", "average"))
# Types with parameters in brackets, as Python writes them.
_BRACKETED = {
    **dict.fromkeys(("List", "list", "Sequence", "Vec"), "Vec<string>"),
    **dict.fromkeys(("Dict", "dict", "Map"), "Map<string, s64>"),
    **dict.fromkeys(("Set", "set"), "Set<string>"),
    **dict.fromkeys(("Optional", "Option"), "Option<string>"),
    **dict.fromkeys(("Tuple", "tuple"), "(string, s64)"),
}
# Keywords behind which a value or a name follows.
_LEADING = ("not", "var", "return", "in", "mut", "Inspect", "as", "and", "or", "else", "match", "if", "for")

# What stands where SQL has the word `table`.
_TABLES = frozenset(("table", "view", "materialized", "source", "sink", "predicate"))

_RESERVED = {
    "let": "`var x = 1` declares a variable",
    "const": "`function limit(): u8 { 1 }` names a constant",
    "while": "`for (item in items) { … }` is the only loop; functions may call themselves",
    "loop": "`for (item in items) { … }` is the only loop; functions may call themselves",
    "fn": "`function f(x: u8): u8 { x }` declares a function",
    "struct": "`typedef T = T{x: u8}` declares a struct",
    "FlatMap": "`var item = FlatMap(items)` binds each of them",
    "Aggregate": "`var n = Aggregate((key), f(value))`",
}
# Words that nobody wants to have for a name.
_GRAMMAR = frozenset(("and", "or", "not", "in", "as", "else", "if", "for", "return", "break", "continue", "var", "mut"))


def habit(tokens: Sequence[Token], index: int, wanted: str) -> str | None:
    """Returns a help with the right spelling if the intent is known; `wanted` is what the message says was expected."""
    for offset, texts, expected, meant in _HABITS:
        start = index + offset
        found = tokens[start : start + len(texts)] if start >= 0 else ()
        if wanted.startswith(expected) and tuple(token.text for token in found) == texts and _are_joined(found):
            return meant
    return _of_souffle(tokens, index, wanted) or _of_sql(tokens, index, wanted) or _misspelt(tokens, index, wanted)


def aggregate(name: str) -> str | None:
    """Returns how an aggregate over rows is written, if the name is that of an aggregate elsewhere."""
    if name not in _AGGREGATES:
        return None
    if name == "count":
        return "`var n = count() by (shop)` counts rows; of a group, `count_distinct()` counts different values"
    word = {"mean": "avg", "average": "avg", "total": "sum"}.get(name, name)
    return f"over rows it is written `var total = {word}(price) by (shop)`, behind the literals that bind `price`"


def _of_souffle(tokens: Sequence[Token], index: int, wanted: str) -> str | None:
    """Returns a help for an aggregate such as `count : { … }` and `sum x : { … }`."""
    if not wanted.startswith("a type"):
        return None
    before = [token.text for token in tokens[max(index - 3, 0) : index]]
    if not before or before[-1] != ":":
        return None
    found = next((aggregate(word) for word in reversed(before[:-1]) if word in _AGGREGATES), None)
    return found and f"this is an aggregate of Soufflé; {found}"


def _of_sql(tokens: Sequence[Token], index: int, wanted: str) -> str | None:
    """Returns a help for words of SQL at, or just before, the unexpected token, in capitals or not."""
    token = tokens[index]
    before = tokens[index - 1] if index else None
    word = token.text.casefold()
    if wanted.startswith("a declaration") and word in _STATEMENTS:
        return _STATEMENTS[word]
    if before is not None and before.text.isupper() and before.text.casefold() in _STATEMENTS:
        return _STATEMENTS[before.text.casefold()]
    if word == "by" and index > 2 and tokens[index - 2].text == "as":
        return f"the name stands before: `var {tokens[index - 1].text} = sum(price) by (shop)`"
    if wanted.startswith("`,` or `.`") and word in _SQL_WORDS:
        return _SQL_WORDS[word]
    if before is not None and token.text.startswith(("'", '"')) and wanted.startswith("`,` or"):
        if before.text.casefold() == "interval":
            return 'a span of time is `duration"P1DT2H30M"`'
        if token.text == "'":
            return 'text stands between double quotes: `"a"`, `date"2024-01-31"`'
    if before is not None and wanted.startswith("`multiset` or `stream`") and before.text in ("input", "output"):
        if word in _TABLES and index + 1 < len(tokens) and tokens[index + 1].text.isidentifier():
            token = tokens[index + 1]
        return f"`{before.text} relation {token.text}(x: s64)` declares a relation"
    if before is not None and before.text == "primary" and word == "key" and wanted.startswith("`:`"):
        return _KEY
    if before is not None and before.text == "key" and wanted == "`(`":
        return _KEY
    if before is not None and wanted.startswith("`,` or `.`"):
        if before.text.casefold() == "exists":
            return f"`not {token.text}(x)` is true where there is no such row"
        if before.text in _AGGREGATES:
            return aggregate(before.text)
        if before.text == ")" and token.kind is Kind.UPPER:
            return "`,` joins literals"
    if before is not None and wanted.startswith("a type") and tokens[max(index - 2, 0)].text in _GENERIC_TYPES:
        return f"`{_GENERIC_TYPES[tokens[index - 2].text]}`"
    if before is not None and wanted.startswith("`,` or `)`"):
        if before.text.casefold() == "distinct":
            return "of a group, `var n = x.group_by(shop).count_distinct()` counts different values"
        if before.text == ")" and index > 2 and _NUMBER.fullmatch(tokens[index - 2].text):
            return f"`{token.text} as {tokens[index - 2].text}` is the number as another type"
        if before.text == "f" and before.end == token.start:
            return '`"${x}"` is a text with a value in it'
        if word == "primary":
            return _KEY
        if word in ("when", "if"):
            return _IF
        if word == "by":
            return "`by` stands behind all aggregates: `(var n, var total) = (count(), sum(price)) by (shop)`"
        if word == "from" and before.text.casefold() in ("year", "month", "day", "hour", "minute", "second"):
            return f"`{before.text.casefold()}(x)` is a part of a date or a timestamp"
        if token.text == "[" and before.text in _BRACKETED:
            return f"`{_BRACKETED[before.text]}`"
        if token.text == "|" and index + 1 < len(tokens) and tokens[index + 1].text.casefold() in ("null", "none"):
            return f"a value that may be missing has the type `Option<{before.text}>`"
        if token.text == "=" and tokens[max(index - 2, 0)].text == ":":
            return "a column has no default; `tidelog migrate` sets one where a column is added"
        if token.text == "(" and before.text.casefold() == "enum":
            return "a type has constructors: `typedef Color = Red | Green`"
        if word in ("not", "null", "default", "unique", "references"):
            return "a column has a value in every row, unless its type is an `Option`"
        if token.text == "?" and before.end == token.start:
            return f"a value that may be missing has the type `Option<{before.text}>`"
        if token.text == "(" and before.text.casefold() in _SIZED_TYPES:
            return _SIZED_TYPES[before.text.casefold()]
    return None


def _misspelt(tokens: Sequence[Token], index: int, wanted: str) -> str | None:
    """Returns a keyword that was meant here, or by the word just before."""
    if wanted == "a type" and tokens[index].kind in (Kind.INTEGER, Kind.FLOAT, Kind.STRING):
        return "a field is given by its name with a dot: `.x = 1`"
    if tokens[index].kind in (Kind.LOWER, Kind.UPPER):
        meant = suggest(tokens[index].text, re.findall(r"`(\w+)`", wanted))
        if meant is not None:
            return f"did you mean `{meant}`?"
    before = tokens[index - 1] if index else None
    if before is not None and before.kind is Kind.LOWER and len(before.text) > 1:
        meant = suggest(before.text, _LEADING)
        return f"did you mean `{meant} {tokens[index].text}`?" if meant else None
    return None


def instead_of(word: str) -> str | None:
    """Returns a replacement for a reserved word where a name is wanted."""
    return _RESERVED.get(word) or (None if word in _GRAMMAR else f"for example `{word}_`")


def _are_joined(tokens: Sequence[Token]) -> bool:
    return all(one.end == other.start for one, other in pairwise(tokens))
