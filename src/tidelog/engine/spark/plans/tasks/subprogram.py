"""A segment → the program that one of its tasks runs on the local engine.

The relations below are the task's inputs; the strata of the segment stay as they are. In a decomposed segment the
task must derive only rows whose pivot value is in its bucket, so a rule that reads nothing of the segment reads, in
place of one literal that binds its pivot variable, the part of that relation that belongs to the bucket:

    Reach(x, y) :- Edge(x, y).               →   Reach(x, y) :- Edge#by0(x, y).
    Reach(x, z) :- Reach(x, y), Edge(y, z).      Reach(x, z) :- Reach(x, y), Edge(y, z).

Rows of the segment that such rules did not place in the bucket can then never appear in it, because every other rule
carries the pivot (`pivot`). A rule whose pivot is a constant is kept by the one bucket that the constant belongs to.

Weighted relations keep their weights: to the task, one below is a multiset or a stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidelog.engine.spark.plans.choose_plan import Segment
from tidelog.engine.spark.plans.pivot import binding_atom
from tidelog.engine.spark.plans.tasks.task_context import TaskContext
from tidelog.engine.spark.storage.bucket import bucket_of_constant
from tidelog.engine.spark.storage.state_files import Cut, positional
from tidelog.rules.ir import Constant, Group, Positive, Relation, Role, Rule, RuleProgram, Stratum, Variable


@dataclass(frozen=True, slots=True)
class Share:
    """A relation below as the task sees it: `name` in its program, all rows of `relation` or those of a bucket."""

    name: str
    relation: str
    cut: Cut | None


@dataclass(frozen=True, slots=True)
class TaskProgram:
    """The program of a task, its inputs, all named, and the relations that it maintains."""

    program: RuleProgram
    shares: tuple[Share, ...]
    relations: tuple[str, ...]


def task_program(
    segment: Segment, relations: Mapping[str, Relation], buckets: int, bucket: int, context: TaskContext | None = None
) -> TaskProgram:
    """Returns the program of one bucket: columns named by position, relations of the segment as outputs or hidden."""
    context = context or TaskContext()
    shares: dict[str, Share] = {}
    rules: list[Rule] = []
    strata: list[Stratum] = []
    for stratum in segment.strata:
        kept = []
        for rule in stratum.rules:
            own = _own_rule(rule, segment, buckets, bucket, shares, context)
            if own is not None:
                kept.append(replace(own, id=len(rules)))
                rules.append(kept[-1])
        strata.append(Stratum(stratum.relations, tuple(kept), stratum.recursive))
    for rule in rules:
        for atom in rule.atoms:
            if atom.relation not in segment.relations:
                shares.setdefault(atom.relation, Share(atom.relation, atom.relation, None))
    inputs = {
        share.name: replace(positional(relations[share.relation]), name=share.name, role=Role.INPUT)
        for share in shares.values()
    }
    outputs = {name: _maintained(positional(relations[name])) for name in segment.relations}
    below = [Stratum((name,), (), recursive=False) for name in inputs]
    program = RuleProgram(
        {**inputs, **outputs},
        tuple(rules),
        (*below, *strata),
        context.functions,
        feeds=tuple(feed for feed in context.feeds if feed.latest and feed.relation in outputs),
        inspections=tuple(each for each in context.inspections if each.relation in outputs),
    )
    return TaskProgram(program, tuple(shares.values()), segment.relations)


def _maintained(relation: Relation) -> Relation:
    return relation if relation.role is Role.HIDDEN else replace(relation, role=Role.OUTPUT)


def _own_rule(
    rule: Rule, segment: Segment, buckets: int, bucket: int, shares: dict[str, Share], context: TaskContext
) -> Rule | None:
    """Returns the rule as the bucket evaluates it, or None; notes the part of a relation that it reads."""
    read = rule.positives if rule.group is None else (rule.group.atom,)
    if buckets == 1 or any(atom.relation in segment.relations for atom in read):
        return rule
    term = rule.head.terms[segment.pivots[rule.head.relation]]
    if isinstance(term, Constant):
        return rule if bucket_of_constant(term, buckets, context.definitions) == bucket else None
    assert isinstance(term, Variable)
    bound = binding_atom(rule, term)
    assert bound is not None
    place, column = bound
    literal = rule.body[place]
    assert isinstance(literal, Positive | Group)
    whole = literal.atom.relation
    share = Share(f"{whole}#by{column}", whole, Cut(column, buckets, bucket))
    shares[share.name] = share
    part = replace(literal, atom=replace(literal.atom, relation=share.name))
    return replace(rule, body=(*rule.body[:place], part, *rule.body[place + 1 :]))
