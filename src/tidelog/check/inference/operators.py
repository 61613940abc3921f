"""Operators, casts, slices and annotations."""

from __future__ import annotations

from functools import partial

from tidelog.check.inference.drafts import (
    BROKEN,
    Draft,
    Kind,
    Unknown,
    current,
    describe,
    is_integer,
    is_number,
    shape,
)
from tidelog.check.inference.literals import is_number_literal
from tidelog.check.inference.remedies import cast_text, conversion, mapped, ordered_option, pasted, widened
from tidelog.check.inference.scaled_operators import are_two_decimals, compare_decimals, is_scaled, scaled_binary
from tidelog.check.inference.state import Inference, Reasons, cut
from tidelog.check.inference.text import require_text
from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast
from tidelog.syntax.expressions import COMPARISON, PRIORITY
from tidelog.syntax.numbers import MAX_WIDTH
from tidelog.syntax.show import show_expression
from tidelog.types import (
    BOOL,
    S64,
    S128,
    STRING,
    U32,
    BigIntType,
    BitType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    IntegerType,
    SignedType,
    StringType,
    TimestampType,
    Type,
)

_ARITHMETIC = frozenset(("+", "-", "*", "/", "%"))
_LOGIC = frozenset(("and", "or", "=>"))
_SHIFTS = frozenset(("<<", ">>"))


def unary(at: Inference, node: ast.Unary, wanted: Draft | None, reasons: Reasons) -> Draft:
    op, operand = node.op, node.operand
    if op == "-" and isinstance(operand, ast.Integer) and operand.width is None:
        draft = at.drafts[id(operand)] = at.literal(node, -operand.value)
        return draft
    if op == "not":
        draft = at.infer(operand, BOOL)
        compared = at.choices.get(hint_key(operand))
        if compared is None or at.solver.unify(draft, BOOL):
            return at.agree(operand, draft, BOOL)
        at.mismatch(operand, draft, BOOL, (), _meant(compared))
        return BROKEN
    found = at.infer(operand, wanted)
    if op == "-" and isinstance(current(found), DurationType):
        return found
    return _number(at, op, operand, found)


def binary(at: Inference, node: ast.Binary, wanted: Draft | None, reasons: Reasons) -> Draft:
    op = node.op
    if isinstance(node.left, ast.Unary):
        at.choices[hint_key(node.left.operand)] = node
    if isinstance(node.left, ast.Conditional) and node.left.span.start == node.span.start:
        at.choices[hint_key(node.left)] = node
    if op in _LOGIC:
        at.expect(node.left, BOOL)
        at.expect(node.right, BOOL)
        return BOOL
    if op == "++":
        return _join(at, node)
    if PRIORITY[op] == COMPARISON:
        left = at.infer(node.left)
        right = at.infer(node.right, left)
        if are_two_decimals(left, right):
            return compare_decimals(at, node, left, right)
        why = (node.left.span, f"this is {describe(left)}")
        at.agree(
            node.right, right, left, why, help=widened(node.left, left, right) or ordered_option(node, left, right)
        )
        return BOOL
    hint = wanted if op not in _SHIFTS else None
    left = at.infer(node.left, hint)
    if _is_double(node) and _number(at, op, node.left, left, node) is BROKEN:
        return BROKEN
    right = at.infer(node.right, left if op not in _SHIFTS else U32)
    if is_scaled(left) or is_scaled(right):
        return scaled_binary(at, node, left, right)
    for operand, draft in ((node.left, left), (node.right, right)):
        if _number(at, op, operand, draft, node) is BROKEN and current(draft) is not BROKEN:
            return BROKEN
    if op in _SHIFTS:
        at.agree(node.right, right, U32, (node.left.span, "the shifted value"))
        return left
    why = (node.left.span, f"this is {describe(left)}")
    return at.agree(node.right, right, left, why, help=widened(node.left, left, right))


def cast(at: Inference, node: ast.Cast, wanted: Draft | None, reasons: Reasons) -> Draft:
    operand = at.infer(node.operand)
    target = at.resolve(node.type)
    if isinstance(target, IntegerType | BigIntType | FloatType | DecimalType):
        defer_cast(at, node, operand, target)
    elif target is not BROKEN and current(operand) is not BROKEN:
        help = conversion(node.operand, operand, target)
        if help is None and isinstance(target, DateType | TimestampType | DurationType):
            help = _parsed(node.operand, operand, target)
        _wrong_cast(at, node, operand, target, "only numbers are cast", help)
    return target


def defer_cast(at: Inference, node: ast.Cast, operand: Draft, target: Type) -> None:
    """Checks a cast once the type of what is cast is known; a literal takes a type from which the cast is allowed."""

    def attempt() -> bool:
        found = current(operand)
        if isinstance(found, Unknown):
            return False
        if found is not BROKEN:
            _check_cast(at, node, found, target)
        return True

    def guess() -> bool:
        found = current(operand)
        if not isinstance(found, Unknown) or found.kind is Kind.ANY:
            return False
        family: tuple[Type, ...] = ()
        if isinstance(target, SignedType):
            family = (S64, S128)
        elif isinstance(target, BitType) and found.low is not None and found.low < 0:
            family = (SignedType(target.width),)
        elif isinstance(target, DecimalType) and is_number_literal(node.operand):
            return at.solver.unify(found, target)
        at.solver.solve(found, family)
        return True

    at.defer(attempt, lambda: [operand], lambda: at.report_unknown("a value that is cast", node.operand), guess)


def _check_cast(at: Inference, node: ast.Cast, found: Draft, target: Type) -> None:
    match found, target:
        case (BitType(), SignedType()) | (SignedType(), BitType()):
            assert isinstance(found, IntegerType)
            assert isinstance(target, IntegerType)
            if found.width != target.width:
                help = f"`{cast_text(node.operand, found, target)}`"
                _wrong_cast(at, node, found, target, "the sign and the width would both change", help)
        case BigIntType(), BitType(width):
            help = f"`{pasted(node.operand)} as {SignedType(width)} as {target}`"
            _wrong_cast(at, node, found, target, "a `bigint` has a sign", help)
        case FloatType(width), BitType() | SignedType() | BigIntType():
            help = f"`fp::int_from_{'f' if width == 32 else 'd'}({show_expression(node.operand)})` with `import fp`"
            _wrong_cast(at, node, found, target, "a fraction has to be rounded", help)
        case (BitType() | SignedType() | BigIntType() | FloatType() | DecimalType(), _):
            pass
        case StringType(), BitType() | SignedType():
            help = f"`parse_dec_u64({show_expression(node.operand)})` reads a number"
            _wrong_cast(at, node, found, target, "only numbers are cast", help)
        case StringType(), DecimalType():
            _wrong_cast(at, node, found, target, "only numbers are cast", _parsed(node.operand, found, target))
        case _:
            inside = mapped(node.operand, found, target)
            _wrong_cast(at, node, found, target, "only numbers are cast", f"`{inside}`" if inside else None)


def _parsed(operand: ast.Expression, found: Draft, target: Type) -> str | None:
    """Returns a help that reads a date, a time or a decimal from text."""
    if not isinstance(current(found), StringType):
        return None
    word = "decimal" if isinstance(target, DecimalType) else str(target)
    return f"`parse_{word}({show_expression(operand)})` reads one; it is an `Option`"


def _wrong_cast(
    at: Inference, node: ast.Cast, found: Draft, target: Draft, label: str, help: str | None = None
) -> None:
    message = f"{describe(found)} cannot be cast to {describe(target)}"
    at.report(Code.IMPOSSIBLE_CAST, message, node.span, label, help=help)


def annotation(at: Inference, node: ast.Annotation, wanted: Draft | None, reasons: Reasons) -> Draft:
    draft = at.resolve(node.type)
    at.expect(node.operand, draft, (node.type.span, "because of this annotation"))
    return draft


def slice_(at: Inference, node: ast.Slice, wanted: Draft | None, reasons: Reasons) -> Draft:
    operand = at.infer(node.operand)
    high, low = node.high, node.low
    if high < low:
        help = f"`{pasted(node.operand)}[{cut(low)}:{cut(high)}]`"
        message = f"slice [{cut(high)}:{cut(low)}] is empty"
        return at.report(Code.BAD_SLICE, message, node.span, "the higher bit stands first", help=help)

    def attempt() -> bool:
        found = current(operand)
        if isinstance(found, Unknown):
            return False
        if found is BROKEN:
            return True
        if not isinstance(found, BitType):
            _wrong_operand(at, "[:]", node.operand, found, "a `bit`")
        elif high >= found.width:
            message = f"slice [{cut(high)}:{cut(low)}] is past the end of `{found}`"
            at.report(Code.BAD_SLICE, message, node.span, f"its highest bit is {found.width - 1}")
        return True

    before = at.errors
    at.defer(attempt, lambda: [operand], lambda: at.report_unknown("a value that is sliced", node.operand))
    if at.errors > before or current(operand) is BROKEN:
        return BROKEN
    if high - low + 1 > MAX_WIDTH:
        message = f"slice [{cut(high)}:{cut(low)}] is past the end of every type"
        return at.report(Code.BAD_SLICE, message, node.span, f"the widest type is `bit<{MAX_WIDTH}>`")
    return BitType(high - low + 1)


# `++`


def _join(at: Inference, node: ast.Binary) -> Draft:
    """Infers `++`: a text and anything, or bits and bits."""
    left = at.infer(node.left)
    right = at.infer(node.right)
    result = Unknown()

    def attempt() -> bool:
        whole = current(left)
        if isinstance(whole, Unknown):
            if isinstance(current(result), StringType) and whole.kind is Kind.ANY:
                at.agree(node.left, left, STRING)
                whole = STRING
            else:
                return False
        if isinstance(whole, StringType):
            require_text(at, node.right)
            at.agree(node, STRING, result)
            return True
        if whole is BROKEN or current(right) is BROKEN:
            at.solver.unify(result, BROKEN)
            return True
        if not isinstance(whole, BitType):
            at.solver.unify(result, _wrong_operand(at, "++", node.left, whole, "a `string` or a `bit`"))
            return True
        part = current(right)
        if isinstance(part, Unknown):
            return False
        at.agree(node, _joined(at, node, whole, part), result)
        return True

    unknown = partial(at.report_unknown, "an operand of `++`", node.left, "string", "a `string` or a `bit`?")
    at.defer(attempt, lambda: [left, right, result], unknown)
    return result


def _joined(at: Inference, node: ast.Binary, whole: BitType, part: Draft) -> Draft:
    if not isinstance(part, BitType):
        return _wrong_operand(at, "++", node.right, part, "a `bit`")
    width = whole.width + part.width
    if width > MAX_WIDTH:
        message = f"`++` makes a number of {width} bits"
        return at.report(Code.TOO_WIDE, message, node.span, f"the widest type is `bit<{MAX_WIDTH}>`")
    return BitType(width)


# Numbers


def _number(at: Inference, op: str, operand: ast.Expression, draft: Draft, node: ast.Binary | None = None) -> Draft:
    """Returns the draft of an operand that must be a number, or an integer, as the operator has it; reports others."""
    arithmetic = op in _ARITHMETIC
    fits = is_number(draft) if arithmetic else is_integer(draft)
    if not fits or not at.solver.require(draft, Kind.NUMBER if arithmetic else Kind.INTEGER):
        help = _meant(node) if node is not None else None
        if help is None and node is not None and op == "+" and current(draft) == StringType():
            help = f"`{pasted(node.left)} ++ {pasted(node.right)}` joins strings"
        return _wrong_operand(at, op, operand, draft, "a number" if arithmetic else "an integer", help)
    return draft


def _wrong_operand(
    at: Inference, op: str, node: ast.Expression, found: Draft, wanted: str, help: str | None = None
) -> Draft:
    shown = describe(found)
    whole = shape(found)
    if help is None and whole is not None and len(whole.parts) == 1:
        help = conversion(node, found, whole.parts[0])
    message = f"operator `{op}` needs {wanted}, found {shown}"
    return at.report(Code.WRONG_OPERAND, message, node.span, f"this is {shown}", help=help)


# What was meant


def hint_key(node: ast.Expression) -> int:
    """Returns the key of the hint for what is the left operand of an operator, or inside a `not` that is."""
    return -id(node) - 1


def _is_double(node: ast.Binary) -> bool:
    """True for `a && b`, which is read as `a & (&b)`."""
    return node.op == "&" and isinstance(node.right, ast.Reference | ast.Binary) and "&&" in node.span.text


def _meant(node: ast.Binary) -> str | None:
    """Returns the operator that was probably meant where the operands do not fit, in a help."""
    op, left, right = node.op, node.left, node.right
    if _is_double(node):
        return "`and` joins conditions"
    if op == "+" and any(isinstance(side, ast.String | ast.Interpolation) for side in (left, right)):
        return f"`{pasted(left)} ++ {pasted(right)}` joins strings"
    if PRIORITY[op] == COMPARISON and isinstance(left, ast.Unary) and left.op == "not":
        meant = ast.Unary("not", ast.Binary(op, left.operand, right, span=node.span), span=node.span)
        return f"`not` binds tighter than `{op}`: `{show_expression(meant)}`"
    if op in ("&", "|", "^") and isinstance(right, ast.Binary) and PRIORITY[right.op] == COMPARISON:
        first = ast.Binary(op, left, right.left, span=node.span)
        meant_too = ast.Binary(right.op, first, right.right, span=node.span)
        return f"`{right.op}` binds tighter than `{op}`: `{show_expression(meant_too)}`"
    return None
