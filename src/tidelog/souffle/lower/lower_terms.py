"""Typed terms of Soufflé's language → expressions of Tidelog's syntax tree, with the types written out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.diagnostics.spans import Span
from tidelog.souffle.plan import terms
from tidelog.syntax import ast

_LIBRARY = "souffle_functors"
_OPERATORS = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%", "band": "&", "bor": "|", "bxor": "^"}
_LOGICAL = {"land": "and", "lor": "or"}
_COMPARISONS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_SHIFT_BITS = 32
_WIDE = ("signed", 64)


@dataclass(frozen=True, slots=True)
class Names:
    """The names of types and constructors in Tidelog's program.

    `constructors` are by type and branch; `fields` are the kinds of their fields.
    """

    types: Mapping[str, str]
    constructors: Mapping[tuple[str, str], str]
    bits: int
    fields: Mapping[tuple[str, str], tuple[str, ...]]

    def family(self, kind: str) -> tuple[str, int]:
        """Returns the family and the width of an integer kind."""
        return ("bit" if kind == "unsigned" else "signed"), self.bits

    def type(self, kind: str, span: Span) -> ast.Type:
        """Returns the type of values of a kind."""
        match kind:
            case "number":
                return ast.SizedType("signed", self.bits, span=span)
            case "unsigned":
                return ast.SizedType("bit", self.bits, span=span)
            case "float":
                return ast.NamedType("float" if self.bits == _SHIFT_BITS else "double", span=span)
            case "symbol":
                return ast.NamedType("string", span=span)
            case _:
                return ast.NamedType(self.types[kind], span=span)


def cast_integer(value: ast.Expression, source: tuple[str, int], target: tuple[str, int], span: Span) -> ast.Expression:
    """Returns an integer as one of another family and width: the width changes first, then the family."""
    if source[1] != target[1]:
        value = ast.Cast(value, ast.SizedType(source[0], target[1], span=again(span)), span=again(span))
    if source[0] != target[0]:
        value = ast.Cast(value, ast.SizedType(target[0], target[1], span=again(span)), span=again(span))
    return value


class TermLowering:
    def __init__(self, names: Names) -> None:
        self.names = names

    def expression(self, term: terms.Term, span: Span) -> ast.Expression:
        """Returns the expression of a term; each node has a span of its own that marks the same place."""
        here = again(span)
        match term:
            case terms.Var(name, kind) if name.startswith("$"):
                # A parameter of a query: nothing else may tell its type.
                return ast.Annotation(ast.Variable(name, span=here), self.names.type(kind, here), span=again(span))
            case terms.Var(name):
                return ast.Variable(name, span=here)
            case terms.Const():
                return self.constant(term, span)
            case terms.Make(branch, arguments, kind):
                name = self.names.constructors[kind, branch]
                made = tuple(ast.Argument(None, self.expression(each, span), span=here) for each in arguments)
                return ast.Struct(ast.Name(name, span=here), made, span=here)
            case terms.Op():
                return self._operation(term, span)
            case terms.Count():
                raise AssertionError("counters are evaluated, not lowered")

    def constant(self, term: terms.Const, span: Span) -> ast.Expression:
        here = again(span)
        if isinstance(term.value, str):
            return ast.String(term.value, span=here)
        type_ = self.names.type(term.kind, here)
        made: ast.Expression
        if term.kind == "float":
            made = ast.Float(abs(float(term.value)), self.names.bits, span=here)
        else:
            made = ast.Integer(abs(int(term.value)), None, False, "d", span=here)
        if term.value < 0:
            made = ast.Unary("-", made, span=again(span))
        return ast.Annotation(made, type_, span=again(span))

    def condition(self, test: terms.Test) -> ast.Expression:
        """Returns the Boolean expression of a comparison."""
        span = test.span
        left, right = self.expression(test.left, span), self.expression(test.right, span)
        if test.operator in _COMPARISONS:
            return ast.Binary(_COMPARISONS[test.operator], left, right, span=again(span))
        if test.operator.endswith("match"):
            # A wrong regular expression neither matches nor differs.
            return self.call("matches" if test.operator == "match" else "differs", (left, right), span)
        found = self.call("contains_text", (left, right), span)
        return ast.Unary("not", found, span=again(span)) if test.operator.startswith("!") else found

    def call(self, function: str, arguments: tuple[ast.Expression, ...], span: Span) -> ast.Expression:
        """Returns a call of a function of the library's module for this language."""
        name = ast.FunctionName(f"{_LIBRARY}::{function}", span=again(span))
        return ast.Call(name, arguments, span=again(span))

    def _operation(self, term: terms.Op, span: Span) -> ast.Expression:
        given = [self.expression(each, span) for each in term.arguments]
        here = again(span)
        name = term.name
        if name.startswith("@"):
            return ast.Call(ast.Variable(name[1:], span=here), tuple(given), span=again(span))
        if name == "+" and term.kind == "symbol":
            name = "cat"
        if name in _OPERATORS and len(given) > 1:
            return ast.Binary(_OPERATORS[name], given[0], given[1], span=here)
        match name:
            case "neg" | "-":
                return ast.Unary("-", given[0], span=here)
            case "bnot":
                return ast.Unary("~", given[0], span=here)
            case "bshl":
                return ast.Binary("<<", given[0], self._amount(given[1], term.arguments[1].kind, span), span=here)
            case "bshr":
                return ast.Binary(">>", given[0], self._amount(given[1], term.arguments[1].kind, span), span=here)
            case "bshru":
                inside = ast.Cast(given[0], self.names.type("unsigned", here), span=again(span))
                shifted = ast.Binary(
                    ">>", inside, self._amount(given[1], term.arguments[1].kind, span), span=again(span)
                )
                return ast.Cast(shifted, self.names.type(term.kind, here), span=again(span))
            case "land" | "lor" | "lxor" | "lnot":
                return self._logical(name, given, term, span)
            case "min" | "max":
                made = given[0]
                for each in given[1:]:
                    made = self.call("least" if name == "min" else "greatest", (made, each), span)
                return made
            case "^":
                return self.call("power", tuple(given), span)
            case "cat":
                made = given[0]
                for each in given[1:]:
                    made = ast.Binary("++", made, each, span=again(span))
                return made
            case "strlen":
                return cast_integer(
                    self.call("length", tuple(given), span), ("bit", 64), self.names.family("number"), span
                )
            case "substr":
                wide = tuple(self._wide(each, "number", span) for each in given[1:])
                return self.call("part", (given[0], *wide), span)
            case "to_string":
                return self._text(given[0], term.arguments[0].kind, span)
            case "to_number" | "to_unsigned" | "to_float":
                return self._number(given[0], term.arguments[0].kind, term.kind, span)
            case "ord":
                return self._ordinal(given[0], term.arguments[0].kind, span)
            case _:
                return self._cast(given[0], term.arguments[0].kind, term.kind, span)

    def _logical(self, name: str, given: list[ast.Expression], term: terms.Op, span: Span) -> ast.Expression:
        zero = terms.Const(0, term.kind)
        holds = [ast.Binary("!=", each, self.constant(zero, span), span=again(span)) for each in given]
        whole: ast.Expression = holds[0]
        if name == "lnot":
            whole = ast.Unary("not", whole, span=again(span))
        elif name == "lxor":
            whole = ast.Binary("!=", holds[0], holds[1], span=again(span))
        else:
            whole = ast.Binary(_LOGICAL[name], holds[0], holds[1], span=again(span))
        one = self.constant(terms.Const(1, term.kind), span)
        return ast.Conditional(whole, one, self.constant(zero, span), span=again(span))

    def _amount(self, given: ast.Expression, kind: str, span: Span) -> ast.Expression:
        return cast_integer(given, self.names.family(kind), ("bit", _SHIFT_BITS), span)

    def _wide(self, given: ast.Expression, kind: str, span: Span) -> ast.Expression:
        return cast_integer(given, self.names.family(kind), _WIDE, span)

    def _from_wide(self, given: ast.Expression, kind: str, span: Span) -> ast.Expression:
        if kind == "float":
            return ast.Cast(given, self.names.type(kind, again(span)), span=again(span))
        return cast_integer(given, _WIDE, self.names.family(kind), span)

    def _text(self, given: ast.Expression, kind: str, span: Span) -> ast.Expression:
        if kind == "symbol":
            return given
        if kind == "float":
            double = ast.Cast(given, ast.NamedType("double", span=again(span)), span=again(span))
            return self.call("float_text", (double,), span)
        if kind in ("number", "unsigned"):
            return ast.Interpolation((given,), span=again(span))
        return ast.Interpolation((self._ordinal(given, kind, span),), span=again(span))

    def _number(self, given: ast.Expression, kind: str, wanted: str, span: Span) -> ast.Expression:
        type_ = self.names.type(wanted, again(span))
        if kind == wanted:
            return given
        if kind == "symbol":
            if wanted == "float":
                return ast.Cast(self.call("to_real", (given,), span), type_, span=again(span))
            if wanted == "unsigned":
                found = self.call("to_whole", (given,), span)
                return cast_integer(found, ("bit", 64), self.names.family(wanted), span)
            return self._from_wide(self.call("to_signed", (given,), span), wanted, span)
        if kind == "float":
            double = ast.Cast(given, ast.NamedType("double", span=again(span)), span=again(span))
            return self._from_wide(self.call("truncated", (double,), span), wanted, span)
        if kind not in ("number", "unsigned"):
            return self._ordinal(given, kind, span)
        return ast.Cast(given, type_, span=again(span))

    def _ordinal(self, given: ast.Expression, kind: str, span: Span) -> ast.Expression:
        if kind == "number":
            return given
        if kind in ("unsigned", "float"):
            return self._cast(given, kind, "number", span)
        return self._from_wide(self.call("ordinal", (given, self._bits(span)), span), "number", span)

    def _bits(self, span: Span) -> ast.Expression:
        return self._wide(self.constant(terms.Const(self.names.bits, "number"), span), "number", span)

    def _cast(self, given: ast.Expression, kind: str, wanted: str, span: Span) -> ast.Expression:
        type_ = self.names.type(wanted, again(span))
        if kind == wanted:
            return given
        if kind in ("number", "unsigned") and wanted in ("number", "unsigned"):
            return ast.Cast(given, type_, span=again(span))
        bits = self._bits(span)
        if wanted == "float" and kind in ("number", "unsigned"):
            found = self.call("float_of_bits", (self._wide(given, kind, span), bits), span)
            return ast.Cast(found, type_, span=again(span))
        if kind == "float" and wanted in ("number", "unsigned"):
            double = ast.Cast(given, ast.NamedType("double", span=again(span)), span=again(span))
            return self._from_wide(self.call("bits_of_float", (double, bits), span), wanted, span)
        if wanted in ("number", "unsigned"):
            return ast.Cast(self._ordinal(given, kind, span), type_, span=again(span))
        if wanted == "symbol":
            return self.call("symbol_of", (self._wide(self._ordinal(given, kind, span), "number", span),), span)
        return given


def again(span: Span) -> Span:
    """Returns another span of the same place: the checker tells nodes apart by their spans."""
    return Span(span.source, span.start, span.end)
