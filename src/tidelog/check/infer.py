"""Expressions of one rule → a draft type for each node.

Literals start with an open integer type that the operators around them settle; variables bring the type of their
binding. Whatever is still open at the end of the rule takes its default (`finish`). Each mistake is reported once, at
the operand that does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.check.declare import resolve_type
from tidelog.check.drafts import BROKEN, Draft, Open, current, describe, holds, is_integer, settle, unify
from tidelog.check.types import (
    BOOL,
    S64,
    S128,
    STRING,
    U32,
    BitType,
    IntegerType,
    SignedType,
    StringType,
    Type,
    integer_range,
)
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.syntax import ast
from tidelog.syntax.expressions import COMPARISON, PRIORITY
from tidelog.syntax.numbers import MAX_WIDTH
from tidelog.syntax.show import show_expression

Reason = tuple[Span, str]

_ARITHMETIC = frozenset(("+", "-", "*", "/", "%", "&", "|", "^"))
_LOGIC = frozenset(("and", "or", "=>"))


class Inference:
    """The drafts of one rule. `scope` is read, never written: the rule's checker binds variables in it."""

    def __init__(self, scope: Mapping[str, Draft], diagnostics: list[Diagnostic]) -> None:
        self._scope = scope
        self._diagnostics = diagnostics
        self._drafts: dict[int, Draft] = {}
        self._hints: dict[int, str | None] = {}
        self._literals: list[tuple[ast.Expression, int, Draft]] = []
        self._casts: list[tuple[ast.Cast, Draft, IntegerType]] = []

    def draft(self, node: ast.Expression) -> Draft:
        """The draft of a node that was inferred."""
        return current(self._drafts[id(node)])

    def type(self, node: ast.Expression) -> Type:
        """The type of a node; only after `finish`, and only when nothing was reported."""
        settled = settle(self._drafts[id(node)])
        assert settled is not None, "a broken expression was reported"
        return settled

    def expect(self, node: ast.Expression, wanted: Draft, *reasons: Reason) -> None:
        """Infers the node and holds it against what its place wants; `reasons` say why it wants that."""
        self.agree(node, self.infer(node), wanted, *reasons)

    def infer(self, node: ast.Expression) -> Draft:
        """The draft of the node; also of everything below it."""
        draft = self._infer(node)
        self._drafts[id(node)] = draft
        return draft

    def finish(self) -> None:
        """Settles what is open, and checks what could not be checked before: casts, and the range of literals."""
        for node, operand, target in self._casts:
            self._finish_cast(node, operand, target)
        for literal, value, draft in self._literals:
            was_broken = current(draft) is BROKEN
            type_ = settle(draft)
            if type_ is None:
                if not was_broken:
                    self._report(
                        Code.LITERAL_OUT_OF_RANGE,
                        f"`{_cut(value)}` does not fit into 128 bits",
                        literal.span,
                        "nothing here gives it a wider type",
                        help=f"`{_pasted(literal)}: bit<{max(value.bit_length(), 1)}>`" if value >= 0 else None,
                    )
            elif isinstance(type_, IntegerType) and not holds(type_, value, value):
                low, high = integer_range(type_)
                label = f"`{type_}` holds {_cut(low)} to {_cut(high)}"
                message = f"`{_cut(value)}` does not fit into `{type_}`"
                self._report(Code.LITERAL_OUT_OF_RANGE, message, literal.span, label)

    def _infer(self, node: ast.Expression) -> Draft:
        match node:
            case ast.Variable(name):
                return self._scope[name]
            case ast.Wildcard():
                message = "`_` stands where a value is needed"
                self._report(Code.MISPLACED_WILDCARD, message, node.span, "a wildcard has no value")
                return BROKEN
            case ast.Boolean():
                return BOOL
            case ast.String():
                return STRING
            case ast.Integer(value, width, signed):
                return self._literal(node, value) if width is None else (SignedType if signed else BitType)(width)
            case ast.Interpolation(parts):
                for part in parts:
                    if not isinstance(part, str):
                        self.infer(part)
                return STRING
            case ast.Unary("-", ast.Integer(value, None) as digits):
                draft = self._drafts[id(digits)] = self._literal(node, -value)
                return draft
            case ast.Unary(op, operand):
                return self._unary(op, operand, self.infer(operand))
            case ast.Binary(_, left, right):
                if isinstance(left, ast.Unary):
                    self._hints[id(left.operand)] = _meant(node)
                return self._binary(node, self.infer(left), self.infer(right))
            case ast.Cast(operand, type_):
                return self._cast(node, self.infer(operand), resolve_type(type_, self._diagnostics))
            case ast.Annotation(operand, type_):
                wanted: Draft = resolve_type(type_, self._diagnostics) or BROKEN
                self.agree(operand, self.infer(operand), wanted, (type_.span, "because of this annotation"))
                return wanted
            case ast.Slice(operand):
                return self._slice(node, self.infer(operand))
            case ast.Conditional(condition, then, otherwise):
                self.agree(condition, self.infer(condition), BOOL)
                first, second = self.infer(then), self.infer(otherwise)
                return self.agree(otherwise, second, first, (then.span, f"the other branch is {describe(first)}"))

    def _literal(self, node: ast.Expression, value: int) -> Draft:
        draft = Open(value)
        self._literals.append((node, value, draft))
        return draft

    def _unary(self, op: str, operand: ast.Expression, draft: Draft) -> Draft:
        if op == "not":
            return self.agree(operand, draft, BOOL, help=self._hints.get(id(operand)))
        return draft if is_integer(draft) else self._wrong_operand(op, operand, draft, "an integer")

    def _binary(self, node: ast.Binary, left: Draft, right: Draft) -> Draft:
        op = node.op
        if op in _LOGIC:
            self.agree(node.left, left, BOOL)
            self.agree(node.right, right, BOOL)
            return BOOL
        if PRIORITY[op] == COMPARISON:
            self.agree(node.right, right, left, (node.left.span, f"this is {describe(left)}"))
            return BOOL
        if op == "++":
            return self._join(node, left, right)
        for operand, draft in ((node.left, left), (node.right, right)):
            if not is_integer(draft):
                return self._wrong_operand(op, operand, draft, "an integer", help=_meant(node))
        if op in _ARITHMETIC:
            return self.agree(node.right, right, left, (node.left.span, f"this is {describe(left)}"))
        self.agree(node.right, right, U32, (node.left.span, "what is shifted"))
        return left

    def _join(self, node: ast.Binary, left: Draft, right: Draft) -> Draft:
        """`++`: text and anything, or bits and bits."""
        whole = settle(left)
        if whole is None or isinstance(whole, StringType):
            return whole or BROKEN
        if not isinstance(whole, BitType):
            return self._wrong_operand("++", node.left, left, "a `string` or a `bit`")
        part = settle(right)
        if not isinstance(part, BitType):
            return self._wrong_operand("++", node.right, right, "a `bit`") if part else BROKEN
        width = whole.width + part.width
        if width > MAX_WIDTH:
            message = f"`++` makes a number of {width} bits"
            self._report(Code.TOO_WIDE, message, node.span, f"the widest type is `bit<{MAX_WIDTH}>`")
            return BROKEN
        return BitType(width)

    def _slice(self, node: ast.Slice, operand: Draft) -> Draft:
        whole = settle(operand)
        if whole is None:
            return BROKEN
        if not isinstance(whole, BitType):
            return self._wrong_operand("[:]", node.operand, operand, "a `bit`")
        if node.high < node.low:
            message = f"slice [{_cut(node.high)}:{_cut(node.low)}] is empty"
            help = f"`{_pasted(node.operand)}[{_cut(node.low)}:{_cut(node.high)}]`"
            self._report(Code.BAD_SLICE, message, node.span, "the higher bit stands first", help=help)
            return BROKEN
        if node.high >= whole.width:
            message = f"slice [{_cut(node.high)}:{_cut(node.low)}] is past the end of `{whole}`"
            self._report(Code.BAD_SLICE, message, node.span, f"its highest bit is {whole.width - 1}")
            return BROKEN
        return BitType(node.high - node.low + 1)

    def _cast(self, node: ast.Cast, operand: Draft, target: Type | None) -> Draft:
        if target is None:
            return BROKEN
        if not isinstance(target, IntegerType) or not is_integer(operand):
            shown = describe(operand)
            label = "only integers are cast"
            self._report(Code.IMPOSSIBLE_CAST, f"{shown} cannot be cast to `{target}`", node.span, label)
            return target
        self._casts.append((node, operand, target))
        return target

    def _finish_cast(self, node: ast.Cast, operand: Draft, target: IntegerType) -> None:
        """Between families only the width that is the same; a literal takes a type from which the cast is allowed."""
        draft = current(operand)
        family: tuple[IntegerType, ...] | None = None
        if isinstance(target, SignedType):
            family = (S64, S128)
        elif isinstance(draft, Open) and draft.low < 0:
            family = (SignedType(target.width),)
        source = settle(operand, family)
        if isinstance(source, IntegerType) and type(source) is not type(target) and source.width != target.width:
            between = type(source)(target.width)
            self._report(
                Code.IMPOSSIBLE_CAST,
                f"`{source}` cannot be cast to `{target}`",
                node.span,
                "the sign and the width would both change",
                help=f"`{_pasted(node.operand)} as {between} as {target}`",
            )

    def agree(
        self, node: ast.Expression, found: Draft, wanted: Draft, *reasons: Reason, help: str | None = None
    ) -> Draft:
        """Unifies; where that fails, reports at the node. Returns the type that is wanted, or BROKEN."""
        if unify(found, wanted):
            return wanted
        shown, wish = describe(found), describe(wanted)
        self._report(
            Code.TYPE_MISMATCH,
            f"expected {wish}, found {shown}",
            node.span,
            f"this is {shown}",
            related=reasons,
            help=help,
        )
        return BROKEN

    def _wrong_operand(
        self, op: str, node: ast.Expression, found: Draft, wanted: str, help: str | None = None
    ) -> Draft:
        shown = describe(found)
        message = f"operator `{op}` needs {wanted}, found {shown}"
        self._report(Code.WRONG_OPERAND, message, node.span, f"this is {shown}", help=help)
        return BROKEN

    def _report(
        self,
        code: Code,
        message: str,
        span: Span,
        label: str,
        *,
        related: tuple[Reason, ...] = (),
        help: str | None = None,
    ) -> None:
        self._diagnostics.append(diagnostic(code, message, span, label, related=related, help=help))


def _meant(node: ast.Binary) -> str | None:
    """What was probably meant by an operator whose operands do not fit."""
    op, left, right = node.op, node.left, node.right
    if op == "+" and any(isinstance(side, ast.String | ast.Interpolation) for side in (left, right)):
        return f"`{_pasted(left)} ++ {_pasted(right)}` joins strings"
    if PRIORITY[op] == COMPARISON and isinstance(left, ast.Unary) and left.op == "not":
        meant = ast.Unary("not", ast.Binary(op, left.operand, right, span=node.span), span=node.span)
        return f"`not` binds tighter than `{op}`: `{show_expression(meant)}`"
    if op in ("&", "|", "^") and isinstance(right, ast.Binary) and PRIORITY[right.op] == COMPARISON:
        first = ast.Binary(op, left, right.left, span=node.span)
        meant_too = ast.Binary(right.op, first, right.right, span=node.span)
        return f"`{right.op}` binds tighter than `{op}`: `{show_expression(meant_too)}`"
    return None


def _pasted(node: ast.Expression) -> str:
    """The node as an operand, in parentheses if it has operators of its own."""
    text = show_expression(node)
    return f"({text})" if isinstance(node, ast.Unary | ast.Binary) else text


def _cut(value: int) -> str:
    """A number that may be hundreds of digits long, for a message."""
    text = str(value)
    return text if len(text) <= 45 else f"{text[:20]}...{text[-5:]}"
