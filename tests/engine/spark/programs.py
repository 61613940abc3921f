"""Programs that several tests share, and how to get rules from text."""

from __future__ import annotations

from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.rules.ir import RuleProgram

EDGES = "input relation Edge(x: u32, y: u32)\n"

LINEAR = (
    EDGES
    + """
output relation Reach(x: u32, y: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
"""
)

NON_LINEAR = (
    EDGES
    + """
output relation Reach(x: u32, y: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Reach(y, z).
"""
)


def rules_of(text: str) -> RuleProgram:
    return compile_program(Source("<text>", text)).rules
