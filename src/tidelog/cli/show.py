"""`tidelog show`: the intermediate forms of a program, stage by stage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tidelog.cli import options

_STAGES = ("ast", "types", "rules", "strata", "plan")


@click.command(short_help="Print an intermediate form of the compiler.")
@options.program
@click.option("--stage", type=click.Choice(_STAGES), default="rules", show_default=True, help="The form to print.")
@click.option(
    "--engine",
    type=click.Choice(("local", "spark", "auto")),
    default="local",
    show_default=True,
    help="The engine of `--stage plan`. spark: the plan of each stratum for large relations, and the reason. auto: the"
    " same, for strata that do not run in the driver's process.",
)
@options.plans
@options.modules
@options.overflow
@options.language
@options.debug
def show(
    program: Path,
    stage: str,
    engine: str,
    plans: dict[str, str] | None,
    modules: tuple[Path, ...],
    overflow: str | None,
    language: dict[str, Any],
) -> None:
    """Prints one of the compiler's forms of a program. A stratum is a set of rules that depend on each other.

    \b
    ast     the text as it was read
    types   declarations, functions and rules with the type of every variable
    rules   the flat rules that engines run
    strata  the strata in the order in which they run, with their rules
    plan    the join order of each rule, for each relation that can trigger it; how recursions through groups are
            updated, and why; the expressions that run in Python; on Spark the plan of each stratum

    \b
    Example:
      tidelog show reach.dl --stage strata
      tidelog show reach.dl --stage plan --engine spark --plan Reach=frames
      tidelog show prices.dl --stage plan --overflow error
    """
    if plans and (stage != "plan" or engine == "local"):
        raise click.UsageError("--plan is for `--stage plan --engine spark`, or `--engine auto`")
    if overflow is not None and stage in ("ast", "types"):
        raise click.UsageError("--overflow is for `--stage rules`, `strata` and `plan`")
    click.echo(_text(program, stage, engine, plans, modules, overflow or "wrap", language).rstrip("\n"))


def _text(
    program: Path,
    stage: str,
    engine: str,
    plans: dict[str, str] | None,
    modules: tuple[Path, ...],
    overflow: str,
    language: dict[str, Any],
) -> str:
    """Returns the form; runs only the stages up to the requested one."""
    from tidelog.database.program.program import compile, read_source
    from tidelog.rules.lower.program import Options

    if stage == "ast":
        from tidelog.compile_program import language_of
        from tidelog.souffle.dialect import SOUFFLE
        from tidelog.syntax.parse import parse
        from tidelog.syntax.show import show as show_ast

        source = read_source(program)
        if language_of(source, Options(**language)) == SOUFFLE:
            from tidelog.souffle.front_end import read_souffle

            return show_ast(read_souffle(source, modules, language["word_bits"], language["macros"]).tree)
        return show_ast(parse(source))
    if stage == "types":
        from tidelog.check.show import show_types
        from tidelog.compile_program import check_source

        return show_types(check_source(read_source(program), modules, Options(**language)))
    rules = compile(program, search_path=modules, overflow=overflow, **language).stages.rules
    if stage == "plan" and engine != "local":
        from tidelog.engine.spark.plans.choose_plan import show_choice

        return show_choice(rules, plans=plans, auto=engine == "auto")
    if stage == "plan":
        from tidelog.engine.local.execution.show_python import show_python
        from tidelog.engine.local.strategies.show_recursion import rules_to_run, show_recursion
        from tidelog.plan.show import show_plan

        return show_plan(rules) + show_recursion(rules) + show_python(rules, lambda each: rules_to_run(each, rules))
    from tidelog.rules.show import show_rules, show_strata

    return show_strata(rules) if stage == "strata" else show_rules(rules)
