"""The library's extern functions and transformers by their qualified names: `ddlog_std::vec_push`, `net::ipv4::…`.

A Python module is imported by the first lookup of one of its functions. Only functions marked as extern are found; a
name from a program never reaches anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tidelog.library._runtime.extern import needs

DIRECTORY = Path(__file__).parents[1]

# A module whose functions would make too long a file.
_PARTS = {"ddlog_std": ("ddlog_std", "ddlog_std_strings", "ddlog_std_collections")}


def library_externs() -> Mapping[str, Callable[..., Any]]:
    """Returns all extern functions by name; a lookup imports one module, iteration imports all."""
    return _Externs()


def library_modules() -> tuple[str, ...]:
    """Returns the names of the library's modules, as an `import` writes them."""
    paths = (path.relative_to(DIRECTORY).with_suffix("") for path in DIRECTORY.rglob("*.dl"))
    return tuple(sorted("::".join(path.parts) for path in paths))


class _Externs(Mapping[str, Callable[..., Any]]):
    def __getitem__(self, name: str) -> Callable[..., Any]:
        module, _, function = name.rpartition("::")
        if module in _python_modules():
            for part in _parts(module):
                found: Any = vars(part).get(function)
                if _belongs(found, part):
                    extern: Callable[..., Any] = found
                    return extern
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        for module in sorted(_python_modules()):
            for part in _parts(module):
                yield from (f"{module}::{name}" for name, value in vars(part).items() if _belongs(value, part))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def _python_modules() -> frozenset[str]:
    """Returns the modules that have a Python file."""
    return frozenset(
        name for name in library_modules() if DIRECTORY.joinpath(*name.split("::")).with_suffix(".py").is_file()
    )


def _parts(module: str) -> Iterator[ModuleType]:
    for part in _PARTS.get(module, (module,)):
        yield import_module(f"tidelog.library.{part.replace('::', '.')}")


def _belongs(value: object, part: ModuleType) -> bool:
    """True for an extern function that the module defines, and does not only import."""
    return needs(value) is not None and getattr(value, "__module__", None) == part.__name__
