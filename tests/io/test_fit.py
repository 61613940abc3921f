"""Python values → canonical values: what every type takes, and how the rest is refused."""

from __future__ import annotations

import math
from operator import eq
from typing import Any

import numpy as np
import pytest

import tidelog
from tests.io.declare import relation
from tidelog.deep_recursion import deeply
from tidelog.diagnostics.errors import DataError
from tidelog.io.fit import cell_fitter, fitter
from tidelog.io.rows import to_rows
from tidelog.io.to_python import arrow_form
from tidelog.io.values import UnfitError
from tidelog.types import BIGINT, BOOL, DOUBLE, FLOAT, STRING, U8, UNIT, FunctionType, NamedType, TupleType, Type
from tidelog.values import NAN, Group, Map, Set, SizedSet, Vec

PROGRAM = tidelog.compile(
    """
    import hashset
    import time
    typedef Person = Person{name: string, age: u8}
    typedef Shape = Circle{r: u8} | Square{a: u8, b: u8} | Dot
    typedef Tagged = Tagged{tag: u8} | Untagged
    typedef Tree = Leaf | Node{left: Ref<Tree>, value: u8, right: Ref<Tree>}
    relation Uses(p: Person, s: Shape, t: Tagged, e: Tree, h: hashset::HashSet<u8>, d: time::Date)
    """
)
DEFINITIONS = PROGRAM.stages.rules.functions.definitions
T = PROGRAM.types
PERSON, SHAPE, TAGGED, TREE = (NamedType(name) for name in ("Person", "Shape", "Tagged", "Tree"))


def of(name: str, *arguments: Type) -> NamedType:
    return NamedType(f"ddlog_std::{name}", arguments)


def fit(value: Any, type_: Type) -> Any:
    return fitter(type_, DEFINITIONS)(value)


TAKEN: list[tuple[Type, Any, Any]] = [
    (BIGINT, -(10**40), -(10**40)),
    (BIGINT, np.int64(3), 3),
    (DOUBLE, 1, 1.0),
    (DOUBLE, -0.0, 0.0),
    (DOUBLE, math.nan, NAN),
    (DOUBLE, np.float32(0.5), 0.5),
    (DOUBLE, 10**400, math.inf),
    (FLOAT, 0.1, 0.10000000149011612),
    (UNIT, (), ()),
    (TupleType((U8, STRING)), [1, "a"], (1, "a")),
    (TupleType((U8, STRING)), {"_0": 1, "_1": "a"}, (1, "a")),
    (PERSON, T.Person("a", 1), T.Person("a", 1)),
    (PERSON, {"age": 1, "name": "a"}, T.Person("a", 1)),
    (PERSON, ("a", 1), T.Person("a", 1)),
    (SHAPE, T.Dot(), T.Dot()),
    (SHAPE, {"tag": "Circle", "r": 2}, T.Circle(2)),
    (SHAPE, {"tag": "Dot", "r": None, "a": None, "b": None}, T.Dot()),
    (TAGGED, {"tag_": "Tagged", "tag": 3}, T.Tagged(3)),
    (of("Option", U8), None, T["None"]()),
    (of("Option", U8), 3, T.Some(3)),
    (of("Option", U8), T.Some(3), T.Some(3)),
    (of("Option", of("Option", U8)), None, T.None_()),
    (of("Option", of("Option", U8)), 3, T.Some(T.Some(3))),
    (of("Option", of("Option", U8)), {"tag": "Some", "x": None}, T.Some(T.None_())),
    (of("Result", U8, STRING), {"tag": "Err", "err": "no"}, T.Err("no")),
    (of("Vec", PERSON), [("a", 1), {"name": "b", "age": 2}], Vec([T.Person("a", 1), T.Person("b", 2)])),
    (of("Vec", DOUBLE), np.array([1.0, 2.0]), Vec([1.0, 2.0])),
    (of("Set", U8), {3, 1}, Set([1, 3])),
    (of("Set", U8), [3, 1, 3], Set([1, 3])),
    (NamedType("hashset::HashSet", (U8,)), frozenset([3, 1]), SizedSet([1, 3])),
    (of("Map", STRING, of("Vec", U8)), {"b": [1], "a": ()}, Map([("a", Vec()), ("b", Vec([1]))])),
    (of("Map", U8, U8), [(1, 2), [1, 3]], Map([(1, 3)])),
    (of("Ref", PERSON), ["a", 1], T.Person("a", 1)),
    (of("Group", U8, STRING), Group(1, [("a", 2)]), Group(1, [("a", 2)])),
    (NamedType("time::Date"), "2024-02-29", "2024-02-29"),
    (TREE, {"tag": "Node", "left": {"tag": "Leaf"}, "value": 1, "right": T.Leaf()}, T.Node(T.Leaf(), 1, T.Leaf())),
]


@pytest.mark.parametrize(("type_", "given", "wanted"), TAKEN)
def test_a_value_in_each_of_its_shapes_becomes_the_canonical_one(type_: Type, given: Any, wanted: Any) -> None:
    found = fit(given, type_)
    assert found == wanted
    assert type(found) is type(wanted)
    assert hash(found) == hash(wanted)
    assert repr(found) == repr(wanted)


REFUSED: list[tuple[Type, Any, str]] = [
    (U8, None, "null where a u8 (0 to 255) is wanted"),
    (BIGINT, 1.0, "`1.0` is not a bigint"),
    (BIGINT, True, "`True` is not a bigint"),
    (DOUBLE, "1.5", "`'1.5'` is not a double"),
    (TupleType((U8, STRING)), (1,), "`(1,)` (tuple) is not a (u8, string): it has 1 items, not 2"),
    (TupleType((U8, STRING)), (1, 2), "at `.1`: `2` is not a string"),
    (PERSON, T.Dot(), "`Dot{}` (Dot) is not a Person"),
    (PERSON, ("a", 256), "at `.age`: `256` is not a u8 (0 to 255)"),
    (PERSON, {"name": "a"}, "is not a Person: the field `age` is missing"),
    (PERSON, {"name": "a", "age": 1, "aeg": 2}, "is not a Person: `Person` has no field 'aeg'"),
    (PERSON, ("a",), "is not a Person: it has 1 values for 2 fields"),
    (SHAPE, (1,), "`(1,)` (tuple) is not a Shape"),
    (SHAPE, "Dot", "`'Dot'` is not a Shape"),
    (SHAPE, {"r": 1}, "is not a Shape: the key `tag`, for the constructor, is missing"),
    (SHAPE, {"tag": "Cirle", "r": 1}, "is not a Shape: there is no constructor 'Cirle'"),
    (SHAPE, {"tag": "Dot", "r": 1}, "is not a Shape: `Dot` has no field 'r'"),
    (of("Option", U8), 300, "`300` is not a u8 (0 to 255)"),
    (of("Vec", U8), "ab", "`'ab'` is not a Vec<u8>"),
    (of("Vec", U8), {1, 2}, "`{1, 2}` (set) is not a Vec<u8>"),
    (of("Vec", of("Vec", U8)), [[1], [2, -1]], "at `[1][1]`: `-1` is not a u8 (0 to 255)"),
    (of("Map", STRING, U8), {"a": 1, "b": "c"}, "at `['b']`: `'c'` is not a u8 (0 to 255)"),
    (of("Map", STRING, U8), [("a", 1, 2)], "at `[0]`: `('a', 1, 2)` (tuple) is not a"),
    (NamedType("time::Date"), "2023-02-29", "`'2023-02-29'` is not a time::Date"),
    (NamedType("ddlog_std::Any"), "1", "is not a Any"),
    (FunctionType(((U8, False),), U8), len, "functions cannot be given from outside"),
]


@pytest.mark.parametrize(("type_", "given", "message"), REFUSED)
def test_what_does_not_fit_is_refused_at_its_place(type_: Type, given: Any, message: str) -> None:
    to = relation("R", first=STRING, value=type_)
    with pytest.raises(DataError) as caught:
        to_rows([("a", given)], to, DEFINITIONS)
    assert caught.value.message.startswith("row 1, column `value` of `R`")
    assert message in caught.value.message


def test_a_value_that_is_canonical_already_is_not_copied() -> None:
    for type_, value in ((PERSON, T.Person("a", 1)), (of("Vec", U8), Vec([1, 2])), (of("Set", U8), Set([1]))):
        assert fit(value, type_) is value


def test_a_chain_of_ten_thousand_links_fits_and_an_endless_one_is_refused() -> None:
    given: dict[str, Any] = {"tag": "Leaf"}
    for number in range(10_000):
        given = {"tag": "Node", "left": {"tag": "Leaf"}, "value": number % 256, "right": given}
    assert fit(given, TREE).value == 9_999 % 256
    endless: dict[str, Any] = {"tag": "Node", "left": {"tag": "Leaf"}, "value": 1}
    endless["right"] = endless
    with pytest.raises(UnfitError, match="nested too deeply"):
        fit(endless, TREE)


@pytest.mark.parametrize(
    ("type_", "text", "wanted"),
    [
        (DOUBLE, " 1.5e3 ", 1500.0),
        (FLOAT, "nan", NAN),
        (BIGINT, "-0", 0),
        (of("Option", STRING), None, T.None_()),
        (of("Option", STRING), "", T.Some("")),
        (of("Option", STRING), "null", T.None_()),
        (of("Option", STRING), "hi, you", T.Some("hi, you")),
        (of("Option", STRING), '"hi"', T.Some("hi")),
        (of("Option", STRING), '"hi" he said', T.Some('"hi" he said')),
        (of("Option", DOUBLE), '"NaN"', T.Some(NAN)),
        (of("Option", BIGINT), "", T.None_()),
        (of("Option", BIGINT), " 0x10", T.Some(16)),
        (of("Option", of("Vec", BIGINT)), None, T.None_()),
        (of("Option", of("Vec", BIGINT)), "[1]", T.Some(Vec([1]))),
        (of("Option", of("Option", BIGINT)), None, T.None_()),
        (STRING, None, ""),
        (STRING, "null", "null"),
        (of("Vec", BIGINT), "[1, -2]", Vec([1, -2])),
        (TREE, '{"tag": "Leaf"}', T.Leaf()),
    ],
)
def test_a_cell_is_the_text_of_a_plain_value_or_json(type_: Type, text: str | None, wanted: Any) -> None:
    assert cell_fitter(type_, DEFINITIONS)(text) == wanted


@pytest.mark.parametrize(("type_", "cell"), [(BIGINT, None), (BIGINT, "NA"), (of("Vec", BIGINT), None), (BOOL, "NA")])
def test_a_null_cell_of_another_type_is_told_as_null(type_: Type, cell: str | None) -> None:
    with pytest.raises(UnfitError) as caught:
        cell_fitter(type_, DEFINITIONS, frozenset(["NA"]))(cell)
    assert caught.value.value is None


def test_other_cells_are_null_if_they_are_named() -> None:
    fit_cell = cell_fitter(of("Option", STRING), DEFINITIONS, frozenset(["NA", "-"]))
    assert [fit_cell(cell) for cell in ("NA", "-", None, "x")] == [T.None_(), T.None_(), T.Some(""), T.Some("x")]


def test_integers_longer_than_python_reads_are_read() -> None:
    assert cell_fitter(BIGINT, DEFINITIONS)("9" * 5000) == 10**5000 - 1
    assert cell_fitter(BIGINT, DEFINITIONS)("-1" + "0" * 9000) == -(10**9000)


@pytest.mark.parametrize(
    ("type_", "text"), [(DOUBLE, "1_0"), (DOUBLE, ""), (BIGINT, "1.0"), (of("Vec", U8), ""), (of("Vec", U8), "[1")]
)
def test_a_cell_that_means_nothing_is_refused(type_: Type, text: str) -> None:
    with pytest.raises(UnfitError):
        cell_fitter(type_, DEFINITIONS)(text)


def test_a_relation_of_one_column_takes_its_values_bare() -> None:
    people, numbers = relation("P", p=PERSON), relation("N", n=of("Vec", U8))
    person = T.Person("a", 1)
    shapes = [person, (person,), ["a", 1], {"name": "a", "age": 1}, {"p": ("a", 1)}, (("a", 1),), ("a", 1)]
    assert to_rows(shapes, people, DEFINITIONS) == [(person,)] * len(shapes)
    lists = [[1], ([1],), {"n": [1]}, Vec([1])]
    assert to_rows(lists, numbers, DEFINITIONS) == [(Vec([1]),)] * len(lists)


def test_a_row_may_be_the_struct_of_its_relation() -> None:
    program = tidelog.compile("input relation Edge(src: string, cost: Option<u8>)")
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("Edge", [program.types.Edge("a", 1), program.types.Edge(src="b", cost=None)])
            with pytest.raises(DataError, match="row 1 for `Edge` is a `ddlog_std::Some`, not a row"):
                tx.insert("Edge", [program.types.Some(1)])
        assert db.relation("Edge").lookup(cost=None) == [("b", None)]
        assert ("a", 1) in db.relation("Edge")
        assert ("a", None) not in db.relation("Edge")


def test_a_chain_that_is_too_deep_to_be_written_is_refused() -> None:
    tree = T.Leaf()
    for _ in range(3_000):
        tree = T.Node(T.Leaf(), 1, tree)
    text = arrow_form(TREE, DEFINITIONS)(tree)
    assert deeply(eq, fitter(TREE, DEFINITIONS, wire=True)(text), tree)
    for _ in range(30_000):
        tree = T.Node(T.Leaf(), 1, tree)
    with pytest.raises(DataError, match="nested too deeply to be written"):
        arrow_form(TREE, DEFINITIONS)(tree)
