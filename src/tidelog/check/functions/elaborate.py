"""An expression whose types are inferred → the typed expression.

The sugar goes: interpolation becomes a chain of `++` on strings, a slice becomes a shift and a cast, an annotation its
operand, a minus before a literal a negative literal; whatever needs a text is wrapped in `ToString` or in a call of its
`to_string`; references that are seen through get a `Deref`. Assignments are checked by `Assignable`, and a `match` must
cover everything: both are reported here, where all types are known.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar

from tidelog.check import typed
from tidelog.check.functions.assignable import Assignable
from tidelog.check.functions.exhaustive import Coverage
from tidelog.check.functions.free_variables import name_of, with_variables
from tidelog.check.inference import Inference, Local
from tidelog.check.inference.calls import Choice
from tidelog.check.inference.control import iterated
from tidelog.check.inference.drafts import current_flag
from tidelog.check.inference.literals import decimal_value, is_constant, literal_value
from tidelog.check.inference.state import BrokenDraftError
from tidelog.check.inference.text import text_choice
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.spans import Span
from tidelog.scaled_values import exact_decimal
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression
from tidelog.types import STRING, U32, UNIT, DecimalType, FloatType, NamedType, StringType, Type

Made = TypeVar("Made")
_MakePattern = Callable[[ast.Expression], typed.Pattern]


class Elaborator:
    """Makes the typed expressions of one function or rule; only when its inference has reported nothing."""

    def __init__(self, at: Inference) -> None:
        self.at = at
        self.assignable = Assignable(self)
        self.coverage = Coverage(at.environment)
        self._fresh = 0

    def complete(self, make: Callable[[], Made]) -> Made | None:
        """Returns the result of `make`, or None when an error was reported, here or in a declaration that this depends
        on."""
        try:
            made = make()
        except BrokenDraftError:
            assert self.at.diagnostics, "what is broken was reported"
            return None
        return None if self.at.errors else made

    def expression(self, node: ast.Expression) -> typed.Expression:
        return _RULES[type(node)](self, node)

    def fresh(self, type_: Type, span: Span) -> typed.Var:
        """Returns a variable that no text can name."""
        self._fresh += 1
        return typed.Var(f"#{self._fresh - 1}", type=type_, span=span)

    # Names and literals

    def _variable(self, node: ast.Variable) -> typed.Expression:
        local = self.at.locals.get(id(node))
        if local is None:
            return self._function(node)
        return typed.Var(local.unique, type=self.at.type(node), span=node.span)

    def _function(self, node: ast.Expression) -> typed.Expression:
        choice: Choice = self.at.choices[id(node)]
        type_arguments = self._type_arguments(choice, node.span)
        return typed.FunctionValue(choice.entry.id, type_arguments, type=self.at.type(node), span=node.span)

    def _literal(self, node: ast.Expression) -> typed.Expression:
        type_ = self.at.type(node)
        return typed.Lit(as_value(node, type_), type=type_, span=node.span)

    def _interpolation(self, node: ast.Interpolation) -> typed.Expression:
        """Returns the parts joined in a balanced tree: a long text must not become a deep one."""
        with self.assignable.unchanged():
            texts: list[typed.Expression] = [
                typed.Lit(part, type=STRING, span=node.span) if isinstance(part, str) else self._text(part)
                for part in node.parts
            ]
        while len(texts) > 1:
            odd = texts[len(texts) // 2 * 2 :]
            pairs = zip(texts[0::2], texts[1::2])
            texts = [typed.Binary("++", left, right, type=STRING, span=node.span) for left, right in pairs]
            texts += odd
        return texts[0]

    def _text(self, node: ast.Expression) -> typed.Expression:
        value = self.expression(node)
        choice: Choice | None = self.at.choices.get(text_choice(node))
        if choice is not None:
            type_arguments = self._type_arguments(choice, node.span)
            return typed.Call(choice.entry.id, type_arguments, (value,), type=STRING, span=value.span)
        return value if isinstance(value.type, StringType) else typed.ToString(value, type=STRING, span=value.span)

    def _interned(self, node: ast.Interned) -> typed.Expression:
        text = self.expression(node.text)
        return typed.Call("internment::intern", (STRING,), (text,), type=self.at.type(node), span=node.span)

    # Operators

    def _unary(self, node: ast.Unary) -> typed.Expression:
        if node.op == "-" and is_constant(node):
            return self._literal(node)
        with self.assignable.unchanged():
            return typed.Unary(node.op, self.expression(node.operand), type=self.at.type(node), span=node.span)

    def _binary(self, node: ast.Binary) -> typed.Expression:
        type_ = self.at.type(node)
        with self.assignable.unchanged():
            left = self.expression(node.left)
            is_text = node.op == "++" and isinstance(type_, StringType)
            right = self._text(node.right) if is_text else self.expression(node.right)
        return typed.Binary(node.op, left, right, type=type_, span=node.span)

    def _cast(self, node: ast.Cast) -> typed.Expression:
        return typed.Cast(self.expression(node.operand), type=self.at.type(node), span=node.span)

    def _annotation(self, node: ast.Annotation) -> typed.Expression:
        return self.expression(node.operand)

    def _slice(self, node: ast.Slice) -> typed.Expression:
        whole = self.expression(node.operand)
        low = typed.Lit(node.low, type=U32, span=node.span)
        shifted = typed.Binary(">>", whole, low, type=whole.type, span=node.span) if node.low else whole
        return typed.Cast(shifted, type=self.at.type(node), span=node.span)

    def _reference(self, node: ast.Reference) -> typed.Expression:
        return typed.MakeRef(self.expression(node.operand), type=self.at.type(node), span=node.span)

    def _try(self, node: ast.Try) -> typed.Expression:
        result = self.at.solved(self.at.choices[id(node)], node.span)
        return typed.Try(self.expression(node.operand), result, type=self.at.type(node), span=node.span)

    # Compound values

    def _tuple(self, node: ast.Tuple) -> typed.Expression:
        return typed.MakeTuple(self._all(node.items), type=self.at.type(node), span=node.span)

    def _struct(self, node: ast.Struct) -> typed.Expression:
        entry, values = self.at.choices[id(node)]
        return typed.Construct(entry.name, self._all(values), type=self.at.type(node), span=node.span)

    def _vector(self, node: ast.Vector) -> typed.Expression:
        return typed.MakeVec(self._all(node.items), type=self.at.type(node), span=node.span)

    def _map(self, node: ast.MapLiteral) -> typed.Expression:
        entries = tuple((self.expression(each.key), self.expression(each.value)) for each in node.entries)
        return typed.MakeMap(entries, type=self.at.type(node), span=node.span)

    def _field(self, node: ast.FieldAccess) -> typed.Expression:
        operand = self.dereferenced(self.expression(node.operand), self.at.choices[id(node)])
        return typed.Field(operand, node.field.text, type=self.at.type(node), span=node.span)

    def _item(self, node: ast.TupleField) -> typed.Expression:
        operand = self.dereferenced(self.expression(node.operand), self.at.choices[id(node)])
        return typed.TupleItem(operand, node.index, type=self.at.type(node), span=node.span)

    def dereferenced(self, value: typed.Expression, count: int) -> typed.Expression:
        """Returns the value behind some references."""
        for _ in range(count):
            assert isinstance(value.type, NamedType)
            value = typed.Deref(value, type=value.type.arguments[0], span=value.span)
        return value

    def _closure(self, node: ast.Closure) -> typed.Expression:
        parameters = []
        for parameter in node.parameters:
            local = self.at.locals[id(parameter)]
            mutable = current_flag(local.flag) is True
            parameters.append(typed.ClosureParameter(local.unique, self.at.solved(local.draft, local.span), mutable))
        with self.assignable.closure():
            body = self.expression(node.body)
        captured = typed.captured(parameters, body)
        return typed.Closure(tuple(parameters), body, captured, type=self.at.type(node), span=node.span)

    # Calls

    def _call(self, node: ast.Call) -> typed.Expression:
        group = self.at.groups.get(id(node))
        if group is not None:
            return typed.Var(group.unique, type=self.at.type(node), span=node.span)
        choice = self.at.choices.get(id(node))
        if choice is not None:
            return self._chosen(node, choice, node.arguments)
        function = self.expression(node.function)
        return self.assignable.call_value(node, function, self._all(node.arguments), self.at.type(node))

    def _method_call(self, node: ast.MethodCall) -> typed.Expression:
        group = self.at.groups.get(id(node))
        if group is not None:
            return typed.Var(group.unique, type=self.at.type(node), span=node.span)
        return self._chosen(node, self.at.choices[id(node)], (node.receiver, *node.arguments))

    def _chosen(self, node: ast.Expression, choice: Choice, arguments: tuple[ast.Expression, ...]) -> typed.Expression:
        entry = choice.entry
        assert entry.parameters is not None
        type_arguments = self._type_arguments(choice, node.span)
        call = typed.Call(entry.id, type_arguments, self._all(arguments), type=self.at.type(node), span=node.span)
        flags = [parameter.mutable for parameter in entry.parameters]
        return self.assignable.after_call(call, arguments, call.arguments, flags) if any(flags) else call

    def _type_arguments(self, choice: Choice, span: Span) -> tuple[Type, ...]:
        return tuple(self.at.solved(choice.meaning[name], span) for name in choice.entry.type_parameters)

    def _all(self, nodes: tuple[ast.Expression, ...]) -> tuple[typed.Expression, ...]:
        return tuple(self.expression(node) for node in nodes)

    # Control

    def _block(self, node: ast.Block) -> typed.Expression:
        expressions = [self.expression(each) for each in node.expressions]
        if node.ends_open or not expressions:
            expressions.append(typed.unit(node.span))
        if len(expressions) == 1:
            return expressions[0]
        return typed.Block(tuple(expressions), type=expressions[-1].type, span=node.span)

    def _conditional(self, node: ast.Conditional) -> typed.Expression:
        with self.assignable.unchanged():
            condition = self.expression(node.condition)
        then = self.expression(node.then)
        otherwise = typed.unit(node.span) if node.otherwise is None else self.expression(node.otherwise)
        return typed.IfElse(condition, then, otherwise, type=self.at.type(node), span=node.span)

    def _match(self, node: ast.Match) -> typed.Expression:
        subject = self.expression(node.subject)
        place = self.assignable.of(node.subject, subject)
        arms = []
        for arm in node.arms:
            pattern = self.pattern(arm.pattern)
            self.assignable.alias(pattern, place)
            arms.append(typed.Arm(pattern, self.expression(arm.value)))
        self._cover(node, subject.type, [arm.pattern for arm in arms])
        return typed.Match(subject, tuple(arms), type=self.at.type(node), span=node.span)

    def _cover(self, node: ast.Match, type_: Type, patterns: list[typed.Pattern]) -> None:
        missing = self.coverage.missing(patterns, type_)
        if missing is not None:
            self.at.report(
                Code.NOT_EXHAUSTIVE,
                "`match` does not cover every value",
                node.subject.span,
                f"`{missing}` fits no arm",
                help=f"`{missing} -> …`",
            )
        for place in self.coverage.unreachable(patterns, type_):
            pattern = node.arms[place].pattern
            if not is_otherwise(pattern):
                label = "earlier arms take all that would fit"
                self.at.report(Code.UNREACHABLE_ARM, "this arm is never reached", pattern.span, label)

    def _for(self, node: ast.For) -> typed.Expression:
        iterable = self.dereferenced(self.expression(node.iterable), self.at.choices[iterated(node.iterable)])
        pattern = self.pattern(node.pattern)
        self.irrefutable(node.pattern, pattern, "a loop")
        with self.assignable.iterating(node.iterable):
            body = self.expression(node.body)
        return typed.For(pattern, iterable, body, type=UNIT, span=node.span)

    def irrefutable(self, node: ast.Expression, pattern: typed.Pattern, where: str) -> None:
        """Reports a pattern that may fail where nothing could be done about it."""
        missing = self.coverage.missing([pattern], pattern.type)
        if missing is not None:
            self.at.report(
                Code.REFUTABLE_PATTERN,
                f"the pattern of {where} does not fit every value",
                node.span,
                f"`{missing}` does not fit" if missing != "_" else "not every value fits",
                help=_instead(node, where),
            )

    def _break(self, node: ast.Break) -> typed.Expression:
        return typed.Break(type=self.at.type(node), span=node.span)

    def _continue(self, node: ast.Continue) -> typed.Expression:
        return typed.Continue(type=self.at.type(node), span=node.span)

    def _return(self, node: ast.Return) -> typed.Expression:
        value = typed.unit(node.span) if node.value is None else self.expression(node.value)
        return typed.Return(value, type=self.at.type(node), span=node.span)

    def _assign(self, node: ast.Assign) -> typed.Expression:
        return self.assignable.assign(node, self.expression(node.value))

    # Patterns

    def pattern(self, node: ast.Expression, inside: _MakePattern | None = None) -> typed.Pattern:
        """Returns the typed form of a pattern. `Ref`s are gone: what is inside one has the type of the value inside.

        `inside` makes the patterns inside this one, if they are made in another way.
        """
        type_, span, inside = self.at.type(node), node.span, inside or self.pattern
        match node:
            case ast.Wildcard():
                return typed.AnyPattern(type=type_, span=span)
            case ast.Variable() | ast.VariableDeclaration():
                return self._bound(node, self.at.locals[id(node)], type_)
            case ast.Annotation(operand) | ast.Reference(operand) | ast.Block((operand,), False):
                return inside(operand)
            case ast.Tuple(items):
                return typed.TuplePattern(tuple(map(inside, items)), type=type_, span=span)
            case ast.Struct():
                entry, values = self.at.choices[id(node)]
                types = self.coverage.fields(entry.name, type_)
                fields = tuple(
                    typed.AnyPattern(type=field, span=span) if value is None else inside(value)
                    for value, field in zip(values, types)
                )
                return typed.ConstructPattern(entry.name, fields, type=type_, span=span)
            case ast.Binding(_, inner):
                return typed.AsPattern(self.at.locals[id(node)].unique, inside(inner), type=type_, span=span)
            case _ if is_constant(node):
                if isinstance(node, ast.Interned):
                    type_ = STRING
                return typed.LiteralPattern(as_value(node, type_), type=type_, span=span)
            case _:
                return typed.EqualPattern(self.expression(node), type=type_, span=span)

    def _bound(self, node: ast.Expression, local: Local, type_: Type) -> typed.Pattern:
        """Returns a variable in a pattern: the place that declares it, or one that compares with it."""
        if local.span is node.span:
            return typed.BindPattern(local.unique, type=type_, span=node.span)
        return typed.EqualPattern(typed.Var(local.unique, type=type_, span=node.span), type=type_, span=node.span)


def is_otherwise(pattern: ast.Expression) -> bool:
    """True if `check` itself added the arm, which may then be superfluous."""
    return pattern.span.start == pattern.span.end


def as_value(node: ast.Expression, type_: Type) -> typed.Value:
    """Returns a literal's value as values of its type are held: floats are canonical, those of 32 bits rounded, and
    decimals have the digits of their type."""
    if isinstance(type_, DecimalType):
        exact = exact_decimal(decimal_value(node), type_)
        assert exact is not None, "checked with the literals"
        return exact
    value = literal_value(node)
    if not isinstance(type_, FloatType) or not isinstance(value, int | float):
        return value
    try:
        number = float(value)
        if type_.width == 32:
            number = float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:  # of a `double`, that is reported where its type is found
        number = float("inf") if value > 0 else float("-inf")
    return number + 0.0


_RULES: dict[type, Callable[[Elaborator, Any], typed.Expression]] = {
    ast.Variable: Elaborator._variable,
    ast.FunctionName: Elaborator._function,
    ast.Boolean: Elaborator._literal,
    ast.Integer: Elaborator._literal,
    ast.Float: Elaborator._literal,
    ast.String: Elaborator._literal,
    ast.Temporal: Elaborator._literal,
    ast.Interpolation: Elaborator._interpolation,
    ast.Interned: Elaborator._interned,
    ast.Unary: Elaborator._unary,
    ast.Binary: Elaborator._binary,
    ast.Reference: Elaborator._reference,
    ast.Cast: Elaborator._cast,
    ast.Annotation: Elaborator._annotation,
    ast.Slice: Elaborator._slice,
    ast.Try: Elaborator._try,
    ast.FieldAccess: Elaborator._field,
    ast.TupleField: Elaborator._item,
    ast.Call: Elaborator._call,
    ast.MethodCall: Elaborator._method_call,
    ast.Tuple: Elaborator._tuple,
    ast.Struct: Elaborator._struct,
    ast.Vector: Elaborator._vector,
    ast.MapLiteral: Elaborator._map,
    ast.Closure: Elaborator._closure,
    ast.Assign: Elaborator._assign,
    ast.Block: Elaborator._block,
    ast.Conditional: Elaborator._conditional,
    ast.Match: Elaborator._match,
    ast.For: Elaborator._for,
    ast.Break: Elaborator._break,
    ast.Continue: Elaborator._continue,
    ast.Return: Elaborator._return,
}


def _instead(node: ast.Expression, where: str) -> str:
    """Returns a help for a pattern that may fail where it must fit."""
    pattern = show_expression(node)
    if where == "a `FlatMap`":
        return f"a second literal leaves out items that do not fit: `var item = FlatMap(…), {pattern} = item`"
    # The arms of a `match` need no `var`.
    plain = show_expression(with_variables(node, lambda each: ast.Variable(name_of(each), span=each.span)))
    if where == "a loop":
        return f"`match` looks at each item: `for (item in …) match (item) {{ {plain} -> …, _ -> () }}`"
    return f"`match` has an arm for the others: `match (…) {{ {plain} -> …, _ -> … }}`"
