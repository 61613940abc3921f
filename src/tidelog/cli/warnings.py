"""Warnings about a program that runs: on standard error, before anything else is said. They change no exit code."""

from __future__ import annotations

import click

from tidelog.check.program import TypedProgram


def print_warnings(typed: TypedProgram) -> None:
    """Prints each warning, and an empty line behind it."""
    for warning in typed.warnings:
        click.echo(f"{warning.render()}\n", err=True)
