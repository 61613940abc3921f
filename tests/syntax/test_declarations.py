"""Imports, types, functions, relations, indexes and transformers."""

from __future__ import annotations

import pytest

from tests.syntax.reading import codes, item, name, program
from tidelog.syntax import ast


def test_imports() -> None:
    assert item("import net::ipv4", ast.Import).alias is None
    found = item("import net::ipv4 as a::b", ast.Import)
    assert (found.module.text, found.alias) == ("net::ipv4", name("a::b"))


def test_an_alias_a_struct_and_a_union() -> None:
    alias = item("typedef t = Vec<u8>", ast.TypeDeclaration)
    assert isinstance(alias.definition, ast.NamedType)
    struct = item("typedef T<'A,'B> = T{#[rust = 1] x: 'A, y: 'B,}", ast.TypeDeclaration)
    assert isinstance(struct.definition, ast.Constructors)
    assert struct.parameters == (name("A"), name("B"))
    assert [field.name.text for field in struct.definition.constructors[0].fields] == ["x", "y"]
    assert struct.definition.constructors[0].fields[0].attributes[0].name == name("rust")
    union = item("typedef T = A | #[x] B{} | m::C{c: u8}", ast.TypeDeclaration)
    assert isinstance(union.definition, ast.Constructors)
    assert [each.name.text for each in union.definition.constructors] == ["A", "B", "m::C"]
    assert item("#[size = 8] #[shared] extern type m::X<'A>", ast.TypeDeclaration).definition is None


def test_functions_in_all_forms() -> None:
    braces = item("#[pure] function m::f(#[by_val] x: u8, y: mut 'A): u8 { x; y }", ast.FunctionDeclaration)
    assert isinstance(braces.body, ast.Block)
    assert not braces.equals
    assert [parameter.type.mutable for parameter in braces.parameters] == [False, True]
    assert braces.attributes[0].name == name("pure")
    equals = item("function f(): u8 = { 1 }", ast.FunctionDeclaration)
    assert isinstance(equals.body, ast.Block)
    assert equals.equals
    assert item("function f() {}", ast.FunctionDeclaration).result is None
    assert item("extern function f(x: u8)", ast.FunctionDeclaration).body is None


def test_relations_in_all_forms() -> None:
    plain = item("input relation R(#[original = 1] x: u8, y: string,)", ast.RelationDeclaration)
    assert (plain.role, plain.kind, plain.reference, plain.type, plain.key) == ("input", "relation", False, None, None)
    typed = item("output multiset &R[(u8, u8)]", ast.RelationDeclaration)
    assert (typed.role, typed.kind, typed.reference, typed.columns) == ("output", "multiset", True, ())
    assert isinstance(typed.type, ast.TupleType)
    keyed = item("input stream R(x: u8) primary key (r) (r.x, r.x + 1)", ast.RelationDeclaration)
    assert keyed.key is not None
    assert keyed.key.variable == name("r")
    assert isinstance(keyed.key.expression, ast.Tuple)
    assert keyed.span.text.endswith("r.x + 1)")


def test_an_index_names_its_columns_and_its_atom() -> None:
    found = item("index I(a: u8) on m::R(a, &C{.x = _})", ast.IndexDeclaration)
    assert found.columns[0].name == name("a")
    assert found.atom.relation.text == "m::R"


def test_transformers_and_their_application() -> None:
    found = item(
        "extern transformer SCC(E: relation['E], f: function(e: 'E): 'N) -> (L: relation[('N, 'N)])",
        ast.TransformerDeclaration,
    )
    assert [type(each.type) for each in found.inputs] == [ast.RelationType, ast.FunctionSignature]
    assert len(found.outputs) == 1
    applied = item("apply graph::SCC(Edge, from, m::to) -> (Label)", ast.Apply)
    assert [each.text for each in applied.inputs] == ["Edge", "from", "m::to"]
    assert applied.outputs == (name("Label"),)


def test_items_need_nothing_between_them() -> None:
    text = "import a typedef T = A | B relation R(x: T) function f() {} R(A). extern type X apply T() -> ()"
    assert len(program(text).items) == 7


@pytest.mark.parametrize(
    "text",
    [
        "import",
        "typedef T",
        "typedef T = c{x: u8}",
        "typedef T = A |",
        "function F() {}",
        "function f()",
        "function f(x) {}",
        "extern relation R(x: u8)",
        "transformer T() -> ()",
        "input R(x: u8)",
        "relation r(x: u8)",
        "relation R: u8",
        "input relation R(x: u8) primary (r) r",
        "index I(a: u8) R(a)",
        "apply T(x)",
        "#[x] import a",
        "#[x] apply T() -> ()",
        "#[x = ] relation R()",
        "#x relation R()",
    ],
)
def test_broken_declarations_are_refused_once(text: str) -> None:
    assert len(codes(f"{text}\ninput relation Good(x: u8)\n")) == 1
