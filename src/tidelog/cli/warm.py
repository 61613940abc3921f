"""`tidelog warm`: compiles all kernels that this machine has no machine code for."""

from __future__ import annotations

import sys
from time import perf_counter

import click


@click.command()
def warm() -> None:
    """Compile all kernels of the local engine that this machine has no code for, several at once.

    An installation brings the machine code of common processors. Where it does not fit, the first commit compiles
    the kernels that it uses. This command does all of that beforehand, for example while an image is built.

    \b
    Example:
      tidelog warm
    """
    from tidelog.engine.local.machine_code import workers
    from tidelog.engine.local.machine_code.load import load_all

    began = perf_counter()
    failed = workers.warm(_say)
    if sys.stderr.isatty():
        click.echo(err=True)
    for name, reason in failed.items():
        click.echo(f"{name}: {reason}", err=True)
    count = load_all()
    click.echo(f"{count} kernels are ready ({perf_counter() - began:.1f} s)", err=True)


def _say(done: int, count: int, name: str) -> None:
    """Shows the progress: on a terminal in one line, else in a line for each tenth."""
    kernel = name.rsplit(".", 1)[1].replace(":", ".")
    if sys.stderr.isatty():
        click.echo(f"\r\033[Kcompiling kernels: {done} of {count} ({kernel})", nl=False, err=True)
    elif done == count or done % max(count // 10, 1) == 0:
        click.echo(f"compiling kernels: {done} of {count}", err=True)
