"""`--externs FILE.py`: a Python file → the extern functions of a program.

The public functions that the file defines are extern functions of the main module, by their names. For other modules,
or other names, the file has a dictionary:

    EXTERNS = {"net::lookup": lookup}
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import click

from tidelog.cli import options
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError

NAME = "EXTERNS"

externs_option = click.option(
    "--externs",
    "externs_file",
    metavar="FILE.py",
    type=options.FILE,
    help=f"Python file with the program's extern functions, as functions of the same names or in a dictionary {NAME}.",
)


def load_externs(path: Path | None) -> dict[str, Callable[..., Any]]:
    """Runs the file and returns its functions by the names of the extern functions; none without a file.

    Raises UsageError where the file fails, or its dictionary is not one of functions.
    """
    if path is None:
        return {}
    module = _run(path)
    functions: dict[str, Callable[..., Any]] = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    return {**functions, **_dictionary(path, getattr(module, NAME, {}))}


def _run(path: Path) -> ModuleType:
    name = f"tidelog_externs_{path.stem}"
    spec = spec_from_loader(name, loader=None, origin=str(path))
    assert spec is not None
    module = module_from_spec(spec)
    module.__file__ = str(path)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        # As for a script: the file may import its neighbours, even while its functions run.
        sys.path.insert(0, folder)
    sys.modules[name] = module
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    except Exception as error:
        raise UsageError(
            f"the externs in {path} cannot be loaded: {_error_text(error, path)}", code=Code.BAD_EXTERNS
        ) from error
    return module


def _dictionary(path: Path, externs: object) -> dict[str, Callable[..., Any]]:
    if not isinstance(externs, Mapping):
        raise UsageError(
            f"{NAME} in {path} is not a dictionary, but of type {type(externs).__name__}",
            code=Code.BAD_EXTERNS,
            help=f'write `{NAME} = {{"module::name": function}}`',
        )
    for name, function in externs.items():
        if not isinstance(name, str) or not callable(function):
            raise UsageError(
                f"{NAME} in {path} has the entry {name!r}: {function!r}, which is not a name and a function",
                code=Code.BAD_EXTERNS,
            )
    return dict(externs)


def _error_text(error: Exception, path: Path) -> str:
    """Returns the text of an exception, and the line of the file that raised it."""
    if isinstance(error, SyntaxError):
        line = error.lineno
        text = error.msg
    else:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = frames[-1].lineno if frames else None
        text = str(error)
    where = f" (line {line})" if line else ""
    return f"{type(error).__name__}: {text}{where}"
