"""`saved.toml` → cases: those that once failed or are hard, as they were written down, and those of its seeds."""

from __future__ import annotations

import ast
import random
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.oracle.case import Case, RuleCase
from tests.oracle.generate import random_case, random_rule_case
from tests.oracle.history import Transaction, Write
from tests.oracle.read import read
from tests.oracle.wider_rules import wider_rule_case

WRITE = re.compile(r"""([+-])(\w+)\(((?:"[^"]*"|'[^']*'|[^)])*)\)""")
SAVED: dict[str, Any] = tomllib.loads(Path(__file__).with_name("saved.toml").read_text(encoding="utf-8"))
GENERATORS: dict[str, Callable[[random.Random], Case | RuleCase]] = {
    "core": random_case,
    "rules": random_rule_case,
    "wider rules": wider_rule_case,
}


def saved_cases() -> dict[str, Case]:
    """The cases of programs whose rules stay, by name."""
    written = {each["name"]: Case(read(each["program"]), _history(each["history"])) for each in SAVED["case"]}
    return written | {name: case for name, case in _of_seeds().items() if isinstance(case, Case)}


def saved_rule_cases() -> dict[str, RuleCase]:
    """The cases in which rules come and go, by name."""
    return {name: case for name, case in _of_seeds().items() if isinstance(case, RuleCase)}


def shown_mistakes() -> dict[str, str]:
    """The cases that are there because of a mistake in what is printed of Algorithm 3, and which one."""
    found = {each["name"]: re.match(r"shows (C\d)", each["from"]) for each in SAVED["case"]}
    return {name: match[1] for name, match in found.items() if match}


def _of_seeds() -> dict[str, Case | RuleCase]:
    return {
        f"{group['generator']}, seed {seed}": GENERATORS[group["generator"]](random.Random(seed))
        for group in SAVED["seeds"]
        for seed in group["seeds"]
    }


def _history(lines: list[str]) -> tuple[Transaction, ...]:
    return tuple(Transaction(tuple(_writes(line))) for line in lines)


def _writes(line: str) -> list[Write]:
    """Raises ValueError for what is no write."""
    if rest := WRITE.sub("", line).strip():
        raise ValueError(f"{rest} in {line}")
    return [
        Write(+1 if sign == "+" else -1, name, (ast.literal_eval(f"({values},)") if values else (),))
        for sign, name, values in WRITE.findall(line)
    ]
