"""`tidelog bench`: the benchmarks, as a table or as JSON. On a terminal, standard error says which one runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from tidelog.cli import options
from tidelog.io.replace_file import writing


@click.group(short_help="List or run the benchmarks.")
@options.debug
def bench() -> None:
    """Runs benchmarks. The results of each are checked before its times are printed.

    \b
    Example:
      tidelog bench list
      tidelog bench run closure crdt --data data --peers souffle,duckdb --json figures.json
    """


@bench.command("list", short_help="List the benchmarks.")
@options.debug
def list_() -> None:
    """Prints the benchmarks: what each measures, the data it reads, and its timed cases."""
    from tidelog.bench.present import print_list
    from tidelog.bench.registry import BENCHMARKS

    print_list(BENCHMARKS)


@bench.command(short_help="Run benchmarks by name.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--data", metavar="DIR", type=click.Path(path_type=Path), help="Read real data from here. Default: generated data."
)
@click.option("--peers", metavar="LIST", default="", help="Other systems to compare with: souffle,duckdb,pathway.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How often to run the bootstrap (the first epoch, on an empty database) of each input.",
)
@click.option(
    "--threads",
    metavar="N",
    type=click.IntRange(min=1),
    help="Threads that evaluate one epoch (one committed transaction). `closure` then also runs on one thread.",
)
@click.option(
    "--scale",
    type=click.Choice(("tiny", "small", "full")),
    default="small",
    show_default=True,
    help="How much data: tiny runs for seconds, small for minutes, full on everything.",
)
@click.option(
    "--programs", metavar="LIST", default="", help="Programs of `suite` to run, such as andersen,reach. Default: all."
)
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write all measurements to this file; `-` is standard output, then without the table.",
)
@options.debug
def run(
    names: tuple[str, ...],
    data: Path | None,
    peers: str,
    repeat: int,
    threads: int | None,
    scale: str,
    programs: str,
    json_file: Path | None,
) -> None:
    """Runs benchmarks, checks their results, and prints medians, spreads and ratios.

    Another system that is not installed is listed as missing. At full scale, GALEN takes minutes and gigabytes.
    """
    from tidelog.bench.benchmark import Scale
    from tidelog.bench.present import print_record
    from tidelog.bench.run import run_benchmarks

    if json_file is not None and json_file != Path("-"):
        _require_writable(json_file)
    record = run_benchmarks(
        names,
        data=data,
        peers=[peer.strip() for peer in peers.split(",") if peer.strip()],
        repeat=repeat,
        scale=Scale(scale),
        threads=threads,
        programs=[name.strip() for name in programs.split(",") if name.strip()],
        say=_say,
    )
    document = json.dumps(record, indent=2)
    if json_file == Path("-"):
        click.echo(document)
        return
    print_record(record)
    if json_file is not None:
        with writing(json_file):
            json_file.write_text(document + "\n", encoding="utf-8")


def _say(text: str) -> None:
    """Prints which benchmark runs, on a terminal only. (A moving bar would disturb the timing.)"""
    if sys.stderr.isatty():
        click.echo(text, err=True)


def _require_writable(file: Path) -> None:
    """Raises UsageError, before any benchmark runs, if the record cannot be written; leaves no file behind."""
    with writing(file):
        is_new = not file.exists()
        if is_new or file.is_file():
            file.open("a", encoding="utf-8").close()
        if is_new:
            file.unlink()
