"""Typed expressions → functions of columns: what `compile_scalar` evaluates value by value, evaluated batch by batch.

    x ++ "/" ++ substr(y, 0, 3)      three columns of places and lengths, joined by one kernel, interned once

`if`, `match`, `and` and `or` evaluate each branch on the rows that take it, so an operation in a branch that no row
takes never fails; loops and recursive functions go on with the rows that need it (`compile_control`). Functions of the
program are compiled once for the types of their type variables. An extern function that kernels do not know is called
once for each distinct argument of a batch; `python_parts` names those. Where a value is beyond the kernels, and where
evaluation fails, the batch is given up (`NeedsPythonError`) and Python evaluates it: so there is one definition of
every error.

Not compiled: closures and function values, loops over groups, and functions with side effects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tidelog.check import typed
from tidelog.check.program import Function
from tidelog.engine.local.encoding.sequence_pool import is_sequence_type
from tidelog.engine.local.execution.columns import column as columns
from tidelog.engine.local.execution.columns import string_functions as strings
from tidelog.engine.local.execution.columns.batch import Batch, ColumnFunction
from tidelog.engine.local.execution.columns.branches import Code, lazy
from tidelog.engine.local.execution.columns.column import (
    Column,
    NeedsPythonError,
    Places,
    StructColumn,
    as_sequence,
    as_struct,
    as_text,
    as_words,
    empty_column,
    item_type,
    merge,
    require_few,
    take,
)
from tidelog.engine.local.execution.columns.compile_control import ControlCompiler
from tidelog.engine.local.execution.columns.compile_operators import binary, cast, constant, unary
from tidelog.engine.local.execution.columns.compile_patterns import NotColumnsError, Scope
from tidelog.engine.local.execution.columns.frame import BREAK, CONTINUE, RESULT, RETURN, AllLeftError, Frame, Key
from tidelog.engine.local.execution.columns.library_functions import (
    TO_STRING,
    column_function,
    is_of_library,
    python_function,
)
from tidelog.engine.local.execution.columns.order import has_order
from tidelog.engine.local.execution.columns.scaled import units
from tidelog.engine.local.execution.columns.sequence_functions import distinct, pair, vector
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.types import FunctionType, NamedType, StringType, TupleType, Type, TypeVariable, parts
from tidelog.values.definitions import substitute

_MOST_NODES = 5_000
_MOST_FUNCTIONS = 200


@dataclass(slots=True)
class _Function:
    """A compiled function: its parameters, its result and its body; a recursive one is called before it has one."""

    keys: list[Key]
    result: Type
    body: Code | None = None
    is_recursive: bool = False
    mutable: list[tuple[int, Key]] = field(default_factory=list)

    def run(self, frame: Frame) -> Column:
        """Returns the result, in a frame that has the arguments."""
        assert self.body is not None
        value: Column | None
        try:
            value = self.body(frame)
        except AllLeftError:
            value = None
        if frame.left is not None and frame.has_left:
            returned = np.flatnonzero(frame.left == RETURN)
            staying = np.flatnonzero(frame.left == 0)
            found = [(returned, take(frame.get(RESULT), returned))]
            if value is not None and len(staying):
                found.append((staying, take(value, staying)))
            value = merge(frame.count, found, self.result, frame.values)
        if self.is_recursive and isinstance(value, StructColumn):
            # A chain that grows with the depth would be merged link by link at every level.
            value = as_words(value, self.result, frame.values)
        return value


class ColumnCompiler(ControlCompiler):
    """Compiles the expressions of one step. `python_parts` are the functions that are called in Python."""

    def __init__(self, functions: CompiledFunctions) -> None:
        super().__init__(functions)
        self.python_parts: dict[str, None] = {}
        self._compiled: dict[tuple[str, tuple[Type, ...]], _Function] = {}
        self._nodes = 0

    def compile(self, expression: typed.Expression) -> Code:
        """Returns the function of the rule's variables; raises NotColumnsError."""
        self._functions.require_for(expression)
        if self._functions.has_side_effects(expression):
            raise NotColumnsError("a function with side effects")
        names: dict[str, Key] = {name: name for name in typed.variables(expression)}
        return self._code(expression, Scope(names))

    # Patterns of rules

    def unfold(
        self, pattern: typed.Pattern, expression: typed.Expression, *, each: bool
    ) -> Callable[[Frame], tuple[Places | None, list[Column]]]:
        """Returns the function from a frame to the rows whose value fits the pattern (None: all), and the columns of
        the pattern's variables in those rows; with `each`, a row comes back for every item of its collection."""
        type_ = self._bare(expression.type, Scope())
        if each and not is_sequence_type(type_):
            raise NotColumnsError(f"the items of a {type_}")
        code = self.compile(expression)
        scope = Scope({name: name for own in _expressions(pattern) for name in typed.variables(own)})
        test, bind = self._test(pattern, scope), self._binding(pattern, scope)
        keys = [scope.names[own.name] for own in typed.bindings(pattern)]
        nothing = [empty_column(self._type(own, scope)) for own in typed.bindings(pattern)]

        def run(frame: Frame) -> tuple[Places | None, list[Column]]:
            column = code(frame)
            rows: Places | None = None
            if each:
                found = as_sequence(column, type_, frame.values)
                require_few(int(found.lengths.sum()), frame.count, columns.MOST_ITEMS)
                rows, column = found.rows(), take(found.items, found.places())
                frame = frame.some(rows)
            fits = test(frame, column) if frame.count else None
            if fits is not None and not fits.all():
                places = np.flatnonzero(fits)
                rows = places if rows is None else rows[places]
                frame, column = frame.some(places), take(column, places)
            if not frame.count:
                return rows, list(nothing)
            bind(frame, column)
            return rows, [frame.get(key) for key in keys]

        return run

    # Expressions

    def _code(self, node: typed.Expression, scope: Scope) -> Code:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise NotColumnsError("an expression of many parts")
        match node:
            case typed.Var(name):
                return _variable(scope.names[name])
            case typed.Lit(value):
                return self._literal(value, self._type(node, scope))
            case typed.Deref(operand) | typed.MakeRef(operand):
                return self._code(operand, scope)
            case typed.Unary(op, operand):
                return unary(op, self._code(operand, scope), self._type(node, scope))
            case typed.Binary():
                return self._binary(node, scope)
            case typed.Cast(operand):
                return cast(self._code(operand, scope), self._type(operand, scope), self._type(node, scope))
            case typed.Units(operand):
                return units(self._code(operand, scope), self._type(operand, scope), self._type(node, scope))
            case typed.ToString(operand):
                return self._text(self._code(operand, scope), self._type(operand, scope))
            case typed.MakeTuple(items):
                return _construct(0, 1, [self._code(item, scope) for item in items])
            case typed.Construct(constructor, arguments):
                type_name, index = self._definitions.constructor(constructor)
                of = len(self._definitions.constructors_of(type_name))
                return _construct(index, of, [self._code(argument, scope) for argument in arguments])
            case typed.MakeVec(items):
                return self._vector(items, self._type(node, scope), scope)
            case typed.MakeMap(entries):
                return self._map(entries, self._type(node, scope), scope)
            case typed.TupleItem(operand, index):
                return _item(self._code(operand, scope), self._type(operand, scope), index)
            case typed.Field(operand, name):
                return self._field(self._code(operand, scope), self._type(operand, scope), name, node, scope)
            case typed.Call():
                return self._call(node, scope)
            case _:
                return self._control(node, scope)

    def _control(self, node: typed.Expression, scope: Scope) -> Code:
        match node:
            case typed.IfElse():
                return self._if(node, scope)
            case typed.Match():
                return self._match(node, scope)
            case typed.Block(expressions):
                return self._block(expressions, scope, self._type(node, scope))
            case typed.Declare():
                return self._declare(node, scope)
            case typed.SetPlace():
                return self._set_place(node, scope)
            case typed.For():
                return self._for(node, scope)
            case typed.Break():
                return self._leave(BREAK)
            case typed.Continue():
                return self._leave(CONTINUE)
            case typed.Return():
                return self._return(node, scope)
            case typed.Try():
                return self._try(node, scope)
            case typed.Closure():
                raise NotColumnsError("a closure")
            case typed.FunctionValue():
                raise NotColumnsError("a function as a value")
            case _:
                raise NotColumnsError("a call of a function value")

    def _literal(self, value: typed.Value, type_: Type) -> Code:
        return constant(value, type_)

    def _text(self, operand: Code, type_: Type) -> Code:
        if not strings.has_text(type_):
            raise NotColumnsError(f"the text of a {type_}")
        return lambda frame: strings.text_of(operand(frame), type_, frame.values)

    def _binary(self, node: typed.Binary, scope: Scope) -> Code:
        if node.op == "++" and isinstance(self._type(node, scope), StringType):
            return self._concatenation(node, scope)
        left, right = self._code(node.left, scope), self._code(node.right, scope)
        if node.op in ("and", "or", "=>"):
            return lazy(node.op, left, right)
        type_, sides, other = (self._type(each, scope) for each in (node, node.left, node.right))
        return binary(node.op, left, right, type_, sides, other, self._definitions)

    def _concatenation(self, node: typed.Expression, scope: Scope) -> Code:
        texts: list[Code] = []
        pending = [node]
        while pending:
            each = pending.pop()
            if isinstance(each, typed.Binary) and each.op == "++":
                pending += (each.right, each.left)
            else:
                texts.append(self._code(each, scope))
        return lambda frame: strings.concatenated([as_text(text(frame), frame.values) for text in texts])

    # Structs and collections

    def _field(self, operand: Code, type_: Type, name: str, node: typed.Expression, scope: Scope) -> Code:
        if not isinstance(type_, NamedType) or self._definitions.extern(type_) is not None:
            raise NotColumnsError(f"a field of a {type_}")
        own_type = self._type(node, scope)
        places = [
            next((place for place, (own, _) in enumerate(variant.fields) if own == name), None)
            for variant in self._definitions.variants(type_)
        ]

        def run(frame: Frame) -> Column:
            struct = as_struct(operand(frame), type_, frame.values)
            found: list[tuple[Places, Column]] = []
            for number, place in enumerate(places):
                own = struct.fields[number]
                if own is None or place is None:
                    continue
                rows = np.flatnonzero(struct.tags == number)
                if len(rows) == frame.count:
                    return own[place]
                if len(rows):
                    found.append((rows, take(own[place], rows)))
            if sum(len(rows) for rows, _ in found) < frame.count:
                raise NeedsPythonError
            return merge(frame.count, found, own_type, frame.values)

        return run

    def _vector(self, items: Sequence[typed.Expression], type_: Type, scope: Scope) -> Code:
        codes, inner = [self._code(item, scope) for item in items], item_type(type_)
        return lambda frame: vector([code(frame) for code in codes], inner, frame.count, frame.values)

    def _map(self, entries: Sequence[tuple[typed.Expression, typed.Expression]], type_: Type, scope: Scope) -> Code:
        codes = [(self._code(key, scope), self._code(value, scope)) for key, value in entries]
        assert isinstance(type_, NamedType)
        self._require_order(type_.arguments[0])

        def run(frame: Frame) -> Column:
            pairs = [pair(key(frame), value(frame), frame.count) for key, value in codes]
            return distinct(vector(pairs, item_type(type_), frame.count, frame.values), type_, frame.values)

        return run

    def _require_order(self, type_: Type) -> None:
        if not has_order(type_, self._definitions):
            raise NotColumnsError(f"the order of a {type_}")

    # Functions

    def _call(self, node: typed.Call, scope: Scope) -> Code:
        callees = self._functions.callees
        given = tuple(substitute(each, scope.types) for each in node.type_arguments)
        id_, given = callees.resolve(node.function, given)
        if callees.is_identity(id_):
            return self._code(node.arguments[0], scope)
        codes = [self._code(argument, scope) for argument in node.arguments]
        called = callees.function(id_)
        mutable = callees.mutable_places(id_)
        setters = []
        for place in mutable:
            target = typed.place(node.arguments[place])
            assert target is not None
            setters.append(self._assign(target, scope))
        if called.is_extern:
            run = self._extern(called, given, codes)
        else:
            run = self._inner(self._function(called, given), codes)
        if not setters:
            return run

        def run_and_set(frame: Frame) -> Column:
            result, *changed = run(frame)
            for set_, column in zip(setters, changed):
                set_(frame, column)
            return result

        return run_and_set

    def _function(self, called: Function, given: tuple[Type, ...]) -> _Function:
        """Returns a function of the program, compiled for the types of its type variables."""
        known = self._compiled.get((called.id, given))
        if known is not None:
            known.is_recursive = known.is_recursive or known.body is None
            return known
        if len(self._compiled) >= _MOST_FUNCTIONS:
            raise NotColumnsError(f"the function `{called.name}`, which needs many others")
        types = dict(zip(called.type_parameters, given))
        scope = Scope({}, types, called.result)
        if any(_has_functions(substitute(parameter.type, types)) for parameter in called.parameters):
            raise NotColumnsError(f"the function `{called.name}`, which takes a function")
        for parameter in called.parameters:
            scope.names[parameter.name] = next(self._keys)
        keys = list(scope.names.values())
        made = self._compiled[called.id, given] = _Function(keys, self._bare(called.result, scope))
        made.mutable = [(place, keys[place]) for place in self._functions.callees.mutable_places(called.id)]
        assert called.body is not None
        loops, self._loops = self._loops, 0
        made.body = self._code(called.body, scope)
        self._loops = loops
        return made

    def _inner(self, function: _Function, codes: Sequence[Code]) -> Callable[[Frame], Any]:
        def run(frame: Frame) -> Any:
            arguments = {key: code(frame) for key, code in zip(function.keys, codes)}
            if function.is_recursive:
                frame.work.add(frame.count)
            inner = Frame(frame.count, frame.values, arguments, work=frame.work)
            result = function.run(inner)
            return (result, *(inner.get(key) for _, key in function.mutable)) if function.mutable else result

        return run

    def _extern(self, called: Function, given: tuple[Type, ...], codes: Sequence[Code]) -> Callable[[Frame], Any]:
        callees = self._functions.callees
        python = callees.extern(called)
        bare = tuple(self._bare(each, Scope()) for each in given)
        if called.name == TO_STRING and is_of_library(called.name, python) and strings.has_text(bare[0]):
            return self._text(codes[0], bare[0])
        known = column_function(called.name, python, bare, given, self._definitions)
        if known is None:
            known = self._python(called, given)
        function = known

        def run(frame: Frame) -> Any:
            batch = Batch(frame.count, frame.values, bare, given, frame.work.pace)
            return function(batch, [code(frame) for code in codes])

        return run

    def _python(self, called: Function, given: tuple[Type, ...]) -> ColumnFunction:
        """Returns an extern function that Python evaluates for each distinct argument."""
        scope = Scope({}, dict(zip(called.type_parameters, given)))
        types = [self._bare(parameter.type, scope) for parameter in called.parameters]
        results = [self._bare(called.result, scope)]
        results += [types[place] for place in self._functions.callees.mutable_places(called.id)]
        if any(_has_functions(each) for each in (*types, *results)):
            raise NotColumnsError(f"the function `{called.name}`, which takes a function")
        signature = self._functions.callees.signatures[called.id]
        call = partial(self._functions.function(called.id), *signature.passed(given))
        self.python_parts[f"the function `{called.name}`"] = None
        return python_function(call, types, results)


def _variable(key: Key) -> Code:
    return lambda frame: frame.get(key)


def _construct(index: int, of: int, codes: Sequence[Code]) -> Code:
    def run(frame: Frame) -> Column:
        fields: list[tuple[Column, ...] | None] = [None] * of
        fields[index] = tuple(code(frame) for code in codes)
        return StructColumn(np.full(frame.count, index, np.int64), tuple(fields))

    return run


def _item(operand: Code, type_: Type, index: int) -> Code:
    if not isinstance(type_, TupleType):
        raise NotColumnsError(f"an item of a {type_}")

    def run(frame: Frame) -> Column:
        fields = as_struct(operand(frame), type_, frame.values).fields[0]
        assert fields is not None
        return fields[index]

    return run


def _has_functions(type_: Type) -> bool:
    """True if a type has functions in it, or is not known."""
    return isinstance(type_, FunctionType | TypeVariable) or any(map(_has_functions, parts(type_)))


def _expressions(pattern: typed.Pattern) -> list[typed.Expression]:
    return [each.expression for each in typed.subpatterns(pattern) if isinstance(each, typed.EqualPattern)]
