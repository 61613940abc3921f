"""A program and its input facts → the rows of every relation, with their weights: Datalog by definition.

Relations that depend on one another are computed together, after those that they read: from nothing, every rule is run
on everything, again and again, until a round changes nothing. No delta, no state: slow, and easy to believe.

The weight of a row is the sum over its rule instances of the product of the weights of their body rows; in a set that
is an input, an output or recursive it is 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.oracle.instances import TooLargeError, instances
from tests.oracle.order import atoms, counts_once, in_order, is_delayed, reach
from tests.oracle.program import Program
from tests.oracle.types import Relations, Row, Weights

MOST_ROUNDS = 300


def evaluate(program: Program, facts: Relations, limit: int | None = None) -> Relations:
    """All rows of all relations of a program without history. Raises as `weigh` does."""
    weighed = weigh(program, {name: dict.fromkeys(rows, 1) for name, rows in facts.items()}, (), limit)
    return {name: frozenset(rows) for name, rows in weighed.items()}


def weigh(program: Program, facts: Weights, past: Sequence[Weights], limit: int | None = None) -> Weights:
    """All rows of all relations, with their weights. `past` has the results of earlier epochs, the last one last.

    Raises TooLargeError when a body matches more than `limit` times on the way, or when a recursion does not end.
    """
    rows: dict[str, Mapping[Row, int]] = {relation.name: {} for relation in program.relations}
    rows |= {f"{relation.name}'": {} for relation in program.relations if relation.kind == "stream"}
    rows |= _delayed(program, past)
    if past:
        program = _without_facts_of_streams(program)
    once, reads = counts_once(program), reach(program)
    for names in in_order(program):
        recursive = any(name in reads[name] for name in names)
        for _ in range(MOST_ROUNDS):
            found = _round(program, names, facts, rows, once, limit)
            settled = found == {name: rows[name] for name in names}
            rows |= found
            rows |= {f"{name}'": weights for name, weights in found.items() if f"{name}'" in rows}
            if settled or not recursive:
                break
        else:
            raise TooLargeError
    return {relation.name: rows[relation.name] for relation in program.relations}


def _round(
    program: Program, names: frozenset[str], facts: Weights, rows: Weights, once: set[str], limit: int | None
) -> dict[str, dict[Row, int]]:
    """What the rules derive from the rows as they stand, and the facts."""
    derived: dict[str, Counter[Row]] = {name: Counter(facts.get(name, {})) for name in sorted(names)}
    kinds = {relation.name: relation.kind for relation in program.relations}
    for rule in program.rules:
        if rule.head.relation in names:
            for instance in instances(rule, rows, limit, kinds):
                derived[rule.head.relation][instance.row] += instance.weight
    return {
        name: {row: 1 if name in once else weight for row, weight in found.items() if weight}
        for name, found in derived.items()
    }


def _without_facts_of_streams(program: Program) -> Program:
    """The program after its first epoch: a fact of a stream in its text is there once."""
    streams = {relation.name for relation in program.relations if relation.kind == "stream"}
    return replace(
        program, rules=tuple(rule for rule in program.rules if rule.body or rule.head.relation not in streams)
    )


def _delayed(program: Program, past: Sequence[Weights]) -> Weights:
    """What delayed atoms read: their relation some epochs ago; nothing before the first epoch."""
    delayed = {atom for rule in program.rules for atom in atoms(rule) if is_delayed(atom)}
    ago = {atom.source: (-int(atom.moment), atom.relation) for atom in delayed}
    return {source: past[-epochs][name] if epochs <= len(past) else {} for source, (epochs, name) in ago.items()}
