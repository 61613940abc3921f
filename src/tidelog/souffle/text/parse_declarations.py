"""Directives and declarations: types, relations, functors, components, input and output, pragmas, lattices."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.spans import Span
from tidelog.souffle.text import tree
from tidelog.souffle.text.cursor import Cursor
from tidelog.souffle.text.parse_arguments import argument
from tidelog.souffle.text.tokens import Kind, Token

REPRESENTATIONS = ("brie", "btree", "btree_delete", "eqrel")
_IO = ("input", "output", "printsize")
_QUALIFIERS = (*REPRESENTATIONS, "overridable", "inline", "no_inline", "magic", "no_magic", *_IO)
_LATTICE_OPERATORS = ("Bottom", "Top", "Lub", "Glb", "Leq")


def directive_item(cursor: Cursor, *, inside: bool) -> list[tree.Item]:
    """Reads a directive, and returns the items that it stands for. `inside` a component some of them cannot be."""
    first = cursor.token
    if inside and first.text in (".pragma", ".functor"):
        cursor.unexpected("a clause or a declaration", f"`{first.text}` stands outside of components")
    match first.text:
        case ".type" | ".number_type" | ".symbol_type":
            return [_type(cursor)]
        case ".decl":
            return _relations(cursor)
        case ".functor":
            return [_functor(cursor)]
        case ".input" | ".output" | ".printsize" | ".limitsize":
            return _directives(cursor)
        case ".pragma":
            return [_pragma(cursor)]
        case ".lattice":
            return [_lattice(cursor)]
    cursor.unexpected("a clause or a declaration")


# Types


def _type(cursor: Cursor) -> tree.TypeDeclaration:
    first = cursor.next()
    name = cursor.word("the name of a type")
    if first.text != ".type":
        base = "number" if first.text == ".number_type" else "symbol"
        return tree.TypeDeclaration(name.text, "subset", ((base, name.span),), span=name.span)
    if cursor.take("<:"):
        base, span = cursor.qualified("a type")
        return tree.TypeDeclaration(name.text, "subset", ((base, span),), span=name.span)
    if not cursor.take("="):
        return tree.TypeDeclaration(name.text, "subset", (("symbol", name.span),), span=name.span)
    if cursor.take("["):
        return tree.TypeDeclaration(name.text, "record", attributes=attributes(cursor, "]"), span=name.span)
    _annotations(cursor)
    if cursor.token.kind is Kind.WORD and cursor.peek().text == "{":
        branches = [_branch(cursor)]
        while cursor.take("|"):
            _annotations(cursor)
            branches.append(_branch(cursor))
        return tree.TypeDeclaration(name.text, "branches", branches=tuple(branches), span=name.span)
    types = [cursor.qualified("a type")]
    while cursor.take("|"):
        types.append(cursor.qualified("a type"))
    return tree.TypeDeclaration(name.text, "union" if len(types) > 1 else "alias", tuple(types), span=name.span)


def _branch(cursor: Cursor) -> tree.BranchDeclaration:
    name = cursor.word("the name of a branch")
    cursor.expect("{")
    _annotations(cursor)
    return tree.BranchDeclaration(name.text, attributes(cursor, "}"), span=name.span)


def attributes(cursor: Cursor, closing: str) -> tuple[tree.Attribute, ...]:
    """Reads `name: type, …` up to a closing mark, which is taken."""
    found: list[tree.Attribute] = []
    if not cursor.at(closing):
        found.append(_attribute(cursor))
        while cursor.take(","):
            found.append(_attribute(cursor))
    cursor.expect(closing, f"`,` or `{closing}`")
    return tuple(found)


def _attribute(cursor: Cursor) -> tree.Attribute:
    _annotations(cursor)
    name = cursor.word("the name of an attribute")
    cursor.expect(":")
    type_, span = cursor.qualified("a type")
    lattice = bool(cursor.at("<") and cursor.peek().text == ">")
    if lattice:
        cursor.next()
        cursor.next()
    return tree.Attribute(name.text, type_, lattice, span=cursor.between(name.span, span))


# Relations


def _relations(cursor: Cursor) -> list[tree.Item]:
    cursor.next()
    names = [cursor.word("the name of a relation")]
    if cursor.take("="):
        cursor.expect("debug_delta")
        cursor.expect("(")
        of = cursor.word("the name of a relation").text
        cursor.expect(")")
        tags = _tags(cursor)
        return [tree.RelationDeclaration(names[0].text, (), tags, delta_of=of, span=names[0].span)]
    while cursor.take(","):
        names.append(cursor.word("the name of a relation"))
    cursor.expect("(")
    columns = attributes(cursor, ")")
    tags = _tags(cursor)
    dependencies = _dependencies(cursor)
    found: list[tree.Item] = []
    for name in names:
        found.append(tree.RelationDeclaration(name.text, columns, tags, dependencies, span=name.span))
        for tag in _IO:
            if tag in tags:
                found.append(tree.Directive(tag, name.text, span=name.span))
    return found


def _tags(cursor: Cursor) -> tuple[str, ...]:
    found: list[str] = []
    while cursor.at(*_QUALIFIERS):
        token = cursor.next()
        if token.text in found:
            cursor.report(Code.REPEATED_NAME, f"the qualifier `{token.text}` stands twice", token.span, "a second time")
        other = next((tag for tag in found if tag in REPRESENTATIONS and token.text in REPRESENTATIONS), None)
        if other is not None and other != token.text:
            cursor.report(
                Code.BAD_ATTRIBUTE,
                f"a relation is both `{other}` and `{token.text}`",
                token.span,
                "a second representation",
            )
        found.append(token.text)
    return tuple(found)


def _dependencies(cursor: Cursor) -> tuple[tuple[tuple[str, ...], Span], ...]:
    if not cursor.take("choice-domain"):
        return ()
    found: list[tuple[tuple[str, ...], Span]] = []
    while True:
        first = cursor.token
        names: list[str] = []
        if cursor.take("("):
            names.append(cursor.word("the name of an attribute").text)
            while cursor.take(","):
                names.append(cursor.word("the name of an attribute").text)
            cursor.expect(")")
        else:
            names.append(cursor.word("the name of an attribute").text)
        found.append((tuple(names), cursor.since(first)))
        if not cursor.take(","):
            return tuple(found)


# Functors, directives, pragmas, lattices


def _functor(cursor: Cursor) -> tree.FunctorDeclaration:
    first = cursor.next()
    name = cursor.word("the name of a functor")
    cursor.expect("(")
    parameters: list[tree.Attribute] = []
    if not cursor.at(")"):
        parameters.append(_parameter(cursor))
        while cursor.take(","):
            parameters.append(_parameter(cursor))
    cursor.expect(")", "`,` or `)`")
    cursor.expect(":")
    result, _ = cursor.qualified("a type")
    stateful = cursor.take("stateful") is not None
    return tree.FunctorDeclaration(name.text, tuple(parameters), result, stateful, span=cursor.since(first))


def _parameter(cursor: Cursor) -> tree.Attribute:
    _annotations(cursor)
    name, span = cursor.qualified("a type")
    if "." not in name and cursor.take(":"):
        type_, span = cursor.qualified("a type")
        return tree.Attribute(name, type_, span=span)
    return tree.Attribute("", name, span=span)


def _directives(cursor: Cursor) -> list[tree.Item]:
    first = cursor.next()
    names = [cursor.qualified("the name of a relation")]
    while cursor.take(","):
        names.append(cursor.qualified("the name of a relation"))
    parameters: list[tuple[str, str]] = []
    if cursor.take("("):
        if not cursor.at(")"):
            parameters.append(_pair(cursor))
            while cursor.take(","):
                parameters.append(_pair(cursor))
        cursor.expect(")", "`,` or `)`")
    kind = first.text[1:]
    return [tree.Directive(kind, name, tuple(parameters), span=span) for name, span in names]


def _pair(cursor: Cursor) -> tuple[str, str]:
    key = cursor.word("a parameter")
    cursor.expect("=")
    token = cursor.token
    is_value = token.kind in (Kind.STRING, Kind.WORD, Kind.NUMBER) or cursor.at("true", "false")
    if not is_value:
        cursor.unexpected("a text, a word or a number")
    cursor.next()
    return key.text, token.value


def _pragma(cursor: Cursor) -> tree.Pragma:
    first = cursor.next()
    key = _text(cursor)
    value = cursor.next().value if cursor.token.kind is Kind.STRING else ""
    return tree.Pragma(key.value, value, span=cursor.since(first))


def _text(cursor: Cursor) -> Token:
    if cursor.token.kind is not Kind.STRING:
        cursor.unexpected("a text")
    return cursor.next()


def _lattice(cursor: Cursor) -> tree.Lattice:
    first = cursor.next()
    name = cursor.word("the name of a type")
    cursor.expect("<")
    cursor.expect(">")
    cursor.expect("{")
    operators: list[tuple[str, tree.Argument]] = []
    while True:
        operator = cursor.word("an operator of the lattice")
        if operator.text not in _LATTICE_OPERATORS:
            cursor.report(
                Code.UNEXPECTED_TOKEN,
                f"`{operator.text}` is no operator of a lattice",
                operator.span,
                "not known",
                f"the operators are {', '.join(f'`{each}`' for each in _LATTICE_OPERATORS)}",
            )
        cursor.expect("->")
        operators.append((operator.text, argument(cursor)))
        if not cursor.take(","):
            break
    cursor.expect("}", "`,` or `}`")
    return tree.Lattice(name.text, tuple(operators), span=cursor.since(first))


# Components


Items = Callable[[Cursor, "list[tree.Item]", "str | None"], None]


def component(cursor: Cursor, items: Items) -> tree.Component:
    """Reads `.comp …`; `items` reads what stands between its braces."""
    first = cursor.next()
    type_ = _component_type(cursor)
    bases: list[tree.ComponentType] = []
    while cursor.take(":", ","):
        bases.append(_component_type(cursor))
    cursor.expect("{")
    cursor.deeper()
    found: list[tree.Item] = []
    items(cursor, found, "}")
    cursor.nesting -= 1
    if cursor.finished():
        cursor.fail(Code.UNEXPECTED_TOKEN, "a component does not end", type_.span, "its `}` is missing")
    cursor.next()
    return tree.Component(type_, tuple(bases), tuple(found), span=cursor.since(first))


def init(cursor: Cursor) -> tree.Instance:
    cursor.next()
    name = cursor.word("the name of an instance")
    cursor.expect("=")
    type_ = _component_type(cursor)
    return tree.Instance(name.text, type_, span=cursor.between(name.span, type_.span))


def _component_type(cursor: Cursor) -> tree.ComponentType:
    first = cursor.word("the name of a component")
    parameters: list[str] = []
    if cursor.take("<"):
        parameters.append(cursor.word("a type").text)
        while cursor.take(","):
            parameters.append(cursor.word("a type").text)
        cursor.expect(">", "`,` or `>`")
    return tree.ComponentType(first.text, tuple(parameters), span=cursor.since(first))


def _annotations(cursor: Cursor) -> None:
    from tidelog.souffle.text.parse import skip_annotations

    skip_annotations(cursor)
