"""Entry points → images: Numba's front end and LLVM, for processors of given levels, whatever this machine has.

This module runs in processes of its own (`workers`): it sets Numba up to generate code for a file and not for this
process, which would not do beside other users of Numba.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

import llvmlite.binding as llvm
from numba import njit
from numba.core.codegen import AOTCodeLibrary, AOTCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from tidelog.engine.local.machine_code.call_from_python import RUN_TIME, SYMBOL, add_caller
from tidelog.engine.local.machine_code.declare import EntryPoint
from tidelog.engine.local.machine_code.link import Image, link
from tidelog.engine.local.machine_code.numba_kernels import INNER, make_dispatchers
from tidelog.engine.local.machine_code.processor import LEVELS


class _Library(AOTCodeLibrary):  # type: ignore[misc]
    """A library whose code never runs in this process."""

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    def _optimize_final_module(self) -> None:
        """Leaves the optimisation to the end: a kernel would be optimised again in everything that calls it."""


class _Codegen(AOTCPUCodegen):  # type: ignore[misc]
    _library_class = _Library


def use_own_code_generator() -> None:
    """Makes Numba generate code for files; once in a process, before it compiles anything."""
    context = cpu_target.target_context
    context._internal_codegen = _code_generator(LEVELS[-1])
    # A dispatcher wants a built-in function, which it never calls, and another one for each compiled function.
    context.get_executable = lambda library, fndesc, env: [].append


@cache
def _code_generator(level: str) -> Any:
    return _Codegen("tidelog", level)


def find_entry_point(name: str) -> EntryPoint:
    """Returns the entry point of a name, `module:function`."""
    module, function = name.split(":")
    found = getattr(import_module(module), function)
    assert isinstance(found, EntryPoint)
    return found


def compile_entry_point(entry_point: EntryPoint, levels: Iterable[str]) -> dict[str, Image]:
    """Compiles and links one entry point for each of some levels of processors.

    Numba's part, which takes most of the time, is the same for all levels."""
    make_dispatchers(INNER)
    dispatcher = njit(**INNER)(entry_point.function)
    dispatcher.compile(entry_point.signature)
    (compiled,) = dispatcher.overloads.values()
    whole = _whole_module(compiled, entry_point.function.__name__, is_short=entry_point.is_short)
    return {level: link(_object_code(whole, level), SYMBOL) for level in levels}


@global_compiler_lock
def _whole_module(compiled: Any, name: str, *, is_short: bool) -> bytes:
    """Returns a compiled function, all that it calls, and the function that Python calls, not optimised yet."""
    context = cpu_target.target_context
    module = context.codegen().create_library(name).create_ir_module("caller")
    add_caller(context, module, compiled.fndesc, name, is_short=is_short)
    whole = compiled.library._get_module_for_linking().clone()
    for part in (llvm.parse_assembly(RUN_TIME), llvm.parse_assembly(str(module))):
        part.triple, part.data_layout = whole.triple, whole.data_layout
        whole.link_in(part)
    for function in whole.functions:
        if not function.is_declaration and function.name != SYMBOL:
            function.linkage = "internal"
    whole.verify()
    code: bytes = whole.as_bitcode()
    return code


@global_compiler_lock
def _object_code(whole: bytes, level: str) -> bytes:
    generator = _code_generator(level)
    library = generator.create_library("whole")
    library._final_module = llvm.parse_bitcode(whole)
    AOTCodeLibrary._optimize_final_module(library)
    code: bytes = generator._tm.emit_object(library._final_module)
    return code
