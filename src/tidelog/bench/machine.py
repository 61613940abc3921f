"""The machine and the versions of a run, and the peak memory of a block."""

from __future__ import annotations

import gc
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def describe_machine() -> dict[str, Any]:
    """Returns system, processor, cores, memory, and the current load: figures of a busy machine have to say so."""
    load = os.getloadavg() if hasattr(os, "getloadavg") else ()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_mb": _memory_mb(),
        "load": [round(each, 2) for each in load],
    }


def describe_versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("tidelog", "numpy", "numba", "pyarrow"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


@contextmanager
def peak_memory(into: dict[str, dict[str, float]], name: str) -> Iterator[None]:
    """Notes the resident memory (MB) of the process `before` the block, and its `peak` inside.

    Memory of earlier work is freed first, as far as allocators allow. Notes nothing except on Linux.
    """
    before = settled_memory()
    try:
        _CLEAR.write_text("5")
    except OSError:
        yield
        return
    yield
    into[name] = {"before": before, "peak": round(_status("VmHWM") / 1024, 1)}


def settled_memory() -> float:
    """Returns the resident memory (MB) of the process after freeing what allocators allow; 0 except on Linux."""
    import pyarrow as pa

    gc.collect()
    pa.default_memory_pool().release_unused()
    return round(_status("VmRSS") / 1024, 1) if _STATUS.exists() else 0.0


def _status(field: str) -> float:
    """Returns a field of the process's status, in KB."""
    lines = [line for line in _STATUS.read_text().splitlines() if line.startswith(field + ":")]
    return float(lines[0].split()[1])


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_mb() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20)
    except (AttributeError, OSError, ValueError):
        return None
