"""What machine code must fit: the levels of this processor, and the versions of Python and of the compiler.

A level is a set of features that LLVM knows by a name (`x86-64-v3`). Code of a level runs only on a processor that has
all of its features, so they are read before any code is.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

# Features by the names of /proc/cpuinfo; a level has those of all levels below it.
FEATURES = {
    "x86-64-v3": frozenset(["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"]),
    "x86-64-v2": frozenset(["cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"]),
    "x86-64": frozenset(["cmov", "cx8", "fpu", "fxsr", "mmx", "sse", "sse2"]),
}
LEVELS = tuple(FEATURES)  # the best first
SHIPPED = LEVELS[:2]  # what a wheel for other machines has


@cache
def levels() -> tuple[str, ...]:
    """Returns the levels of this processor, the best first; none if this package cannot load machine code here."""
    is_known = sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 2**32
    if not is_known or sys.implementation.name != "cpython" or sys.abiflags:
        return ()
    return levels_of(processor_features())


def levels_of(features: frozenset[str]) -> tuple[str, ...]:
    """Returns the levels that a processor with some features has, the best first."""
    found: list[str] = []
    for level in reversed(LEVELS):
        if not FEATURES[level] <= features:
            break
        found.insert(0, level)
    return tuple(found)


def processor_features() -> frozenset[str]:
    """Returns the features that the kernel of the operating system reports for the first processor."""
    try:
        with Path("/proc/cpuinfo").open(encoding="ascii", errors="replace") as lines:
            for line in lines:
                if line.startswith("flags"):
                    return frozenset(line.split(":", 1)[1].split())
    except OSError:
        pass
    return FEATURES["x86-64"]  # what every such processor has


@cache
def versions() -> str:
    """Returns the versions of Python and of the compiler, which are part of the key of machine code."""
    return f"{sys.implementation.cache_tag}-numba-{_version('numba')}-llvmlite-{_version('llvmlite')}"


def key(level: str) -> str:
    """Returns what code must have been made for to be loaded: versions, operating system, processor."""
    return f"{versions()}-{sys.platform}-{level}"


def _version(package: str) -> str:
    """Returns the version of an installed package. Importing the package, or the library of the metadata of packages,
    would take longer than loading the code."""
    spec = find_spec(package)
    if spec is not None and spec.origin is not None:
        for entry in os.listdir(os.path.dirname(os.path.dirname(spec.origin))):
            if match := re.fullmatch(rf"{package}-(.+)\.dist-info", entry):
                return match[1]
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
