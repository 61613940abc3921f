"""What a process does to the files of one directory, as its system calls, seen by `strace`.

SQLite and Python make their own calls, so nothing of either is replaced: the operations are those of a real commit.
What is written through mapped memory is no call; a process that maps a file tells of it by marks, lines in a file
outside.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

TRACED = (
    "openat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,fallocate,rename,renameat,renameat2,unlink,unlinkat,"
    "fsync,fdatasync,lseek,link,linkat,copy_file_range,sendfile"
)
_CALL = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)(.*)$")
_UNFINISHED = re.compile(r"^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)$")
_FILE = re.compile(r"^(\d+|AT_FDCWD)<(.*)>$")


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes written to a file, by its name in the directory."""

    name: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file is cut, or made longer by zeros."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Create:
    """A file appears, empty."""

    name: str


@dataclass(frozen=True, slots=True)
class Rename:
    """A file gets another name, whoever had it."""

    name: str
    new: str


@dataclass(frozen=True, slots=True)
class Unlink:
    """A name goes."""

    name: str


@dataclass(frozen=True, slots=True)
class Sync:
    """What was written to a file is on the disk; for the name "", the names in the directory are."""

    name: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A line that the process wrote about itself."""

    text: str


Operation = Write | Truncate | Create | Rename | Unlink | Sync | Mark


def can_trace() -> bool:
    """True if `strace` is installed and may trace a process here."""
    if shutil.which("strace") is None:
        return False
    done = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return done.returncode == 0


def record(command: Sequence[str], directory: Path, marks: Path, log: Path, cwd: Path) -> list[Operation]:
    """Runs a command to its end; returns what it did to the files of a directory, and its marks, in order."""
    strace = ["strace", "-f", "--seccomp-bpf", "-y", "-xx", "-s", str(1 << 26), "-e", f"trace={TRACED}"]
    subprocess.run([*strace, "-o", str(log), *command], cwd=cwd, check=True)
    with log.open(encoding="ascii") as lines:
        return list(_Reader(str(directory), str(marks)).operations(lines))


def run_with_fault(
    command: Sequence[str], paths: Sequence[Path], call: str, error: str, when: str, log: Path, cwd: Path
) -> bool:
    """Runs a command in which some calls of a kind on these paths fail; returns False if there were none to fail.

    `when` is a number, or a number and `+`: from this call on, all.
    """
    where = [word for path in paths for word in ("-P", str(path))]
    faults = ["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}"]
    subprocess.run(["strace", "-f", "-o", str(log), *where, *faults, *command], cwd=cwd, check=True)
    return "(INJECTED)" in log.read_text()


class _Reader:
    """Reads the log of `strace`. It follows the places in files that are written without an offset."""

    def __init__(self, directory: str, marks: str) -> None:
        self._directory = directory
        self._marks = marks
        self._places: dict[tuple[str, str], int] = {}  # file descriptor and path → place
        self._names: set[str] = set()

    def operations(self, lines: Iterator[str]) -> Iterator[Operation]:
        begun: dict[str, tuple[str, str]] = {}
        for line in lines:
            line = line.rstrip("\n")
            if found := _UNFINISHED.match(line):
                begun[found[1]] = found[2], found[3]
                continue
            if found := _RESUMED.match(line):
                name, start = begun.pop(found[1])
                line = f"{found[1]} {name}({start}{found[3]}"
            if (found := _CALL.match(line)) and int(found[4]) >= 0:
                yield from self._call(found[2], found[3].split(", "), int(found[4]), found[5])

    def _call(self, call: str, given: list[str], result: int, rest: str) -> Iterator[Operation]:
        match call:
            case "openat":
                yield from self._open(_path_of(given), given[2], f"{result}{rest.split('>')[0]}>")
            case "write" | "pwrite64":
                path = _opened(given[0])
                data = _bytes(given[1])[:result]
                if path == self._marks:
                    yield from (Mark(text) for text in data.decode().splitlines())
                elif (name := self._name(path)) is not None:
                    place = int(given[3]) if call == "pwrite64" else self._places.get((given[0], path), 0)
                    if call == "write":
                        self._places[given[0], path] = place + result
                    yield Write(name, place, data)
            case "lseek":
                self._places[given[0], _opened(given[0])] = result
            case "ftruncate":
                if (name := self._name(_opened(given[0]))) is not None:
                    yield Truncate(name, int(given[1]))
            case "fsync" | "fdatasync":
                if (name := self._name(_opened(given[0]))) is not None:
                    yield Sync(name)
            case "rename" | "renameat" | "renameat2":
                old, new = [self._name(_text(each)) for each in given if each.startswith('"')]
                assert (old is None) == (new is None), "a file comes from outside"
                if old is not None and new is not None:
                    self._names = self._names - {old} | {new}
                    yield Rename(old, new)
            case "unlink" | "unlinkat":
                (name,) = (self._name(_text(each)) for each in given if each.startswith('"'))
                if name is not None:
                    self._names.discard(name)
                    yield Unlink(name)
            case _:
                paths = [_text(each) if each.startswith('"') else _opened(each) for each in given if "x" in each]
                assert not any(self._name(path) is not None for path in paths), f"{call} is not followed"

    def _open(self, path: str, flags: str, file: str) -> Iterator[Operation]:
        name = self._name(path)
        if not name:
            return
        self._places[file, path] = 0
        assert "O_APPEND" not in flags, path
        if "O_CREAT" in flags and name not in self._names:
            self._names.add(name)
            yield Create(name)
        elif "O_TRUNC" in flags:
            yield Truncate(name, 0)

    def _name(self, path: str) -> str | None:
        """Returns the name in the directory, "" for itself; None for a file outside or without a name.

        SQLite maps its file `-shm`, and makes it again when nobody has it open: it is nobody's state.
        """
        if path == self._directory:
            return ""
        inside = path.startswith(f"{self._directory}/") and not path.endswith((" (deleted)", "-shm"))
        return path.removeprefix(f"{self._directory}/") if inside else None


def _bytes(text: str) -> bytes:
    assert text[:1] == text[-1:] == '"', f"{text[-40:]} is cut"
    return bytes.fromhex(text[1:-1].replace("\\x", ""))


def _text(text: str) -> str:
    return _bytes(text).decode()


def _opened(text: str) -> str:
    """Returns the path of a file descriptor, `3<…>`."""
    found = _FILE.match(text)
    return "" if found is None else bytes.fromhex(found[2].replace("\\x", "")).decode(errors="replace")


def _path_of(given: list[str]) -> str:
    """Returns the path that `openat` was given; a relative one stands in its folder."""
    path = _text(given[1])
    return path if path.startswith("/") else f"{_opened(given[0])}/{path}"
