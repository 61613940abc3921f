"""`tidelog bench`: the benchmarks, as a table or as JSON. Progress goes to standard error."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tidelog.cli.options import debug_option
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError


@click.group(short_help="Benchmarks: list them, run them.")
@debug_option
def bench() -> None:
    """Benchmarks whose results are checked before their times are shown.

    \b
    Example:
      tidelog bench list
      tidelog bench run closure crdt --data data --peers souffle,duckdb --json figures.json
    """


@bench.command("list", short_help="What there is.")
@debug_option
def list_() -> None:
    """Prints the benchmarks: what each shows, the data it reads, and what it times."""
    from tidelog.bench.present import print_list
    from tidelog.bench.registry import BENCHMARKS

    print_list(BENCHMARKS)


@bench.command(short_help="Run some of them.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--data", metavar="DIR", type=click.Path(path_type=Path), help="Real data; without it, generated data.")
@click.option("--peers", metavar="LIST", default="", help="Other systems to run beside: souffle,duckdb.")
@click.option("--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Bootstraps of each input.")
@click.option(
    "--threads", metavar="N", type=click.IntRange(min=1), help="Threads for an epoch; `closure` also runs with one."
)
@click.option(
    "--scale",
    type=click.Choice(("tiny", "small", "full")),
    default="small",
    show_default=True,
    help="How much data: seconds, minutes, or all of it.",
)
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write everything that was measured here; `-` for standard output, without the table.",
)
@debug_option
def run(
    names: tuple[str, ...],
    data: Path | None,
    peers: str,
    repeat: int,
    threads: int | None,
    scale: str,
    json_file: Path | None,
) -> None:
    """Runs benchmarks, checks their results, and prints medians, spreads and ratios of this one run.

    A peer that is not installed is named as missing. At full scale, GALEN takes minutes and gigabytes.
    """
    from tidelog.bench.benchmark import Scale
    from tidelog.bench.present import print_record
    from tidelog.bench.run import run_benchmarks

    record = run_benchmarks(
        names,
        data=data,
        peers=[peer.strip() for peer in peers.split(",") if peer.strip()],
        repeat=repeat,
        scale=Scale(scale),
        threads=threads,
        say=lambda text: click.echo(text, err=True),
    )
    document = json.dumps(record, indent=2)
    if json_file == Path("-"):
        click.echo(document)
        return
    print_record(record)
    if json_file is not None:
        try:
            json_file.write_text(document + "\n", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {json_file}: {error.strerror}", code=Code.UNWRITABLE_OUTPUT) from error
