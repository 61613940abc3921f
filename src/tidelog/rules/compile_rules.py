"""Source text → everything that the front end knows of it: the stages in their order.

parse → check → lower (with stratify) → judge_groups
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.check.check import check
from tidelog.check.modules import SearchPath
from tidelog.check.program import TypedProgram
from tidelog.diagnostics.spans import Source
from tidelog.rules.collector import collector_paused
from tidelog.rules.ir import RuleProgram
from tidelog.rules.judge_groups import judge_groups, judge_unlowered
from tidelog.rules.lower import Options, lower
from tidelog.syntax import ast
from tidelog.syntax.parse import parse


@dataclass(frozen=True, slots=True)
class CompiledRules:
    """A program that is right, after each stage."""

    ast: ast.Program
    typed: TypedProgram
    rules: RuleProgram


def check_source(source: Source, search_path: SearchPath = ()) -> TypedProgram:
    """The typed program, whether an engine can run it or not. Raises ProgramError with all that is wrong.

    Modules are looked for beside the source, then on the search path, then in the library.
    """
    with collector_paused():
        return judge_unlowered(check(parse(source), search_path))


def compile_rules(source: Source, search_path: SearchPath = (), options: Options | None = None) -> CompiledRules:
    """All stages of the front end. Raises ProgramError with all errors of the first stage that has any, UsageError
    when an extern function that a rule needs has no Python function."""
    with collector_paused():
        tree = parse(source)
        typed = check(tree, search_path)
        rules = lower(typed, options or Options())
        return CompiledRules(tree, judge_groups(typed, rules), rules)
