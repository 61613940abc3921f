"""Programs whose rules are all joined by leapfrog, whatever the planner would choose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidelog.engine.local.engine import LocalEngine
from tidelog.rules.ir import Rule, RuleProgram


def leaping(program: RuleProgram) -> RuleProgram:
    """The program with `#[join = "leapfrog"]` before every rule that is joined."""

    def forced(rule: Rule) -> Rule:
        return rule if rule.group or rule.transform else replace(rule, join="leapfrog")

    strata = tuple(replace(each, rules=tuple(map(forced, each.rules))) for each in program.strata)
    return replace(program, rules=tuple(map(forced, program.rules)), strata=strata)


class LeapingEngine(LocalEngine):
    """The local engine, with every join by leapfrog."""

    def __init__(self, program: RuleProgram, **options: Any) -> None:
        super().__init__(leaping(program), **options)
