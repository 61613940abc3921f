"""The programs of `docs/reference/language.md`: each is right, or refused with the code that its block begins with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidelog.compile_program import check_source
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.syntax.format import format_program

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "language.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```dl(?: (\w+))?\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("code", "program"), BLOCKS, ids=range(len(BLOCKS)))
def test_a_program_of_the_page_is_what_the_page_says(code: str, program: str) -> None:
    source = Source("language.md", program)
    if not code:
        check_source(source)
        return
    with pytest.raises(ProgramError) as caught:
        check_source(source)
    assert [found.code for found in caught.value.diagnostics] == [code]


@pytest.mark.parametrize(("code", "program"), BLOCKS, ids=range(len(BLOCKS)))
def test_a_program_of_the_page_can_be_formatted(code: str, program: str) -> None:
    once = format_program(Source("language.md", program))
    assert format_program(Source("language.md", once)) == once


def test_the_page_has_programs_for_every_section_about_programs() -> None:
    sections = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    without = [section.split("\n")[0] for section in sections if "```dl" not in section]
    assert without == [
        "Text",
        "Patterns",
        "Attributes",
        "Order and text of values",
        "The library",
        "What is added here",
    ]


def test_the_links_of_the_page_lead_to_its_headings() -> None:
    headings = {heading.lower().replace(" ", "-").replace(",", "") for heading in re.findall(r"^## (.*)$", TEXT, re.M)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", TEXT)) <= headings


def test_every_module_of_the_library_is_on_the_page() -> None:
    library = PAGE.parent.parent.parent / "src" / "tidelog" / "library"
    names = {path.relative_to(library).with_suffix("").as_posix().replace("/", "::") for path in library.rglob("*.dl")}
    internal = {
        "ddlog_rt",
        "ddlog_bigint",
        "ddlog_log",
        "souffle_functors",
        "souffle_lib",
        "souffle_types",
        "d3log::reflect",
    }
    missing = {name for name in names - internal if f"`{name}`" not in TEXT}
    assert missing == set()
