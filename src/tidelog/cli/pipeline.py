"""`tidelog pipeline`: output tables kept up to date from tables and feeds that change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tidelog.cli import options
from tidelog.cli.externs import externs_option, load_externs


@click.command(short_help="Keep output tables up to date from changing sources.")
@click.argument("file", metavar="PIPELINE.toml", type=options.FILE)
@click.option("--once", "watch", flag_value=False, default=False, help="Process all new data, then exit. The default.")
@click.option("--watch", "watch", flag_value=True, type=bool, help="Keep processing new data until Ctrl-C.")
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="With --watch: the time between two looks for new data.",
)
@click.option(
    "--engine", type=click.Choice(("local", "spark")), help="The engine to use instead of the one in the file."
)
@click.option(
    "--on-bad-row",
    type=click.Choice(("fail", "skip")),
    help="What to do with a record that does not fit its relation: stop, or skip it (into the quarantine, if there is"
    " one)."
    "  [default: skip with a [quarantine], else fail]",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each batch instead of a table.")
@options.overflow
@options.language
@options.opening
@options.modules
@externs_option
@options.debug
def pipeline(
    file: Path,
    watch: bool,
    interval: float,
    engine: str | None,
    on_bad_row: str | None,
    as_json: bool,
    overflow: str | None,
    language: dict[str, Any],
    modules: tuple[Path, ...],
    externs_file: Path | None,
    opening: dict[str, Any],
) -> None:
    """Runs the pipeline of a file: first its starting tables, then each new batch of its feeds.

    Each batch is one epoch: one transaction, committed as a whole. The positions in the feeds are committed together
    with the state. A run therefore continues where the last one ended, even after a crash, and processes no record
    twice. docs/pipeline.md describes the file.

    \b
    Example:
      tidelog pipeline reach.toml
      tidelog pipeline reach.toml --watch
      tidelog pipeline reach.toml --engine local --on-bad-row skip --json
    """
    from tidelog.cli.steps import JsonSteps, TableSteps
    from tidelog.cli.warnings import print_warnings
    from tidelog.database.program.program import compile
    from tidelog.pipeline.check_settings import check_settings
    from tidelog.pipeline.read_settings import read_settings
    from tidelog.pipeline.run import run_pipeline

    settings, spans = read_settings(file, engine)
    way = overflow or settings.overflow
    externs = load_externs(externs_file)
    program = compile(settings.program, externs=externs, search_path=modules, overflow=way, **language)
    print_warnings(program.stages.typed)
    check_settings(settings, spans, program.stages.rules)
    with (JsonSteps if as_json else TableSteps)() as steps:
        run_pipeline(
            settings,
            program,
            watch=watch,
            interval=interval,
            skip_bad=None if on_bad_row is None else on_bad_row == "skip",
            opening=opening,
            listener=steps.listener,
        )
