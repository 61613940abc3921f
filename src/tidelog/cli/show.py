"""`tidelog show`: what the compiler makes of a program, stage by stage."""

from __future__ import annotations

from pathlib import Path

import click

from tidelog.cli.options import debug_option, modules_option, program_argument

_STAGES = ("ast", "types", "rules", "strata", "plan")


@click.command(short_help="Print what the compiler makes of a program.")
@program_argument
@click.option("--stage", type=click.Choice(_STAGES), default="rules", show_default=True, help="Which form to print.")
@modules_option
@debug_option
def show(program: Path, stage: str, modules: tuple[Path, ...]) -> None:
    """Prints one of the forms that a program takes on its way to the engine.

    \b
    ast     the text as it was read
    types   declarations, functions and rules with the type of every variable
    rules   the flat rules that engines run
    strata  which rules run together, and in which order
    plan    the join order of each rule, for each way it can be triggered

    \b
    Example:
      tidelog show reach.dl --stage strata
    """
    click.echo(_text(program, stage, modules).rstrip("\n"))


def _text(program: Path, stage: str, modules: tuple[Path, ...]) -> str:
    """What is to be shown; only the stages up to the one that is asked for are run."""
    from tidelog.database.program import compile, read_source

    if stage == "ast":
        from tidelog.syntax.parse import parse
        from tidelog.syntax.show import show as show_ast

        return show_ast(parse(read_source(program)))
    if stage == "types":
        from tidelog.check.show import show_types
        from tidelog.rules.compile_rules import check_source

        return show_types(check_source(read_source(program), modules))
    rules = compile(program, search_path=modules).stages.rules
    if stage == "plan":
        from tidelog.plan.show import show_plan

        return show_plan(rules)
    from tidelog.rules.show import show_rules, show_strata

    return show_strata(rules) if stage == "strata" else show_rules(rules)
