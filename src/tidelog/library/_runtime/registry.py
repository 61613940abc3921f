"""The library's extern functions and transformers by their qualified names: `ddlog_std::vec_push`, `net::ipv4::…`.

A Python module is imported by the first lookup of one of its functions. Only functions that are marked as extern, or in
the table `EXTERNS` of the module, are found; a name from a program never reaches anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tidelog.library._runtime.extern import Externs, is_marked

DIRECTORY = Path(__file__).parents[1]

# A module whose functions would make too long a file.
_PARTS = {"ddlog_std": ("ddlog_std", "ddlog_std_strings", "ddlog_std_collections", "ddlog_std_times")}


def library_externs() -> Externs:
    """Returns all extern functions by name; a lookup imports one module, iteration imports all."""
    return _Externs()


def library_modules() -> tuple[str, ...]:
    """Returns the names of the library's modules, as an `import` writes them."""
    paths = (path.relative_to(DIRECTORY).with_suffix("") for path in DIRECTORY.rglob("*.dl"))
    return tuple(sorted("::".join(path.parts) for path in paths))


class _Externs(Mapping[str, Callable[..., Any]]):
    def __getitem__(self, name: str) -> Callable[..., Any]:
        module, _, function = name.rpartition("::")
        if module in _python_modules() and function in _functions(module):
            return _functions(module)[function]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (f"{module}::{name}" for module in sorted(_python_modules()) for name in _functions(module))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def _python_modules() -> frozenset[str]:
    """Returns the modules that have a Python file."""
    return frozenset(
        name for name in library_modules() if DIRECTORY.joinpath(*name.split("::")).with_suffix(".py").is_file()
    )


@cache
def _functions(module: str) -> Externs:
    """Returns the extern functions that the Python of a module defines, and does not only import, or that are in its
    table."""
    found: dict[str, Callable[..., Any]] = {}
    for part in _PARTS.get(module, (module,)):
        python = import_module(f"tidelog.library.{part.replace('::', '.')}")
        own = {name: each for name, each in vars(python).items() if is_marked(each)}
        found |= {name: each for name, each in own.items() if each.__module__ == python.__name__}
        found |= vars(python).get("EXTERNS", {})
    return found
