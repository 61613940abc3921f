"""Folders for machine code: where it may be read from, and where new code is written.

The package's own folder has what came with the installation, and what was compiled since if this user may write there;
then comes the user's cache folder, then a temporary one. Code is read only from a folder that belongs to this user or
to root and that nobody else can write to: who can write there can run anything in this process.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path

VARIABLE = "TIDELOG_KERNEL_CACHE"  # a folder to use before all others
OWN_FOLDER = Path(__file__).parent / "code"

_log = logging.getLogger("tidelog")


def folders() -> list[Path]:
    """Returns the folders that may have code, the preferred first."""
    chosen = os.environ.get(VARIABLE)
    places = [Path(chosen)] if chosen else []
    return [*places, OWN_FOLDER, _user_folder(), _temporary_folder()]


def objection(folder: Path) -> str | None:
    """Returns why code from a folder must not run, or None if it may."""
    path = Path(os.path.realpath(folder))
    try:
        found = path.stat()
        if not stat.S_ISDIR(found.st_mode):
            return f"{path} is no folder"
        if reason := objection_to(found):
            return f"{path} {reason}"
        for parent in path.parents:
            mode = parent.stat().st_mode
            if mode & 0o022 and not mode & stat.S_ISVTX:
                return f"{parent} can be written to by others"
    except OSError as error:
        return str(error)
    return None


def objection_to(found: os.stat_result) -> str | None:
    """Returns what is wrong with the owner or the mode of a file or folder, or None."""
    if found.st_uid not in (0, os.geteuid()):
        return "belongs to another user"
    if found.st_mode & 0o022:
        return "can be written to by others"
    return None


def folder_to_write() -> Path:
    """Returns a folder for new code. One is always found, in the end a temporary one for this process alone."""
    for folder in folders():
        if _is_usable(folder):
            if folder in (_user_folder(), _temporary_folder()):
                _note(folder)
            return folder
    folder = _last_resort()
    _note(folder)
    return folder


def _is_usable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o755 if folder == OWN_FOLDER else 0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK) and objection(folder) is None


def _user_folder() -> Path:
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(chosen) if os.path.isabs(chosen) else Path("~/.cache").expanduser()
    return base / "tidelog" / "kernels"


def _temporary_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"tidelog-kernels-{os.geteuid()}"


@cache
def _last_resort() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="tidelog-kernels-")
    _kept.append(folder)  # removed when this process ends
    return Path(folder.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


@cache
def _note(folder: Path) -> None:
    text = f"the folder of the package cannot keep compiled kernels; they go to {folder}"
    _log.info(text)
    print(f"tidelog: {text}", file=sys.stderr)
