"""Typed expressions → values of a `Body`: the text of each, and the lines that have to run before.

What has to be a statement in Python (`if` with statements inside, `match`, loops, assignments) is left to `emit`, which
`statements.py` adds; here it gets a temporary variable to put its value in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tidelog.check import typed
from tidelog.functions import operators
from tidelog.functions.body import NOTHING, UNIT, Body, Value
from tidelog.functions.callees import variables_of
from tidelog.functions.links import ClassLink, ConstantLink, TemplateLink, TypeLink, ValueLink
from tidelog.functions.variable_use import VariableUse
from tidelog.types import (
    FunctionType,
    NamedType,
    ScaledType,
    StringType,
    TupleType,
    Type,
)
from tidelog.values.externs import ExternKind

if TYPE_CHECKING:
    from tidelog.functions.unit import UnitWriter

_MOST_TERMS = 50  # of one `and` or `or`, before its value goes into a variable


class Expressions(Body, ABC):
    """`names` are the Python names of variables, `types` those of the type variables that are known at run time."""

    def __init__(
        self,
        unit: UnitWriter,
        variables_used: VariableUse,
        names: dict[str, str],
        types: dict[str, str],
        returned: tuple[str, ...] = (),
        indent: int = 1,
    ) -> None:
        super().__init__(returned, indent)
        self.unit = unit
        self.definitions = unit.definitions
        self.variables_used = variables_used
        self._names = names
        self._types = types
        self._simple: dict[int, bool] = {}

    @abstractmethod
    def emit(self, node: typed.Expression, target: str | None) -> None:
        """Writes the lines of an expression; its value goes to the variable, or nowhere."""

    def name(self, variable: str) -> str:
        """Returns the Python name of a variable."""
        return self._names.setdefault(variable, f"v{len(self._names)}")

    def value(self, node: typed.Expression) -> Value:
        if self.dead:
            return NOTHING
        match node:
            case typed.Var(name):
                return Value(self.name(name), 0, stable=name not in self.variables_used.changed)
            case typed.Lit(value, type=type_) if isinstance(type_, NamedType | TupleType | ScaledType):
                return Value(self.unit.link(ValueLink(value, type_)), 0, stable=True)
            case typed.Lit(value, type=type_):
                return Value(operators.literal(value, type_), 1, stable=True)
            case typed.MakeTuple(items):
                parts = self.values(items)
                return self.made(tuple_text(parts), *parts)
            case typed.Construct(constructor, arguments):
                return self._construct(constructor, arguments)
            case typed.MakeVec(items):
                parts = self.values(items)
                return self.made(f"Vec({tuple_text(parts)})", *parts)
            case typed.MakeMap(entries):
                return self._map(entries)
            case typed.FunctionValue(function, type_arguments):
                return self._function_value(function, type_arguments)
            case typed.Closure():
                return self._closure(node)
            case typed.Unary(_, operand):
                inner = self.value(operand)
                return self.made(operators.unary(node, inner.text), inner)
            case typed.Binary():
                return self._binary(node)
            case typed.Cast(operand):
                inner = self.value(operand)
                return self.made(operators.cast(node, inner.text), inner, stable=not operators.cast_can_fail(node))
            case typed.Units(operand):
                inner = self.value(operand)
                scaled = operand.type if isinstance(operand.type, ScaledType) else node.type
                name = self.unit.link(TypeLink(scaled))
                function = "to_units" if scaled == operand.type else "within"
                return self.made(f"{function}({inner.text}, {name})", inner, stable=scaled == operand.type)
            case typed.ToString(operand):
                inner = self.value(operand)
                return self.made(operators.text_of(inner.text, self.shown(operand.type)), inner)
            case typed.Deref(operand) | typed.MakeRef(operand):
                return self.value(operand)
            case typed.Field(operand, name):
                return self._field(self.value(operand), operand.type, name)
            case typed.TupleItem(operand, index):
                inner = self.value(operand)
                return self.made(f"{inner.text}[{index}]", inner, deeper=0)
            case typed.Call(function, type_arguments, arguments):
                return self._call(function, type_arguments, arguments)
            case typed.CallValue(function, arguments):
                return self._call_value(function, arguments)
            case typed.Try():
                return self._try(node)
            case typed.IfElse() if self.is_simple(node) and self.can_nest:
                return self._choice(node)
            case typed.Block(expressions):
                for expression in expressions[:-1]:
                    self.emit(expression, None)
                return self.value(expressions[-1])
            case typed.IfElse() | typed.Match():
                name = self.temporary()
                self.emit(node, name)
                return NOTHING if self.dead else Value(name, 0, stable=True)
            case _:
                self.emit(node, None)
                return NOTHING if self.dead else UNIT

    def values(self, nodes: Iterable[typed.Expression]) -> list[Value]:
        """Returns the values of expressions that are evaluated from left to right."""
        found: list[Value] = []
        for node in nodes:
            mark = self.mark()
            value = self.value(node)
            found = [*self.pin(found, mark), value] if self.mark() != mark else [*found, value]
        return found

    def is_simple(self, node: typed.Expression) -> bool:
        """True for what usually needs no lines."""
        known = self._simple.get(id(node))
        if known is None:
            known = self._simple[id(node)] = self._is_simple(node)
        return known

    def _is_simple(self, node: typed.Expression) -> bool:
        match node:
            case typed.Closure():
                return True
            case typed.Match() | typed.Try() | typed.Declare() | typed.SetPlace() | typed.For():
                return False
            case typed.Break() | typed.Continue() | typed.Return():
                return False
            case typed.Block(expressions) if len(expressions) > 1:
                return False
            case typed.Call(function) if self.unit.callees.mutable_places(function):
                return False
            case typed.CallValue(function) if _mutable_places(function.type):
                return False
            case _:
                return all(map(self.is_simple, typed.children(node)))

    # Data

    def _construct(self, constructor: str, arguments: Sequence[typed.Expression]) -> Value:
        if not arguments:
            return Value(self.unit.link(ConstantLink(constructor)), 0, stable=True)
        parts = self.values(arguments)
        return self.made(self.struct_text(constructor, [part.text for part in parts]), *parts)

    def struct_text(self, constructor: str, fields: Sequence[str]) -> str:
        """Returns a value of a constructor that has fields."""
        variant = self.definitions.class_of(constructor).__variant__
        items = ", ".join((*map(str, variant.head), *fields))
        maker = "construct" if variant.shape.recursive else "new"
        return f"{maker}({self.unit.link(ClassLink(constructor))}, ({items},))"

    def _map(self, entries: Sequence[tuple[typed.Expression, typed.Expression]]) -> Value:
        sides = self.values(side for entry in entries for side in entry)
        pairs = ", ".join(f"({key.text}, {value.text})" for key, value in zip(sides[::2], sides[1::2]))
        return self.made(f"Map(({pairs},))", *sides)

    def _field(self, operand: Value, type_: Type, name: str) -> Value:
        positions = self._positions(type_, name)
        if len(set(positions)) > 1:
            operand = self.atom(operand)
        return self.made(
            f"{operand.text}[{_position(positions, operand.text)}]", operand, deeper=len(set(positions)) - 1
        )

    def _positions(self, type_: Type, name: str) -> tuple[int, ...]:
        """Returns the position of a field in the values of each constructor of a type.

        Where a `match` has told the constructor, others need not have the field: they count as if it did not matter.
        """
        found = [
            next((place for place, (field, _) in enumerate(variant.fields, variant.start) if field == name), None)
            for variant in self.definitions.variants(self.named(type_))
        ]
        usual = next(place for place in found if place is not None)
        return tuple(usual if place is None else place for place in found)

    def named(self, type_: Type) -> NamedType:
        """Returns the struct or union that values of a type are, through all `Ref`s and `Intern`s."""
        type_ = self.shown(type_)
        assert isinstance(type_, NamedType)
        return type_

    def shown(self, type_: Type) -> Type:
        """Returns the type without `Ref`s and `Intern`s around it, which leave no trace in values."""
        while isinstance(type_, NamedType):
            extern = self.definitions.extern(type_)
            if extern is None or extern.kind is not ExternKind.TRANSPARENT:
                break
            type_ = extern.inner(*type_.arguments)
        return type_

    # Operators

    def _binary(self, node: typed.Binary) -> Value:
        match node.op, node.type:
            case "and" | "or", _:
                return self._lazy(node.op, _operands(node, node.op))
            case "=>", _:
                negated = typed.Unary("not", node.left, type=node.type, span=node.span)
                return self._lazy("or", [negated, node.right])
            case "++", StringType():
                return self._concatenation(node)
        # Long sums are chains to the left: not to be gone down one call after the other.
        spine: list[typed.Binary] = []
        first: typed.Expression = node
        while isinstance(first, typed.Binary) and first.op not in ("and", "or", "=>") and not _is_text(first):
            spine.append(first)
            first = first.left
        left = self.value(first)
        for each in reversed(spine):
            mark = self.mark()
            right = self.value(each.right)
            (left,) = self.pin([left], mark)
            stable = not operators.can_fail(each)
            left = self.made(operators.binary(each, left.text, right.text), left, right, stable=stable)
        return left

    def _concatenation(self, node: typed.Binary) -> Value:
        parts = self.values(_text_parts(node))
        texts = [part.text for part in parts if part.text != "''"] or ["''"]
        if len(texts) == 1:
            return self.made(texts[0], *parts, deeper=0)
        return self.made(f"({' + '.join(texts)})" if len(texts) < 4 else f"join(({', '.join(texts)}))", *parts)

    def _lazy(self, op: str, terms: Sequence[typed.Expression]) -> Value:
        """`a and b and c`, where what stands on the right is evaluated only if it counts."""
        found = [self.value(terms[0])]
        for term in terms[1:]:
            inline = self.is_simple(term) and self.can_nest
            apart, value = self.apart(partial(self.value, term)) if inline else ([], NOTHING)
            if inline and not apart and len(found) < _MOST_TERMS:
                found.append(value)
                continue
            name = self.temporary()
            self.assign(name, self._joined(op, found).text)
            head = f"if {name}:" if op == "and" else f"if not {name}:"
            if inline:
                self.block_of(head, apart, name, value)
            else:
                self.block(head, partial(self.emit, term, name))
            found = [Value(name, 0, stable=True)]
        return self._joined(op, found)

    def _joined(self, op: str, values: Sequence[Value]) -> Value:
        if len(values) == 1:
            return values[0]
        return self.made(f"({f' {op} '.join(value.text for value in values)})", *values)

    def _choice(self, node: typed.IfElse) -> Value:
        condition = self.value(node.condition)
        first, then = self.apart(lambda: self.value(node.then))
        second, otherwise = self.apart(lambda: self.value(node.otherwise))
        if not first and not second:
            text = f"({then.text} if {condition.text} else {otherwise.text})"
            return self.made(text, condition, then, otherwise)
        name = self.temporary()
        self.block_of(f"if {condition.text}:", first, name, then)
        self.block_of("else:", second, name, otherwise)
        return Value(name, 0, stable=True)

    # Functions

    def _call(self, function: str, type_arguments: tuple[Type, ...], arguments: Sequence[typed.Expression]) -> Value:
        callees = self.unit.callees
        id_, type_arguments = callees.resolve(function, type_arguments)
        if callees.is_identity(id_):
            return self.value(arguments[0])
        signature = callees.signatures[id_]
        types = [self.type_text(type_) for type_ in signature.passed(type_arguments)]
        parts = self.values(arguments)
        given = (*self.unit.before_arguments(signature), *types, *(part.text for part in parts))
        text = f"{self.unit.function_name(id_)}({', '.join(given)})"
        if not signature.mutable:
            return self.made(text, *parts, stable=False)
        return self._changing(text, [arguments[place] for place in signature.mutable])

    def _call_value(self, function: typed.Expression, arguments: Sequence[typed.Expression]) -> Value:
        called, *parts = self.values((function, *arguments))
        text = f"{called.text}.call({', '.join(part.text for part in parts)})"
        mutable = _mutable_places(function.type)
        if not mutable:
            return self.made(text, called, *parts, stable=False)
        return self._changing(text, [arguments[place] for place in mutable])

    def _changing(self, text: str, changed: Sequence[typed.Expression]) -> Value:
        """Returns a call that returns new values for some of its arguments."""
        result = self.temporary()
        places = []
        for argument in changed:
            place = typed.place(argument)
            assert place is not None
            places.append((place, self.temporary() if place.steps else self.name(place.variable.name)))
        self.unpack((result, *(name for _, name in places)), text)
        for place, name in places:
            if place.steps:
                self.set_place(place, name)
        return Value(result, 0, stable=True)

    def _function_value(self, function: str, type_arguments: tuple[Type, ...]) -> Value:
        id_, type_arguments = self.unit.callees.resolve(function, type_arguments)
        passed = self.unit.callees.signatures[id_].passed(type_arguments)
        types = [Value(self.type_text(type_)) for type_ in passed]
        return Value(f"FunctionValue({self.unit.function_code(id_)}, (), {tuple_text(types)})", 4, stable=True)

    def _closure(self, node: typed.Closure) -> Value:
        parts = self.values(node.captured)
        name, variables = self.unit.closure_code(node)
        types = [Value(self._types[variable]) for variable in variables]
        return self.made(f"FunctionValue({name}, {tuple_text(parts)}, {tuple_text(types)})", *parts)

    def type_text(self, type_: Type) -> str:
        """Returns a type at run time."""
        variables = tuple(sorted(variables_of(type_)))
        if not variables:
            return self.unit.link(TypeLink(type_))
        given = ", ".join(self._types[variable] for variable in variables)
        return f"{self.unit.link(TemplateLink(type_, variables))}({given})"

    def _try(self, node: typed.Try) -> Value:
        operand = self.atom(self.value(node.operand))
        if self.dead:
            return NOTHING
        type_ = self.named(node.operand.type)
        names = [constructor.name for constructor in self.definitions.constructors_of(type_.name)]
        bad = next(index for index, name in enumerate(names) if _local(name) in ("None", "Err"))
        returned = operand.text
        if _local(names[bad]) == "Err" and _local(self.named(node.result).name) == "Option":
            none = next(
                constructor.name
                for constructor in self.definitions.constructors_of(self.named(node.result).name)
                if _local(constructor.name) == "None"
            )
            returned = self.unit.link(ConstantLink(none))
        self.block(f"if {operand.text}[0] == {bad}:", lambda: self.leave_with(returned))
        return Value(f"{operand.text}[1]", 0, stable=operand.stable)

    # Places

    def set_place(self, place: typed.Place, new: str) -> None:
        """Assigns a part of a variable: the values around the part are built again."""
        name = self.name(place.variable.name)
        if not place.steps:
            self.assign(name, new)
            return
        whole, type_ = name, place.variable.type
        wrap: list[Callable[[str], str]] = []
        for index, step in enumerate(place.steps):
            wrap.append(self._with_part(whole, type_, step))
            inner, type_ = self._part(whole, type_, step)
            if index + 1 < len(place.steps):
                whole = self.spill(Value(inner)).text
        for around in reversed(wrap):
            new = around(new)
        self.assign(name, new)

    def _part(self, whole: str, type_: Type, step: str | int) -> tuple[str, Type]:
        if isinstance(step, int):
            type_ = self.shown(type_)
            assert isinstance(type_, TupleType)
            return f"{whole}[{step}]", type_.items[step]
        variants = self.definitions.variants(self.named(type_))
        own = next(own for variant in variants for field, own in variant.fields if field == step)
        return self._field(Value(whole), type_, step).text, own

    def _with_part(self, whole: str, type_: Type, step: str | int) -> Callable[[str], str]:
        """Returns a function: the text of a new part → the text of a value like `whole` with that part."""
        if isinstance(step, int):
            type_ = self.shown(type_)
            assert isinstance(type_, TupleType)
            return _replacing(whole, len(type_.items), step, lambda items: f"({', '.join(items)})")
        variants = self.definitions.variants(self.named(type_))
        positions = self._positions(type_, step)
        if len(variants) == 1:
            count, constructor = len(variants[0].fields), variants[0].name
            return _replacing(whole, count, positions[0], lambda items: self.struct_text(constructor, items))
        return lambda new: f"with_item({whole}, {_position(positions, whole)}, {new})"


def _position(positions: tuple[int, ...], whole: str) -> str:
    """Returns the position of a field in a value, given that of each constructor."""
    return str(positions[0]) if len(set(positions)) == 1 else f"{positions}[{whole}[0]]"


def _replacing(whole: str, count: int, position: int, join: Callable[[list[str]], str]) -> Callable[[str], str]:
    return lambda new: join([new if index == position else f"{whole}[{index}]" for index in range(count)])


def tuple_text(parts: Sequence[Value]) -> str:
    """Returns the tuple of some values."""
    return f"({', '.join(part.text for part in parts)}{',' if len(parts) == 1 else ''})"


def _operands(node: typed.Expression, op: str) -> list[typed.Expression]:
    """Returns a, b and c of `(a op b) op c`."""
    right: list[typed.Expression] = []
    while isinstance(node, typed.Binary) and node.op == op:
        right.append(node.right)
        node = node.left
    return [node, *reversed(right)]


def _is_text(node: typed.Binary) -> bool:
    return node.op == "++" and isinstance(node.type, StringType)


def _text_parts(node: typed.Expression) -> list[typed.Expression]:
    """Returns the operands of a chain of `++`, however it is grouped."""
    found: list[typed.Expression] = []
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, typed.Binary) and _is_text(each):
            pending += (each.right, each.left)
        else:
            found.append(each)
    return found


def _mutable_places(type_: Type) -> tuple[int, ...]:
    assert isinstance(type_, FunctionType)
    return tuple(place for place, (_, mutable) in enumerate(type_.parameters) if mutable)


def _local(name: str) -> str:
    return name.rpartition("::")[2]
