"""Operators, casts and literals of the language → the text of Python expressions on mangled operands.

    a + b   (u8)       (((a) + (b)) & 255), without the parentheses that are not needed

Integers are Python integers kept in the range of their type: sums, differences, products, negations, left shifts and
casts wrap; `/` and `%` truncate toward zero and raise ZeroDivisionError; a shift amount counts modulo the machine width
that holds the type (8, 16, 32, 64 or 128 bits; wider types shift everything out). Results of floating-point operations
are brought into canonical form. Operands are texts that need no parentheses around them, and so are results.
"""

from __future__ import annotations

import math

from tidelog import types
from tidelog.check.typed import Binary, Cast, Lit, Unary, Value, is_checked
from tidelog.values.floats import double, single

COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))


def literal(value: Value, type_: types.Type) -> str:
    """Returns the Python literal of a value; those of dates, times and decimals are linked."""
    if isinstance(type_, types.FloatType):
        assert isinstance(value, int | float)
        return _float_literal(double(float(value)) if type_.width == 64 else single(float(value)))
    if type(value) is int:
        # Python refuses decimal literals of some thousands of digits, but no hexadecimal ones.
        text = repr(value) if abs(value) < 1 << 64 else hex(value)
        return f"({text})" if value < 0 else text
    assert type(value) in (bool, str)
    return repr(value)


def _float_literal(number: float) -> str:
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "inf" if number > 0 else "(-inf)"
    return f"({number!r})" if number < 0 else repr(number)


def unary(node: Unary, operand: str) -> str:
    match node.op, node.type:
        case "not", _:
            return f"(not {operand})"
        case "-", types.DurationType() | types.DecimalType():
            return f"negative({operand})"
        case "~", types.BitType() as type_:
            return f"({operand} ^ {_mask(type_)})"
        case "~", _:
            return f"(~{operand})"
        case _, type_:
            return _in_range(f"-{operand}", type_)


def binary(node: Binary, left: str, right: str) -> str:
    """Returns the text for all operators but `and`, `or` and `=>`, which evaluate only what they need."""
    op, type_ = node.op, node.type
    if op in COMPARISONS:
        return f"({left} {op} {right})"
    if isinstance(type_, types.DecimalType):
        return f"decimal_arithmetic({op!r}, {left}, {right}, {type_.precision}, {type_.scale})"
    if isinstance(type_, types.ScaledType):
        sides = (str(each.type) if isinstance(each.type, types.ScaledType) else "" for each in (node.left, node.right))
        return f"time_arithmetic({op!r}, {left}, {right}, {next(sides)!r}, {next(sides)!r})"
    match op:
        case "++" if isinstance(type_, types.StringType):
            return f"({left} + {right})"
        case "++":
            assert isinstance(node.right.type, types.BitType)
            return f"({left} << {node.right.type.width} | {right})"
        case "&" | "|" | "^":
            return f"({left} {op} {right})"
        case "<<" if isinstance(type_, types.BigIntType):
            return f"shifted_left({left}, {right})"
        case "*" if isinstance(type_, types.BigIntType):
            return f"product({left}, {right})"
        case "<<":
            return _in_range(f"{left} << {_amount(right, node)}", type_)
        case ">>":
            return f"({left} >> {_amount(right, node)})"
        case "/" | "%" if isinstance(type_, types.FloatType):
            return _in_range(f"{'real_quotient' if op == '/' else 'real_remainder'}({left}, {right})", type_)
        case "/" if isinstance(type_, types.BitType):
            return f"({left} // {right})"
        case "%" if isinstance(type_, types.BitType):
            return f"({left} % {right})"
        case "/":
            # The one quotient out of range is that of the smallest value and -1.
            return _in_range(f"quotient({left}, {right})", type_)
        case "%":
            return f"remainder({left}, {right})"
        case _:
            return _in_range(f"{left} {op} {right}", type_)


def _amount(right: str, node: Binary) -> str:
    """Returns the bits to shift by: modulo the native width, or, beyond that, no more than there are."""
    if isinstance(node.type, types.BigIntType):
        return right
    assert isinstance(node.type, types.IntegerType)
    native = types.native_width(node.type.width)
    if native is None:
        return f"min({right}, {node.type.width})"
    if isinstance(node.right, Lit) and isinstance(node.right.value, int):
        return repr(node.right.value % native)
    return f"({right} & {native - 1})"


def cast(node: Cast, operand: str) -> str:
    source, target = node.operand.type, node.type
    match source, target:
        case types.DecimalType(), types.DecimalType(precision, scale):
            return operand if source == target else f"decimal_of_decimal({operand}, {precision}, {scale})"
        case types.FloatType(), types.DecimalType(precision, scale):
            return f"decimal_of_float({operand}, {precision}, {scale})"
        case _, types.DecimalType(precision, scale):
            return f"decimal_of_integer({operand}, {precision}, {scale})"
        case types.DecimalType(), types.FloatType(width):
            return f"float_of_decimal({operand}, {width})"
        case types.DecimalType(), types.BigIntType():
            return f"integer_of_decimal({operand}, 0, 0)"
        case types.DecimalType(), types.BitType(width) | types.SignedType(width):
            return f"integer_of_decimal({operand}, {width}, {int(isinstance(target, types.SignedType))})"
        case (types.FloatType(width), types.FloatType(wanted)):
            return operand if width <= wanted else f"single({operand})"
        case _, types.FloatType(width):
            return f"{'double_of' if width == 64 else 'single_of'}({operand})"
        case _, types.BigIntType():
            return operand
        case types.BigIntType(), _:
            return _in_range(operand, target)
    assert isinstance(source, types.IntegerType)
    assert isinstance(target, types.IntegerType)
    (low, high), (lowest, highest) = types.integer_range(source), types.integer_range(target)
    return operand if lowest <= low and high <= highest else _in_range(operand, target)


def text_of(text: str, type_: types.Type) -> str:
    """Returns the text of a value of a built-in type, where `++` or `${}` asks for it."""
    match type_:
        case types.StringType():
            return text
        case types.BoolType():
            return f"('true' if {text} else 'false')"
        case types.FloatType(width):
            return f"float_text({text}, {width})"
        case types.DateType() | types.TimestampType() | types.DurationType() | types.DecimalType():
            return f"value_text({text})"
        case types.BitType(width) | types.SignedType(width) if width <= 128:
            return f"str({text})"
        case types.BitType() | types.SignedType() | types.BigIntType():
            return f"integer_text({text})"
        case _:
            return f"function_text({text})"


def can_fail(node: Binary) -> bool:
    """True for a division that may be one by zero, and for arithmetic that checks its results."""
    return is_checked(node) or (
        node.op in ("/", "%")
        and not isinstance(node.type, types.FloatType)
        and not (isinstance(node.right, Lit) and node.right.value != 0)
    )


def cast_can_fail(node: Cast) -> bool:
    """True for a cast that checks its result."""
    return is_checked(node)


def _in_range(text: str, type_: types.Type) -> str:
    """Returns the value of `text` brought into the range of the type."""
    match type_:
        case types.BitType():
            return f"(({text}) & {_mask(type_)})"
        case types.SignedType(width):
            half = 1 << (width - 1)
            return f"(((({text}) + {half}) & {_mask(type_)}) - {half})"
        case types.FloatType(width):
            return f"{'double' if width == 64 else 'single'}({text})"
        case _:
            return f"({text})"


def _mask(type_: types.IntegerType) -> int:
    return (1 << type_.width) - 1
