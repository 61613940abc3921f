"""Struct and union values: a class per constructor."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import tidelog
from tests.functions.program import TYPES, definitions, union
from tidelog.types import U8
from tidelog.values import Definitions, Struct, field_values
from tidelog.values.structs import DEEPEST_PRINTED, with_item
from tidelog.values.text import integer_text

DEFINITIONS = definitions()
Point, Dot, Circle = map(DEFINITIONS.class_of, ("Point", "Dot", "Circle"))
End, Link = DEFINITIONS.classes_of("Chain")


def test_fields_are_given_in_order_or_by_name() -> None:
    point = Point(1, y=2)
    assert (point.x, point.y) == (1, 2)  # type: ignore[attr-defined]
    assert point == Point(x=1, y=2)
    assert repr(point) == "Point{.x = 1, .y = 2}"
    assert field_values(Circle(3, point)) == (3, point)


def test_wrong_fields_are_refused() -> None:
    with pytest.raises(TypeError, match="Point has 2 fields, not 1"):
        Point(1)
    with pytest.raises(TypeError, match="no field 'z'"):
        Point(1, 2, z=3)
    with pytest.raises(TypeError, match="no field 'x'"):
        Point(1, x=3)


def test_values_do_not_change() -> None:
    point = Point(1, 2)
    with pytest.raises(AttributeError):
        point.x = 5  # type: ignore[attr-defined]
    assert with_item(point, 0, 5) == Point(5, 2)
    assert point == Point(1, 2)


def test_constructors_are_ordered_as_declared() -> None:
    assert Dot(Point(9, 9)) < Circle(0, Point(0, 0))
    assert Circle(0, Point(0, 1)) < Circle(1, Point(0, 0))
    assert Dot(Point(1, 1)) != DEFINITIONS.class_of("Nowhere")(Point(1, 1))


def test_values_can_be_matched() -> None:
    match Circle(3, Point(1, 2)):
        case Circle(radius, Point(x, y)):
            assert (radius, x, y) == (3, 1, 2)
        case _:
            pytest.fail("it is a circle")


def test_a_long_chain_is_hashed_link_by_link() -> None:
    first, second = End(), End()
    for number in range(200_000):
        first, second = Link(number, first), Link(number, second)
    assert hash(first) == hash(second)
    assert hash(with_item(first, 1, 7)) == hash(Link(7, second.tail))  # type: ignore[attr-defined]


def test_programs_with_the_same_type_share_its_classes() -> None:
    assert definitions().class_of("Point") is Point
    other = Definitions({"Point": union("Point", (), Point=(("x", U8), ("z", U8)))})
    assert other.class_of("Point") is not Point


def test_fields_cannot_be_named_to_break_a_class() -> None:
    names = ("__class__", "__hash__", "__eq__", "__reduce__", "__variant__", "index", "count", "x", "def", "cls")
    made = Definitions({"T": union("T", (), T=tuple((name, U8) for name in names), U=())}).class_of("T")
    value = made(*range(len(names)))
    assert type(value) is made
    assert value == made(*range(len(names)))
    assert hash(value) == hash(made(*range(len(names))))
    assert [getattr(value, name) for name in ("index", "count", "x", "def")] == [5, 6, 7, 8]
    assert pickle.loads(pickle.dumps(value)) == value
    assert field_values(value) == tuple(range(len(names)))


def test_values_and_definitions_can_be_pickled_to_another_process() -> None:
    pickled = pickle.dumps((DEFINITIONS, Circle(3, Point(1, 2)), Link(1, End())))
    assert len(pickled) < 5_000
    code = (
        "import pickle, sys\n"
        "definitions, circle, link = pickle.load(sys.stdin.buffer)\n"
        "assert type(circle) is definitions.class_of('Circle')\n"
        "assert hash(link) == hash(definitions.class_of('Link')(1, definitions.class_of('End')()))\n"
        "print(circle, link)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True, check=True)
    shown = done.stdout.decode().strip()
    assert shown == "Circle{.radius = 3, .at = Point{.x = 1, .y = 2}} Link{.head = 1, .tail = End{}}"


def test_only_types_that_hold_themselves_are_recursive() -> None:
    recursive = {
        name
        for name, definition in TYPES.items()
        if definition.constructors and DEFINITIONS.classes_of(name)[0].__variant__.shape.recursive
    }
    assert recursive == {"Chain"}
    assert isinstance(End(), Struct)


DEEP = """
typedef Chain = End | Link{n: bigint, rest: Ref<Chain>}
input relation Length(n: u32)
output relation Made(chain: Chain, n: bigint)
function chain(n: u32): Chain { if (n == 0) { End } else { Link{pow32(10, 5000), ref_new(chain(n - 1))} } }
Made(chain(n), pow32(7, n)) :- Length(n).
"""


def test_deep_values_and_long_numbers_are_printed_in_part() -> None:
    with tidelog.compile(DEEP).open() as db:
        with db.transaction() as tx:
            tx.insert("Length", [(6000,)])
        ((value, number),) = db.relation("Made").rows()
        assert repr(value).startswith("Link{.n = 0x")
        assert repr(value).count("Link") == DEEPEST_PRINTED + 1
        assert "Link{…}" in repr(value)
        page = db.relation("Made")._repr_html_()
        assert integer_text(number)[:200] + "…" in page
