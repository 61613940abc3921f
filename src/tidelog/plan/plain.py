"""The expressions that the compiled kernels evaluate; Python evaluates all others."""

from __future__ import annotations

from tidelog.check import typed
from tidelog.types import S64, ScaledType, Type, is_word


def is_plain(expression: typed.Expression) -> bool:
    """True if the kernel can evaluate it: words only, and no operation that may fail behind a condition inside it."""
    match expression:
        case typed.Var() | typed.Lit():
            return True
        case typed.Unary(operand=operand) | typed.Cast(operand=operand):
            return _is_machine_word(expression.type) and _is_machine_word(operand.type) and is_plain(operand)
        case typed.Units(operand=operand):
            to_word = expression.type == S64 or (expression.is_bounded and is_word(expression.type))
            return to_word and is_word(operand.type) and is_plain(operand)
        case typed.IfElse(condition=condition, then=then, otherwise=otherwise):
            branches = (then, otherwise)
            return is_plain(condition) and all(is_plain(each) and not typed.may_fail(each) for each in branches)
        case typed.Binary(op=op, left=left, right=right):
            if not (is_plain(left) and is_plain(right)):
                return False
            if op in ("==", "!="):
                return True
            if op in ("and", "or", "=>") and typed.may_fail(right):
                return False
            if op in ("<", "<=", ">", ">="):
                return is_word(left.type)
            return all(map(_is_machine_word, (expression.type, left.type, right.type)))
        case _:
            return False


def _is_machine_word(type_: Type) -> bool:
    """True if kernels compute with the type: dates, times and decimals they only compare."""
    return is_word(type_) and not isinstance(type_, ScaledType)
