"""Aggregates of one body by the same keys → one step: they are lowered to one relation with several values.

    T(c, s, n) :- C(c), s = sum m : { L(c, _, m) }, n = count : { L(c, _, _) }.

The bodies may differ in the names of variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidelog.souffle.plan import terms
from tidelog.souffle.plan.clause_text import numbered_text


@dataclass(frozen=True, slots=True)
class Folds:
    """Aggregates with the keys and the body of the first one; the targets of all read the variables of that body.

    `text` says what is aggregated, up to the names of variables.
    """

    members: tuple[terms.Fold, ...]
    text: str


def share_folds(steps: Sequence[terms.Step]) -> list[terms.Step | Folds]:
    """Returns the steps with aggregates that share a body in the place of the first of them."""
    if sum(map(_may_share, steps)) < 2:
        return [*steps]
    groups: dict[str, list[terms.Fold]] = {}
    numbers: dict[int, dict[str, str]] = {}
    for step in steps:
        if isinstance(step, terms.Fold) and _may_share(step):
            numbers[id(step)] = {key.name: f"{place}" for place, key in enumerate(step.keys)}
            keys = ",".join(key.name for key in step.keys)
            groups.setdefault(f"{keys} {numbered_text(step.free, numbers[id(step)])}", []).append(step)
    made: list[terms.Step | Folds] = []
    done: set[int] = set()
    shared = {id(fold): group for group in groups.values() if len(group) > 1 for fold in group}
    for step in steps:
        group = shared.get(id(step))
        if group is None:
            made.append(step)
        elif id(group[0]) not in done:
            done.add(id(group[0]))
            made.append(_shared(group, numbers))
    return made


def _may_share(step: terms.Step) -> bool:
    is_fold = isinstance(step, terms.Fold) and bool(step.keys) and step.free is not None
    return is_fold and not step.function.startswith("@@")  # type: ignore[union-attr]


def _shared(group: Sequence[terms.Fold], numbers: dict[int, dict[str, str]]) -> Folds:
    first = group[0]
    names = {number: name for name, number in numbers[id(first)].items()}
    members = []
    for each in group:
        own = {name: names[number] for name, number in numbers[id(each)].items()}
        members.append(replace(each, target=None if each.target is None else _renamed(each.target, own)))
    known = dict(numbers[id(first)])
    text = numbered_text((first.free, tuple((each.function, each.target) for each in members)), known)
    return Folds(tuple(members), text)


def _renamed(term: terms.Term, names: dict[str, str]) -> terms.Term:
    match term:
        case terms.Var(name):
            return replace(term, name=names.get(name, name))
        case terms.Op(_, arguments) | terms.Make(_, arguments):
            return replace(term, arguments=tuple(_renamed(each, names) for each in arguments))
        case _:
            return term
