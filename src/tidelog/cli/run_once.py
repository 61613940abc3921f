"""A program and a folder of facts → one epoch, a folder of results, and a summary of what it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from tidelog.cli.progress import Progress
from tidelog.cli.warnings import print_warnings
from tidelog.database.database import Database
from tidelog.database.program import Program, compile
from tidelog.database.session import declared
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.suggest import suggest
from tidelog.engine.interface import EpochReport
from tidelog.io.facts import find_fact_files
from tidelog.io.formats import FORMATS
from tidelog.io.read import read_tables
from tidelog.io.write import write_table
from tidelog.rules.ir import Relation, Role


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did. `rows` and `files` are by relation; `seconds` by phase, in their order."""

    program: str
    engine: str
    relations: Mapping[str, Relation]
    rows: Mapping[str, int]
    files: Mapping[str, Path]
    report: EpochReport
    seconds: Mapping[str, float]


def run_once(path: Path, facts: Path | None, output: Path | None, engine: str, format_name: str) -> Summary:
    """Reads, evaluates, writes; nothing is written unless all of the facts are read and evaluated."""
    with Progress() as progress:
        progress.start("compile")
        program = compile(path)
        print_warnings(program.stages.typed)
        inputs = declared(program.stages.rules, Role.INPUT)
        files = _find_files(facts, inputs)
        if output is not None:
            _make_folder(output)
        progress.start("open")
        with program.open(engine) as database:
            _load(database, files, inputs, progress)
            progress.start("write")
            written = _write_outputs(program, database, output, format_name) if output is not None else {}
            relations = declared(program.stages.rules)
            report = database.report
            rows = {name: report.rows[name] for name in relations}
    return Summary(str(path), engine, relations, rows, {**files, **written}, report, progress.seconds)


def _find_files(folder: Path | None, inputs: Mapping[str, Relation]) -> Mapping[str, Path]:
    """The file of each input relation, with a note for what has none and a warning for files that nobody reads."""
    if folder is None:
        if inputs:
            _say(f"note: without -F the input relations start empty: {', '.join(inputs)}")
        return {}
    found = find_fact_files(folder, inputs)
    for stranger in found.strangers:
        meant = suggest(stranger.name.partition(".")[0], inputs)
        hint = f"; did you mean `{meant}`?" if meant else ""
        _say(f"warning: {stranger} is not read: it bears the name of no input relation{hint}")
    for name in inputs:
        if name not in found.files:
            _say(f"note: {folder} has no file for `{name}`, which starts empty")
    return found.files


def _load(database: Database, files: Mapping[str, Path], inputs: Mapping[str, Relation], progress: Progress) -> None:
    with database.transaction() as tx:
        for name, path in files.items():
            progress.start("read", path.name)
            for table in read_tables(path, inputs[name]):
                tx.insert(name, table)
        progress.start("evaluate")


def _write_outputs(program: Program, database: Database, folder: Path, format_name: str) -> dict[str, Path]:
    written = {}
    for name, relation in declared(program.stages.rules, Role.OUTPUT).items():
        path = folder / f"{name}.{format_name}"
        try:
            write_table(database.relation(name).to_arrow(), relation, path, FORMATS[format_name])
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}", code=Code.UNWRITABLE_OUTPUT) from error
        written[name] = path
    return written


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make the folder {folder}: {error.strerror or error}", code=Code.UNWRITABLE_OUTPUT
        ) from error


def _say(text: str) -> None:
    click.echo(text, err=True)
