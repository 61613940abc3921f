"""`tidelog run`: one epoch (one committed transaction) from files to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tidelog.cli import options
from tidelog.cli.externs import externs_option, load_externs


@click.command(short_help="Read facts, derive everything, write the results.")
@options.program
@options.facts(
    help="Read input relations from here: Edge.csv, .tsv, .facts, .jsonl or .parquet for `Edge` (text also as .gz).",
)
@click.option(
    "-D",
    "--output",
    metavar="DIR",
    type=options.NEW_FOLDER,
    help="Write output relations here. The directory is created if it is missing. `-D -` prints them.",
)
@options.engine
@options.directory
@options.plans
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("csv", "tsv", "jsonl", "parquet", "arrow")),
    default="csv",
    show_default=True,
    help="Format of the files to write.",
)
@click.option(
    "--on-bad-row",
    type=click.Choice(("fail", "skip")),
    default="fail",
    show_default=True,
    help="What to do with a row of a file that does not fit its relation: stop, or skip the row and report how many"
    " were skipped.",
)
@click.option(
    "--header",
    type=click.Choice(("detect", "name", "position", "none")),
    default="detect",
    show_default=True,
    help="What the first line of a CSV or TSV file is: the names of the columns, a header whose names do not count"
    " (position), or a row (none).",
)
@click.option(
    "--null",
    "nulls",
    multiple=True,
    metavar="CELL",
    help="A cell of a text file that is null in the column of an Option, such as NA, besides the empty one. May be"
    " given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON instead of a table.")
@options.opening
@options.language
@options.overflow
@options.modules
@externs_option
@options.debug
def run(
    program: Path,
    facts: Path | None,
    output: Path | None,
    engine: str | None,
    directory: Path | None,
    plans: dict[str, str] | None,
    format_name: str,
    on_bad_row: str,
    header: str,
    nulls: tuple[str, ...],
    as_json: bool,
    overflow: str | None,
    modules: tuple[Path, ...],
    externs_file: Path | None,
    opening: dict[str, Any],
    language: dict[str, Any],
) -> None:
    """Runs a program once: reads facts, derives everything, writes the output relations.

    The facts are committed as one transaction, called an epoch. The summary has a line for each relation. Rules that
    depend on each other form a stratum, which is evaluated as a whole: its rounds (steps of the recursion) and its time
    stand beside its first relation.

    A CSV or TSV file may start with a line of column names, in any order; otherwise its columns are those of the
    relation. Cells that are not numbers, text or Booleans are JSON, as in JSON Lines. Without -F, the only facts are
    those in the program's text. Without -D, nothing is written; `-D -` prints the output
    relations, and no summary. With --db, the facts are added to a durable database.

    A program in Soufflé's language says itself what is read, written and printed: -F and -D are the folders, by default
    the current one, and `-D -` prints everything.

    \b
    Example:
      tidelog run reach.dl -F facts -D out --format parquet
      tidelog run reach.dl -F facts -D out --deadline 60 --max-rows 1000000
      tidelog run reach.dl -F facts -D out --on-bad-row skip --json
      tidelog run reach.dl -F facts -D out --overflow error
      tidelog run reach.dl -F more -D out --db reach-db --engine spark
    """
    from tidelog.cli.run_once import run_once
    from tidelog.cli.summary import print_json, print_table

    externs = load_externs(externs_file)
    summary = run_once(
        program,
        facts,
        output,
        options.engine_for(engine, directory),
        format_name,
        skip_bad_rows=on_bad_row == "skip",
        reading={"header": header, "nulls": frozenset({"", *nulls})},
        modules=modules,
        externs=externs,
        opening={**opening, "plans": plans, "path": directory},
        language={**language, "overflow": overflow or "wrap"},
    )
    if as_json:
        print_json(summary)
    elif not summary.quiet:
        print_table(summary)
