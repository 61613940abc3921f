"""Rules → the least height of a proof by each of them, whatever the facts.

    R(x, y) :- E(x, y).    1        R(x, z) :- R(x, y), R(y, z).    2

A relation that may have input facts has height 0, any other the least of its rules; a rule is one above the highest
relation that it reads.
"""

from __future__ import annotations

from functools import cached_property

from tidelog.rules.ir import Role, Rule, RuleProgram

# More than any proof: a relation that nothing can ever fill.
_NEVER = 1 << 40


class MinProofHeights:
    """The least heights of a program, computed on first use."""

    def __init__(self, program: RuleProgram) -> None:
        self._program = program

    def of_rule(self, rule: Rule) -> int:
        """Returns the least height of a proof by this rule."""
        return self._of(rule, self._relations)

    @cached_property
    def _relations(self) -> dict[str, int]:
        program = self._program
        given = {name for name, relation in program.relations.items() if relation.role is Role.INPUT}
        given |= {feed.relation for feed in program.feeds}
        least = {name: 0 if name in given else _NEVER for name in program.relations}
        changed = True
        while changed:
            changed = False
            for rule in program.rules:
                height = self._of(rule, least)
                if height < least[rule.head.relation]:
                    least[rule.head.relation], changed = height, True
        return least

    @staticmethod
    def _of(rule: Rule, least: dict[str, int]) -> int:
        if rule.transform is not None or not rule.atoms:
            return 0
        read = (rule.group.atom,) if rule.group is not None else rule.positives
        return 1 + max((least[atom.relation] for atom in read), default=0)
