"""A program → which relations are computed together, in which order, and which of them count rows once."""

from __future__ import annotations

from tests.oracle.program import Atom, Negative, Positive, Program, Rule


class NotStratifiedError(Exception):
    """A relation depends on its own negation."""


def in_order(program: Program) -> list[frozenset[str]]:
    """Relations that depend on one another, together; all before those that read them."""
    closed = {name: read | {name} for name, read in reach(program).items()}
    together = {frozenset(other for other in closed if closed[other] == seen) for seen in closed.values()}
    return sorted(together, key=lambda names: (len(closed[min(names)]), min(names)))


def reach(program: Program) -> dict[str, set[str]]:
    """The relations that each relation's rules read, and those that these read, and so on; not what is delayed."""
    reads: dict[str, set[str]] = {relation.name: set() for relation in program.relations}
    for rule in program.rules:
        reads[rule.head.relation] |= {atom.relation for atom in atoms(rule) if not is_delayed(atom)}
    for middle in reads:
        for name in reads:
            if middle in reads[name]:
                reads[name] |= reads[middle]
    return reads


def atoms(rule: Rule) -> list[Atom]:
    """The atoms of the body."""
    return [literal.atom for literal in rule.body if isinstance(literal, Positive | Negative)]


def is_delayed(atom: Atom) -> bool:
    return atom.moment.startswith("-")


def counts_once(program: Program) -> set[str]:
    """The sets in which every row weighs 1, however often it is derived."""
    reads = reach(program)
    return {
        relation.name
        for relation in program.relations
        if relation.kind == "relation" and (relation.role != "internal" or relation.name in reads[relation.name])
    }


def check_stratified(program: Program) -> None:
    """Raises NotStratifiedError."""
    reads = reach(program)
    for rule in program.rules:
        for literal in rule.body:
            if isinstance(literal, Negative) and not is_delayed(literal.atom):
                name = literal.atom.relation
                if rule.head.relation in {name, *reads[name]}:
                    raise NotStratifiedError(name)
