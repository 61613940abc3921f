"""Source text → everything that the front end knows of it: the stages in their order.

parse → check → lower (with stratify) → judge_groups
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.check.check import check
from tidelog.check.names.modules import SearchPath
from tidelog.check.program import TypedProgram
from tidelog.diagnostics.spans import Source
from tidelog.pause_gc import collector_paused
from tidelog.rules.analysis.group_warnings import judge_groups, judge_unlowered
from tidelog.rules.ir import RuleProgram
from tidelog.rules.lower.program import Options, lower
from tidelog.syntax import ast
from tidelog.syntax.parse import parse


@dataclass(frozen=True, slots=True)
class CompiledProgram:
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


def compile_program(source: Source, search_path: SearchPath = (), options: Options | None = None) -> CompiledProgram:
    """All stages of the front end. Raises ProgramError with all errors of the first stage that has any, UsageError
    when an extern function that a rule needs has no Python function."""
    with collector_paused():
        tree = parse(source)
        typed = check(tree, search_path)
        rules = lower(typed, options or Options())
        return CompiledProgram(tree, judge_groups(typed, rules), rules)
