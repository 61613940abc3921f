"""`tidelog run` of a program in Soufflé's language: the files, formats and console output are those that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tidelog.cli.progress import Progress
from tidelog.database.database import Database
from tidelog.database.program.program import Program
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.souffle.files.read_facts import read_facts
from tidelog.souffle.files.value_text import ValueText
from tidelog.souffle.files.write_results import write_results
from tidelog.souffle.front_end import SouffleProgram
from tidelog.souffle.lower.lower_program import LOADED
from tidelog.souffle.text import tree

_STANDARD_OUTPUT = "-"


def load_facts(program: SouffleProgram, database: Database, folder: Path) -> None:
    """Commits one transaction with the facts of every `.input`."""
    texts = text_of(program)
    with database.transaction() as tx:
        if program.lowered.waits:
            tx.insert(LOADED, [()])
        for directive in program.declared.directives:
            if directive.kind == "input":
                rows = read_facts(directive, program.declared, texts, folder)
                tx.insert(program.facts[directive.name], [*rows])


def write_outputs(program: SouffleProgram, database: Database, folder: Path | None) -> dict[str, Path]:
    """Writes what `.output` and `.printsize` ask for, stratum by stratum; returns the files by relation."""
    texts = text_of(program)
    written: dict[str, Path] = {}
    for directive in _in_order(program):
        rows = [tuple(row) for row in database.relation(directive.name).rows()]
        if directive.kind == "printsize":
            print(f"{directive.name}\t{len(rows)}", flush=True)
            continue
        path = write_results(directive, sorted(rows), program.declared, texts, folder)
        if path is not None:
            written[directive.name] = path
    return written


def text_of(program: SouffleProgram) -> ValueText:
    return ValueText(program.declared.types, program.lowered.shapes, program.bits)


def run_files(
    program: Program,
    facts: Path | None,
    output: Path | None,
    engine: str,
    opening: Mapping[str, Any],
    progress: Progress,
) -> tuple[Database, dict[str, Path]]:
    """Reads, evaluates and writes; returns the open database and the files that were written."""
    souffle = program.stages.souffle
    assert souffle is not None
    folder = None if output is not None and str(output) == _STANDARD_OUTPUT else output or Path()
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"cannot create the folder {folder}: {error.strerror or error}", code=Code.UNWRITABLE_OUTPUT
            ) from error
    progress.start("open")
    database = program.open(engine, **opening)
    try:
        progress.start("evaluate", strata=len(program.stages.rules.strata))
        load_facts(souffle, database, facts or Path())
        progress.start("write")
        return database, write_outputs(souffle, database, folder)
    except BaseException:
        database.close()
        raise


def _in_order(program: SouffleProgram) -> Iterator[tree.Directive]:
    """Yields the directives that write, each relation's after those of the relations that it needs."""
    for name in program.lowered.order:
        yield from program.declared.given("output", name)
        yield from program.declared.given("printsize", name)
