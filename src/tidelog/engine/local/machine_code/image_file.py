"""Images in files: one file for each entry point, in a folder for each key (versions and level of the processor).

A file names what it was made from and for. It is used only if all of that is as it is now, and if nobody else can have
written it; everything else is as good as no file.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import struct
from functools import cache
from pathlib import Path
from typing import Any

from tidelog.engine.local.machine_code import places, processor
from tidelog.engine.local.machine_code.declare import EntryPoint
from tidelog.engine.local.machine_code.link import Image
from tidelog.engine.local.machine_code.sources import sources_digest

_MAGIC = b"tidelog machine code 1\n"
_VERSIONS_KEPT = 3  # of one entry point, when its sources change to and fro

_log = logging.getLogger("tidelog")


def digest(entry_point: EntryPoint) -> str:
    """Returns a digest of everything that an entry point is compiled from."""
    text = f"{entry_point.name} {entry_point.signature} {sources_digest(entry_point.function.__module__)}"
    return hashlib.sha256(text.encode()).hexdigest()


def find_image(entry_point: EntryPoint) -> Image | None:
    """Returns the image of an entry point for the best level of this processor that any folder has, or None."""
    for level in processor.levels():
        for folder in places.folders():
            if (found := read_image(entry_point, level, folder)) is not None:
                return found
    return None


def read_image(entry_point: EntryPoint, level: str, place: Path) -> Image | None:
    """Reads an image; returns None if it is not there, is not trusted or was made for something else."""
    folder = place / processor.key(level)
    path = folder / file_name(entry_point)
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(file, "rb") as stream:
        found = os.fstat(file)
        reason = places.objection(folder) or places.objection_to(found)
        if reason is not None or not stat.S_ISREG(found.st_mode):
            _refuse(folder, reason or "no file")
            return None
        content = stream.read()
    try:
        header, body = _split(content)
        expected = {"key": processor.key(level), "digest": digest(entry_point)}
        if any(header[each] != value for each, value in expected.items()):
            return None
        if hashlib.sha256(body).hexdigest() != header["content"]:
            return None
        internals = {int(place): int(target) for place, target in header["internals"].items()}
        return Image(body, header["text_size"], header["start"], header["externals"], internals)
    except (ValueError, KeyError, struct.error):
        return None


@cache
def _refuse(folder: Path, reason: str) -> None:
    _log.warning("machine code in %s is not loaded: %s", folder, reason)


def write_image(folder: Path, entry_point: EntryPoint, level: str, image: Image) -> Path:
    """Writes an image, whole or not at all; returns its path."""
    target = folder / processor.key(level)
    target.mkdir(mode=0o755, parents=True, exist_ok=True)
    header = json.dumps(
        {
            "key": processor.key(level),
            "digest": digest(entry_point),
            "content": hashlib.sha256(image.content).hexdigest(),
            "text_size": image.text_size,
            "start": image.start,
            "externals": image.externals,
            "internals": image.internals,
        }
    ).encode()
    path = target / file_name(entry_point)
    temporary = path.with_suffix(f".{os.getpid()}")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
    with os.fdopen(file, "wb") as stream:
        stream.write(_MAGIC + struct.pack("<I", len(header)) + header + image.content)
    temporary.rename(path)
    _forget_old(path)
    return path


def file_name(entry_point: EntryPoint) -> str:
    """Returns the name of the file of an entry point, as its sources are now."""
    module, function = entry_point.name.removeprefix("tidelog.engine.local.").split(":")
    return f"{module}.{function}-{digest(entry_point)[:16]}.code"


def _split(content: bytes) -> tuple[dict[str, Any], bytes]:
    if not content.startswith(_MAGIC):
        raise ValueError("not machine code")
    start = len(_MAGIC) + 4
    (size,) = struct.unpack_from("<I", content, len(_MAGIC))
    return json.loads(content[start : start + size]), content[start + size :]


def _forget_old(path: Path) -> None:
    """Removes the images of an entry point that were made from older sources, but for a few."""
    stem = path.name.rsplit("-", 1)[0]
    try:
        others = sorted(path.parent.glob(f"{stem}-*.code"), key=lambda each: each.stat().st_mtime_ns)
        for each in others[:-_VERSIONS_KEPT]:
            each.unlink()
    except OSError:  # another process was faster
        pass
