"""Program text → the oracle's form: a second, small reading of the core language, for programs known to be right.

It lets the classical shapes, the corner cases and the program folders be written as ordinary text. It reports no
errors worth reading: that is the front end's job, and it has its own tests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.oracle.program import (
    Apply,
    Assign,
    Atom,
    Condition,
    Const,
    Expression,
    Literal,
    Negative,
    Positive,
    Program,
    Relation,
    Rule,
    Term,
    Var,
    Wildcard,
)
from tests.oracle.types import BOOL, STRING, Type, bit, signed

TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\])*")|(?P<number>\d+)|(?P<name>\w+)"""
    r"""|(?P<sign>:-|=>|==|!=|<=|>=|<<|>>|\+\+|[-+*/%&|^~<>=(),.:])""",
    re.DOTALL,
)
UNESCAPED = {"n": "\n", "t": "\t"}
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
LOOSE_TO_TIGHT = (
    ("=>",),
    ("or",),
    ("and",),
    ("|",),
    ("^",),
    ("&",),
    COMPARISONS,
    ("++",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)


class UndeterminedError(Exception):
    """A literal stands where nothing says which type it has."""


@dataclass(frozen=True, slots=True)
class Raw:
    """An expression without types. `op` is an operator, or name, number, string, bool, blank."""

    op: str
    args: tuple[Raw, ...] = ()
    text: str = ""
    type: Type | None = None


def read(text: str) -> Program:
    """The program that the text says."""
    return _Reader(text).program()


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = [
            (match.lastgroup or "", match.group()) for match in TOKEN.finditer(text) if match.lastgroup != "blank"
        ] + [("end", "")]
        self.place = 0
        self.relations: dict[str, Relation] = {}

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.place + ahead][1]

    def take(self, expected: str | None = None) -> str:
        taken = self.peek()
        if expected is not None and taken != expected:
            raise ValueError(f"expected {expected!r}, found {taken!r} at token {self.place}")
        self.place += 1
        return taken

    def accept(self, *signs: str) -> str | None:
        return self.take() if self.peek() in signs and self.tokens[self.place][0] != "string" else None

    def program(self) -> Program:
        raw_rules = []
        while self.tokens[self.place][0] != "end":
            if self.peek() in ("input", "output", "relation"):
                self.relation()
            else:
                raw_rules.append(self.rule())
        rules = tuple(_typed_rule(head, body, self.relations) for head, body in raw_rules)
        return Program(tuple(self.relations.values()), rules)

    def relation(self) -> None:
        role = self.accept("input", "output") or "internal"
        self.take("relation")
        name = self.take()
        columns = []
        self.take("(")
        while not self.accept(")"):
            self.take()
            self.take(":")
            columns.append(self.type())
            self.accept(",")
        self.relations[name] = Relation(name, tuple(columns), role)

    def type(self) -> Type:
        name = self.take()
        if name in ("bit", "signed"):
            self.take("<")
            width = int(self.take())
            self.take(">")
            return Type(name, width)
        if name in ("bool", "string"):
            return Type(name)
        return bit(int(name[1:])) if name[0] == "u" else signed(int(name[1:]))

    def rule(self) -> tuple[Raw, list[tuple[str, Raw]]]:
        head = self.atom()
        body = []
        if self.accept(":-"):
            body.append(self.literal())
            while self.accept(","):
                body.append(self.literal())
        self.take(".")
        return head, body

    def literal(self) -> tuple[str, Raw]:
        if self.peek() == "not" and self.peek(1)[:1].isupper():
            self.take()
            return "negative", self.atom()
        if self.peek()[:1].isupper():
            return "positive", self.atom()
        if self.accept("var"):
            name = self.take()
            self.take("=")
            return "assign", Raw("=", (self.expression(),), name)
        return "condition", self.expression()

    def atom(self) -> Raw:
        relation = self.take()
        terms = []
        self.take("(")
        while not self.accept(")"):
            terms.append(self.expression())
            self.accept(",")
        return Raw("atom", tuple(terms), relation)

    def expression(self, level: int = 0) -> Raw:
        if level == len(LOOSE_TO_TIGHT):
            return self.unary()
        left = self.expression(level + 1)
        while op := self.accept(*LOOSE_TO_TIGHT[level]):
            left = Raw(op, (left, self.expression(level + 1)))
        return left

    def unary(self) -> Raw:
        if op := self.accept("-", "~", "not"):
            return Raw("neg" if op == "-" else op, (self.unary(),))
        operand = self.operand()
        while self.accept("as"):
            operand = Raw("as", (operand,), type=self.type())
        return operand

    def operand(self) -> Raw:
        kind, text = self.tokens[self.place]
        self.place += 1
        match kind, text:
            case "string", _:
                return Raw("string", text=re.sub(r"\\(.)", lambda m: UNESCAPED.get(m[1], m[1]), text[1:-1]))
            case "number", _:
                return Raw("number", text=text)
            case _, "true" | "false":
                return Raw("bool", text=text)
            case _, "_":
                return Raw("blank")
            case _, "if":
                condition, then = self.operand(), self.operand()
                self.take("else")
                return Raw("if", (condition, then, self.operand()))
            case _, "(":
                inner = self.expression()
                self.take(")")
                return inner
            case "name", _:
                return Raw("name", text=text)
            case _:
                raise ValueError(f"unexpected {text!r} at token {self.place - 1}")


def _typed_rule(head: Raw, body: list[tuple[str, Raw]], relations: Mapping[str, Relation]) -> Rule:
    scope: dict[str, Type] = {}
    for kind, raw in body:
        if kind in ("positive", "assign"):  # what these bind, a condition may read before it is bound
            _typed_literal(kind, raw, relations, scope)
    literals = [_typed_literal(kind, raw, relations, scope) for kind, raw in body]
    return Rule(_typed_atom(head, relations, scope), tuple(literals))


def _typed_literal(kind: str, raw: Raw, relations: Mapping[str, Relation], scope: dict[str, Type]) -> Literal:
    match kind:
        case "positive":
            return Positive(_typed_atom(raw, relations, scope))
        case "negative":
            return Negative(_typed_atom(raw, relations, scope))
        case "condition":
            return Condition(_typed(raw, BOOL, scope))
        case _:
            expression = _typed(raw.args[0], None, scope)
            scope[raw.text] = expression.type
            return Assign(Var(raw.text, expression.type), expression)


def _typed_atom(raw: Raw, relations: Mapping[str, Relation], scope: dict[str, Type]) -> Atom:
    terms: list[Term] = []
    for term, type_ in zip(raw.args, relations[raw.text].columns, strict=True):
        if term.op == "name":
            scope.setdefault(term.text, type_)
        terms.append(Wildcard() if term.op == "blank" else _typed(term, type_, scope))
    return Atom(raw.text, tuple(terms))


def _typed(raw: Raw, wanted: Type | None, scope: Mapping[str, Type]) -> Expression:
    """The expression with its types. Raises UndeterminedError when it is all literals and nothing is wanted."""
    match raw:
        case Raw("name", text=name):
            return Var(name, scope[name])
        case Raw("string", text=text):
            return Const(text, STRING)
        case Raw("bool", text=text):
            return Const(text == "true", BOOL)
        case Raw("number", text=text) | Raw("neg", (Raw("number", text=text),)):
            if wanted is None:
                raise UndeterminedError
            return Const(-int(text) if raw.op == "neg" else int(text), wanted)
        case Raw("as", (operand,), type=Type() as type_):
            return Apply("as", (_typed(operand, None, scope),), type_)
        case Raw("if", (condition, then, otherwise)):
            branches = _alike(then, otherwise, wanted, scope)
            return Apply("if", (_typed(condition, BOOL, scope), *branches), branches[0].type)
        case Raw("neg" | "~" as op, (operand,)):
            inner = _typed(operand, wanted, scope)
            return Apply(op, (inner,), inner.type)
        case Raw("<<" | ">>" as op, (left, right)):
            shifted = _typed(left, wanted, scope)
            return Apply(op, (shifted, _typed(right, bit(32), scope)), shifted.type)
        case Raw("++", (left, right)):
            return _joined(_typed(left, None, scope), _typed(right, None, scope))
        case Raw(op, args) if op in ("and", "or", "=>", "not"):
            return Apply(op, tuple(_typed(arg, BOOL, scope) for arg in args), BOOL)
        case Raw(op, (left, right)) if op in COMPARISONS:
            return Apply(op, _alike(left, right, None, scope), BOOL)
        case Raw(op, (left, right)):
            sides = _alike(left, right, wanted, scope)
            return Apply(op, sides, sides[0].type)
        case _:
            raise ValueError(raw)


def _alike(left: Raw, right: Raw, wanted: Type | None, scope: Mapping[str, Type]) -> tuple[Expression, Expression]:
    """Two expressions of one type; the side whose type is known tells the other."""
    try:
        first = _typed(left, wanted, scope)
        return first, _typed(right, first.type, scope)
    except UndeterminedError:
        second = _typed(right, wanted, scope)
        return _typed(left, second.type, scope), second


def _joined(left: Expression, right: Expression) -> Apply:
    if left.type != STRING:
        return Apply("++", (left, right), bit(left.type.width + right.type.width))
    return Apply("++", (left, right if right.type == STRING else Apply("text", (right,), STRING)), STRING)
