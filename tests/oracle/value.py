"""An expression and the variables it reads → its value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import cast

from tests.oracle.program import Apply, Call, Const, Expression, Var
from tests.oracle.types import Type, Value

Environment = dict[str, Value]


def value(expression: Expression, env: Environment) -> Value:
    """The value of an expression. Raises ZeroDivisionError."""
    match expression:
        case Var(name):
            return env[name]
        case Const(constant):
            return constant
        case Call(function, args):
            return function.python(*(value(arg, env) for arg in args))
        case Apply("if", (condition, then, otherwise)):
            return value(then if value(condition, env) else otherwise, env)
        case Apply("and", (left, right)):
            return value(left, env) and value(right, env)
        case Apply("or", (left, right)):
            return value(left, env) or value(right, env)
        case Apply("=>", (left, right)):
            return not value(left, env) or value(right, env)
        case Apply("text", (operand,)):
            shown = value(operand, env)
            return str(shown).lower() if isinstance(shown, bool) else str(shown)
        case Apply("++", (left, right), type_) if type_.is_integer:
            return cast(int, value(left, env)) << right.type.width | cast(int, value(right, env))
        case Apply("<<" | ">>" as op, (left, right), type_):
            machine_width = max(8, 1 << (type_.width - 1).bit_length())
            amount = cast(int, value(right, env)) % machine_width
            number = cast(int, value(left, env))
            return _wrap(number << amount if op == "<<" else number >> amount, type_)
        case Apply(op, args, type_):
            result = OPERATORS[op](*(value(arg, env) for arg in args))
            return _wrap(cast(int, result), type_) if type_.is_integer else result


def _wrap(number: int, type_: Type) -> int:
    number %= 1 << type_.width
    return number - (1 << type_.width) if type_.kind == "signed" and number >> (type_.width - 1) else number


def _divide(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


OPERATORS: dict[str, Callable[..., Value]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide, "%": lambda a, b: a - b * _divide(a, b)},
    **{"&": operator.and_, "|": operator.or_, "^": operator.xor, "~": operator.invert, "neg": operator.neg},
    **{"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    **{"not": operator.not_, "++": operator.add, "as": lambda a: a},
}
