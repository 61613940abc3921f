"""A program and a folder of facts → one epoch, a folder of results, and a summary of rows and times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from tidelog.cli.progress import Progress
from tidelog.cli.run_souffle import run_files
from tidelog.cli.warnings import print_warnings
from tidelog.database.database import Database
from tidelog.database.locked_engine import declared
from tidelog.database.program.program import Program, compile_source, read_source
from tidelog.database.transactions.transaction import Transaction
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.suggest import suggest
from tidelog.engine.interface import EpochReport
from tidelog.io.bad_rows import BadRows
from tidelog.io.facts import find_fact_files
from tidelog.io.formats import FORMATS, endings
from tidelog.io.headers import Header
from tidelog.io.replace_file import writing
from tidelog.io.rows import Batch
from tidelog.rules.ir import Kind, Relation, Role
from tidelog.rules.lower.program import Options
from tidelog.rules.schema.arrow import arrow_schema, is_plain_relation

PRINTED = Path("-")


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a run. `rows`, `files` and `skipped` are by relation; `seconds` by phase, in order.

    `skipped` counts the rows of each file that did not fit; it is empty unless bad rows may be skipped. A `quiet` one
    is of a run that printed rows.
    """

    program: str
    engine: str
    relations: Mapping[str, Relation]
    rows: Mapping[str, int]
    files: Mapping[str, Path]
    report: EpochReport
    seconds: Mapping[str, float]
    skipped: Mapping[str, int]
    quiet: bool = False


def run_once(
    path: Path,
    facts: Path | None,
    output: Path | None,
    engine: str,
    format_name: str,
    *,
    skip_bad_rows: bool = False,
    reading: Mapping[str, Any] | None = None,
    modules: Sequence[Path] = (),
    externs: Mapping[str, Callable[..., Any]] | None = None,
    opening: Mapping[str, Any] | None = None,
    language: Mapping[str, Any] | None = None,
) -> Summary:
    """Reads, evaluates, writes; nothing is written unless all of the facts are read and evaluated.

    With `skip_bad_rows`, rows that do not fit are skipped, and counted in a warning for each file. `reading` has
    options of `read_batches` for every file, `opening` further options of `Program.open`, `language` those of the
    compiler that say what the text is written in and what it means.
    """
    with Progress() as progress:
        progress.start("compile")
        options = Options(externs or {}, **(language or {}), waits_for_facts=not (opening or {}).get("path"))
        program = compile_source(read_source(path), modules, options)
        print_warnings(program.stages.typed)
        if program.stages.souffle is not None:
            database, written = run_files(program, facts, output, engine, opening or {}, progress)
            with database:
                relations, report = declared(program.stages.rules), database.report
                rows = {name: report.rows[name] for name in relations}
            return Summary(str(path), engine, relations, rows, written, report, progress.seconds, {}, quiet=True)
        inputs = declared(program.stages.rules, Role.INPUT)
        files = find_files(facts, inputs)
        is_printed = output == PRINTED
        if output is not None:
            _check_outputs(program)
            if not is_printed:
                _make_folder(output)
            elif format_name in ("parquet", "arrow"):
                help = f"`--format csv`, or `-D out` for files in {format_name}"
                raise UsageError(
                    f"{format_name} is not text: it cannot be printed", code=Code.UNWRITABLE_OUTPUT, help=help
                )
        progress.start("open")
        with program.open(engine, **(opening or {})) as database:
            bad = {name: BadRows(skip=skip_bad_rows) for name in files}
            transaction = load(program, database, files, progress, bad, reading)
            progress.start("write")
            written = {}
            if is_printed:
                _print_outputs(program, database, transaction, format_name)
            elif output is not None:
                written = _write_outputs(program, database, transaction, output, format_name)
            relations = declared(program.stages.rules)
            report = database.report
            rows = {name: report.rows[name] for name in relations}
    _warn_of_bad_rows(files, bad)
    skipped = {name: each.count for name, each in bad.items() if each.skip}
    found = {**files, **written}
    return Summary(str(path), engine, relations, rows, found, report, progress.seconds, skipped, quiet=is_printed)


def find_files(folder: Path | None, inputs: Mapping[str, Relation]) -> Mapping[str, Path]:
    """Returns the file of each input relation; prints a note for a relation without one, a warning for other files."""
    if folder is None:
        if inputs:
            _say(f"note: without -F the input relations start empty: {', '.join(inputs)}")
        return {}
    found = find_fact_files(folder, inputs)
    for stranger in found.strangers:
        meant = suggest(stranger.name.partition(".")[0], inputs)
        hint = f"; did you mean `{meant}`?" if meant else ""
        _say(f"warning: {stranger} is not read: no input relation has this name{hint}")
    for path in found.unknown:
        _say(f"warning: {path} is not read: its name tells no format; use {endings()}")
    for name in inputs:
        if name not in found.files:
            _say(f"note: {folder} has no file for `{name}`, which starts empty")
    return found.files


def load(
    program: Program,
    database: Database,
    files: Mapping[str, Path],
    progress: Progress,
    bad: Mapping[str, BadRows] | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Transaction:
    """Commits one transaction with the rows of all files; `bad` collects, by relation, the rows that do not fit."""
    from tidelog.io.read import read_batches  # not before: to load it takes longer than many a small program runs

    relations, definitions = program.stages.rules.relations, program.stages.rules.functions.definitions
    options = {"header": "detect", **(reading or {})}
    with database.transaction() as tx:
        for name, path in files.items():
            progress.start("read", path.name)
            tell = partial(_tell_header, path)
            skipped = bad[name] if bad else None
            batches = read_batches(path, relations[name], definitions, skipped, tell_header=tell, **options)
            tx._insert_batches(name, batches)
        if progress.is_shown:
            database._locked.on_progress(progress.at)
        progress.start("evaluate", strata=len(program.stages.rules.strata))
    return tx


def _tell_header(path: Path, header: Header) -> None:
    """Prints what the first line of a file was taken for, where that may surprise."""
    if header.note:
        _say(f"note: {path}: {header.text}")


def _warn_of_bad_rows(files: Mapping[str, Path], bad: Mapping[str, BadRows]) -> None:
    for name, each in bad.items():
        if each.first is not None:
            rows = "row" if each.count == 1 else "rows"
            _say(f"warning: {files[name]}: skipped {each.count:,} bad {rows}; the first: {each.first.message}")


def _check_outputs(program: Program) -> None:
    """Raises UsageError for an output that no file can hold, before anything is done."""
    for relation in declared(program.stages.rules, Role.OUTPUT).values():
        arrow_schema(relation, program.stages.rules.functions.definitions)


def _write_outputs(
    program: Program, database: Database, transaction: Transaction, folder: Path, format_name: str
) -> dict[str, Path]:
    from tidelog.io.write import write_batch  # not before: to load it takes longer than many a small program runs

    written = {}
    definitions = program.stages.rules.functions.definitions
    for name, relation in declared(program.stages.rules, Role.OUTPUT).items():
        path = folder / f"{name}.{format_name}"
        batch = _contents(database, transaction, relation)
        with writing(path):
            write_batch(batch, relation, definitions, path, FORMATS[format_name])
        written[name] = path
    return written


def _print_outputs(program: Program, database: Database, transaction: Transaction, format_name: str) -> None:
    """Prints the output relations as text; each begins with a line of its name if there are several."""
    with TemporaryDirectory() as folder:
        files = _write_outputs(program, database, transaction, Path(folder), format_name)
        for place, (name, path) in enumerate(files.items()):
            if len(files) > 1:
                click.echo(f"{chr(10) if place else ''}{name}:")
            click.echo(path.read_text(encoding="utf-8"), nl=False)


def _contents(database: Database, transaction: Transaction, relation: Relation) -> Batch:
    """Returns the rows to write: a set's once, a multiset's as often as their weights say, a stream's of this epoch."""
    view = database.relation(relation.name)
    if relation.kind is Kind.SET and is_plain_relation(relation):
        return view.to_arrow()
    weights = view._canonical_weights()
    if relation.kind is Kind.STREAM:
        deltas = database.initial[relation.name], transaction.changes[relation.name]
        weights = [each for delta in deltas for each in delta._canonical_weights()]
    return [row for row, weight in weights for _ in range(weight)]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot create the folder {folder}: {error.strerror or error}", code=Code.UNWRITABLE_OUTPUT
        ) from error


def _say(text: str) -> None:
    click.echo(text, err=True)
