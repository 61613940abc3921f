"""Rules in the form that is run: typed terms, and the steps that find one instance after the other.

A step either binds variables or decides whether the rule goes on; it reads only variables that steps before it bind.
`lower` makes literals of Tidelog's rules of the steps, `evaluate` runs them where a stratum has to be recomputed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.diagnostics.spans import Span


@dataclass(frozen=True, slots=True)
class Var:
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Const:
    value: int | float | str
    kind: str


@dataclass(frozen=True, slots=True)
class Op:
    """A functor by its word; `cast` is `as`, `@name` is a functor of the program."""

    name: str
    arguments: tuple[Term, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Make:
    """A record (`branch` is empty), a branch of a tagged union, or `nil` of a record type (`branch` is `nil`)."""

    branch: str
    arguments: tuple[Term, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Count:
    """`autoinc()`, or (`rounds`) the number of the round."""

    kind: str
    rounds: bool = False


Term = Var | Const | Op | Make | Count


@dataclass(frozen=True, slots=True)
class Scan:
    """Goes on for each row that matches: a variable that is not bound is, all others are compared; None matches all."""

    relation: str
    terms: tuple[Var | Const | None, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Absent:
    """Goes on if no row matches."""

    relation: str
    terms: tuple[Term | None, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Bind:
    variable: Var
    value: Term
    span: Span


@dataclass(frozen=True, slots=True)
class Test:
    """`left operator right`"""

    operator: str
    left: Term
    right: Term
    span: Span


@dataclass(frozen=True, slots=True)
class Truth:
    value: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Unpack:
    """Goes on if the value is a record, or has the branch; binds a variable to each field, None to none."""

    value: Var
    branch: str
    fields: tuple[Var | None, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Each:
    """Goes on for each number of a range."""

    variable: Var
    bounds: tuple[Term, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Fold:
    """Binds the variable to an aggregate over the instances of a body; `keys` are variables from outside it.

    `free` are steps for the same body that bind the keys, too, if it can.
    """

    variable: Var
    function: str
    target: Term | None
    steps: tuple[Step, ...]
    keys: tuple[Var, ...]
    span: Span
    first: Term | None = None
    free: tuple[Step, ...] | None = None


Step = Scan | Absent | Bind | Test | Truth | Unpack | Each | Fold


@dataclass(frozen=True, slots=True)
class Planned:
    """A rule: its head's terms read what its steps bind. `better` says that it is a subsumptive one."""

    head: str
    terms: tuple[Term, ...]
    steps: tuple[Step, ...]
    span: Span
    better: tuple[Term, ...] | None = None


def variables(term: Term | None) -> set[str]:
    """Returns the variables that a term reads."""
    match term:
        case Var(name):
            return {name}
        case Op(_, arguments) | Make(_, arguments):
            return {name for each in arguments for name in variables(each)}
        case _:
            return set()


def all_terms(rule: Planned) -> Iterable[Term]:
    """Yields the terms of a rule, and all terms inside them."""
    waiting: list[Term] = [*rule.terms]
    steps = [*rule.steps]
    while steps:
        step = steps.pop()
        match step:
            case Bind(_, value):
                waiting.append(value)
            case Test(_, left, right):
                waiting += [left, right]
            case Absent(_, wanted):
                waiting += [each for each in wanted if each is not None]
            case Each(_, bounds):
                waiting += bounds
            case Fold():
                steps += step.steps
                waiting += [] if step.target is None else [step.target]
            case _:
                pass
    while waiting:
        term = waiting.pop()
        yield term
        if isinstance(term, Op | Make):
            waiting += term.arguments


def counts(rule: Planned) -> bool:
    """True for a rule with a counter."""
    return any(isinstance(each, Count) and not each.rounds for each in all_terms(rule))


def reads(step: Step) -> set[str]:
    """Returns the relations that a step looks at."""
    match step:
        case Scan(relation) | Absent(relation):
            return {relation}
        case Fold():
            return {name for each in step.steps for name in reads(each)}
        case _:
            return set()


def used_by(steps: Iterable[Step]) -> set[str]:
    """Returns the variables that steps mention."""
    found: set[str] = set()
    for step in steps:
        match step:
            case Scan(_, columns) | Absent(_, columns):
                found |= {name for each in columns for name in variables(each)}
            case Bind(variable, value):
                found |= {variable.name} | variables(value)
            case Test(_, left, right):
                found |= variables(left) | variables(right)
            case Unpack(value, _, parts):
                found |= {value.name} | {each.name for each in parts if each is not None}
            case Each(variable, bounds):
                found |= {variable.name} | {name for each in bounds for name in variables(each)}
            case Fold():
                found |= {step.variable.name} | {each.name for each in step.keys} | used_by(step.steps)
                found |= variables(step.target) | variables(step.first)
            case _:
                pass
    return found


def bound_by(steps: Iterable[Step]) -> list[Var]:
    """Returns the variables that steps bind, each once, in their order."""
    found: dict[str, Var] = {}
    for step in steps:
        match step:
            case Scan():
                made = [each for each in step.terms if isinstance(each, Var)]
            case Bind() | Each() | Fold():
                made = [step.variable]
            case Unpack():
                made = [each for each in step.fields if each is not None]
            case _:
                continue
        for each in made:
            found.setdefault(each.name, each)
    return [*found.values()]


def text_of(parts: object) -> str:
    """Returns what steps and terms say, and not where they stand."""
    return re.sub(r"span=Span\([^)]*\)", "", repr(parts))
