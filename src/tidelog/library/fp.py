"""Floating-point functions as in IEEE 754: infinities and NaN instead of exceptions.

Those for `float` compute in double precision and round once more at the end, unless that gives another result.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from tidelog.library._runtime.extern import Externs, extern
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some
from tidelog.scaled_values import decimal_of_text
from tidelog.values.floats import NAN, double, quotient, single
from tidelog.values.structs import Struct

_PI_SINGLE = single(math.pi)
_DEGREES_SINGLE = single(180 / math.pi)
_SMALLEST_SINGLE = 2.0**-126
_LITERAL = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE)

_Rounding = Callable[[float], float]


# Shared by both widths. `width` rounds to the width and makes the number canonical.


def _pair(name: str, function: Callable[..., float]) -> tuple[Callable[..., float], Callable[..., float]]:
    """Returns the functions for `float` and for `double`; pickle finds them by the name with its ending."""

    def narrow(*arguments: float) -> float:
        return single(function(*arguments))

    def wide(*arguments: float) -> float:
        return double(function(*arguments))

    narrow.__qualname__ = narrow.__name__ = f"{name}_f"
    wide.__qualname__ = wide.__name__ = f"{name}_d"
    return extern(narrow), extern(wide)


def _guarded(
    function: Callable[..., float], overflow: Callable[..., float] = lambda *_: math.inf
) -> Callable[..., float]:
    """Returns a function of `math` without exceptions: NaN outside its domain, and `overflow` on overflow."""

    def answer(*arguments: float) -> float:
        try:
            return function(*arguments)
        except OverflowError:
            return overflow(*arguments)
        except ValueError:
            return math.nan

    return answer


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    """Returns a rounding function that leaves infinities and NaN as they are."""
    return lambda x: float(function(x)) if math.isfinite(x) else x


def _away_from_zero(x: float) -> int:
    whole = math.trunc(x)
    return whole if abs(x - whole) < 0.5 else whole + (1 if x > 0 else -1)


def _fraction(x: float) -> float:
    return x - math.trunc(x) if math.isfinite(x) else math.nan


def _sign(x: float) -> float:
    return math.nan if math.isnan(x) else math.copysign(1.0, x)


def _reciprocal(x: float) -> float:
    return quotient(1.0, x)


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: -math.inf if x == 0 else _guarded(function)(x)


def _atanh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) == 1 else _guarded(math.atanh)(x)


def _odd_overflow(x: float) -> float:
    return math.copysign(math.inf, x)


def _power(x: float, exponent: float) -> float:
    odd = exponent % 2 == 1 if math.isfinite(exponent) else False
    if x == 0 and exponent < 0:
        return math.inf
    return _guarded(math.pow, lambda *_: -math.inf if x < 0 and odd else math.inf)(x, exponent)


floor_f, floor_d = _pair("floor", _whole(math.floor))
ceil_f, ceil_d = _pair("ceil", _whole(math.ceil))
round_f, round_d = _pair("round", _whole(_away_from_zero))
trunc_f, trunc_d = _pair("trunc", _whole(math.trunc))
fract_f, fract_d = _pair("fract", _fraction)
abs_f, abs_d = _pair("abs", math.fabs)
signum_f, signum_d = _pair("signum", _sign)
sqrt_f, sqrt_d = _pair("sqrt", _guarded(math.sqrt))
cbrt_f, cbrt_d = _pair("cbrt", math.cbrt)
recip_f, recip_d = _pair("recip", _reciprocal)
exp_f, exp_d = _pair("exp", _guarded(math.exp))
exp2_f, exp2_d = _pair("exp2", _guarded(math.exp2))
ln_f, ln_d = _pair("ln", _logarithm(math.log))
log2_f, log2_d = _pair("log2", _logarithm(math.log2))
log10_f, log10_d = _pair("log10", _logarithm(math.log10))
powf_f, powf_d = _pair("powf", _power)
sin_f, sin_d = _pair("sin", _guarded(math.sin))
cos_f, cos_d = _pair("cos", _guarded(math.cos))
tan_f, tan_d = _pair("tan", _guarded(math.tan))
asin_f, asin_d = _pair("asin", _guarded(math.asin))
acos_f, acos_d = _pair("acos", _guarded(math.acos))
atan_f, atan_d = _pair("atan", math.atan)
atan2_f, atan2_d = _pair("atan2", math.atan2)
sinh_f, sinh_d = _pair("sinh", _guarded(math.sinh, _odd_overflow))
cosh_f, cosh_d = _pair("cosh", _guarded(math.cosh))
tanh_f, tanh_d = _pair("tanh", math.tanh)
asinh_d = _pair("asinh", math.asinh)[1]
acosh_d = _pair("acosh", _guarded(math.acosh))[1]
atanh_f, atanh_d = _pair("atanh", _atanh)


# Where a `float` must be rounded on the way.


@extern
def log_f(x: float, base: float) -> float:
    return single(quotient(ln_f(x), ln_f(base)))


@extern
def log_d(x: float, base: float) -> float:
    return double(quotient(ln_d(x), ln_d(base)))


@extern
def asinh_f(x: float) -> float:
    root = sqrt_f(single(single(x * x) + 1))
    return single(math.copysign(ln_f(single(abs(x) + root)), x))


@extern
def acosh_f(x: float) -> float:
    root = sqrt_f(single(single(x * x) - 1))
    return NAN if x < 1 else ln_f(single(x + root))


@extern
def to_degrees_f(x: float) -> float:
    return single(x * _DEGREES_SINGLE)


@extern
def to_degrees_d(x: float) -> float:
    return double(x * (180 / math.pi))


@extern
def to_radians_f(x: float) -> float:
    return single(x * single(_PI_SINGLE / 180))


@extern
def to_radians_d(x: float) -> float:
    return double(x * (math.pi / 180))


@extern
def powi_f(x: float, exponent: int) -> float:
    return _whole_power(x, exponent, single)


@extern
def powi_d(x: float, exponent: int) -> float:
    return _whole_power(x, exponent, double)


@extern
def mul_add_f(a: float, b: float, c: float) -> float:
    exact = _product_and_sum(a, b, c)
    return single(exact) if isinstance(exact, float) else _single_of(_nearest(exact), exact)


@extern
def mul_add_d(a: float, b: float, c: float) -> float:
    exact = _product_and_sum(a, b, c)
    return double(exact) if isinstance(exact, float) else double(_nearest(exact))


def _whole_power(x: float, exponent: int, rounded: _Rounding) -> float:
    """Computes a power by repeated squaring, rounding after each product, as compiled code does."""
    result, factor, left = 1.0, x, abs(exponent)
    while left:
        if left & 1:
            result = rounded(result * factor)
        factor = rounded(factor * factor)
        left >>= 1
    return rounded(_reciprocal(result)) if exponent < 0 else rounded(result)


def _product_and_sum(a: float, b: float, c: float) -> float | Fraction:
    if math.isfinite(a) and math.isfinite(b) and math.isfinite(c):
        return Fraction(a) * Fraction(b) + Fraction(c)
    return a * b + c


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _single_of(near: float, exact: Fraction | Decimal) -> float:
    """Returns the `float` nearest to an exact number, given the double nearest to it.

    Rounding twice is wrong if the double is in the middle of two `float`s and the exact number is not.
    """
    below, above = single(math.nextafter(near, -math.inf)), single(math.nextafter(near, math.inf))
    if below == above or not math.isfinite(near):
        return single(near)
    middle = Fraction(below) + Fraction(above) == 2 * Fraction(near) if math.isfinite(below + above) else False
    rounded = type(exact)(near)
    if not middle or exact == rounded:
        return single(near)
    return above if exact > rounded else below


# Questions and conversions


@extern
def nan_f() -> float:
    return NAN


@extern
def is_finite_f(x: float) -> bool:
    return math.isfinite(x) and abs(x) >= _SMALLEST_SINGLE


@extern
def is_finite_d(x: float) -> bool:
    return math.isfinite(x) and abs(x) >= sys.float_info.min


@extern
def int_from_f(x: float) -> Struct:
    return Some(math.trunc(x)) if math.isfinite(x) else NONE


@extern
def parse_f(s: str) -> Struct:
    if problem := _not_a_number(s):
        return Err(problem)
    near = float(s)
    if not math.isfinite(near) or not (exact := decimal_of_text(s)).is_finite():
        return Ok(single(near))
    return Ok(_single_of(near, exact))


@extern
def parse_d(s: str) -> Struct:
    problem = _not_a_number(s)
    return Err(problem) if problem else Ok(double(float(s)))


def _not_a_number(s: str) -> str | None:
    if not s:
        return "cannot parse float from empty string"
    return None if _LITERAL.fullmatch(s) else "invalid float literal"


EXTERNS: Externs = {
    "nan_d": nan_f,
    "is_nan_f": math.isnan,
    "is_nan_d": math.isnan,
    "is_infinite_f": math.isinf,
    "is_infinite_d": math.isinf,
    "int_from_d": int_from_f,
}
