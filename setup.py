"""The build of the package: the wheel gets machine code of the kernels where the build can make it.

`pyproject.toml` describes the package. The code is compiled for the levels of x86-64 in `TIDELOG_KERNEL_LEVELS`, by
default those that this package ships; an empty value leaves it out. A wheel with code is for Linux on x86-64 and for
the Python that built it. Where the code does not fit, kernels are compiled when they are first used.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

LEVELS = os.environ.get("TIDELOG_KERNEL_LEVELS", "x86-64-v3 x86-64-v2").split()
CODE = Path("tidelog", "engine", "local", "machine_code", "code")


def has_code(distribution: Distribution) -> bool:
    """Returns whether the wheel has machine code: not that of an editable installation, which uses the clone's."""
    machine = os.uname().machine if hasattr(os, "uname") else ""
    is_editable = distribution.get_command_obj("build_py").editable_mode
    can_compile = find_spec("numba") is not None and find_spec("numpy") is not None
    is_known = sys.platform == "linux" and machine == "x86_64" and sys.implementation.name == "cpython"
    return bool(LEVELS) and is_known and can_compile and not is_editable


class BuildWithCode(build_py):
    """Copies the sources, and compiles the kernels beside them."""

    def run(self) -> None:
        super().run()
        if has_code(self.distribution):
            sources = str(Path(self.build_lib).resolve())
            target = Path(sources, CODE)
            if Path("src", CODE).is_dir():  # a clone's own code, of which the build keeps what is up to date
                shutil.copytree(Path("src", CODE), target, dirs_exist_ok=True)
            path = os.pathsep.join(filter(None, (sources, os.environ.get("PYTHONPATH"))))
            command = [sys.executable, "-m", "tidelog.engine.local.machine_code.build", str(target), *LEVELS]
            if subprocess.run(command, check=False, env=os.environ | {"PYTHONPATH": path}).returncode != 0:
                print("warning: not all kernels could be compiled; the others are compiled when they are used")


class DistributionWithCode(Distribution):
    """Marks a wheel that has machine code as made for this Python and platform."""

    def has_ext_modules(self) -> bool:
        return has_code(self)


setup(distclass=DistributionWithCode, cmdclass={"build_py": BuildWithCode})
