"""Every extern function of the library's modules has a Python function, and only those are found."""

from __future__ import annotations

import pytest

from tidelog.diagnostics.spans import Source
from tidelog.library._runtime.extern import needs_types
from tidelog.library._runtime.registry import DIRECTORY, library_externs, library_modules
from tidelog.syntax import ast
from tidelog.syntax.parse import parse


def declarations(module: str) -> tuple[ast.Item, ...]:
    path = DIRECTORY.joinpath(*module.split("::")).with_suffix(".dl")
    return parse(Source(str(path), path.read_text())).items


def declared_externs() -> set[str]:
    return {
        f"{module}::{item.name.text}"
        for module in library_modules()
        for item in declarations(module)
        if isinstance(item, ast.TransformerDeclaration)
        or (isinstance(item, ast.FunctionDeclaration) and item.body is None)
    }


def test_declared_extern_functions_are_exactly_those_in_python() -> None:
    assert set(library_externs()) == declared_externs()


def test_extern_functions_take_their_declared_parameters() -> None:
    externs = library_externs()
    for module in library_modules():
        for item in declarations(module):
            if isinstance(item, ast.FunctionDeclaration) and item.body is None:
                function = externs[f"{module}::{item.name.text}"]
                before = 1 + len(_type_variables(item)) if needs_types(function) else 0
                code = getattr(function, "__code__", None)
                if code is not None and not code.co_flags & 0x04:
                    assert code.co_argcount == before + len(item.parameters), item.name.text


def test_no_two_extern_functions_of_a_module_share_a_name() -> None:
    names = [
        f"{module}::{item.name.text}"
        for module in library_modules()
        for item in declarations(module)
        if isinstance(item, ast.FunctionDeclaration) and item.body is None
    ]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "name",
    [
        "ddlog_std::xxh64_intdigest",
        "ddlog_std::Vec",
        "ddlog_std::__builtins__",
        "regex::re",
        "_json::text::parse_json",
        "_runtime::registry::library_externs",
        "os::system",
        "vec_push",
        "net::..::uuid::nil",
    ],
)
def test_other_names_are_not_found(name: str) -> None:
    with pytest.raises(KeyError):
        library_externs()[name]


def _type_variables(item: ast.FunctionDeclaration) -> set[str]:
    from tidelog.syntax.ast.walk import nodes

    return {node.name for node in nodes(item) if type(node).__name__ == "TypeVariable"}  # type: ignore[attr-defined]
