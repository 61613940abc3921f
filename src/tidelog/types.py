"""The types of values: what a column, a variable or an expression may hold.

A type is a frozen value, so types compare with `==` and serve as dictionary keys; `str` writes one as the language
does. Every type says how its values look in Python. All of them are immutable and hashable, and Python's `<` on them
is the order of the language; `is_word` says which of them the engines hold in one machine word.

Aliases are gone here: `u8` is `bit<8>`, and a `typedef` that only gives a type another name is that type.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BoolType:
    """`true` and `false`; a Python `bool`."""

    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True, slots=True)
class BitType:
    """`bit<width>`: unsigned, wraps modulo 2**width; a Python `int`."""

    width: int

    def __str__(self) -> str:
        return f"u{self.width}" if self.width in (8, 16, 32, 64, 128) else f"bit<{self.width}>"


@dataclass(frozen=True, slots=True)
class SignedType:
    """`signed<width>`: two's complement, wraps; a Python `int`."""

    width: int

    def __str__(self) -> str:
        return f"s{self.width}" if self.width in (8, 16, 32, 64, 128) else f"signed<{self.width}>"


@dataclass(frozen=True, slots=True)
class BigIntType:
    """Integers of any size; a Python `int`."""

    def __str__(self) -> str:
        return "bigint"


@dataclass(frozen=True, slots=True)
class FloatType:
    """`float` (32 bits) or `double` (64 bits); a Python `float` in canonical form: no -0.0, one NaN, the largest."""

    width: int

    def __str__(self) -> str:
        return "float" if self.width == 32 else "double"


@dataclass(frozen=True, slots=True)
class StringType:
    """UTF-8 text, ordered by bytes; a Python `str`."""

    def __str__(self) -> str:
        return "string"


@dataclass(frozen=True, slots=True)
class DateType:
    """Days of the Gregorian calendar, of the years 1 to 9999; a Python `date`."""

    def __str__(self) -> str:
        return "date"


@dataclass(frozen=True, slots=True)
class TimestampType:
    """Moments to the microsecond, of the years 1 to 9999; a Python `datetime` whose zone is UTC."""

    def __str__(self) -> str:
        return "timestamp"


@dataclass(frozen=True, slots=True)
class DurationType:
    """Differences of timestamps: microseconds, with a sign; a Python `timedelta`."""

    def __str__(self) -> str:
        return "duration"


@dataclass(frozen=True, slots=True)
class DecimalType:
    """`decimal<precision, scale>`: decimal fractions of so many digits, `scale` of them behind the point; a Python
    `Decimal`."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal<{self.precision}, {self.scale}>"


@dataclass(frozen=True, slots=True)
class TupleType:
    """`(A, B)`, or `()`: never one item; a Python `tuple`."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


@dataclass(frozen=True, slots=True)
class NamedType:
    """A declared type with its arguments: a struct, a tagged union or an extern type; never an alias.

    The name is fully qualified (`ddlog_std::Vec`), without a module for the types of the main one. `Ref` and `Intern`
    are such types too, although their values are those of their argument.
    """

    name: str
    arguments: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}<{', '.join(map(str, self.arguments))}>" if self.arguments else self.name


@dataclass(frozen=True, slots=True)
class FunctionType:
    """`function(A, mut B): C`: each parameter is its type and whether it is `mut`; a Python callable."""

    parameters: tuple[tuple[Type, bool], ...]
    result: Type

    def __str__(self) -> str:
        parameters = ", ".join(f"mut {type_}" if mutable else str(type_) for type_, mutable in self.parameters)
        return f"function({parameters}): {self.result}"


@dataclass(frozen=True, slots=True)
class TypeVariable:
    """`'A`, inside the function or the type that it is a parameter of; the name has no quote."""

    name: str

    def __str__(self) -> str:
        return f"'{self.name}"


Type = (
    BoolType
    | BitType
    | SignedType
    | BigIntType
    | FloatType
    | StringType
    | DateType
    | TimestampType
    | DurationType
    | DecimalType
    | TupleType
    | NamedType
    | FunctionType
    | TypeVariable
)
IntegerType = BitType | SignedType
TemporalType = DateType | TimestampType | DurationType
ScaledType = TemporalType | DecimalType
"""Types whose values are integers of a unit: days, microseconds, or parts of one."""

BOOL = BoolType()
STRING = StringType()
BIGINT = BigIntType()
FLOAT, DOUBLE = FloatType(32), FloatType(64)
DATE, TIMESTAMP, DURATION = DateType(), TimestampType(), DurationType()
UNIT = TupleType(())
U8, U16, U32, U64, U128 = BitType(8), BitType(16), BitType(32), BitType(64), BitType(128)
S8, S16, S32, S64, S128 = SignedType(8), SignedType(16), SignedType(32), SignedType(64), SignedType(128)

WORD_BITS = 64
MOST_DIGITS = 38
"""Digits of the largest `decimal`."""
WORD_DIGITS = 18
"""Digits of a `decimal` that is held in one word."""


def is_word(type_: Type) -> bool:
    """True when a value of the type is itself a machine word; values of all other types are interned to an id."""
    match type_:
        case BoolType():
            return True
        case BitType(width) | SignedType(width):
            return width <= WORD_BITS
        case DateType() | TimestampType() | DurationType():
            return True
        case DecimalType(precision):
            return precision <= WORD_DIGITS
        case _:
            return False


def integer_range(type_: IntegerType) -> tuple[int, int]:
    """Returns the smallest and the largest value of an integer type, both inclusive."""
    match type_:
        case BitType(width):
            return 0, (1 << width) - 1
        case SignedType(width):
            return -(1 << (width - 1)), (1 << (width - 1)) - 1


def native_width(width: int) -> int | None:
    """Returns the bits of the machine integer that holds so many: 8, 16, 32, 64 or 128; None beyond those."""
    return max(8, 1 << (width - 1).bit_length()) if width <= 128 else None


def wrap(value: int, type_: IntegerType) -> int:
    """`value` brought into the range of the type, modulo 2**width."""
    value &= (1 << type_.width) - 1
    if isinstance(type_, SignedType) and value >> (type_.width - 1):
        value -= 1 << type_.width
    return value


def parts(type_: Type) -> tuple[Type, ...]:
    """Returns the types that a type is made of, in the order of the text."""
    match type_:
        case TupleType(items):
            return items
        case NamedType(_, arguments):
            return arguments
        case FunctionType(parameters, result):
            return (*(parameter for parameter, _ in parameters), result)
        case _:
            return ()


def written_type(type_: Type) -> str:
    """Returns a type as a program writes it, where the names of the standard library need no module."""
    return str(type_).replace("internment::Intern<string>", "istring").replace("ddlog_std::", "")
