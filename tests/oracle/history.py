"""Histories: what a user does to a database, one transaction after the other.

A transaction is a list of writes in call order. Its net effect follows the language's rule: writes apply to the
transaction's own view. In a set, inserting a present row and deleting an absent one do nothing; in a multiset and in a
stream each write counts, and a stream begins empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.oracle.program import Program, Relation, Rule, nameless
from tests.oracle.types import Relations, Row, Weights


@dataclass(frozen=True, slots=True)
class Write:
    """One call: `sign` is +1 for insert, -1 for delete."""

    sign: int
    relation: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Transaction:
    """Writes in call order. If `fails`, the user's code raises after the last one, and nothing happens."""

    writes: tuple[Write, ...]
    fails: bool = False


History = tuple[Transaction, ...]


@dataclass(frozen=True, slots=True)
class RuleCall:
    """`add_rules` (+1) or `remove_rules` (-1) with one rule, and the relations that come with it."""

    sign: int
    rule: Rule
    declares: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleTransaction:
    """Calls that change rules, in the midst of writes."""

    writes: Transaction
    calls: tuple[RuleCall, ...]

    def change(self, program: Program) -> Program:
        """The program after the transaction."""
        rules, relations = list(program.rules), list(program.relations)
        for call in () if self.writes.fails else self.calls:
            relations += call.declares
            others = [rule for rule in rules if nameless(rule) != nameless(call.rule)]
            if call.sign < 0:
                rules = others
            elif len(others) == len(rules):
                rules.append(call.rule)
        return replace(program, relations=tuple(relations), rules=tuple(rules))


def apply(facts: Relations, transaction: Transaction) -> Relations:
    """The input facts after the transaction, in a program whose inputs are sets."""
    if transaction.fails:
        return facts
    after = {name: set(rows) for name, rows in facts.items()}
    for write in transaction.writes:
        rows = after.setdefault(write.relation, set())
        if write.sign > 0:
            rows.update(write.rows)
        else:
            rows.difference_update(write.rows)
    return {name: frozenset(rows) for name, rows in after.items()}


def weigh_facts(program: Program, facts: Weights, transaction: Transaction) -> Weights:
    """The input facts after the transaction, with their weights."""
    kinds = {relation.name: relation.kind for relation in program.relations}
    after = {name: dict(rows) if kinds[name] != "stream" else {} for name, rows in facts.items()}
    for write in () if transaction.fails else transaction.writes:
        rows = after.setdefault(write.relation, {})
        for row in write.rows:
            if kinds[write.relation] == "relation":
                rows[row] = max(write.sign, 0)
            else:
                rows[row] = rows.get(row, 0) + write.sign
    return {name: {row: weight for row, weight in rows.items() if weight} for name, rows in after.items()}


def is_an_epoch(program: Program, before: Weights, after: Weights) -> bool:
    """Whether facts changed. A stream that was written to is a change, one that was not, is none."""
    return any(
        after.get(relation.name) if relation.kind == "stream" else _differ(relation.name, before, after)
        for relation in program.relations
    )


def _differ(name: str, before: Weights, after: Weights) -> bool:
    return before.get(name, {}) != after.get(name, {})


def difference(before: Relations, after: Relations) -> Iterator[Write]:
    """The writes that lead from one set of facts to the other: per relation the deletes, then the inserts."""
    for name in sorted({*before, *after}):
        old, new = before.get(name, frozenset()), after.get(name, frozenset())
        if old - new:
            yield Write(-1, name, tuple(sorted(old - new)))
        if new - old:
            yield Write(+1, name, tuple(sorted(new - old)))
