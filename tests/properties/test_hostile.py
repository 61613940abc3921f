"""A hostile program reaches nothing but its own relations: whole programs through `tidelog.compile` and the database.

Every name and text that could mean something to Python stands for itself here, and nothing else.
"""

from __future__ import annotations

import builtins
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import tidelog

PYTHON_NAMES = (
    *("__import__", "eval", "exec", "open", "globals", "getattr", "__builtins__", "__class__", "__init__", "__dict__"),
    *("cls", "len", "print", "lambda", "def", "class", "import_", "yield_", "pass", "del", "tidelog"),
    *("runtime", "scalar", "v0", "f0", "k0", "e0", "call", "inf", "_", "__", "__variant__", "__slots__"),
)
FIELD_NAMES = [name for name in PYTHON_NAMES if name not in ("_",)]
EVIL_TEXTS = (
    "__import__('os').system('touch {mark}')",
    "'); open('{mark}', 'w'); ('",
    '"""; open("{mark}", "w"); """',
    "{{__import__('os').system('touch {mark}')}}",
    "{{0.__class__.__mro__}}",
    "%(x)s %s %n",
    "\\'\\\"\\\\",
    "\n    open('{mark}', 'w')\n",
    "#[allow] // /* */ ; :- .",
    "{{x}} }}{{ {{}}",
)


def run(text: str, rows: dict[str, list[Any]], **options: Any) -> dict[str, list[tuple[Any, ...]]]:
    """All output rows after one transaction."""
    with tidelog.compile(text, **options).open() as database:
        with database.transaction() as tx:
            for name, of_relation in rows.items():
                tx.insert(name, of_relation)
        return {name: delta.inserted for name, delta in tx.changes.items()}


@pytest.mark.parametrize("name", FIELD_NAMES)
def test_a_name_of_python_is_only_a_name(name: str) -> None:
    """As a variable, a column, a field, a function, an argument, a local variable and a closure's argument."""
    text = f"""
    typedef T = C{{{name}: u8, other: string}}
    function {name}({name}: u8): u8 {{ var y = {name}; for (z in [{name}, 1]) {{ y = y + z }}; y }}
    function through(x: u8, g: |u8|: u8): u8 {{ g(x) }}
    input relation R({name}: u8)
    output relation P({name}: u8, t: T, closed: u8)
    output relation Q({name}: u8)
    P(x, C{{{name}(x), "x"}}, through(x, |{name}| {name} + 1)) :- R(x).
    Q({name}) :- P(_, C{{.{name} = {name}}}, _).
    """
    program = tidelog.compile(text)
    with program.open() as database:
        with database.transaction() as tx:
            tx.insert("R", [(5,)])
        ((number, value, closed),) = tx.changes["P"].inserted
    assert (number, closed) == (5, 6)
    assert tuple(value) == (11, "x")
    assert tx.changes["Q"].inserted == [(11,)]


@pytest.mark.parametrize("name", [name for name in FIELD_NAMES if name.startswith("__")])
def test_a_field_with_underscores_is_read_as_a_field(name: str) -> None:
    text = f"""
    typedef T = C{{{name}: string}}
    input relation R(t: T)
    output relation P(s: string)
    P(t.{name}) :- R(t).
    """
    program = tidelog.compile(text)
    with program.open() as database:
        with database.transaction() as tx:
            tx.insert("R", [(program.types.C("mine"),)])
        assert tx.changes["P"].inserted == [("mine",)]


@pytest.mark.parametrize("field", ["__class__", "__mro__", "__globals__", "__call__", "items", "values", "push", "key"])
@pytest.mark.parametrize("type_", ["string", "Vec<u8>", "(u8, u8)", "T", "Map<u8, u8>", "bigint"])
def test_attributes_of_python_are_no_fields(field: str, type_: str) -> None:
    with pytest.raises(tidelog.ProgramError):
        tidelog.compile(
            f"typedef T = C{{x: u8}}\ninput relation R(v: {type_})\noutput relation P(s: string)\n"
            f'P("${{v.{field}}}") :- R(v).'
        )


@pytest.mark.parametrize("evil", EVIL_TEXTS)
def test_a_text_is_only_a_text(evil: str, tmp_path: Path) -> None:
    mark = tmp_path / "reached"
    value = evil.format(mark=mark)
    literal = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    text = f"""
    typedef T = C{{s: string}}
    function same(s: string): string {{ match (s) {{ "{literal}" -> "${{s}}", _ -> "no" }} }}
    input relation R(s: string)
    output relation P(s: string, t: T, again: string, n: u64)
    P(s, C{{"{literal}"}}, same(s), s.len()) :- R(s), s == "{literal}", R(same("{literal}")).
    output relation Facts(s: string)
    Facts("{literal}").
    """
    program = tidelog.compile(text)
    with program.open() as database:
        assert database.initial["Facts"].inserted == [(value,)]
        with database.transaction() as tx:
            tx.insert("R", [(value,), ("other",)])
        ((first, made, again, size),) = tx.changes["P"].inserted
    assert (first, tuple(made), again, size) == (value, (value,), value, len(value.encode()))
    assert not mark.exists()


@pytest.mark.parametrize("name", ["__import__", "eval", "exec", "open", "getattr", "compile", "breakpoint", "exit"])
def test_a_function_that_nobody_declared_does_not_exist(name: str) -> None:
    with pytest.raises(tidelog.ProgramError) as raised:
        tidelog.compile(f'input relation R(s: string)\noutput relation P(s: string)\nP(s) :- R(s), {name}("os") == s.')
    assert raised.value.diagnostics[0].code == "E229"


def test_an_extern_function_without_python_is_an_error_and_never_found_elsewhere() -> None:
    for name in ("eval", "exec", "__import__", "len", "os.system".replace(".", "_")):
        text = (
            f"extern function {name}(s: string): string\n"
            f"input relation R(s: string)\noutput relation P(s: string)\nP({name}(s)) :- R(s)."
        )
        with pytest.raises(tidelog.TidelogError):
            run(text, {"R": [("1 + 1",)]})


def test_an_extern_function_is_the_one_that_was_given() -> None:
    text = """
    extern function eval(s: string): string
    input relation R(s: string)
    output relation P(s: string)
    P(eval(s)) :- R(s).
    """
    given = {"eval": lambda text: f"<{text}>"}
    assert run(text, {"R": [("1 + 1",)]}, externs=given) == {"P": [("<1 + 1>",)]}


@pytest.mark.parametrize(
    "path",
    ["os", "sys", "builtins", "tidelog", "library::externs", "ddlog_std_strings", "net::__init__", "etc::passwd"],
)
def test_python_modules_cannot_be_imported(path: str) -> None:
    before = set(sys.modules)
    with pytest.raises(tidelog.ProgramError):
        tidelog.compile(f"import {path}\noutput relation P(x: u8)\nP(1).")
    assert set(sys.modules) == before


def test_interpolation_is_of_the_language_and_not_of_python() -> None:
    text = r"""
    typedef T = C{x: u8}
    function to_string(t: T): string { "{t.__class__} ${t.x}" }
    input relation R(x: u8)
    output relation P(s: string)
    P("{x} {0} %s ${x} ${C{x}} $x {{x}}") :- R(x).
    """
    assert run(text, {"R": [(7,)]}) == {"P": [("{x} {0} %s 7 {t.__class__} 7 $x {{x}}",)]}


def test_huge_numbers_and_deep_expressions_end_in_values_or_errors() -> None:
    big = 10**2000
    head = "input relation R(x: bigint)\noutput relation P(x: bigint, digits: u64)\n"
    found = run(head + f'P(y, "${{y}}".len()) :- R(x), var y = x * {big} * {big} * {big}.', {"R": [(2,)]})
    assert found == {"P": [(2 * big**3, 6001)]}
    with pytest.raises(tidelog.ProgramError):
        tidelog.compile(head + f"P(x * {'9' * 5000}, 0) :- R(x).")
    deep = "(" * 3000 + "x" + ")" * 3000
    try:
        found = run(f"input relation R(x: u8)\noutput relation P(x: u8)\nP({deep}) :- R(x).", {"R": [(2,)]})
        assert found == {"P": [(2,)]}
    except tidelog.ProgramError:
        pass


def test_nothing_of_python_changed() -> None:
    """The tests above ran hostile programs in this very process."""
    assert builtins.__import__ is not None
    assert builtins.eval("1 + 1") == 2
    assert os.path.exists(os.getcwd())
