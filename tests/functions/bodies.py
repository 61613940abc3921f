"""Random bodies of functions, in which statements stand everywhere that the language lets them."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.functions import program as p
from tidelog.check import typed
from tidelog.check.program import Function
from tidelog.types import BOOL, STRING, U8, UNIT, TupleType, Type

PAIR = TupleType((U8, BOOL))
TYPES: tuple[Type, ...] = (U8, BOOL, STRING, PAIR, p.POINT, p.SHAPE, p.option(U8), p.vec(U8))
U8_FUNCTION = "helper"


class Bodies:
    """Draws expressions; `scope` are the variables that can be read, `writable` those that can be set."""

    def __init__(self, draw: st.DrawFn, result: Type) -> None:
        self._draw = draw
        self._result = result
        self._count = 0
        self.scope: list[tuple[str, Type]] = []
        self.writable: set[str] = set()
        self._loops = 0

    def _choose(self, count: int) -> int:
        return self._draw(st.integers(0, count - 1))

    def _fresh(self) -> str:
        self._count += 1
        return f"x{self._count}"

    def _declared(self, type_: Type) -> str:
        name = self._fresh()
        self.scope.append((name, type_))
        self.writable.add(name)
        return name

    def expression(self, type_: Type, depth: int) -> typed.Expression:
        known = [name for name, own in self.scope if own == type_]
        if depth <= 0 or self._choose(5) == 0:
            if known and self._choose(3):
                return p.var(known[self._choose(len(known))], type_)
            return self._constant(type_)
        match self._choose(9):
            case 0:
                return p.if_(
                    self.expression(BOOL, depth - 1), self._inner(type_, depth - 1), self._inner(type_, depth - 1)
                )
            case 1:
                return self._block(type_, depth - 1)
            case 2:
                return self._match(type_, depth - 1)
            case 3:
                return p.item(p.pair(self.expression(type_, depth - 1), self.expression(BOOL, depth - 1)), 0)
            case 4 if self._loops and self._choose(2):
                leave = (
                    typed.Break(type=type_, span=p.SPAN) if self._choose(2) else typed.Continue(type=type_, span=p.SPAN)
                )
                return p.if_(self.expression(BOOL, depth - 1), leave, self._constant(type_))
            case 5 if self._choose(2):
                left = p.return_(self.expression(self._result, depth - 1), type_)
                return p.if_(self.expression(BOOL, depth - 1), left, self._constant(type_))
            case _:
                return self._made(type_, depth - 1)

    def _inner(self, type_: Type, depth: int) -> typed.Expression:
        """What it declares is not seen outside."""
        known = len(self.scope)
        inner = self.expression(type_, depth)
        del self.scope[known:]
        return inner

    def _constant(self, type_: Type) -> typed.Expression:
        number = p.lit(self._choose(256), U8)
        if type_ == U8:
            return number
        if type_ == BOOL:
            return p.lit(bool(self._choose(2)), BOOL)
        if type_ == STRING:
            return p.lit("abc"[: self._choose(4)], STRING)
        if type_ == PAIR:
            return p.pair(number, p.lit(bool(self._choose(2)), BOOL))
        if type_ == p.POINT:
            return p.new("Point", p.POINT, number, p.lit(self._choose(3), U8))
        if type_ == p.SHAPE:
            point = self._constant(p.POINT)
            if self._choose(2):
                return p.new("Circle", p.SHAPE, number, point)
            return p.new(["Dot", "Nowhere"][self._choose(2)], p.SHAPE, point)
        if type_ == p.option(U8):
            return p.some(number) if self._choose(2) else p.none(U8)
        if type_ == p.vec(U8):
            return p.items(number, p.lit(self._choose(4), U8))
        return p.unit()

    def _made(self, type_: Type, depth: int) -> typed.Expression:
        def inner(wanted: Type) -> typed.Expression:
            return self.expression(wanted, depth)

        if type_ == U8:
            match self._choose(6):
                case 0:
                    return p.field(inner(p.POINT), "y", U8)
                case 1:
                    return p.field(p.field(inner(p.SHAPE), "at", p.POINT), "x", U8)
                case 2 if self._result == p.option(U8):
                    return typed.Try(inner(p.option(U8)), self._result, type=U8, span=p.SPAN)
                case 3:
                    return p.call(U8_FUNCTION, inner(U8), inner(BOOL), type_=U8)
                case 4:
                    return self._closure(depth)
                case _:
                    return p.op("+-*/"[self._choose(4)], inner(U8), inner(U8))
        if type_ == BOOL:
            if self._choose(3) == 0:
                own = TYPES[self._choose(len(TYPES))]
                return p.op("==", inner(own), inner(own))
            return p.op(("and", "or", "=>")[self._choose(3)], inner(BOOL), inner(BOOL))
        if type_ == STRING:
            return p.op("++", inner(STRING), p.text(inner(U8)))
        if type_ == PAIR:
            return p.pair(inner(U8), inner(BOOL))
        if type_ == p.POINT:
            return p.new("Point", p.POINT, inner(U8), inner(U8))
        if type_ == p.SHAPE:
            return p.new("Circle", p.SHAPE, inner(U8), inner(p.POINT))
        if type_ == p.option(U8):
            return p.some(inner(U8))
        return p.items(inner(U8), inner(U8))

    def _closure(self, depth: int) -> typed.Expression:
        """A closure over what it reads, called at once or after its variables have changed."""
        name = self._fresh()
        outside = list(self.scope)
        saved, self.writable, loops, self._loops = self.writable, set(), self._loops, 0
        result, self._result = self._result, U8
        self.scope.append((name, U8))
        body = self.expression(U8, depth)
        self.scope, self.writable, self._loops, self._result = list(outside), saved, loops, result
        used = {node.name for node in typed.walk(body) if isinstance(node, typed.Var)}
        captured = tuple(p.var(each, type_) for each, type_ in outside if each in used)
        closure = p.closure({name: U8}, body, captured)
        held = self._fresh()
        statements = [p.declare(held, closure), self._statement(1)]
        block = p.block(*statements, p.call_value(p.var(held, closure.type), self.expression(U8, 1)))
        self.scope = outside
        return block

    def _block(self, type_: Type, depth: int) -> typed.Expression:
        known = len(self.scope)
        statements = [self._statement(depth) for _ in range(1 + self._choose(3))]
        block = p.block(*statements, self.expression(type_, depth))
        del self.scope[known:]
        return block

    def _statement(self, depth: int) -> typed.Expression:
        match self._choose(6):
            case 0:
                type_ = TYPES[self._choose(len(TYPES))]
                value = self.expression(type_, depth)
                return typed.Declare(p.bind(self._declared(type_), type_), value, type=UNIT, span=p.SPAN)
            case 1:
                value = self.expression(PAIR, depth)
                first, second = self._declared(U8), self._declared(BOOL)
                pattern = p.tuple_of(p.bind(first, U8), p.bind(second, BOOL))
                return typed.Declare(pattern, value, type=UNIT, span=p.SPAN)
            case 2:
                return self._loop(depth)
            case 3:
                pushed = self._writable(p.vec(U8))
                if pushed is not None:
                    return p.call("push", pushed, self.expression(U8, depth), type_=UNIT, types=(U8,))
        return self._assignment(depth)

    def _loop(self, depth: int) -> typed.Expression:
        values = self.expression(p.vec(U8), depth)
        known = len(self.scope)
        name = self._fresh()
        self.scope.append((name, U8))
        self._loops += 1
        body = p.block(self._statement(depth - 1), self._statement(depth - 1))
        self._loops -= 1
        del self.scope[known:]
        return p.for_(p.bind(name, U8), values, body)

    def _writable(self, type_: Type) -> typed.Var | None:
        names = [name for name, own in self.scope if own == type_ and name in self.writable]
        return p.var(names[self._choose(len(names))], type_) if names else None

    def _assignment(self, depth: int) -> typed.Expression:
        choices: list[tuple[Type, tuple[str | int, ...], Type]] = [
            (U8, (), U8),
            (STRING, (), STRING),
            (PAIR, (0,), U8),
            (p.POINT, ("y",), U8),
            (p.SHAPE, ("at",), p.POINT),
            (p.SHAPE, ("at", "x"), U8),
        ]
        whole, steps, part = choices[self._choose(len(choices))]
        target = self._writable(whole)
        value = self.expression(part, depth)
        if target is None:
            return typed.Declare(p.bind(self._declared(part), part), value, type=UNIT, span=p.SPAN)
        return p.put(target, value, *steps)

    def _match(self, type_: Type, depth: int) -> typed.Expression:
        known = len(self.scope)

        def arm(pattern: typed.Pattern, *declared: tuple[str, Type]) -> tuple[typed.Pattern, typed.Expression]:
            self.scope += declared
            body = self.expression(type_, depth)
            del self.scope[known:]
            return pattern, body

        if self._choose(2):
            subject = self.expression(p.option(U8), depth)
            name = self._fresh()
            return p.match(
                subject,
                arm(p.made_by("ddlog_std::Some", p.option(U8), p.exactly(1, U8))),
                arm(p.made_by("ddlog_std::Some", p.option(U8), p.bind(name, U8)), (name, U8)),
                arm(p.made_by("ddlog_std::None", p.option(U8))),
            )
        subject = p.pair(self.expression(p.SHAPE, depth), self.expression(BOOL, depth))
        radius, whole, at = self._fresh(), self._fresh(), self._fresh()
        circle = p.made_by(
            "Circle", p.SHAPE, p.bind(radius, U8), p.made_by("Point", p.POINT, p.bind(at, U8), p.anything(U8))
        )
        return p.match(
            subject,
            arm(p.tuple_of(circle, p.exactly(True, BOOL)), (radius, U8), (at, U8)),
            arm(
                p.tuple_of(typed.AsPattern(whole, circle, type=p.SHAPE, span=p.SPAN), p.anything(BOOL)),
                (whole, p.SHAPE),
            ),
            arm(p.anything(subject.type)),
        )


@st.composite
def functions(draw: st.DrawFn, depth: int = 4) -> Function:
    """A function `f` of a number, a text, a point and a vector, of which the last two are `mut`."""
    result = draw(st.sampled_from(TYPES))
    bodies = Bodies(draw, result)
    parameters: dict[str, Type] = {"a": U8, "s": STRING, "p": p.POINT, "v": p.vec(U8)}
    bodies.scope = list(parameters.items())
    bodies.writable = {"p", "v"}
    body = bodies.expression(result, depth)
    return p.function("f", parameters, body, result, mutable=("p", "v"))


HELPER = p.function(
    U8_FUNCTION,
    {"n": U8, "more": BOOL},
    p.if_(
        p.op("and", p.var("more", BOOL), p.op("<", p.lit(3, U8), p.var("n", U8))),
        p.call(U8_FUNCTION, p.op("-", p.var("n", U8), p.lit(3, U8)), p.var("more", BOOL), type_=U8),
        p.var("n", U8),
    ),
)
