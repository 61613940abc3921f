"""The page of functions is made from the library's comments, describes every function, and its examples are true."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import tidelog

ROOT = Path(__file__).parent.parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "function_reference.py"))
MODULES: list[Any] = SCRIPT["modules"]()

GROUPS = {
    "g": ("Group<string, u32>", "Number(x)", "relation Number(x: u32) Number(1). Number(2). Number(3)."),
    "pairs": (
        "Group<string, (string, u32)>",
        "Pair(x)",
        'relation Pair(x: (string, u32)) Pair(("a", 1)). Pair(("a", 2)). Pair(("b", 1)).',
    ),
    "sets": (
        "Group<string, Set<u32>>",
        "Some1(x)",
        "relation Some1(x: Set<u32>) Some1(set_singleton(1)). Some1(set_singleton(2)).",
    ),
}
WITHOUT_EXAMPLES = {
    "group_setref_unions(",  # groups of references
    "group_hashset_unions(",
    "group_set_unions(g: Group<'K, Set64",
    "debug_",  # side effects, and what the debugger of rules calls
    "log(",
    "fatal(",
    "error(",
    "warn(",
    "info(",
    "debug(",
    "trace(",
    "print(",
    "printTrue(",
    "SCC(",  # transformers are no expressions
    "ConnectedComponents(",
    "ConnectedComponents64(",
    "UnsafeBidirectionalEdges(",
}


def test_the_page_is_that_of_the_comments() -> None:
    page = (ROOT / "docs" / "reference" / "functions.md").read_text(encoding="utf-8")
    assert page == SCRIPT["page"](), "run `make reference`"


def test_every_module_of_the_library_with_functions_is_on_the_page() -> None:
    library = ROOT / "src" / "tidelog" / "library"
    names = {
        "::".join(path.relative_to(library).with_suffix("").parts)
        for path in library.rglob("*.dl")
        if re.search(r"^(extern )?(function|transformer) ", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {each.name for each in MODULES} == {each for each in names if not each.startswith("souffle")}


@pytest.mark.parametrize("module", MODULES, ids=[each.name for each in MODULES])
def test_every_function_has_a_meaning_and_an_example(module: Any) -> None:
    for entry in module.entries():
        assert entry.signatures
        assert entry.meaning.endswith("."), entry
        exempt = any(each.startswith(start) for each in entry.signatures for start in WITHOUT_EXAMPLES)
        assert bool(entry.example) is not exempt, entry.signatures


@pytest.mark.parametrize("module", MODULES, ids=[each.name for each in MODULES])
def test_an_example_calls_a_function_that_it_describes(module: Any) -> None:
    for entry in module.entries():
        if entry.example:
            names = {each.split("(")[0] for each in entry.signatures}
            assert names & set(re.findall(r"\w+", entry.example)), entry


@pytest.mark.parametrize("module", MODULES, ids=[each.name for each in MODULES])
def test_the_examples_of_a_module_are_true(module: Any) -> None:
    examples = [entry.example for entry in module.entries() if entry.example]
    with tidelog.compile(program_of(module.name, examples)).open() as db:
        assert [examples[number] for (number,) in db.relation("Wrong").rows()] == []
        assert len(db.relation("Right")) == len(examples)


def program_of(module: str, examples: list[str]) -> str:
    """Returns a program with a function for each example, and the numbers of those that are true and false."""
    lines = ["output relation Right(number: u32)", "output relation Wrong(number: u32)"]
    lines += [] if module in SCRIPT["EVERYWHERE"] else [f"import {module}"]
    lines += ["import net::ipv4", "import net::ipv6"] if module.startswith("net::") else []
    numbers: dict[str, list[int]] = {}
    for number, example in enumerate(examples):
        group = next((each for each in GROUPS if re.search(rf"\b{each}\b", example)), "")
        parameter = f"{group}: {GROUPS[group][0]}" if group else ""
        lines.append(f"function example_{number}({parameter}): bool {{\n    {example}\n}}")
        numbers.setdefault(group, []).append(number)
    for group, calls in numbers.items():
        type_, rows, declaration = GROUPS[group] if group else ("", "Singleton()", "")
        parameter = f"{group}: {type_}" if group else ""
        results = ", ".join(f"({number}, example_{number}({group}))" for number in calls)
        lines += [declaration, f"function all_{group}({parameter}): Vec<(u32, bool)> {{ [{results}] }}"]
        body = f'{rows}, var k = "k", var {group} = x.group_by(k)' if group else rows
        for relation, outcome in (("Right", "true"), ("Wrong", "false")):
            lines.append(f"{relation}(n) :- {body}, var e = FlatMap(all_{group}({group})), (var n, {outcome}) = e.")
    return "\n".join(lines)
