"""A typed program → what it means: its declarations and its rules, without their text.

    Reach(x, y) :- Edge(x, y).   // direct          Reach(a, b) :-
                                                        Edge(a, b).

Two programs with equal meanings derive the same rows from the same facts. Comments, layout, names of variables, the
order of declarations and rules, and how files are named do not count. Attributes count: they say how a rule is run,
and somebody who changes one wants it to be run so. The library is the same for all programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tidelog.check import typed
from tidelog.check.program import Function, TypedProgram
from tidelog.check.rule.same_rule import RuleKey, rule_key, structure_key
from tidelog.deep_recursion import deeply
from tidelog.rules.ir import RuleProgram
from tidelog.rules.lower.program import expressions_of

OTHER_DECLARATIONS = ("type", "function", "index", "transformer")
"""The kinds of declarations beside relations."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """`relations` and the other `declarations` by kind and name, `rules` with their texts on one line each."""

    relations: Mapping[str, RuleKey]
    declarations: Mapping[tuple[str, str], RuleKey]
    applications: frozenset[RuleKey]
    rules: Mapping[RuleKey, str]

    def is_same(self, other: Meaning) -> bool:
        """True if both programs derive the same rows from the same facts, in the same way."""
        return (
            (self.relations, self.declarations) == (other.relations, other.declarations)
            and self.applications == other.applications
            and self.rules.keys() == other.rules.keys()
        )


def meaning(program: TypedProgram) -> Meaning:
    """Returns the meaning of a program, in time linear in its size."""
    return deeply(_meaning, program)


def has_closures(program: TypedProgram, rules: RuleProgram) -> bool:
    """True if the program has a closure of its own: a value that is known by its place in the text."""
    own = set(program.sources.values())
    bodies = [each.body for each in program.functions.values() if each.body is not None and each.span.source in own]
    expressions = chain(bodies, expressions_of(rules.rules))
    return any(isinstance(node, typed.Closure) for each in expressions for node in typed.walk(each))


def one_line(text: str) -> str:
    """Returns the text of a rule on one line."""
    return " ".join(text.split())


def _meaning(program: TypedProgram) -> Meaning:
    own = set(program.sources.values())
    groups: dict[str, Mapping[str, Any]] = {
        "type": {name: each for name, each in program.types.items() if name not in program.relations},
        "function": program.functions,
        "index": program.indexes,
        "transformer": program.transformers,
    }
    return Meaning(
        {name: structure_key(each) for name, each in program.relations.items() if each.span.source in own},
        {
            (kind, name): structure_key(each, _parameters(each))
            for kind in OTHER_DECLARATIONS
            for name, each in groups[kind].items()
            if each.span.source in own
        },
        frozenset(structure_key(each) for each in program.applications),
        {(rule_key(rule), structure_key(rule.attributes)): one_line(rule.span.text) for rule in program.rules},
    )


def _parameters(declared: Any) -> list[str]:
    return [each.name for each in declared.parameters] if isinstance(declared, Function) else []
