"""Short programs for tests of the checker."""

from __future__ import annotations

import pytest

from tidelog.check.check import check
from tidelog.check.program import TypedProgram
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.syntax.parse import parse

DECLARATIONS = """
input relation Edge(src: string, dst: string)
input relation Num(a: u8, b: s16, c: bit<12>)
input relation Flag()
output relation Out(a: u8, t: string)
output relation Any(b: bool)
"""


def checked(rules: str) -> TypedProgram:
    return check(parse(Source("p.dl", DECLARATIONS + rules)))


def wrong(rules: str) -> list[str]:
    """The messages about the rules, each with its code."""
    with pytest.raises(ProgramError) as caught:
        checked(rules)
    return [f"{found.code} {found.message}" for found in caught.value.diagnostics]
