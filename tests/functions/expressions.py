"""Random typed expressions, and what they mean: a direct interpreter that shares nothing with the compiler.

Integers are held as bit patterns here: every operation is done on the unsigned pattern or on the digits of the
mathematical value, and read back.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import trunc

from hypothesis import strategies as st

from tidelog.check.typed import Binary, Cast, Expression, IfElse, Lit, ToString, Unary, Var
from tidelog.diagnostics.spans import Source, Span
from tidelog.types import BOOL, STRING, U32, BitType, BoolType, IntegerType, SignedType, StringType, Type

SPAN = Span(Source("<expression>", ""), 0, 0)
WIDTHS = (1, 3, 8, 12, 16, 32, 33, 64, 100, 128, 200)
Value = bool | int | str

integer_types: st.SearchStrategy[IntegerType] = st.builds(BitType, st.sampled_from(WIDTHS)) | st.builds(
    SignedType, st.sampled_from(WIDTHS)
)
types: st.SearchStrategy[Type] = st.one_of(st.just(BOOL), st.just(STRING), integer_types)


def values(type_: Type) -> st.SearchStrategy[Value]:
    """Values of the type; the edges of its range are as likely as all the rest."""
    match type_:
        case BoolType():
            return st.booleans()
        case StringType():
            return st.text(max_size=4)
        case BitType(width):
            top = 2**width - 1
            return st.sampled_from([0, min(1, top), top]) | st.integers(0, top)
        case SignedType(width):
            half = 2 ** (width - 1)
            return st.sampled_from([-half, -1, 0, half - 1]) | st.integers(-half, half - 1)
        case _:
            raise AssertionError("types are of the core")


@st.composite
def expressions(draw: st.DrawFn, type_: Type, depth: int, variables: dict[str, Type]) -> Expression:
    """An expression of the type; the variables it reads are added to `variables`."""

    def inner(wanted: Type) -> Expression:
        return draw(expressions(wanted, depth - 1, variables))

    choice = draw(st.integers(0, 9)) if depth else draw(st.integers(0, 1))
    if choice == 0:
        return Lit(draw(values(type_)), type=type_, span=SPAN)
    if choice == 1:
        name = f"x{draw(st.integers(0, 3))}_{type_}"
        variables[name] = type_
        return Var(name, type=type_, span=SPAN)
    if choice == 2:
        return IfElse(inner(BOOL), inner(type_), inner(type_), type=type_, span=SPAN)
    match type_:
        case BoolType():
            if choice < 5:
                other = draw(types)
                op = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
                return Binary(op, inner(other), inner(other), type=BOOL, span=SPAN)
            if choice == 5:
                return Unary("not", inner(BOOL), type=BOOL, span=SPAN)
            return Binary(draw(st.sampled_from(["and", "or", "=>"])), inner(BOOL), inner(BOOL), type=BOOL, span=SPAN)
        case StringType():
            return Binary(
                "++", inner(STRING), ToString(inner(draw(types)), type=STRING, span=SPAN), type=STRING, span=SPAN
            )
        case BitType(width) if choice == 3 and width > 1:
            low = draw(st.integers(1, width - 1))
            return Binary("++", inner(BitType(width - low)), inner(BitType(low)), type=type_, span=SPAN)
        case _:
            assert isinstance(type_, IntegerType)
            if choice < 5:
                return Cast(inner(draw(_castable(type_))), type=type_, span=SPAN)
            if choice == 5:
                return Unary(draw(st.sampled_from("-~")), inner(type_), type=type_, span=SPAN)
            if choice == 6:
                return Binary(draw(st.sampled_from(["<<", ">>"])), inner(type_), inner(U32), type=type_, span=SPAN)
            return Binary(draw(st.sampled_from("+-*/%&|^")), inner(type_), inner(type_), type=type_, span=SPAN)


def _castable(target: IntegerType) -> st.SearchStrategy[IntegerType]:
    same = integer_types.filter(lambda type_: type(type_) is type(target))
    other = SignedType(target.width) if isinstance(target, BitType) else BitType(target.width)
    return same | st.just(other)


def evaluate(node: Expression, scope: Mapping[str, Value]) -> Value:
    """The value of the expression. Raises ZeroDivisionError where a divisor that is needed is zero."""
    match node:
        case Var(name):
            return scope[name]
        case Lit(value):
            assert isinstance(value, bool | int | str)
            return value
        case IfElse(condition, then, otherwise):
            return evaluate(then if evaluate(condition, scope) else otherwise, scope)
        case ToString(operand):
            value = evaluate(operand, scope)
            return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
        case Cast(operand, type=BitType() | SignedType() as type_):
            return _read(_integer(operand, scope), type_)
        case Unary("not", operand):
            return not evaluate(operand, scope)
        case Unary(op, operand, type=BitType() | SignedType() as type_):
            pattern = _integer(operand, scope) % 2**type_.width
            return _read(2**type_.width - 1 - pattern + (op == "-"), type_)
        case Binary("and", left, right):
            return bool(evaluate(left, scope)) and bool(evaluate(right, scope))
        case Binary("or", left, right):
            return bool(evaluate(left, scope)) or bool(evaluate(right, scope))
        case Binary("=>", left, right):
            return bool(evaluate(right, scope)) if evaluate(left, scope) else True
        case Binary(op, left, right) if op in ("==", "!=", "<", "<=", ">", ">="):
            return _compare(op, evaluate(left, scope), evaluate(right, scope))
        case Binary("++", left, right, type=StringType()):
            return f"{evaluate(left, scope)}{evaluate(right, scope)}"
        case Binary("++", left, right, type=BitType()):
            assert isinstance(right.type, BitType)
            return (_integer(left, scope) << right.type.width) + _integer(right, scope)
        case Binary(op, left, right, type=BitType() | SignedType() as type_):
            return _read(_arithmetic(op, _integer(left, scope), _integer(right, scope), type_), type_)
    raise AssertionError(node)


def _integer(node: Expression, scope: Mapping[str, Value]) -> int:
    value = evaluate(node, scope)
    assert isinstance(value, int)
    return value


def _compare(op: str, left: Value, right: Value) -> bool:
    first, second = (side.encode() if isinstance(side, str) else int(side) for side in (left, right))
    less, equal = first < second, first == second  # type: ignore[operator]
    return {"==": equal, "!=": not equal, "<": less, "<=": less or equal, ">": not (less or equal), ">=": not less}[op]


def _arithmetic(op: str, left: int, right: int, type_: IntegerType) -> int:
    size = 1 << type_.width
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return trunc(Fraction(left, right))
        case "%":
            return left - right * trunc(Fraction(left, right))
        case "&" | "|" | "^":
            bits = zip(*(f"{side % size:0{type_.width}b}" for side in (left, right)))
            table = {"&": "11", "|": "01 10 11", "^": "01 10"}[op].split()
            return int("".join("1" if "".join(pair) in table else "0" for pair in bits), 2)
    machine = next((bits for bits in (8, 16, 32, 64, 128) if type_.width <= bits), None)
    amount = min(right, type_.width) if machine is None else right % machine
    factor: int = 2**amount
    return left * factor if op == "<<" else (left - left % factor) // factor


def _read(value: int, type_: IntegerType) -> int:
    size: int = 2**type_.width
    pattern = value % size
    return pattern - size if isinstance(type_, SignedType) and pattern >= size // 2 else pattern
