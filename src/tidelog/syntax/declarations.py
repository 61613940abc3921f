"""Tokens → declarations: imports, types, functions, relations, indexes and transformers."""

from __future__ import annotations

from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast
from tidelog.syntax.cursor import Cursor
from tidelog.syntax.expressions import expression, limited
from tidelog.syntax.rules import atom
from tidelog.syntax.terms import block
from tidelog.syntax.tokens import Kind, Token
from tidelog.syntax.types import argument_type, result_type, type_

Attributes = tuple[ast.Attribute, ...]


def attributes(cursor: Cursor) -> Attributes:
    """Takes all the `#[…]` that stand here."""
    found: list[ast.Attribute] = []
    while cursor.at("#"):
        first = cursor.next()
        cursor.expect("[")
        name = cursor.word("the name of an attribute")
        given = expression(cursor) if cursor.accept("=") else None
        cursor.expect("]")
        found.append(ast.Attribute(name, given, span=cursor.since(first)))
    return tuple(found)


def import_(cursor: Cursor) -> ast.Import:
    """Takes `import a::b as c`."""
    first = cursor.expect("import")
    module = cursor.scoped("the name of a module")
    alias = cursor.scoped("the name of a module") if cursor.accept("as") else None
    return ast.Import(module, alias, span=cursor.since(first))


def typedef(cursor: Cursor, first: Token, given: Attributes) -> ast.TypeDeclaration:
    """Takes `typedef name<'A> = definition`; with its attributes it begins at `first`."""
    cursor.expect("typedef")
    name = cursor.scoped("a type's name")
    parameters = _type_parameters(cursor)
    cursor.expect("=")
    definition = _constructors(cursor) if _constructor_follows(cursor) else type_(cursor)
    return ast.TypeDeclaration(name, parameters, definition, given, span=cursor.since(first))


def function(cursor: Cursor, first: Token, given: Attributes) -> ast.FunctionDeclaration:
    """Takes `function name(parameters): result` and its body, in braces or behind `=`."""
    cursor.expect("function")
    name, parameters, result = _signature(cursor)
    equals = cursor.accept("=")
    if not equals and not cursor.at("{"):
        others = ("=",) if result else (":", "=")
        cursor.expect("{", *others, help="a function that is written in Python is an `extern function`")
    body = expression(cursor) if equals else limited(cursor, block)
    return ast.FunctionDeclaration(name, parameters, result, body, equals, given, span=cursor.since(first))


def extern(cursor: Cursor, first: Token, given: Attributes) -> ast.Item:
    """Takes an extern type, function or transformer."""
    cursor.expect("extern")
    if cursor.accept("type"):
        name = cursor.scoped("a type's name")
        return ast.TypeDeclaration(name, _type_parameters(cursor), None, given, span=cursor.since(first))
    if cursor.accept("function"):
        name, parameters, result = _signature(cursor)
        return ast.FunctionDeclaration(name, parameters, result, None, False, given, span=cursor.since(first))
    cursor.expect("transformer", "type", "function")
    refuse_attributes(cursor, given)
    name = cursor.scoped("a transformer's name", Kind.UPPER)
    cursor.expect("(")
    inputs = cursor.listed(")", _transformer_parameter)
    cursor.expect("->")
    cursor.expect("(")
    outputs = cursor.listed(")", _transformer_parameter)
    return ast.TransformerDeclaration(name, inputs, outputs, span=cursor.since(first))


def relation(cursor: Cursor, first: Token, given: Attributes) -> ast.RelationDeclaration:
    """Takes the declaration of a relation, a multiset or a stream."""
    role = cursor.next().text if cursor.at("input") or cursor.at("output") else ""
    if not (cursor.at("multiset") or cursor.at("stream")):
        cursor.expect("relation", *(("multiset", "stream") if role else ()))
        cursor.index -= 1
    kind = cursor.next().text
    reference = cursor.accept("&")
    name = cursor.scoped("a relation's name", Kind.UPPER)
    columns: tuple[ast.Column, ...] = ()
    rows = None
    if cursor.accept("["):
        rows = type_(cursor)
        cursor.expect("]")
    else:
        cursor.expect("(", "[")
        columns = cursor.listed(")", _column)
    key = _primary_key(cursor)
    return ast.RelationDeclaration(role, name, columns, kind, reference, rows, key, given, span=cursor.since(first))


def index(cursor: Cursor) -> ast.IndexDeclaration:
    """Takes `index name(columns) on atom`."""
    first = cursor.next()
    name = cursor.scoped("an index's name")
    cursor.expect("(")
    columns = cursor.listed(")", _column)
    if not cursor.at_word("on"):
        cursor.unexpected("`on`")
    cursor.next()
    indexed = atom(cursor, bare=True)
    return ast.IndexDeclaration(name, columns, indexed, span=cursor.since(first))


def apply(cursor: Cursor) -> ast.Apply:
    """Takes `apply transformer(inputs) -> (outputs)`."""
    first = cursor.expect("apply")
    transformer = cursor.scoped("a transformer's name", Kind.UPPER)
    cursor.expect("(")
    inputs = cursor.listed(")", lambda at: at.scoped("a relation or a function"))
    cursor.expect("->")
    cursor.expect("(")
    outputs = cursor.listed(")", lambda at: at.scoped("a relation's name", Kind.UPPER))
    return ast.Apply(transformer, inputs, outputs, span=cursor.since(first))


def refuse_attributes(cursor: Cursor, given: Attributes) -> None:
    """Fails where attributes stand before an item that takes none."""
    if given:
        label = "only types, functions, relations and rules take one"
        message = "an attribute stands before an item that takes none"
        cursor.fail(Code.UNEXPECTED_TOKEN, message, label, at=given[0].span)


def _type_parameters(cursor: Cursor) -> tuple[ast.Name, ...]:
    return cursor.listed(">", _type_parameter) if cursor.accept("<") else ()


def _type_parameter(cursor: Cursor) -> ast.Name:
    cursor.expect("'")
    return cursor.name("the name of a type variable", Kind.UPPER)


def _constructor_follows(cursor: Cursor) -> bool:
    """True before `#` or `C{` or `C |`; `c{` can only be a constructor with a wrong name."""
    end = cursor.scope_end()
    name, after = cursor.peek(end), cursor.peek(end + 1)
    if name.kind is Kind.UPPER:
        return after.text in ("{", "|")
    return cursor.at("#") or (name.kind is Kind.LOWER and after.text == "{")


def _constructors(cursor: Cursor) -> ast.Constructors:
    first = cursor.token
    found = [_constructor(cursor)]
    while cursor.accept("|"):
        found.append(_constructor(cursor))
    return ast.Constructors(tuple(found), span=cursor.since(first))


def _constructor(cursor: Cursor) -> ast.Constructor:
    first = cursor.token
    given = attributes(cursor)
    name = cursor.scoped("a constructor", Kind.UPPER)
    fields = cursor.listed("}", _field) if cursor.accept("{") else ()
    return ast.Constructor(name, fields, given, span=cursor.since(first))


def _field(cursor: Cursor) -> ast.Field:
    first = cursor.token
    given = attributes(cursor)
    name = cursor.name("a field's name", Kind.LOWER)
    cursor.expect(":", help=f"a field has a type, for example `{name.text}: string`")
    field_type = type_(cursor)
    return ast.Field(name, field_type, given, span=cursor.since(first))


def _column(cursor: Cursor) -> ast.Column:
    first = cursor.token
    given = attributes(cursor)
    name = cursor.name("a column's name", Kind.LOWER)
    cursor.expect(":", help=f"a column has a type, for example `{name.text}: string`")
    column_type = type_(cursor)
    return ast.Column(name, column_type, given, span=cursor.since(first))


def _primary_key(cursor: Cursor) -> ast.PrimaryKey | None:
    first = cursor.token
    if not cursor.at_word("primary"):
        return None
    cursor.next()
    if not cursor.at_word("key"):
        cursor.unexpected("`key`")
    cursor.next()
    cursor.expect("(")
    variable = cursor.name("a variable", Kind.LOWER)
    cursor.expect(")")
    key = expression(cursor)
    return ast.PrimaryKey(variable, key, span=cursor.since(first))


def _signature(cursor: Cursor) -> tuple[ast.Name, tuple[ast.Parameter, ...], ast.Type | None]:
    name = cursor.scoped("a function's name", Kind.LOWER)
    cursor.expect("(")
    parameters = cursor.listed(")", _parameter)
    return name, parameters, result_type(cursor)


def _parameter(cursor: Cursor) -> ast.Parameter:
    first = cursor.token
    given = attributes(cursor)
    name = cursor.name("a parameter", Kind.LOWER)
    cursor.expect(":", help=f"a parameter has a type, for example `{name.text}: string`")
    parameter_type = argument_type(cursor)
    return ast.Parameter(name, parameter_type, given, span=cursor.since(first))


def _transformer_parameter(cursor: Cursor) -> ast.TransformerParameter:
    first = cursor.token
    name = cursor.word("the name of a relation or a function")
    cursor.expect(":")
    start = cursor.token
    parameter_type: ast.RelationType | ast.FunctionSignature
    if cursor.accept("relation"):
        cursor.expect("[")
        rows = type_(cursor)
        cursor.expect("]")
        parameter_type = ast.RelationType(rows, span=cursor.since(start))
    else:
        cursor.expect("function", "relation")
        cursor.expect("(")
        parameters = cursor.listed(")", _parameter)
        cursor.expect(":")
        result = type_(cursor)
        parameter_type = ast.FunctionSignature(parameters, result, span=cursor.since(start))
    return ast.TransformerParameter(name, parameter_type, span=cursor.since(first))
