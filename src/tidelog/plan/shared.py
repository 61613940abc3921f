"""The variants of a stratum → the prefixes that they share: a shared prefix is enumerated once.

    A(x, z) :- P(x, y), E(y, z).              Δ P(x, y): probe E → emit A
    B(q, s) :- P(q, r), E(r, s), s > 5.       Δ P(q, r): the step of the rule above, then its own condition

This is how the local engine shares prefixes (`engine.local.execution.shared_prefixes`), on steps instead of
instructions; a test compares the two. Variants of one delta make a tree. Another one follows it as long as its literals
are joined alike, up to the names of variables, then becomes a branch. Conditions, assignments and negations after a
literal are shared as far as they begin alike, but among branches only by literals. Leapfrog joins are not shared, and a
variant with an expression that Python evaluates stays alone. Whether relations have rows, which decides in an epoch
what is evaluated apart, is not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tidelog.check.rule.same_rule import RuleKey, structure_key
from tidelog.plan.plain import is_plain
from tidelog.plan.variant import Antijoin, DeltaKind, Filter, Join, Leap, Let, Step, Take, Variant

MOST_VARIANTS = 64  # of one tree


@dataclass(frozen=True, slots=True)
class Shared:
    """The shared prefix of a variant: its first `steps` are those of `other`; `whole`: so is the end of the body."""

    other: Variant
    steps: int
    whole: bool


def shared_steps(variants: Sequence[Variant], inside: Collection[str]) -> list[Shared | None]:
    """Returns, for each variant of a stratum with the relations `inside`, the prefix shared with an earlier one."""
    return [shared for _, shared in _grown(variants, inside)]


def _grown(variants: Sequence[Variant], inside: Collection[str]) -> list[tuple[_Tree | None, Shared | None]]:
    """Returns the tree of each variant, and its shared prefix there; no tree if it stays alone."""
    trees: dict[tuple[Any, ...], _Tree] = {}
    found: list[tuple[_Tree | None, Shared | None]] = []
    for variant in variants:
        if not all(map(_is_for_the_kernel, variant.steps)):
            found.append((None, None))
            continue
        path = _path(variant)
        is_fact = variant.delta.kind is DeltaKind.RULE and len(path) == 1  # a rule without a body stays alone
        key = (*_delta(variant, inside), path[0].iterator)
        tree = None if is_fact else trees.get(key)
        if tree is not None and len(tree.variants) < MOST_VARIANTS:
            shared = tree.graft(path, variant)
        else:
            tree, shared = _Tree(path, variant), None
            if not is_fact:
                trees[key] = tree
        found.append((tree, shared))
    return found


@dataclass(slots=True)
class _Block:
    """One iterator and the steps after it that enumerate nothing; None for an iterator that is never shared."""

    iterator: RuleKey | None
    tail: tuple[RuleKey, ...]
    variant: Variant
    ends: list[Variant] = field(default_factory=list)
    children: list[_Block] = field(default_factory=list)

    def cut_tail(self, length: int) -> None:
        rest = _Block(None, self.tail[length:], self.variant, self.ends, self.children)
        self.tail, self.ends, self.children = self.tail[:length], [], [rest]


class _Tree:
    """Variants with the same delta."""

    def __init__(self, path: list[_Block], variant: Variant) -> None:
        self.variants = [variant]
        self._root = _chain(path)

    def blocks(self) -> list[_Block]:
        """Returns the iterators, each before those below it."""
        found, waiting = list[_Block](), [self._root]
        while waiting:
            found.append(waiting.pop())
            waiting += reversed(found[-1].children)
        return found

    def graft(self, path: list[_Block], variant: Variant) -> Shared:
        """Adds a variant that shares the delta."""
        self.variants.append(variant)
        at, depth, steps = self._root, 0, 0
        while True:
            mine = path[depth]
            alike = _alike(at.tail, mine.tail)
            steps += alike
            if alike < len(at.tail):
                at.cut_tail(alike)
            if alike < len(mine.tail):
                rest = _Block(None, mine.tail[alike:], variant)
                at.children.append(_chain([rest, *path[depth + 1 :]]))
                return Shared(at.variant, steps, whole=False)
            depth += 1
            if depth == len(path):
                at.ends.append(variant)
                return Shared(at.ends[0] if len(at.ends) > 1 else at.variant, steps, whole=len(at.ends) > 1)
            iterator = path[depth].iterator
            below = next((each for each in at.children if iterator is not None and each.iterator == iterator), None)
            if below is None:
                at.children.append(_chain(path[depth:]))
                return Shared(at.variant, steps, whole=False)
            at, steps = below, steps + 1


def _chain(path: list[_Block]) -> _Block:
    for above, below in pairwise(path):
        above.children = [below]
    path[-1].ends = [path[-1].variant]
    return path[0]


def _alike(left: Sequence[RuleKey], right: Sequence[RuleKey]) -> int:
    count = 0
    for mine, other in zip(left, right):
        if mine != other:
            break
        count += 1
    return count


def _delta(variant: Variant, inside: Collection[str]) -> tuple[Any, ...]:
    """Returns the key of a variant's tree: variants with equal keys may share a prefix."""
    delta = variant.delta
    if delta.atom is None:
        return delta.kind, any(atom.relation in inside for atom in variant.rule.positives)
    return delta.kind, delta.atom.relation


def _path(variant: Variant) -> list[_Block]:
    """Returns the delta, then an iterator for each literal; variables are numbered through all of it."""
    first, *keys = structure_key((variant.delta.atom, *(_essence(step, variant) for step in variant.steps)))[0]
    path = [_Block(first or ("rule",), (), variant)]
    for step, key in zip(variant.steps, keys, strict=True):
        match step:
            case Join():
                path.append(_Block(key, (), variant))
            case Leap():
                path.append(_Block(None, (), variant))
            case _:
                path[-1].tail = (*path[-1].tail, key)
    return path


def _essence(step: Step, variant: Variant) -> tuple[Any, ...]:
    """Returns a step without its place in the rule; only whether it is before the delta counts."""
    match step:
        case Join(atom, position, keys):
            return atom, keys, position < variant.delta.position
        case Antijoin(atom, position):
            return "absent", atom, position < variant.delta.position
        case Leap(variable):
            return "leap", variable
        case _:
            return (step,)


def _is_for_the_kernel(step: Step) -> bool:
    match step:
        case Filter(expression) | Let(expression=expression):
            return is_plain(expression)
        case Take():
            return False
        case _:
            return True
