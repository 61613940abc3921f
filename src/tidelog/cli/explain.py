"""`tidelog explain`: why a row is derived, or why it is not."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from tidelog.cli import options
from tidelog.cli.externs import externs_option, load_externs

_limit_option = partial(click.option, metavar="N", type=click.IntRange(min=1), show_default=True)


@click.command(short_help="Show why a row is derived, or why it is not.")
@options.program
@click.argument("row", metavar="ROW")
@options.facts(help="Read input relations from here, as `tidelog run` does.")
@click.option(
    "--why-not", is_flag=True, help="For a row that is not derived: show the literal at which each rule fails."
)
@click.option("--shortest", is_flag=True, help="Print the proof of least height instead of the first one found.")
@_limit_option("--depth", default=40, help="Print at most this many levels of the tree.")
@_limit_option("--lines", default=400, help="Print at most this many lines.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: every step once, with a number.")
@options.overflow
@options.language
@options.modules
@externs_option
@options.debug
def explain(
    program: Path,
    row: str,
    facts: Path | None,
    why_not: bool,
    shortest: bool,
    depth: int,
    lines: int,
    as_json: bool,
    overflow: str | None,
    language: dict[str, Any],
    modules: tuple[Path, ...],
    externs_file: Path | None,
) -> None:
    """Explains one row of a program's result: a tree of rules down to facts.

    ROW is written as in the shell: a relation with its columns in order or by name, text in double quotes. Each line of
    the tree is a row; below it are the rule that derives it and the rows that the rule matched. With --why-not, each
    rule that could derive the row is shown with the first literal that has no match.

    \b
    Example:
      tidelog explain reach.dl -F facts 'Reach("a", "c")'
      tidelog explain reach.dl -F facts 'Reach(.src = "a", .dst = "c")' --shortest
      tidelog explain reach.dl -F facts 'Reach("a", "z")' --why-not
    """
    from tidelog.cli.progress import Progress
    from tidelog.cli.run_once import find_files, load
    from tidelog.cli.run_souffle import load_facts
    from tidelog.cli.warnings import print_warnings
    from tidelog.database.locked_engine import declared
    from tidelog.database.program.program import compile
    from tidelog.rules.ir import Role

    with Progress() as progress:
        progress.start("compile")
        externs = load_externs(externs_file)
        compiled = compile(program, externs=externs, search_path=modules, overflow=overflow or "wrap", **language)
        print_warnings(compiled.stages.typed)
        name, values = _read_row(row, compiled)
        souffle = compiled.stages.souffle
        files = {} if souffle is not None else find_files(facts, declared(compiled.stages.rules, Role.INPUT))
        progress.start("open")
        with compiled.open("local") as database:
            if souffle is None:
                load(compiled, database, files, progress)
            elif facts is not None:
                load_facts(souffle, database, facts)
            progress.start("explain")
            if why_not:
                reason = database.why_not(name, values)
                text = reason.to_json() if as_json else str(reason)
            else:
                proof = database.explain(name, values, shortest=shortest)
                text = proof.to_json() if as_json else proof.to_text(max_depth=depth, max_lines=lines)
    click.echo(text)


def _read_row(text: str, program: Any) -> tuple[str, tuple[Any, ...]]:
    """Returns the relation and the row of a text. Raises DataError or UsageError with the place in the text."""
    from tidelog.shell.place import IncompleteError, bad_command
    from tidelog.shell.read_command import read_row
    from tidelog.shell.rows import Rows
    from tidelog.shell.scan import Scanner

    lines = iter([text])
    scanner = Scanner(lambda: next(lines, None), "ROW")
    place = scanner.peek().place
    try:
        name, record = read_row(scanner)
        behind = scanner.peek()
    except IncompleteError as error:
        raise bad_command(error.place, "the row ends too early", 'for example `Reach("a", "c")`') from None
    if behind.kind != "end":
        raise bad_command(behind.place, f"unexpected `{behind.text}` behind the row")
    rows = Rows(program)
    relation = rows.any(name, place)
    return relation.name, rows.row(relation, record)
