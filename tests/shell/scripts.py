"""Texts as inputs of the shell."""

from __future__ import annotations

from tidelog.deep_recursion import deeply
from tidelog.shell.commands import Command
from tidelog.shell.read_command import read_command
from tidelog.shell.read_record import read_record
from tidelog.shell.records import Record
from tidelog.shell.scan import Scanner


def scanner(text: str) -> Scanner:
    lines = iter(text.splitlines(keepends=True))
    return Scanner(lambda: next(lines, None))


def record(text: str) -> Record:
    """The one record that the text is."""
    found = scanner(text)
    value = deeply(read_record, found)
    assert found.peek().kind == "end"
    return value


def commands(text: str) -> list[Command]:
    """All commands of the text."""
    source = scanner(text)
    found = []
    while (command := read_command(source)) is not None:
        found.append(command)
    return found
