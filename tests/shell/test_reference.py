"""`docs/reference/shell.md` and `help;` know every command and option."""

from __future__ import annotations

import re
from pathlib import Path

import click

from tidelog.cli.shell import shell
from tidelog.shell.read_command import KEYWORDS
from tidelog.shell.shell import HELP

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "shell.md").read_text(encoding="utf-8")


def test_every_command_is_explained() -> None:
    for keyword in KEYWORDS:
        assert re.search(rf"^\| .*`{keyword}\b", PAGE, re.MULTILINE), keyword
        assert re.search(rf"\b{keyword}\b", HELP), keyword


def test_every_option_is_explained() -> None:
    for parameter in shell.params:
        if isinstance(parameter, click.Option) and parameter.name not in ("debug", "help"):
            assert any(f"| `{option}" in PAGE for option in parameter.opts), parameter.opts
