"""Draft types: what is known of an expression's type while its function or rule is still being read.

A draft is a type; or Unknown, a type to be found; or a Shape, a compound type with drafts in it; or BROKEN: something
is wrong there, has been reported, and agrees with everything, so that one mistake is one error.

`Solver.unify` makes two drafts one type. It never guesses: what is open stays open until something says what it is, and
whatever waits for that (an overloaded call, the field of a value) is put on `Solver.ready` when it happens. `solve`
fixes what nothing has said anything about to its default.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, IntEnum, auto

from tidelog.types import (
    BIGINT,
    DOUBLE,
    S64,
    S128,
    U64,
    U128,
    UNIT,
    BigIntType,
    BitType,
    DecimalType,
    FloatType,
    FunctionType,
    IntegerType,
    NamedType,
    SignedType,
    TupleType,
    Type,
    TypeVariable,
    integer_range,
)


class Kind(IntEnum):
    """Which types an Unknown may become; a larger member allows fewer of them, FRACTION and INTEGER none in common."""

    ANY = 0
    NUMBER = 1  # integers, bigint, floats and decimals: a literal without a point
    INTEGER = 2  # integers and bigint
    FRACTION = 3  # floats and decimals: a literal with a point


class Flag:
    """Whether a parameter of a function type is `mut`, while that is not known."""

    __slots__ = ("link",)

    def __init__(self) -> None:
        self.link: bool | Flag | None = None


class Unknown:
    """A type to be found. `low` and `high` bound the integer literals that will have it, if there are any."""

    __slots__ = ("high", "kind", "link", "low", "waiting")

    def __init__(self, kind: Kind = Kind.ANY, value: int | None = None) -> None:
        self.kind = kind
        self.low = self.high = value
        self.link: Draft | None = None
        self.waiting: list[Callable[[], None]] = []


class Shape:
    """A compound type with drafts in it. `head` is the name of a declared type, TUPLE, or FUNCTION.

    The parts of a function are its parameters and its result; `flags` say which parameters are `mut`. `solved` is the
    type, if it has one, and `size` the number of its parts, once it is solved.
    """

    __slots__ = ("flags", "head", "parts", "size", "solved")

    def __init__(self, head: str, parts: tuple[Draft, ...], flags: tuple[bool | Flag, ...] = ()) -> None:
        self.head = head
        self.parts = parts
        self.flags = flags
        self.solved: Type | None = None
        self.size = 0


class _Broken(Enum):
    BROKEN = auto()


BROKEN = _Broken.BROKEN
TUPLE, FUNCTION = "()", "->"
LARGEST = 1_000  # parts of a type, all counted; a few lines of a program can double it again and again

Draft = Type | Unknown | Shape | _Broken
Pairs = set[tuple[int, int]]

_COMPOUND = TupleType | NamedType | FunctionType


def current(draft: Draft) -> Draft:
    """Returns the draft as it is known now; never an Unknown that was found."""
    if not isinstance(draft, Unknown) or draft.link is None:
        return draft
    found = draft.link
    while isinstance(found, Unknown) and found.link is not None:
        found = found.link
    # A value that is used a thousand times would have a way of a thousand links.
    while isinstance(draft, Unknown) and draft.link is not None:
        draft.link, draft = found, draft.link
    return found


def current_flag(flag: bool | Flag) -> bool | Flag:
    """Returns the flag as it is known now."""
    while isinstance(flag, Flag) and flag.link is not None:
        flag = flag.link
    return flag


def shape(draft: Draft | None) -> Shape | None:
    """Returns the draft, as it is known now, as a Shape, if it is a compound type."""
    match draft:
        case Shape():
            return draft
        case NamedType(name, arguments):
            return Shape(name, arguments)
        case TupleType(items):
            return Shape(TUPLE, items)
        case FunctionType(parameters, result):
            parts = (*(type_ for type_, _ in parameters), result)
            return Shape(FUNCTION, parts, tuple(mutable for _, mutable in parameters))
        case Unknown() if draft.link is not None:
            return shape(current(draft))
        case _:
            return None


def named(name: str, *arguments: Draft) -> Draft:
    """Returns a declared type with drafts for its arguments."""
    return Shape(name, arguments) if arguments else NamedType(name)


def tuple_of(items: tuple[Draft, ...]) -> Draft:
    return Shape(TUPLE, items)


def function_of(count: int) -> Shape:
    """Returns the type of a function with so many parameters, of which nothing else is known."""
    return Shape(FUNCTION, tuple(Unknown() for _ in range(count + 1)), tuple(Flag() for _ in range(count)))


def is_integer(draft: Draft) -> bool:
    """True for what is an integer or may become one, and for what is broken."""
    draft = current(draft)
    if isinstance(draft, Unknown):
        return draft.kind is not Kind.FRACTION
    return isinstance(draft, IntegerType | BigIntType) or draft is BROKEN


def is_number(draft: Draft) -> bool:
    """True for what is a number or may become one, and for what is broken."""
    draft = current(draft)
    return isinstance(draft, Unknown | IntegerType | BigIntType | FloatType | DecimalType) or draft is BROKEN


def instantiate(type_: Type, meaning: Mapping[str, Draft]) -> Draft:
    """Returns the type with drafts in place of its type variables; a type without any is given back as it is."""
    if isinstance(type_, TypeVariable):
        return meaning.get(type_.name, type_)
    if not isinstance(type_, _COMPOUND) or not type_variables(type_):
        return type_
    whole = shape(type_)
    assert whole is not None
    return Shape(whole.head, tuple(instantiate(part, meaning) for part in _types(whole)), whole.flags)


_variables: dict[Type, tuple[str, ...]] = {}


def type_variables(type_: Type) -> tuple[str, ...]:
    """Returns the names of the type variables in a type, in the order of their first mention."""
    if isinstance(type_, TypeVariable):
        return (type_.name,)
    if not isinstance(type_, _COMPOUND):
        return ()
    known = _variables.get(type_)
    if known is None:
        whole = shape(type_)
        assert whole is not None
        found = dict.fromkeys(name for part in _types(whole) for name in type_variables(part))
        known = _variables[type_] = tuple(found)
    return known


def _types(whole: Shape) -> tuple[Type, ...]:
    """Returns the parts of the Shape of a type, which are types."""
    return whole.parts  # type: ignore[return-value]


def allows(kind: Kind, draft: Draft) -> bool:
    """True if an Unknown of this kind may become the draft, which is not an Unknown."""
    match kind:
        case Kind.ANY:
            return True
        case Kind.NUMBER:
            return isinstance(draft, IntegerType | BigIntType | FloatType | DecimalType)
        case Kind.INTEGER:
            return isinstance(draft, IntegerType | BigIntType)
        case Kind.FRACTION:
            return isinstance(draft, FloatType | DecimalType)


def unknowns(draft: Draft) -> Iterator[Unknown]:
    """Yields the Unknowns inside a draft. Shared parts are visited once: written out they may be very many."""
    seen: set[int] = set()
    stack = [draft]
    while stack:
        found = current(stack.pop())
        if isinstance(found, Unknown):
            yield found
        elif isinstance(found, Shape) and id(found) not in seen:
            seen.add(id(found))
            stack.extend(reversed(found.parts))


class Solver:
    """Makes drafts equal. `ready` is what can go on because something became known."""

    def __init__(self) -> None:
        self.is_too_large = False
        self.ready: deque[Callable[[], None]] = deque()

    def unify(self, left: Draft, right: Draft, seen: Pairs | None = None) -> bool:
        """Makes the two one type; False when they cannot be. `seen` are pairs of shapes that were met on the way."""
        left, right = current(left), current(right)
        if left is right or left is BROKEN or right is BROKEN:
            return True
        if isinstance(left, Unknown):
            return self._bind(left, right)
        if isinstance(right, Unknown):
            return self._bind(right, left)
        if not isinstance(left, Shape) and not isinstance(right, Shape):
            return left == right
        first, second = shape(left), shape(right)
        if first is None or second is None or first.head != second.head or len(first.parts) != len(second.parts):
            return False
        seen = set() if seen is None else seen
        if _was_met(left, right, seen):
            return True
        # All parts, also behind one that fails: what can be known of the others helps with their own errors.
        agreeing = [_unify_flags(one, other) for one, other in zip(first.flags, second.flags)]
        agreeing += [self.unify(one, other, seen) for one, other in zip(first.parts, second.parts)]
        return all(agreeing)

    def require(self, draft: Draft, kind: Kind) -> bool:
        """Narrows what the draft may become; False when it is something else already."""
        draft = current(draft)
        if not isinstance(draft, Unknown):
            return draft is BROKEN or allows(kind, draft)
        if {draft.kind, kind} == {Kind.INTEGER, Kind.FRACTION}:
            return False
        draft.kind = max(draft.kind, kind)
        return True

    def _bind(self, unknown: Unknown, draft: Draft) -> bool:
        if isinstance(draft, Unknown):
            if {unknown.kind, draft.kind} == {Kind.INTEGER, Kind.FRACTION}:
                return False
            draft.kind = max(draft.kind, unknown.kind)
            if unknown.low is not None and unknown.high is not None:
                draft.low = unknown.low if draft.low is None else min(unknown.low, draft.low)
                draft.high = unknown.high if draft.high is None else max(unknown.high, draft.high)
            draft.waiting += unknown.waiting
        elif not allows(unknown.kind, draft) or (isinstance(draft, Shape) and unknown in unknowns(draft)):
            return False
        else:
            self.ready += unknown.waiting
        unknown.link = draft
        unknown.waiting = []
        return True

    def solve(self, draft: Draft, family: tuple[Type, ...] = ()) -> Type | None:
        """Returns the type. Unknowns get their defaults, numbers the first of `family` that holds their literals.
        Returns None when the draft is broken, or too large: then `is_too_large` is set."""
        draft = current(draft)
        if isinstance(draft, Unknown):
            self._bind(draft, default(draft, family))
            return self.solve(draft)
        if not isinstance(draft, Shape):
            return None if isinstance(draft, _Broken) else draft
        if draft.size:
            return draft.solved
        parts = [self.solve(part) for part in draft.parts]
        types = tuple(part for part in parts if part is not None)
        draft.size = 1 + sum(found.size if isinstance(found := current(part), Shape) else 1 for part in draft.parts)
        self.is_too_large = self.is_too_large or draft.size > LARGEST
        if len(types) < len(parts) or draft.size > LARGEST:
            return None
        if draft.head is TUPLE:
            draft.solved = TupleType(types)
        elif draft.head is not FUNCTION:
            draft.solved = NamedType(draft.head, types)
        else:
            flags = tuple(current_flag(flag) is True for flag in draft.flags)
            draft.solved = FunctionType(tuple(zip(types, flags)), types[-1])
        return draft.solved


def default(unknown: Unknown, family: tuple[Type, ...] = ()) -> Type:
    """Returns the type of an Unknown that nothing constrains: the first type that holds its literals, or `()`."""
    if unknown.kind is Kind.ANY:
        return UNIT
    if unknown.kind is Kind.FRACTION:
        return DOUBLE
    low, high = unknown.low or 0, unknown.high or 0
    choices = (*family, S64, S128) if low < 0 else (*family, U64, U128)
    return next((type_ for type_ in choices if holds(type_, low, high)), BIGINT)


def holds(type_: Type, low: int, high: int) -> bool:
    """True if a number type holds both values."""
    if not isinstance(type_, BitType | SignedType):
        return True
    smallest, largest = integer_range(type_)
    return smallest <= low and high <= largest


def _unify_flags(left: bool | Flag, right: bool | Flag) -> bool:
    left, right = current_flag(left), current_flag(right)
    if isinstance(left, Flag):
        if left is not right:
            left.link = right
        return True
    if isinstance(right, Flag):
        right.link = left
        return True
    return left == right


def _was_met(left: Draft, right: Draft, seen: Pairs) -> bool:
    """True if the two shapes were compared before: shared parts, written out, may be very many."""
    if not isinstance(left, Shape) or not isinstance(right, Shape):
        return False
    pair = id(left), id(right)
    if pair in seen:
        return True
    seen.add(pair)
    return False


def could_be(left: Draft, right: Draft, seen: Pairs | None = None) -> bool:
    """True if the two could become one type, without unifying them."""
    left, right = current(left), current(right)
    if left is BROKEN or right is BROKEN:
        return True
    if isinstance(left, Unknown):
        if isinstance(right, Unknown):
            return {left.kind, right.kind} != {Kind.INTEGER, Kind.FRACTION}
        return allows(left.kind, right)
    if isinstance(right, Unknown):
        return allows(right.kind, left)
    if not isinstance(left, Shape) and not isinstance(right, Shape):
        return left == right
    first, second = shape(left), shape(right)
    if first is None or second is None or first.head != second.head or len(first.parts) != len(second.parts):
        return False
    seen = set() if seen is None else seen
    if _was_met(left, right, seen):
        return True
    flags = zip(map(current_flag, first.flags), map(current_flag, second.flags))
    return all(isinstance(one, Flag) or isinstance(other, Flag) or one == other for one, other in flags) and all(
        could_be(one, other, seen) for one, other in zip(first.parts, second.parts)
    )


def could_accept(parameter: Type, found: Draft, meaning: dict[str, Draft]) -> bool:
    """True if a value of the draft could be passed for the parameter; `meaning` collects what its variables mean."""
    found = current(found)
    if isinstance(parameter, TypeVariable):
        known = meaning.get(parameter.name)
        if known is None or isinstance(current(known), Unknown):
            meaning[parameter.name] = found
            return known is None or could_be(known, found)
        return could_be(known, found)
    if isinstance(found, Unknown) or not type_variables(parameter):
        return could_be(parameter, found)
    first, second = shape(parameter), shape(found)
    if first is None or second is None:
        return found is BROKEN
    if first.head != second.head or len(first.parts) != len(second.parts):
        return False
    flags = zip(first.flags, map(current_flag, second.flags))
    return all(isinstance(other, Flag) or one == other for one, other in flags) and all(
        could_accept(one, other, meaning) for one, other in zip(_types(first), second.parts)
    )


def describe(draft: Draft) -> str:
    """Returns the draft in words, for a message."""
    draft = current(draft)
    if isinstance(draft, Unknown):
        kind = Kind.INTEGER if draft.kind is Kind.NUMBER and draft.low is not None else draft.kind
        return ("a value of unknown type", "a number", "an integer", "a floating-point number")[kind]
    return "an integer" if isinstance(draft, _Broken) else f"`{written(draft)}`"


def written(draft: Draft, levels: int = 8) -> str:
    """Returns the draft as the language writes types, with `_` for what is not known, and for what is nested very
    deeply."""
    draft = current(draft)
    if not levels:
        return "_"
    if isinstance(draft, Unknown | _Broken):
        return "_"
    whole = shape(draft)
    if whole is None:
        return str(draft)
    parts = [written(part, levels - 1) for part in whole.parts]
    if whole.head is TUPLE:
        return f"({', '.join(parts)})"
    if whole.head is FUNCTION:
        shown = (f"mut {part}" if current_flag(flag) is True else part for part, flag in zip(parts, whole.flags))
        return f"function({', '.join(shown)})" + (f": {parts[-1]}" if parts[-1] != "()" else "")
    name = short_name(whole.head)
    return f"{name}<{', '.join(parts)}>" if parts else name


def short_name(name: str) -> str:
    """Returns a qualified name as any module may write it: what is imported everywhere needs no module."""
    return name.removeprefix("ddlog_std::").removeprefix("internment::")
