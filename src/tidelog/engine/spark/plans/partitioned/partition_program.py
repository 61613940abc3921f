"""A stratum and its routing → the program of one task, in which every join is local to the task.

    Reach(x, z) :- Reach(x, y), Reach(y, z).    →    Reach(x, z) :- Reach#at1(x, y), Reach(y, z).

A literal on the stratum reads the copy that is divided by the rule's meeting variable. Copies other than the home have
no rules: the instances of their rows come with those of the home (`stratum`). A literal below with the meeting variable
reads the task's own share of its relation, unless another literal needs the whole of it anyway. A rule without a
literal on the stratum reads a share in one place at least, so that each instance is found by one task; if it has
nothing to divide, only the first task has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidelog.engine.spark.plans.partitioned.routing import Routing, copy_name
from tidelog.engine.spark.plans.tasks.subprogram import Share, TaskProgram
from tidelog.engine.spark.plans.tasks.task_context import TaskContext
from tidelog.engine.spark.storage.state_files import Cut, positional
from tidelog.rules.ir import Negative, Positive, Relation, Role, Rule, RuleProgram, Stratum


def partition_program(
    stratum: Stratum,
    routing: Routing,
    relations: Mapping[str, Relation],
    parts: int,
    part: int,
    context: TaskContext | None = None,
) -> TaskProgram:
    """Returns the program of one of `parts` tasks: columns named by position, homes as outputs, other copies hidden."""
    context = context or TaskContext()
    shares: dict[str, Share] = {}
    whole = _needed_whole(stratum, routing)
    rules: list[Rule] = []
    for rule, meeting in zip(stratum.rules, routing.meetings, strict=True):
        is_recursive = any(atom.relation in routing.copies for atom in rule.positives)
        places = [place for place in sorted(meeting) if isinstance(rule.body[place], Positive)]
        if not is_recursive and not places and part > 0:
            continue
        divided = {} if is_recursive or not places else {places[0]}
        body = list(rule.body)
        for place, literal in enumerate(rule.body):
            if not isinstance(literal, Positive | Negative):
                continue
            name = literal.atom.relation
            if name in routing.copies:
                new_name = copy_name(name, routing.copies[name], meeting[place])
            elif place in meeting and (place in divided or name not in whole):
                share = Share(f"{name}#by{meeting[place]}", name, Cut(meeting[place], parts, part))
                shares[share.name] = share
                new_name = share.name
            else:
                shares[name] = Share(name, name, None)
                new_name = name
            body[place] = replace(literal, atom=replace(literal.atom, relation=new_name))
        rules.append(replace(rule, id=len(rules), body=tuple(body)))
    inputs = {
        share.name: replace(positional(relations[share.relation]), name=share.name, role=Role.INPUT)
        for share in shares.values()
    }
    homes: dict[str, Relation] = {}
    copies: dict[str, Relation] = {}
    for name, columns in routing.copies.items():
        relation = positional(relations[name])
        homes[name] = relation if relation.role is Role.HIDDEN else replace(relation, role=Role.OUTPUT)
        for column in columns[1:]:
            copy = copy_name(name, columns, column)
            copies[copy] = replace(relation, name=copy, role=Role.HIDDEN)
    below = [Stratum((name,), (), recursive=False) for name in inputs]
    own = Stratum((*homes, *copies), tuple(rules), recursive=True)
    program = RuleProgram({**inputs, **homes, **copies}, tuple(rules), (*below, own), context.functions)
    return TaskProgram(program, tuple(shares.values()), tuple(homes))


def _needed_whole(stratum: Stratum, routing: Routing) -> set[str]:
    """Returns the relations below that some literal reads without the meeting variable of its rule."""
    return {
        literal.atom.relation
        for rule, meeting in zip(stratum.rules, routing.meetings, strict=True)
        for place, literal in enumerate(rule.body)
        if isinstance(literal, Positive | Negative)
        and place not in meeting
        and literal.atom.relation not in routing.copies
    }
