"""A value of the wrong type → the expression that would make it the right one, as it can be pasted.

    expected `u64`, found `u32`          `c as u64`
    expected `Option<u8>`, found `u8`    `Some{c}`

Arithmetic wraps around in the type that it is done in, so its operands get the wider type: `(a as u64) - (b as u64)`.
Only what cannot be wrong is said: a conversion that the language has, from the type that was found to the one wanted.
"""

from __future__ import annotations

from tidelog.check.inference.drafts import FUNCTION, Draft, Kind, Shape, Unknown, could_be, current, describe, shape
from tidelog.iso_texts import value_of_text
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression
from tidelog.types import (
    UNIT,
    BigIntType,
    BitType,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    SignedType,
    StringType,
    TimestampType,
    TypeVariable,
)

_OPTION, _RESULT, _REF = "ddlog_std::Option", "ddlog_std::Result", "ddlog_std::Ref"
_INTERN = "internment::Intern"
_LONGEST = 100
_WRAPPING = ("+", "-", "*", "/", "%", "<<")


def conversion(node: ast.Expression, found: Draft, wanted: Draft) -> str | None:
    """Returns a help for a value that is `found` where `wanted` is wanted."""
    found, wanted = current(found), current(wanted)
    if isinstance(found, Unknown) and found.kind is not Kind.ANY and (number := _some_number(node, wanted)) is not None:
        return f"`{number}`"
    if isinstance(wanted, DurationType) and isinstance(node, ast.Integer):
        return f'`duration"PT{node.value}S"` are so many seconds'
    if isinstance(found, Unknown) or isinstance(wanted, Unknown):
        return None
    if isinstance(node, ast.String) and (literal := _literal(node, wanted)) is not None:
        return f"`{literal}`"
    if _is_none(node) and shape(wanted) is None:
        return f"a value of type {describe(wanted)} is never missing; a column that may miss it is an `Option`"
    if found == UNIT and isinstance(node, ast.Block) and node.ends_open and node.expressions:
        return f"without the last `;` the block gives the value of `{show_expression(node.expressions[-1])}`"
    if found == UNIT and isinstance(node, ast.Conditional) and node.otherwise is None:
        return "`else` gives the value otherwise"
    meant = cast_text(node, found, wanted) or _wrapped(node, found, wanted) or _opened(node, found, wanted)
    if meant is not None and len(meant) > _LONGEST and _is_arithmetic(node):
        return f"cast the operands to `{wanted}`, not the result, which may have wrapped around"
    return f"`{meant}`" if meant is not None and len(meant) <= _LONGEST else None


def _literal(node: ast.String, wanted: Draft) -> str | None:
    """Returns a text as a literal of another type, if it is written as one."""
    match wanted:
        case DateType() | TimestampType() | DurationType():
            return None if value_of_text(node.value, wanted) is None else f"{wanted}{show_expression(node)}"
        case BitType() | SignedType() | BigIntType() if node.value.isascii() and node.value.isdecimal():
            return node.value
        case _:
            return None


def _some_number(node: ast.Expression, wanted: Draft) -> str | None:
    """Returns a number as a value of the `Option` that is wanted."""
    whole = shape(wanted)
    return f"Some{{{show_expression(node)}}}" if whole is not None and whole.head == _OPTION else None


def _is_none(node: ast.Expression) -> bool:
    return show_expression(node) in ("None", "None{}")


def ordered_option(node: ast.Binary, left: Draft, right: Draft) -> str | None:
    """Returns a help for an `Option` that is less or more than a value: `None` is less than all, which nobody means."""
    sides = [shape(current(each)) for each in (left, right)]
    is_option = [side is not None and side.head == _OPTION for side in sides]
    if node.op not in ("<", "<=", ">", ">=") or is_option[0] == is_option[1]:
        return None
    option, first, second = node.left, "x", show_expression(node.right)
    if is_option[1]:
        option, first, second = node.right, show_expression(node.left), "x"
    return f"`Some{{var x}} = {show_expression(option)}, {first} {node.op} {second}` goes on where there is a value"


def cast_text(node: ast.Expression, found: Draft, wanted: Draft) -> str | None:
    """Returns the node as a value of another type.

    A type with room for more is given to the operands: the result has wrapped around by then.
    """
    found, wanted = current(found), current(wanted)
    if _is_arithmetic(node) and isinstance(found, BitType | SignedType):
        if isinstance(wanted, DecimalType):
            wide = _with_operands_cast(node, found, BigIntType())
            return f"({wide}) as {wanted}" if wide else None
        is_wider = isinstance(wanted, BitType | SignedType) and wanted.width > found.width
        if is_wider or isinstance(wanted, BigIntType | FloatType):
            return _with_operands_cast(node, found, wanted)
    return _cast(node, found, wanted)


def _is_arithmetic(node: ast.Expression) -> bool:
    return (isinstance(node, ast.Binary) and node.op in _WRAPPING) or (isinstance(node, ast.Unary) and node.op == "-")


def _with_operands_cast(node: ast.Expression, found: Draft, wanted: Draft) -> str | None:
    """Returns arithmetic in another type, without parentheses around it, or another operand with them."""
    if isinstance(node, ast.Binary) and node.op in _WRAPPING:
        left = _operand(node.left, found, wanted)
        # How far bits are shifted has a type of its own.
        right = pasted(node.right) if node.op == "<<" else _operand(node.right, found, wanted)
        return left and right and f"{left} {node.op} {right}"
    if isinstance(node, ast.Unary) and node.op == "-":
        inside = _operand(node.operand, found, wanted)
        return inside and f"-{inside}"
    if isinstance(node, ast.Integer | ast.Float) and node.width is None:
        return show_expression(node)
    text = _cast(node, found, wanted)
    return text and f"({text})"


def _operand(node: ast.Expression, found: Draft, wanted: Draft) -> str | None:
    text = _with_operands_cast(node, found, wanted)
    return f"({text})" if text and isinstance(node, ast.Binary) and node.op in _WRAPPING else text


def _cast(node: ast.Expression, found: Draft, wanted: Draft) -> str | None:
    value = pasted(node)
    match found, wanted:
        case (BitType(), SignedType(width)) | (SignedType(), BitType(width)):
            assert isinstance(found, BitType | SignedType)
            return f"{value} as {wanted}" if found.width == width else f"{value} as {type(found)(width)} as {wanted}"
        case BigIntType(), BitType(width):
            return f"{value} as {SignedType(width)} as {wanted}"
        case (BitType() | SignedType() | BigIntType(), BitType() | SignedType() | BigIntType() | FloatType()):
            return f"{value} as {wanted}"
        case FloatType(), FloatType():
            return f"{value} as {wanted}"
        case (BitType() | SignedType() | BigIntType() | FloatType() | DecimalType(), DecimalType()):
            return f"{value} as {wanted}"
        case DecimalType(), FloatType():
            return f"{value} as {wanted}"
        case (DateType() | TimestampType() | DurationType(), StringType()):
            return f"to_string({show_expression(node)})"
        case DateType(), TimestampType():
            return f"to_timestamp({show_expression(node)})"
        case TimestampType(), DateType():
            return f"to_date({show_expression(node)})"
        case DurationType(), SignedType(64):
            return f"whole_seconds({show_expression(node)})"
        case (BitType() | SignedType() | BigIntType() | FloatType() | BoolType(), StringType()):
            return f"to_string({show_expression(node)})"
        case (BitType() | SignedType() | BigIntType(), BoolType()):
            return f"{value} != 0"
        case _:
            option = shape(wanted)
            return mapped(node, found, option.parts[0]) if option is not None and option.head == _OPTION else None


def mapped(node: ast.Expression, found: Draft, target: Draft) -> str | None:
    """Returns a conversion of the value that an `Option` may have."""
    option, target = shape(found), current(target)
    if option is None or option.head != _OPTION or isinstance(target, Unknown):
        return None
    inside = _cast(ast.Variable("v", span=node.span), current(option.parts[0]), target)
    return inside and f"{pasted(node)}.map(|v| {inside})"


def _wrapped(node: ast.Expression, found: Draft, wanted: Draft) -> str | None:
    """Returns a help that puts the value into the wanted type."""
    whole = shape(wanted)
    if whole is None or not whole.parts or not _is(whole.parts[0], found):
        return None
    text = show_expression(node)
    if whole.head == _INTERN and isinstance(node, ast.String):
        return show_expression(ast.Interned(node, span=node.span))
    wrap = {_OPTION: "Some{%s}", _RESULT: "Ok{%s}", _REF: "ref_new(%s)", _INTERN: "intern(%s)"}.get(whole.head)
    return None if wrap is None else wrap % text


def _opened(node: ast.Expression, found: Draft, wanted: Draft) -> str | None:
    """Returns a help that takes the wanted value out of the one that was found."""
    whole = shape(found)
    if whole is None:
        return None
    if isinstance(node, ast.VariableDeclaration):
        return "leave the type out, or write the one that was found"
    text = show_expression(node)
    if whole.head is FUNCTION and len(whole.parts) == 1 and _is(whole.parts[0], wanted):
        return f"{text}()" if isinstance(node, ast.Variable | ast.FunctionName) else None
    if not whole.parts or not _is(whole.parts[0], wanted):
        return None
    call = {
        _OPTION: "unwrap_or_default(%s)",
        _RESULT: "unwrap_or_default(%s)",
        _REF: "deref(%s)",
        _INTERN: "ival(%s)",
    }.get(whole.head)
    return None if call is None else call % text


def _is(part: Draft, other: Draft) -> bool:
    """True if the two can be one type, and something is known of both."""
    part, other = current(part), current(other)
    if isinstance(part, Unknown) or isinstance(other, Unknown) or isinstance(part, TypeVariable):
        return False
    if isinstance(part, Shape) and isinstance(other, Shape) and part.head != other.head:
        return False
    return could_be(part, other)


def widened(node: ast.Expression, found: Draft, other: Draft) -> str | None:
    """Returns a help for the left operand of two that must be alike, where it is the narrower number of one family."""
    found, other = current(found), current(other)
    if isinstance(other, Unknown) and other.kind is Kind.FRACTION:
        other = FloatType(64)
    if isinstance(found, BitType | SignedType | BigIntType) and isinstance(other, FloatType):
        return f"`{cast_text(node, found, other)}` makes the left side a floating-point number"
    if type(found) is not type(other) or not isinstance(found, BitType | SignedType | FloatType):
        return None
    assert isinstance(other, BitType | SignedType | FloatType)
    return f"`{cast_text(node, found, other)}` makes the left side as wide" if found.width < other.width else None


def annotated(node: ast.Expression, example: str = "u64") -> str:
    """Returns a help for a value whose type is not known."""
    return f"an annotation says it, for example `({show_expression(node)}: {example})`"


def pasted(node: ast.Expression) -> str:
    """Returns the node as an operand, in parentheses if it has operators of its own."""
    text = show_expression(node)
    in_parentheses = isinstance(node, ast.Unary | ast.Binary | ast.Conditional | ast.Closure | ast.Annotation)
    return f"({text})" if in_parentheses else text
