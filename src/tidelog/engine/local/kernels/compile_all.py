"""Compiles the kernels and puts them into Numba's cache on disk: `python -m tidelog.engine.local.kernels.compile_all`.

Set-up runs this once; without it the first database that is opened pays for the compilation.
"""

from __future__ import annotations

from importlib import import_module
from time import perf_counter


def compile_all() -> float:
    """Compiles all kernels that are not in the cache; returns the seconds that it took."""
    started = perf_counter()
    import_module("tidelog.engine.local.engine")  # with it, all modules that have entry points
    from tidelog.engine.local.kernels.memory import ENTRY_POINTS

    for entry_point in ENTRY_POINTS:
        entry_point.load()
    return perf_counter() - started


if __name__ == "__main__":
    print(f"kernels ready ({compile_all():.1f} s)")
