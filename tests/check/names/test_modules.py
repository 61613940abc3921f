"""Modules: where names are looked up, and what may be imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.check.check import check
from tidelog.check.program import TypedProgram
from tidelog.check.typed import Call
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.syntax.parse import parse

POINTS = """
typedef Point = Point{x: u8, y: u8}
function to_string(p: Point): string { "(${p.x}, ${p.y})" }
function origin(): Point { Point{0, 0} }
input relation At(p: Point)
"""


def program(folder: Path, text: str, **modules: str) -> TypedProgram:
    """The program of the text, beside which the modules stand: `a__b` is the module `a::b`."""
    for name, content in modules.items():
        path = folder.joinpath(*name.split("__")).with_suffix(".dl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return check(parse(Source(str(folder / "main.dl"), text)))


def wrong(folder: Path, text: str, **modules: str) -> list[str]:
    with pytest.raises(ProgramError) as caught:
        program(folder, text, **modules)
    return [f"{found.code} {found.message}" for found in caught.value.diagnostics]


def text_function(typed: TypedProgram) -> str:
    """The function that makes the text in the only head."""
    (rule,) = typed.rules
    (term,) = rule.heads[0].terms
    assert isinstance(term, Call)
    return typed.functions[term.function].name


@pytest.mark.parametrize("head", ["import points", "import points as p", "import points as far::away"])
def test_the_text_of_a_value_comes_from_the_module_of_its_type(tmp_path: Path, head: str) -> None:
    text = f'{head}\noutput relation Text(t: string)\nText("${{p}}") :- points::At(p).'
    assert text_function(program(tmp_path, text, points=POINTS)) == "points::to_string"


def test_a_visible_to_string_goes_before_that_of_the_module_of_the_type(tmp_path: Path) -> None:
    text = """
    import points as p
    function to_string(p: p::Point): string { "here" }
    output relation Text(t: string)
    Text("${p}") :- p::At(p).
    """
    assert text_function(program(tmp_path, text, points=POINTS)) == "to_string"


def test_the_text_of_a_type_of_a_module_needs_a_to_string(tmp_path: Path) -> None:
    text = 'import points as p\noutput relation Text(t: string)\nText("${p}") :- p::At(p).'
    modules = {"points": POINTS.replace("to_string", "as_text")}
    assert wrong(tmp_path, text, **modules) == ["E237 `points::Point` has no text"]


def test_names_without_a_module_are_those_of_the_module_and_of_what_it_imports(tmp_path: Path) -> None:
    program(tmp_path, "import points\noutput relation O(p: Point)\nO(origin()) :- At(_).", points=POINTS)


def test_an_alias_hides_the_names_of_a_module(tmp_path: Path) -> None:
    text = "import points as p\noutput relation O(p: Point)\nO(origin()) :- At(_)."
    assert wrong(tmp_path, text, points=POINTS) == [
        "E204 unknown type `Point`",
        "E229 unknown function `origin`",
        "E201 unknown relation `At`",
    ]


def test_modules_may_import_each_other(tmp_path: Path) -> None:
    left = "import b\nfunction even(n: u8): bool { n == 0 or odd(n - 1) }"
    right = "import a\nfunction odd(n: u8): bool { n != 0 and even(n - 1) }"
    program(tmp_path, "import a\noutput relation O(b: bool)\nO(even(4)).", a=left, b=right)


def test_a_module_may_lie_in_a_folder(tmp_path: Path) -> None:
    text = "import shapes::points as s\noutput relation O(p: s::Point)\nO(p) :- shapes::points::At(p)."
    program(tmp_path, text, shapes__points=POINTS)


def test_errors_of_a_module_point_into_it(tmp_path: Path) -> None:
    with pytest.raises(ProgramError) as caught:
        program(tmp_path, "import a", a="function f(): u8 { true }")
    (found,) = caught.value.diagnostics
    assert found.span.source.name == str(tmp_path / "a.dl")


def test_a_name_that_no_file_can_have_is_an_unknown_module(tmp_path: Path) -> None:
    name = "x" * 5_000
    assert wrong(tmp_path, f"import {name}::{name}") == [f"E216 there is no module `{name}::{name}`"]


def test_a_module_that_is_not_text_is_reported_at_its_import(tmp_path: Path) -> None:
    (tmp_path / "a.dl").write_bytes(b"\xff\xfe")
    with pytest.raises(ProgramError) as caught:
        program(tmp_path, "\nimport a")
    (found,) = caught.value.diagnostics
    assert "byte 0 is not UTF-8" in found.message
    assert found.span.source.position(found.span.start) == (2, 8)
