"""`tidelog`: the command line. Data goes to standard output, messages to standard error.

Exit codes: 0 ok, 1 the program is wrong, 2 usage, 3 data, 70 a bug in Tidelog, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

from tidelog.cli import options
from tidelog.cli.backup import backup
from tidelog.cli.bench import bench
from tidelog.cli.check import check
from tidelog.cli.explain import explain
from tidelog.cli.fmt import fmt
from tidelog.cli.migrate import migrate
from tidelog.cli.pipeline import pipeline
from tidelog.cli.rdf import rdf
from tidelog.cli.run import run
from tidelog.cli.shell import shell
from tidelog.cli.show import show
from tidelog.cli.warm import warm
from tidelog.diagnostics.errors import InternalError, TidelogError

_BUG = 70
_INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tidelog", prog_name="tidelog")
@options.debug
def tidelog() -> None:
    """Incremental Datalog: derived relations stay up to date while facts and rules change.

    \b
    Write a program, reach.dl:
      input relation Edge(src: string, dst: string)
      output relation Reach(src: string, dst: string)
      Reach(x, y) :- Edge(x, y).
      Reach(x, z) :- Reach(x, y), Edge(y, z).

    \b
    and a file facts/Edge.csv with two columns. Check the program and run it:
      tidelog check reach.dl
      tidelog run reach.dl -F facts -D out
    """


for _command in (backup, bench, check, explain, fmt, migrate, pipeline, rdf, run, shell, show, warm):
    tidelog.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; every error becomes a message on standard error."""
    settings = options.Settings(debug=os.environ.get("TIDELOG_DEBUG", "") not in ("", "0"))
    try:
        code = tidelog.main(args=arguments, prog_name="tidelog", standalone_mode=False, obj=settings)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of standard output is closed; Python must not flush to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except InternalError as error:
        return _report_bug(error, settings)
    except TidelogError as error:
        if settings.debug:
            traceback.print_exc()
        click.echo(str(error), err=True)
        return error.exit_code
    except Exception as error:
        return _report_bug(error, settings)


def _report_bug(error: Exception, settings: options.Settings) -> int:
    if settings.debug:
        traceback.print_exception(error)
    text = error.message if isinstance(error, InternalError) else f"{type(error).__name__}: {error}"
    click.echo(f"internal error: {text}", err=True)
    click.echo("  = note: this is a bug in Tidelog, not in your program; nothing was committed", err=True)
    if not settings.debug:
        click.echo("  = help: run the command again with `--debug`, and report what it prints", err=True)
    return _BUG


if __name__ == "__main__":
    sys.exit(main())
