"""`program.types`: constructors as classes, found by attribute and by name."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog


@pytest.fixture
def program(tmp_path: Path) -> tidelog.Program:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "base.dl").write_text("typedef Host = Host{name: string}\n")
    (tmp_path / "main.dl").write_text(
        "import net::base\n"
        "typedef Shape = Circle{r: u8} | Square{a: u8, b: u8}\n"
        "input relation Drawn(shape: Shape, on: net::base::Host)\n"
        "output relation Radius(r: u8, name: string)\n"
        "Radius(r, h.name) :- Drawn(Circle{r}, h).\n"
    )
    return tidelog.compile(tmp_path / "main.dl")


def test_a_constructor_is_found_by_attribute_path_and_by_qualified_name(program: tidelog.Program) -> None:
    types = program.types
    assert types.net.base.Host is types["net::base::Host"]
    assert types.net["base::Host"] is types["net::base::Host"]
    assert types.Some is types["Some"] is types["ddlog_std::Some"] is types.ddlog_std.Some
    assert types.None_ is types["None"]
    assert "net::base::Host" in types
    assert "Host" not in types
    assert {"Circle", "Square", "Drawn", "net", "Some", "None_"} <= set(dir(types))
    assert "net::base::Host" in list(types)


def test_values_of_the_classes_are_inserted_and_returned(program: tidelog.Program) -> None:
    types = program.types
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("Drawn", [(types.Circle(r=2), types.net.base.Host("a")), (types.Square(1, b=2), ("b",))])
        assert tx.changes["Radius"].inserted == [(2, "a")]
        (circle, host), (square, _) = db.relation("Drawn").rows()
        assert isinstance(circle, types.Circle)
        assert isinstance(square, types.Square)
        assert (circle.r, host.name) == (2, "a")
        match square:
            case types.Square(a, b):
                assert (a, b) == (1, 2)


def test_a_name_that_is_not_there_is_suggested(program: tidelog.Program) -> None:
    with pytest.raises(AttributeError, match="there is no constructor `Circel`; did you mean `Circle`"):
        _ = program.types.Circel
    with pytest.raises(KeyError, match="there is no constructor `Hots` in `net::base`; did you mean `Host`"):
        _ = program.types.net.base["Hots"]
    with pytest.raises(TypeError, match="Circle has 1 fields, not 2"):
        program.types.Circle(1, 2)
