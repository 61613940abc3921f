"""Random trees over the whole grammar, as the parser could have made them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import strategies as st

from tidelog.diagnostics.spans import Source, Span
from tidelog.syntax import ast
from tidelog.syntax.expressions import PRIORITY

T = TypeVar("T")
Expressions = st.SearchStrategy[ast.Expression]
Types = st.SearchStrategy[ast.Type]

SPAN = Span(Source("<tree>", ""), 0, 0)


def build(
    kind: Callable[..., T], *fields: st.SearchStrategy[object], **named: st.SearchStrategy[object]
) -> st.SearchStrategy[T]:
    """A node of random fields, at no place."""
    return st.builds(kind, *fields, span=st.just(SPAN), **named)


def short(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """The same strategy with a short name: Hypothesis writes strategies out, and these contain one another."""
    return st.composite(lambda draw: draw(strategy))()


def several(element: st.SearchStrategy[T], least: int = 0, most: int = 3) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(element, min_size=least, max_size=most).map(tuple)


def not_one(element: st.SearchStrategy[T]) -> st.SearchStrategy[tuple[T, ...]]:
    return several(element, 2) | st.just(())


# Names

lower = st.sampled_from(["x", "y", "_z", "name", "i", "f2", "group_by", "on", "key"])
upper = st.sampled_from(["R", "Edge", "I_1", "Tab0"])
modules = st.sampled_from(["", "", "", "net::", "A::b::"])
texts = st.text(max_size=8).filter(lambda text: "${" not in text)


def scoped(words: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(str.__add__, modules, words)


def named(words: st.SearchStrategy[str]) -> st.SearchStrategy[ast.Name]:
    return build(ast.Name, words)


lower_names, upper_names, any_names = named(lower), named(upper), named(lower | upper)
scoped_lower, scoped_upper, scoped_any = named(scoped(lower)), named(scoped(upper)), named(scoped(lower | upper))

# Types

simple_types: Types = st.one_of(
    build(ast.NamedType, st.sampled_from(["bool", "string", "bigint", "double", "u8", "s64", "size", "Vec", "m::T"])),
    build(ast.SizedType, st.sampled_from(["bit", "signed"]), st.integers(1, 300)),
    build(ast.TypeVariable, st.sampled_from(["A", "B1", "F", "S"])),
)


def argument_types(types: Types) -> st.SearchStrategy[ast.ArgumentType]:
    return build(ast.ArgumentType, st.booleans(), types)


def _deeper_types(types: Types) -> Types:
    return st.one_of(
        build(ast.NamedType, st.sampled_from(["Vec", "map", "m::Pair"]), several(types, 1, 2)),
        build(ast.TupleType, not_one(types)),
        build(ast.FunctionType, several(argument_types(types), 0, 2), st.none() | types, st.booleans()),
    )


types: Types = short(st.recursive(simple_types, _deeper_types, max_leaves=4))

# Constants


@st.composite
def integers(draw: st.DrawFn) -> ast.Integer:
    width = draw(st.none() | st.integers(1, 70))
    signed = draw(st.booleans())
    value = draw(st.integers(0, 2**64)) if width is None else draw(st.integers(0, 2**width - 1))
    if width is not None and signed and value >> (width - 1):
        value -= 1 << width
    return ast.Integer(value, width, signed, draw(st.sampled_from("bodh")), span=SPAN)


floats = st.one_of(
    build(ast.Float, st.floats(0, allow_nan=False, allow_infinity=False), st.sampled_from([None, 64])),
    build(ast.Float, st.floats(0, width=32, allow_nan=False, allow_infinity=False), st.just(32)),
)
# A raw string is the only one that holds a `${`; it has no tabs.
raw_texts = st.text(st.characters(exclude_characters="\t", codec="utf-8"), max_size=4).map(lambda text: f"{text}${{")
strings = build(ast.String, texts | raw_texts.filter(lambda text: "|]" not in text))
constants: Expressions = st.one_of(build(ast.Boolean, st.booleans()), integers(), floats, strings)

# Patterns


def structs(inner: Expressions) -> st.SearchStrategy[ast.Struct]:
    arguments = build(ast.Argument, st.none() | lower_names, inner)
    return build(ast.Struct, scoped_upper, several(arguments)) | build(ast.Struct, scoped_upper, bare=st.just(True))


simple_patterns: Expressions = st.one_of(
    build(ast.Wildcard), build(ast.Variable, lower), build(ast.VariableDeclaration, lower_names), constants
)
patterns: Expressions = short(
    st.recursive(
        simple_patterns,
        lambda inner: st.one_of(build(ast.Tuple, not_one(inner)), structs(inner), build(ast.Annotation, inner, types)),
        max_leaves=4,
    )
)

# Expressions


@st.composite
def interpolations(draw: st.DrawFn, inner: Expressions) -> ast.Interpolation:
    parts: list[str | ast.Expression] = []
    for expression in draw(st.lists(inner, min_size=1, max_size=3)):
        text = draw(texts)
        parts += [text, expression] if text else [expression]
    text = draw(texts)
    return ast.Interpolation((*parts, text) if text else tuple(parts), span=SPAN)


def blocks(inner: Expressions) -> st.SearchStrategy[ast.Block]:
    return build(ast.Block, several(inner, 1), st.booleans()) | build(ast.Block, st.just(()))


def closures(inner: Expressions) -> st.SearchStrategy[ast.Closure]:
    parameters = several(build(ast.ClosureParameter, lower_names, st.none() | argument_types(types)), 0, 2)
    result = st.none() | types
    return build(ast.Closure, parameters, result, inner, st.just(True)) | build(
        ast.Closure, parameters, result, blocks(inner), st.just(False)
    )


def _operators(inner: Expressions) -> Expressions:
    return st.one_of(
        build(ast.Unary, st.sampled_from(["-", "~", "not"]), inner),
        build(ast.Binary, st.sampled_from(sorted(PRIORITY)), inner, inner),
        build(ast.Reference, inner),
        build(ast.Cast, inner, types),
        build(ast.Annotation, inner, types),
        build(ast.Slice, inner, st.integers(0, 99), st.integers(0, 99)),
        build(ast.Try, inner),
        build(ast.FieldAccess, inner, lower_names),
        build(ast.TupleField, inner, st.integers(0, 12)),
        build(ast.Call, inner, several(inner)),
        build(ast.MethodCall, inner, scoped_lower, several(inner)),
    )


def _compounds(inner: Expressions) -> Expressions:
    return st.one_of(
        interpolations(inner),
        build(ast.Interned, strings | interpolations(inner)),
        build(ast.Tuple, not_one(inner)),
        structs(inner),
        build(ast.Vector, several(inner, 1)),
        build(ast.MapLiteral, several(build(ast.MapEntry, inner, inner), 1)),
        closures(inner),
        build(ast.Binding, lower_names, inner),
    )


def _control(inner: Expressions) -> Expressions:
    return st.one_of(
        build(ast.Assign, inner, inner),
        blocks(inner),
        build(ast.Conditional, inner, inner, st.none() | inner),
        build(ast.Match, inner, several(build(ast.MatchArm, patterns, inner), 1)),
        build(ast.For, patterns, inner, inner),
        build(ast.Break),
        build(ast.Continue),
        build(ast.Return, st.none() | inner),
    )


leaves: Expressions = st.one_of(
    simple_patterns,
    build(ast.FunctionName, lower.map("net::".__add__)),
    build(ast.Struct, scoped_upper, bare=st.just(True)),
)
expressions: Expressions = short(
    st.recursive(leaves, lambda inner: _operators(inner) | _compounds(inner) | _control(inner), max_leaves=8)
)
attributes = short(several(build(ast.Attribute, any_names, st.none() | expressions), 0, 2))

# Rules


@st.composite
def atoms(draw: st.DrawFn, *, head: bool = False, bare: bool = False) -> ast.Atom:
    arguments = draw(several(build(ast.Argument, st.none() | lower_names, expressions)))
    value = draw(st.none() | expressions)
    is_bare = bare and draw(st.booleans())
    return ast.Atom(
        draw(scoped_upper),
        () if value or is_bare else arguments,
        None if is_bare else value,
        is_bare,
        None if head else draw(st.none() | lower_names),
        False if head else draw(st.booleans()),
        draw(st.sampled_from([0, 0, 1, 12])),
        draw(st.booleans()),
        draw(st.none() | expressions) if head else None,
        span=SPAN,
    )


def _is_new_variable(node: ast.Expression) -> bool:
    """True for what makes an Assignment of `… = e`, or an error."""
    plain = node.operand if isinstance(node, ast.Annotation) else node
    return isinstance(plain, ast.VariableDeclaration) or isinstance(node, ast.Variable)


variables = build(ast.Variable, lower)
literals: st.SearchStrategy[ast.Literal] = st.one_of(
    build(ast.Positive, atoms()),
    build(ast.Negative, atoms()),
    build(ast.Condition, expressions),
    build(ast.Assignment, lower_names, st.none() | types, expressions),
    build(ast.Destructuring, expressions.filter(lambda node: not _is_new_variable(node)), expressions),
    build(ast.FlatMap, patterns.filter(lambda node: not isinstance(node, ast.Variable)), expressions),
    build(ast.Aggregate, lower_names, several(variables), scoped_lower, expressions),
    build(ast.RowAggregates, patterns, expressions, several(expressions)),
    build(ast.Inspect, expressions),
)
rules = build(ast.Rule, several(atoms(head=True, bare=True), 1, 2), several(literals), attributes)

# Imperative rules


def _takes_else(statement: ast.Statement) -> bool:
    """True if an `else` behind the statement would belong to it."""
    match statement:
        case ast.IfStatement(otherwise=None):
            return True
        case ast.IfStatement(otherwise=last) if last is not None:
            return _takes_else(last)
        case ast.ForStatement(body=last) | ast.AssignStatement(body=last):
            return _takes_else(last)
        case _:
            return False


def _for_statements(inner: st.SearchStrategy[ast.Statement]) -> st.SearchStrategy[ast.ForStatement]:
    return build(ast.ForStatement, atoms(bare=True), st.none() | expressions, inner)


def _deeper_statements(inner: st.SearchStrategy[ast.Statement]) -> st.SearchStrategy[ast.Statement]:
    conditional = build(ast.IfStatement, expressions, inner, st.none() | inner)
    new_variables = patterns.filter(lambda node: not isinstance(node, ast.Variable))
    return st.one_of(
        _for_statements(inner),
        short(conditional).filter(lambda each: each.otherwise is None or not _takes_else(each.then)),
        build(ast.MatchStatement, expressions, several(build(ast.StatementArm, patterns, inner), 1)),
        build(ast.AssignStatement, build(ast.Assign, new_variables, expressions), inner),
        build(ast.BlockStatement, several(inner)),
    )


simple_statements = build(ast.InsertStatement, atoms(head=True, bare=True)) | build(ast.SkipStatement)
statements = short(st.recursive(simple_statements, _deeper_statements, max_leaves=4))

# Declarations

fields = several(build(ast.Field, lower_names, types, attributes))
columns = several(build(ast.Column, lower_names, types, attributes))
constructors = build(ast.Constructors, several(build(ast.Constructor, scoped_upper, fields, attributes), 1))
type_parameters = several(named(st.sampled_from(["A", "B1"])), 0, 2)
parameters = several(build(ast.Parameter, lower_names, argument_types(types), attributes))
results = st.none() | types
keys = build(ast.PrimaryKey, lower_names, expressions)
roles, kinds = st.sampled_from(["input", "output", ""]), st.sampled_from(["relation", "multiset", "stream"])
signatures = build(ast.RelationType, types) | build(ast.FunctionSignature, parameters, types)
relations_and_functions = several(build(ast.TransformerParameter, any_names, signatures))

declarations: st.SearchStrategy[ast.Item] = st.one_of(
    build(ast.Import, scoped_any, st.none() | scoped_any),
    build(ast.TypeDeclaration, scoped_any, type_parameters, st.none() | types | constructors, attributes),
    build(ast.FunctionDeclaration, scoped_lower, parameters, results, st.none(), st.just(False), attributes),
    build(ast.FunctionDeclaration, scoped_lower, parameters, results, blocks(expressions), st.just(False), attributes),
    build(ast.FunctionDeclaration, scoped_lower, parameters, results, expressions, st.just(True), attributes),
    build(
        ast.RelationDeclaration,
        roles,
        scoped_upper,
        columns,
        kinds,
        st.booleans(),
        st.none(),
        st.none() | keys,
        attributes,
    ),
    build(
        ast.RelationDeclaration,
        roles,
        scoped_upper,
        st.just(()),
        kinds,
        st.booleans(),
        types,
        st.none() | keys,
        attributes,
    ),
    build(ast.IndexDeclaration, scoped_any, columns, atoms(bare=True)),
    build(ast.TransformerDeclaration, scoped_upper, relations_and_functions, relations_and_functions),
    build(ast.Apply, scoped_upper, several(scoped_any), several(scoped_upper)),
)
items: st.SearchStrategy[ast.Item] = rules | declarations | _for_statements(statements)
programs = build(ast.Program, several(items, 0, 4))
