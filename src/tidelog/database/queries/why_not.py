"""The attempts of a relation's rules → why a row is not there: for each rule, the first literal without a match.

print(db.why_not("Reach", ("a", "z")))

Reach("a", "z") is not there
  Reach(x, y) :- Edge(x, y).    reach.dl:3:1
    there is no Edge("a", "z")
  Reach(x, z) :- Reach(x, y), Edge(y, z).    reach.dl:4:1
    there is no Edge(y, "z")     with x = "a", z = "z"

If rules could derive a row for the literal, why they do not stands below it, further to the right; below a negated
literal stands why its row is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.check import typed
from tidelog.database.queries.describe import Describer, Row, hidden_kind, one_line, rule_text
from tidelog.database.queries.explain import Explanation, explanation
from tidelog.diagnostics.shown import Shown, fit, preformatted
from tidelog.diagnostics.wording import counted
from tidelog.engine.proof import Absence, Cut, FailedMatch
from tidelog.io.to_python import dump_json
from tidelog.io.user_values import user_rows, user_values
from tidelog.rules import ir
from tidelog.rules.variables import variable_types


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The obstacle of one rule. `literal` is the literal as the program has it, with the known values filled in; None
    where the rule's head cannot become the row at all. `bindings` is the binding that gets furthest through the body
    in the order of the rule's plan; `held` are the literals before the obstacle.

    `is_sure` is false where there were too many bindings to try all. `below` says why there is no row for the literal,
    where rules could derive one; `present` is why the row of a negated literal is there.
    """

    rule: str
    place: str
    literal: str | None
    reason: str
    bindings: Mapping[str, Any]
    held: tuple[str, ...]
    is_sure: bool
    below: WhyNot | None = None
    present: Explanation | None = None


@dataclass(frozen=True, slots=True)
class WhyNot(Shown):
    """The reasons why a row is not there. `is_present`: it is there; then there are no obstacles. `note` is a reason
    beside the rules: no transaction inserted the row, or a stream keeps none; or it says why there are no obstacles.

    Below an obstacle, `row` has only the values that are known, and `text` the names of columns for the others: no row
    that fits is there. `depth` is the number of levels, this one included.
    """

    relation: str
    row: Row
    text: str
    is_present: bool
    obstacles: tuple[Obstacle, ...]
    note: str | None = None

    @property
    def depth(self) -> int:
        return 1 + max((each.below.depth for each in self.obstacles if each.below is not None), default=0)

    def to_dict(self) -> dict[str, Any]:
        """Returns the answer as plain objects for JSON; bindings are text."""
        return {
            "relation": self.relation,
            "text": self.text,
            "is_present": self.is_present,
            "note": self.note,
            "rules": [
                {
                    "rule": each.rule,
                    "place": each.place,
                    "literal": each.literal,
                    "reason": each.reason,
                    "held": list(each.held),
                    "is_sure": each.is_sure,
                }
                | ({} if each.below is None else {"below": each.below.to_dict()})
                | ({} if each.present is None else {"present": each.present.to_dict()})
                for each in self.obstacles
            ],
        }

    def to_json(self) -> str:
        """Returns `to_dict()` as JSON text, on one line."""
        return dump_json(self.to_dict())

    def to_text(self, *, max_lines: int = 400) -> str:
        """Returns the reasons, each under its rule; it says if it leaves some out."""
        lines = [f"{self.text} is there"] if self.is_present else list(self._lines("", " is not there"))
        if len(lines) > max_lines:
            lines = [*lines[:max_lines], f"… cut at {max_lines} lines"]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<WhyNot {self.text}: {'present' if self.is_present else counted(len(self.obstacles), 'obstacle')}>"

    def _text(self, width: int) -> str:
        return fit(self.to_text(max_lines=100).splitlines(), width)

    def _repr_html_(self) -> str:
        """Renders for notebooks: the text."""
        return preformatted(self.to_text(max_lines=100))

    def _lines(self, indent: str, behind: str) -> Iterator[str]:
        yield f"{indent}{self.text}{behind}" + (f": {self.note}" if self.note else "")
        for each in self.obstacles:
            unsure = "" if each.is_sure else "   (not all bindings were tried)"
            yield f"{indent}  {each.rule}    {each.place}"
            yield f"{indent}    {each.reason}{unsure}"
            if each.below is not None:
                yield from each.below._lines(f"{indent}      ", " is missing")
            if each.present is not None:
                shown = each.present.to_text(max_depth=3, max_lines=20)
                yield from (f"{indent}      {line}" for line in shown.splitlines())


def why_not(relation: str, row: Row, attempts: tuple[FailedMatch, ...] | None, program: ir.RuleProgram) -> WhyNot:
    """Turns the attempts into an answer; `attempts` is None for a row that is there."""
    describe = Describer(program)
    text = describe.row(relation, row)
    (row,) = user_rows([row], program.relations[relation], program.functions.definitions)
    if attempts is None:
        return WhyNot(relation, row, text, True, ())
    obstacles = tuple(_obstacle(attempt, describe, program) for attempt in attempts)
    return WhyNot(relation, row, text, False, obstacles, _note(program, relation, bool(attempts)))


_CUTS = {
    Cut.DEPTH: "its own reasons are deeper than `max_depth`",
    Cut.AGAIN: "see above: it would need itself, or is explained there",
    Cut.ENOUGH: "its own reasons are left out, there are many",
}


def _missing(absence: Absence, describe: Describer, program: ir.RuleProgram) -> WhyNot:
    """Returns why there is no row with these values in some columns."""
    relation = program.relations[absence.relation]
    known = absence.columns
    terms = [
        describe.value(known[place], column.type) if place in known else column.name
        for place, column in enumerate(relation.columns)
    ]
    text = f"{relation.name}[{terms[0]}]" if relation.explicit else f"{relation.name}({', '.join(terms)})"
    names = {column.name: known[place] for place, column in enumerate(relation.columns) if place in known}
    types = {column.name: column.type for column in relation.columns}
    row = tuple(user_values(names, types, program.functions.definitions).values())
    if absence.cut is not None:
        return WhyNot(relation.name, row, text, False, (), _CUTS[absence.cut])
    obstacles = tuple(_obstacle(attempt, describe, program) for attempt in absence.attempts)
    return WhyNot(relation.name, row, text, False, obstacles, _note(program, relation.name, True))


def _note(program: ir.RuleProgram, relation: str, has_rules: bool) -> str | None:
    declared = program.relations[relation]
    if declared.kind is ir.Kind.STREAM:
        return "a stream keeps no rows after their epoch"
    if declared.role is ir.Role.INPUT:
        return "no transaction has inserted it" + (", and no rule derives it" if has_rules else "")
    return None if has_rules else f"no rule derives `{relation}`"


def _obstacle(attempt: FailedMatch, describe: Describer, program: ir.RuleProgram) -> Obstacle:
    rule, place = rule_text(attempt.rule), str(attempt.rule.span)
    if not attempt.fits:
        reason = "the head gives other values than those of the row"
        return Obstacle(rule, place, None, reason, {}, (), True)
    if attempt.place is None:
        reason = "every literal holds, but the weights of the rule's instances and of other rules add up to 0"
        return Obstacle(rule, place, None, reason, {}, (), True)
    last = attempt
    while last.inner is not None:
        last = last.inner
    assert last.place is not None
    types = variable_types(last.rule)
    literal = last.rule.body[last.place]
    text = describe.literal(literal, last.values, types) or rule
    held = [describe.literal(last.rule.body[each], last.values, types) for each in last.done]
    shown = {name: value for name, value in last.values.items() if "#" not in name}
    bindings = user_values(shown, types, program.functions.definitions)
    return Obstacle(
        rule,
        place,
        text,
        _reason(literal, text, last, describe, program),
        bindings,
        tuple(each for each in held if each is not None),
        attempt.is_sure and last.is_sure,
        None if last.below is None else _missing(last.below, describe, program),
        None if last.present is None else explanation(last.present, program),
    )


def _reason(literal: ir.Literal, text: str, attempt: FailedMatch, describe: Describer, program: ir.RuleProgram) -> str:
    types = variable_types(attempt.rule)
    match literal:
        case ir.Positive(atom):
            kind = hidden_kind(program, atom.relation)
            if kind in ("groups", "inspect", "total"):
                values = {name: value for name, value in attempt.values.items() if name in _mentioned(literal)}
                wanted = describe.bindings(values, types)
                said = f"nothing reaches `{text}`" + (f" with {wanted}" if wanted else "")
            else:
                said = f"there is no {text}"
        case ir.Negative():
            said = f"`{text}` does not hold: the row is there"
        case ir.Assign(variable) if variable.name in attempt.instead and variable.name in attempt.values:
            name, type_ = variable.name, variable.type
            found, wanted = (describe.value(each[name], type_) for each in (attempt.instead, attempt.values))
            return f"`{one_line(literal.expression.span)}` is {found}, and the row has {wanted}"
        case ir.Unfold():
            said = f"no part of it fits: `{text}`"
        case ir.Transform(name):
            return f"the transformer `{name}` did not make it"
        case _:
            said = f"`{text}` does not hold"
    named = _mentioned(literal)
    others = {name: value for name, value in attempt.values.items() if name not in named}
    bound = describe.bindings(others, types)
    return f"{said}    with {bound}" if bound else said


def _mentioned(literal: ir.Literal) -> set[str]:
    """Returns the variables whose values the literal's own text shows."""
    match literal:
        case ir.Positive(atom) | ir.Negative(atom):
            return {term.name for term in atom.terms if isinstance(term, ir.Variable)}
        case ir.Condition(expression):
            return set(typed.variables(expression))
        case _:
            return set()
