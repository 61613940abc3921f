"""The example in the README runs, and prints what its comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def example() -> str:
    found = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found
    return found[1]


def test_the_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    code = example()
    exec(compile(code, "README.md", "exec"), {})
    promised = re.findall(r"^print\(.*?# (\[.*?\])(?::.*)?$", code, re.MULTILINE)
    assert len(promised) == 2
    assert capsys.readouterr().out.splitlines() == promised


def test_every_command_in_the_readme_exists(capsys: pytest.CaptureFixture[str]) -> None:
    from tidelog.cli.main import tidelog

    text = README.read_text()
    assert set(re.findall(r"^tidelog (\w+)", text, re.MULTILINE)) <= set(tidelog.commands)
    targets = set(re.findall(r"^(\w+):", (README.parent / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make (\w+)", text)) <= targets
