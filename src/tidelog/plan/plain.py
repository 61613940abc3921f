"""The expressions that the compiled kernels evaluate; Python evaluates all others."""

from __future__ import annotations

from tidelog.check import typed
from tidelog.types import is_word


def is_plain(expression: typed.Expression) -> bool:
    """True if the kernel can evaluate it: words only, and no operation that may fail behind a condition inside it."""
    match expression:
        case typed.Var() | typed.Lit():
            return True
        case typed.Unary(operand=operand) | typed.Cast(operand=operand):
            return is_word(expression.type) and is_word(operand.type) and is_plain(operand)
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
            return is_word(expression.type) and is_word(left.type) and is_word(right.type)
        case _:
            return False
