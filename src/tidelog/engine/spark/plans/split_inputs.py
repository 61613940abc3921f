"""Rules → the same rules with facts and derivations kept in different relations.

An `input` relation R that rules derive too becomes two: `R#input`, which holds the facts users write, and R, which
rules derive, with one more rule.

    input relation R(x: u32)          input relation R#input(x: u32)
    R(x) :- S(x).               →     R(x) :- S(x).
                                      R(x) :- R#input(x).

After this a relation is written or derived, never both: a batch of input is compared with a plain set, and a fact
reaches the task that maintains its row in the same way as any other row below the stratum.
The numbers of R's rows are those of the local engine with every rank one higher: the level of a fact is 0 here, not -1.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from tidelog.rules.ir import Atom, Positive, Relation, Role, Rule, RuleProgram, Stratum, Variable


@dataclass(frozen=True, slots=True)
class SplitProgram:
    """`written` has, for each input relation, the relation of the new program that takes the users' writes."""

    rules: RuleProgram
    written: Mapping[str, str]

    @property
    def derived(self) -> frozenset[str]:
        """The relations that have rules."""
        return frozenset(rule.head.relation for rule in self.rules.rules)


_INPUT = "#input"


def is_copy(rule: Rule) -> bool:
    """True if the rule only copies facts into a relation."""
    return any(atom.relation == f"{rule.head.relation}{_INPUT}" for atom in rule.positives)


def split_inputs(program: RuleProgram, apart: Container[str] = ()) -> SplitProgram:
    """Returns the program in which no relation has both facts from users and rules.

    `apart` has names of relations such as `R#input`, whose R stays split even if it has no rules any more.
    """
    derived = {rule.head.relation for rule in program.rules}
    derived |= {name for name in program.relations if f"{name}{_INPUT}" in apart}
    both = [name for name, relation in program.relations.items() if relation.role is Role.INPUT and name in derived]
    written = {
        name: f"{name}{_INPUT}" if name in both else name
        for name, relation in program.relations.items()
        if relation.role is Role.INPUT
    }
    facts = {written[name]: replace(program.relations[name], name=written[name]) for name in both}
    first_id = 1 + max((rule.id for rule in program.rules), default=-1)
    copies = {name: _copy_rule(program.relations[name], first_id + place) for place, name in enumerate(both)}
    strata = tuple(
        replace(stratum, rules=stratum.rules + tuple(copies[name] for name in stratum.relations if name in copies))
        for stratum in program.strata
    )
    below = tuple(Stratum((name,), (), recursive=False) for name in facts)
    rules = program.rules + tuple(copies.values())
    return SplitProgram(
        replace(program, relations={**program.relations, **facts}, rules=rules, strata=below + strata), written
    )


def _copy_rule(relation: Relation, identifier: int) -> Rule:
    terms = tuple(Variable(column.name, column.type) for column in relation.columns)
    return Rule(
        id=identifier,
        head=Atom(relation.name, terms, relation.span),
        body=(Positive(Atom(f"{relation.name}{_INPUT}", terms, relation.span)),),
        text=f"the input facts of `{relation.name}`",
        span=relation.span,
    )
