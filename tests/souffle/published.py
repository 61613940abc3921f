"""Runs a directory of published Soufflé tests: `python -m tests.souffle.published DIRECTORY`.

A test is a folder `name` with `name.dl`, files of facts (in `facts`, if that exists), and what Soufflé writes: `*.csv`,
and `name.out` for what it prints. Each runs in a process of its own, so that one without an end can be stopped.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidelog.cli.progress import Progress
from tidelog.cli.run_souffle import run_files
from tidelog.database.program.program import Program, compile_source, read_source
from tidelog.diagnostics.errors import TidelogError
from tidelog.rules.lower.program import Options
from tidelog.souffle.dialect import SOUFFLE

AGREES = "agrees"


@dataclass(frozen=True, slots=True)
class Published:
    """A test: its folder, the text of its program, and the folder of its facts."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def program(self) -> Path:
        return self.folder / f"{self.name}.dl"

    @property
    def facts(self) -> Path:
        own = self.folder / "facts"
        return own if own.is_dir() else self.folder

    def compiled(self, word_bits: int, *, waits_for_facts: bool = False) -> Program:
        options = Options(dialect=SOUFFLE, word_bits=word_bits, waits_for_facts=waits_for_facts)
        return compile_source(read_source(self.program), [self.folder], options)

    def expected(self) -> dict[str, list[str]]:
        """Returns the sorted lines of each file that Soufflé writes, and of its console output as `stdout`."""
        found = {path.name: lines(path) for path in self.folder.glob("*.csv")}
        found["stdout"] = lines(self.folder / f"{self.name}.out")
        return found


def lines(path: Path) -> list[str]:
    return sorted(path.read_text(encoding="utf-8", errors="replace").splitlines()) if path.exists() else []


def published(root: Path, only: Sequence[str] = ()) -> Iterator[Published]:
    for folder in sorted(root.iterdir()):
        if (folder / f"{folder.name}.dl").is_file() and (not only or folder.name in only):
            yield Published(folder)


def run_batch(case: Published, word_bits: int, engine: str) -> str:
    """Returns `agrees`, or the files that differ. Paths that the program names are relative to its folder."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / case.name
        shutil.copytree(case.folder, here)
        for path in here.glob("*.csv"):
            path.unlink()
        copy = Published(here)
        origin = Path.cwd()
        os.chdir(here)
        printed = here / "stdout"
        with printed.open("wb") as stream:
            before = os.dup(1)
            os.dup2(stream.fileno(), 1)
            try:
                with Progress() as progress:
                    program = copy.compiled(word_bits, waits_for_facts=True)
                    database, _ = run_files(program, copy.facts, here, engine, {}, progress)
                    database.close()
            finally:
                sys.stdout.flush()
                os.dup2(before, 1)
                os.close(before)
                os.chdir(origin)
        expected = case.expected()
        found = {path.name: lines(path) for path in here.glob("*.csv")} | {"stdout": lines(printed)}
        wrong = [name for name, wanted in expected.items() if found.get(name, []) != wanted]
        return f"differs in {', '.join(wrong)}" if wrong else AGREES


def judged(judge: Callable[..., str], *arguments: Any) -> str:
    """Returns a verdict; an error of Tidelog's or any other is one, too."""
    try:
        return judge(*arguments)
    except TidelogError as error:
        return f"refused: {str(error).splitlines()[0]}"
    except BaseException:
        return "traceback: " + " | ".join(traceback.format_exc().split("\n")[-4:-1])


class Worker:
    """A process that judges tests one after another; one that takes too long is killed, and the next test gets another.

    What is imported and loaded for one test serves the next.
    """

    def __init__(self, judge: Callable[..., str], seconds: float) -> None:
        self._judge, self._seconds = judge, seconds
        self._process: Any = None
        self._pipe: Any = None

    def verdict(self, *arguments: Any) -> str:
        if self._process is None:
            context = multiprocessing.get_context("fork")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self._judge))
            self._process.start()
            theirs.close()
        self._pipe.send(arguments)
        try:
            if self._pipe.poll(self._seconds):
                return str(self._pipe.recv())
        except EOFError:
            self.close()
            return "traceback: the process has ended"
        self.close()
        return "has no end in time"

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(pipe: Any, judge: Callable[..., str]) -> None:
    while True:
        pipe.send(judged(judge, *pipe.recv()))


def report(
    cases: Iterator[Published],
    judge: Callable[..., str],
    arguments: Sequence[Any],
    seconds: float,
    *,
    apart: bool = True,
) -> int:
    """Prints the verdict of each test and how many agree; returns the number of those that do not."""
    agree, others = 0, 0
    worker = Worker(judge, seconds)
    for case in cases:
        start = time.perf_counter()
        verdict = worker.verdict(case, *arguments) if apart else judged(judge, case, *arguments)
        agree, others = agree + verdict.startswith(AGREES), others + (not verdict.startswith(AGREES))
        print(f"{case.name:32} {time.perf_counter() - start:7.2f} s  {verdict}", flush=True)
    worker.close()
    print(f"{agree} of {agree + others} agree")
    return others


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--word-bits", type=int, default=32)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--seconds", type=float, default=120.0, help="the longest time of one test")
    parser.add_argument("--only", nargs="*", default=())
    given = parser.parse_args()
    cases = published(given.directory, given.only)
    apart = given.engine == "local"
    return min(1, report(cases, run_batch, (given.word_bits, given.engine), given.seconds, apart=apart))


if __name__ == "__main__":
    sys.exit(main())
