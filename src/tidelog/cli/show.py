"""`tidelog show`: what the compiler makes of a program, stage by stage."""

from __future__ import annotations

from pathlib import Path

import click

from tidelog.cli.options import debug_option, program_argument

_STAGES = ("ast", "types", "rules", "strata", "plan")


@click.command(short_help="Print what the compiler makes of a program.")
@program_argument
@click.option("--stage", type=click.Choice(_STAGES), default="rules", show_default=True, help="Which form to print.")
@debug_option
def show(program: Path, stage: str) -> None:
    """Prints one of the forms that a program takes on its way to the engine.

    \b
    ast     the text as it was read
    types   relations and rules with the type of every variable
    rules   the flat rules that engines run
    strata  which rules run together, and in which order
    plan    the join order of each rule, for each way it can be triggered

    \b
    Example:
      tidelog show reach.dl --stage strata
    """
    from tidelog.database.program import compile

    stages = compile(program).stages
    match stage:
        case "ast":
            from tidelog.syntax.show import show as show_ast

            text = show_ast(stages.ast)
        case "types":
            from tidelog.check.show import show_types

            text = show_types(stages.typed)
        case "rules":
            from tidelog.rules.show import show_rules

            text = show_rules(stages.rules)
        case "strata":
            from tidelog.rules.show import show_strata

            text = show_strata(stages.rules)
        case _:
            from tidelog.plan.show import show_plan

            text = show_plan(stages.rules)
    click.echo(text.rstrip("\n"))
