"""`tidelog show --stage rules` and `--stage strata`."""

from __future__ import annotations

from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.rules.show import show_rules, show_strata

PROGRAM = """
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
relation Last(name: string)
Reach("a", "b").
Reach(x, z) :- Reach(x, y), Edge(y, z).
Last(x) :- Edge(_, x), not Edge(x, _), x ++ 1 != "b".
"""


def test_rules_are_shown_flat_and_numbered() -> None:
    assert show_rules(compile_program(Source("p.dl", PROGRAM)).rules) == (
        "input relation Edge(src: string, dst: string)\n"
        "output relation Reach(src: string, dst: string)\n"
        "relation Last(name: string)\n"
        "hidden relation Edge#0(src: string)\n"
        "\n"
        '[0] Reach("a", "b").\n'
        "[1] Reach(x, z) :- Reach(x, y), Edge(y, z).\n"
        '[2] Last(x) :- Edge(_, x), not Edge#0(x), (x ++ to_string(1: u64)) != "b".\n'
        "[3] Edge#0(src) :- Edge(src, _).\n"
    )


def test_strata_are_shown_with_their_rules() -> None:
    assert show_strata(compile_program(Source("p.dl", PROGRAM)).rules) == (
        "stratum 0: Edge\n"
        "stratum 1 (recursive): Reach\n"
        '    [0] Reach("a", "b").\n'
        "    [1] Reach(x, z) :- Reach(x, y), Edge(y, z).\n"
        "stratum 2: Edge#0\n"
        "    [3] Edge#0(src) :- Edge(src, _).\n"
        "stratum 3: Last\n"
        '    [2] Last(x) :- Edge(_, x), not Edge#0(x), (x ++ to_string(1: u64)) != "b".\n'
    )
