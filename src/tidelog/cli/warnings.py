"""Warnings about a program that runs: on standard error, before all other messages. They change no exit code."""

from __future__ import annotations

import click

from tidelog.check.program import TypedProgram


def print_warnings(typed: TypedProgram) -> None:
    """Prints each warning, and an empty line after it."""
    for warning in typed.warnings:
        click.echo(f"{warning.render()}\n", err=True)
