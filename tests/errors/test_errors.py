"""Every folder here is a wrong or doubtful program and the exact text that is said about it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidelog.compile_program import check_source, compile_program
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FOLDERS = sorted(folder for folder in HERE.iterdir() if (folder / "program.dl").exists())


def rendered(folder: Path) -> str:
    source = Source("program.dl", (folder / "program.dl").read_text(encoding="utf-8"))
    if folder.name.startswith("W"):
        return "\n\n".join(warning.render() for warning in check_source(source).warnings) + "\n"
    with pytest.raises(ProgramError) as caught:
        compile_program(source)
    return f"{caught.value}\n"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_program_gives_exactly_the_expected_diagnostics(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)  # modules are looked for beside the program
    assert rendered(folder) == (folder / "expect.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_shows_the_code_it_is_named_after(folder: Path) -> None:
    assert f"[{folder.name[:4]}]: " in (folder / "expect.txt").read_text(encoding="utf-8")


def test_every_code_of_the_language_has_a_folder() -> None:
    shown = {folder.name[:4] for folder in FOLDERS}
    assert shown == {code for code in Code if code[1] in "123"}


def test_the_codes_are_those_of_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    documented = re.findall(r"^### ([EW]\d{3})", text, re.MULTILINE)
    assert documented == sorted(Code)


def test_every_code_that_is_raised_is_listed_and_the_other_way_round() -> None:
    sources = [path for path in (ROOT / "src" / "tidelog").rglob("*.py") if path.name != "codes.py"]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    raised = set(re.findall(r"\"([EW]\d{3})\"", text)) | {Code[name] for name in re.findall(r"\bCode\.([A-Z_]+)", text)}
    assert raised == set(Code)


def test_the_example_of_the_style_guide_comes_out_as_written() -> None:
    program = (
        "input relation Edge(src: string, dst: string)\n"
        "output relation Reach(src: string, dst: string)\n"
        "Reach(x, y) :- Edge(x, y).\n"
        "Reach(x, z) :- Edge(x, y).\n"
    )
    with pytest.raises(ProgramError) as caught:
        compile_program(Source("reach.dl", program))
    assert str(caught.value) == (
        "error[E302]: head variable `z` is not bound by the body\n"
        "  --> reach.dl:4:10\n"
        "   |\n"
        " 4 | Reach(x, z) :- Edge(x, y).\n"
        "   |          ^ no positive literal mentions `z`\n"
        "   |\n"
        "   = help: bind it, for example `Reach(x, z) :- Edge(x, y), Edge(y, z).`"
    )
