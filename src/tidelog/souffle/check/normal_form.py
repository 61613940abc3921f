"""Bodies → conjunctions of literals: a clause with a disjunction becomes one clause for each alternative.

A(x) :- B(x), (C(x); !(D(x), x > 1)).

A(x) :- B(x), C(x).    A(x) :- B(x), !D(x).    A(x) :- B(x), x <= 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.souffle.text import tree

Literal = tree.Atom | tree.Negation | tree.Constraint | tree.Truth
"""A negation is one of an atom here."""

OPPOSITE = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "match": "!match",
    "!match": "match",
    "contains": "!contains",
    "!contains": "contains",
}
_MOST = 4_000


@dataclass(frozen=True, slots=True)
class Rule:
    """One head and one conjunction of the clause that it comes from.

    `better` is the dominating atom of a subsumptive clause: its body begins with both atoms.
    """

    head: tree.Atom
    body: tuple[Literal, ...]
    span: Span
    better: tree.Atom | None = None
    plan: tree.Plan | None = None


def rules_of(clause: tree.Clause) -> list[Rule]:
    """Returns the rules that a clause stands for. Raises ProgramError for one with too many alternatives."""
    bodies: list[tuple[Literal, ...]] = [()] if clause.body is None else conjunctions(clause.body)
    if clause.better is not None:
        worse, better = _named(clause.heads[0], "?"), _named(clause.better, "??")
        return [Rule(worse, (worse, better, *body), clause.span, better, clause.plan) for body in bodies]
    return [Rule(head, body, clause.span, None, clause.plan) for head in clause.heads for body in bodies]


def conjunctions(body: tree.Body) -> list[tuple[Literal, ...]]:
    """Returns the alternatives of a body. Raises ProgramError where there are too many."""
    found = _alternatives(body, negated=False)
    return found


def _alternatives(body: tree.Body, *, negated: bool) -> list[tuple[Literal, ...]]:
    match body:
        case tree.Atom():
            return [(tree.Negation(body, span=body.span),)] if negated else [(body,)]
        case tree.Negation(inside):
            return _alternatives(inside, negated=not negated)
        case tree.Constraint(operator):
            return [(replace(body, operator=OPPOSITE[operator]),)] if negated else [(body,)]
        case tree.Truth(value):
            return [(replace(body, value=not value),)] if negated else [(body,)]
    parts = [_alternatives(part, negated=negated) for part in body.parts]
    if isinstance(body, tree.Disjunction) is not negated:
        return _bounded([each for part in parts for each in part], body)
    made: list[tuple[Literal, ...]] = [()]
    for part in parts:
        if len(made) * len(part) > _MOST:
            _too_many(body)
        made = [(*before, *after) for before in made for after in part]
    return made


def _bounded(found: list[tuple[Literal, ...]], body: tree.Body) -> list[tuple[Literal, ...]]:
    if len(found) > _MOST:
        _too_many(body)
    return found


def _too_many(body: tree.Body) -> None:
    message = f"a body has more than {_MOST:,} alternatives"
    raise ProgramError((diagnostic(Code.NESTED_TOO_DEEPLY, message, body.span, "too many disjunctions"),))


def _named(atom: tree.Atom, mark: str) -> tree.Atom:
    """Returns the atom with a variable in the place of each `_`; `mark` ends the names."""
    arguments = tuple(
        tree.Variable(f"_{place}{mark}", span=each.span) if isinstance(each, tree.Unnamed) else each
        for place, each in enumerate(atom.arguments)
    )
    return replace(atom, arguments=arguments)
