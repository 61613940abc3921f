"""Typed expression → Python function, through Python source.

    x + 1 > y   (u8)      def scalar(v0, v1):
                              return (((v0 + 1) & 255) > v1)

The source is made of mangled names, the operators below and the `repr` of literals; no text of the user gets into it.
Integers are Python integers kept in the range of their type: sums, differences, products, negations, left shifts and
casts wrap; `/` and `%` truncate toward zero and raise ZeroDivisionError; a shift amount counts modulo the machine width
that holds the type (8, 16, 32, 64 or 128 bits; wider types shift everything out). Strings compare by code points, which
is the order of their UTF-8 bytes. `and`, `or`, `=>` and `if` evaluate only what they need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.check.typed import Binary, Cast, Expression, IfElse, Lit, ToString, Unary, Var
from tidelog.check.types import BitType, BoolType, IntegerType, SignedType, StringType, integer_range

# CPython takes no more than 200 nested parentheses; what is deeper goes into a function of its own.
_DEEPEST = 60
_NATIVE = (8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A compiled expression. `call` takes the values of the parameters in their order; it is pickled as its source."""

    source: str
    parameters: tuple[str, ...]
    call: Callable[..., Any] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "call", _build(self.source))

    def __reduce__(self) -> tuple[type[ScalarFunction], tuple[str, tuple[str, ...]]]:
        return ScalarFunction, (self.source, self.parameters)


def compile_scalar(expression: Expression, parameters: Sequence[str]) -> ScalarFunction:
    """A function of the named variables; every variable of the expression must be among them.

    It wants Python values (`bool`, `int`, `str`) that are in the range of their types, and gives one back.
    """
    names = {name: f"v{index}" for index, name in enumerate(parameters)}
    writer = _Writer(names)
    result, _ = writer.write(expression)
    body = "".join(f"    {line}\n" for line in [*writer.functions, f"return {result}"])
    return ScalarFunction(f"def scalar({', '.join(names.values())}):\n{body}", tuple(parameters))


class _Writer:
    """Writes expressions as Python; `functions` are the definitions of those that were too deep to stand inline."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self.functions: list[str] = []

    def write(self, node: Expression) -> tuple[str, int]:
        """The Python text of a node, which needs no parentheses around it, and how deep its own are nested."""
        match node:
            case Var(name):
                return self._names[name], 0
            case Lit(value):
                return (f"({value!r})" if isinstance(value, int) and value < 0 else repr(value)), 0
            case Unary(op, operand):
                inner, depth = self.write(operand)
                text = _unary(op, inner, node)
            case Binary(op, left, right):
                (first, depth), (second, other) = self.write(left), self.write(right)
                text, depth = _binary(op, first, second, node), max(depth, other)
            case Cast(operand):
                inner, depth = self.write(operand)
                text = _cast(inner, node)
            case ToString(operand):
                inner, depth = self.write(operand)
                text = _text(inner, operand)
            case IfElse(condition, then, otherwise):
                parts = [self.write(part) for part in (then, condition, otherwise)]
                depth = max(depth for _, depth in parts)
                text = "({} if {} else {})".format(*(part for part, _ in parts))
        if depth < _DEEPEST:
            return text, depth + 3
        # A function, not a variable: what stands in a branch must not run before the branch is taken.
        name = f"f{len(self.functions)}"
        self.functions.append(f"def {name}(): return {text}")
        return f"{name}()", 1


def _unary(op: str, operand: str, node: Unary) -> str:
    if op == "not":
        return f"(not {operand})"
    assert isinstance(node.type, IntegerType)
    if op == "~":
        return f"(~{operand})" if isinstance(node.type, SignedType) else f"({operand} ^ {_mask(node.type)})"
    return _wrapped(f"-{operand}", node.type)


def _binary(op: str, left: str, right: str, node: Binary) -> str:
    match op:
        case "and" | "or" | "==" | "!=" | "<" | "<=" | ">" | ">=":
            return f"({left} {op} {right})"
        case "=>":
            return f"(not {left} or {right})"
        case "++":
            if isinstance(node.type, StringType):
                return f"({left} + {right})"
            assert isinstance(node.right.type, BitType)
            return f"({left} << {node.right.type.width} | {right})"
    type_ = node.type
    assert isinstance(type_, IntegerType)
    match op:
        case "&" | "|" | "^":
            return f"({left} {op} {right})"
        case "<<":
            return _wrapped(f"{left} << {_amount(right, node)}", type_)
        case ">>":
            return f"({left} >> {_amount(right, node)})"
        case "/" if isinstance(type_, SignedType):
            # The one quotient out of range is that of the smallest value and -1.
            return _wrapped(f"quotient({left}, {right})", type_)
        case "%" if isinstance(type_, SignedType):
            return f"remainder({left}, {right})"
        case "/":
            return f"({left} // {right})"
        case "%":
            return f"({left} % {right})"
        case _:
            return _wrapped(f"{left} {op} {right}", type_)


def _amount(right: str, node: Binary) -> str:
    """The bits to shift by: modulo the native width, or, beyond that, no more than there are."""
    assert isinstance(node.type, IntegerType)
    native = next((bits for bits in _NATIVE if node.type.width <= bits), None)
    if native is None:
        return f"min({right}, {node.type.width})"
    if isinstance(node.right, Lit) and isinstance(node.right.value, int):
        return repr(node.right.value % native)
    return f"({right} & {native - 1})"


def _cast(operand: str, node: Cast) -> str:
    source, target = node.operand.type, node.type
    assert isinstance(source, IntegerType)
    assert isinstance(target, IntegerType)
    (low, high), (lowest, highest) = integer_range(source), integer_range(target)
    return operand if lowest <= low and high <= highest else _wrapped(operand, target)


def _text(inner: str, operand: Expression) -> str:
    match operand.type:
        case StringType():
            return inner
        case BoolType():
            return f"('true' if {inner} else 'false')"
        case _:
            return f"str({inner})"


def _wrapped(text: str, type_: IntegerType) -> str:
    """The value of `text` brought into the range of the type."""
    if isinstance(type_, BitType):
        return f"(({text}) & {_mask(type_)})"
    half = 1 << (type_.width - 1)
    return f"(((({text}) + {half}) & {_mask(type_)}) - {half})"


def _mask(type_: IntegerType) -> int:
    return (1 << type_.width) - 1


def _build(source: str) -> Callable[..., Any]:
    scope: dict[str, Any] = {
        "__builtins__": {},
        "str": str,
        "min": min,
        "quotient": _quotient,
        "remainder": _remainder,
    }
    exec(compile(source, "<scalar>", "exec"), scope)
    function: Callable[..., Any] = scope["scalar"]
    return function


def _quotient(left: int, right: int) -> int:
    return left // right if (left < 0) == (right < 0) else -(abs(left) // abs(right))


def _remainder(left: int, right: int) -> int:
    return abs(left) % abs(right) * (-1 if left < 0 else 1)
