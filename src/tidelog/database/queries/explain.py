"""A proof → an explanation: why a row is there, as objects, as text and as JSON.

    print(db.explain("Reach", ("a", "c")))

    Reach("a", "c")
      by Reach(x, z) :- Reach(x, y), Edge(y, z).    reach.dl:4:1
      ├─ Reach("a", "b")
      │    by Reach(x, y) :- Edge(x, y).    reach.dl:3:1
      │    └─ Edge("a", "b")   input
      └─ Edge("b", "c")   input

Each row stands once among the steps, however often it is used, and steps name one another by number: an explanation of
ten thousand steps is a list, and nothing that walks it needs a deep stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from tidelog.database.queries.describe import Describer, Row, hidden_kind, rule_text
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.shown import Shown, fit, preformatted
from tidelog.diagnostics.svg import Drawing
from tidelog.engine.proof import Origin, Proof, Proved
from tidelog.io.to_python import dump_json, json_form
from tidelog.io.user_values import user_rows, user_values
from tidelog.rules.ir import Kind, Positive, RuleProgram, Transform
from tidelog.rules.variables import variable_types


@dataclass(frozen=True, slots=True)
class Premise:
    """One literal of a rule as it holds in a step.

    `kind` is `row` (then `step` is the number of the step that proves it), `absent` (a negated literal), `condition`,
    or `value` (an assignment, a `FlatMap`, a pattern).
    """

    kind: str
    text: str
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A row and its derivation.

    `origin` is `input` (a transaction inserted it), `fact` (it stands in the program), `rule`, `group` (it is the group
    of its premises, or an aggregate over rows: its premises are the largest contributions), `transformer`, `delayed`,
    `stream`, or `circle` (it only supports itself). A step with a rule has the rule's text, its place, and the values
    of its variables. `derivations` is the number of present derivations of the row by rules, where that is known;
    `weight` is 1 except in multisets. `is_past`: the row was there in an early round of a recursion with groups, and
    is not there any more, because a later round has another value.
    """

    number: int
    relation: str
    row: Row
    text: str
    origin: str
    rule: str | None
    place: str | None
    bindings: Mapping[str, Any]
    premises: tuple[Premise, ...]
    derivations: int | None
    weight: int
    is_past: bool = False


class Explanation(Sequence[Step], Shown):
    """The steps of a proof; the first is the explained row. `str()` is a tree, `to_json()` the same for machines.

    `height` is the number of steps on the longest way down to a fact. `is_shortest` says that no proof is less high:
    always true of an explanation made with `shortest=True`, unless the search had to be cut short.
    """

    def __init__(self, steps: tuple[Step, ...], is_shortest: bool, row_form: Callable[[Step], list[Any]]) -> None:
        self.steps = steps
        self.is_shortest = is_shortest
        self.height = _height(steps)
        self._row_form = row_form

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, number: Any) -> Any:
        return self.steps[number]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def to_text(self, *, max_depth: int = 40, max_lines: int = 400) -> str:
        """Returns the tree, down to this depth and this number of lines; it says how much it leaves out."""
        from tidelog.database.queries.explain_text import tree_text

        return tree_text(self, max_depth, max_lines)

    def to_dict(self) -> dict[str, Any]:
        """Returns the explanation as plain objects for JSON. Values look as in JSON Lines files."""
        return {
            "height": self.height,
            "is_shortest": self.is_shortest,
            "steps": [
                {
                    "step": step.number,
                    "relation": step.relation,
                    "row": self._row_form(step),
                    "text": step.text,
                    "origin": step.origin,
                    "rule": step.rule,
                    "place": step.place,
                    "premises": [
                        {"kind": premise.kind, "text": premise.text}
                        | ({} if premise.step is None else {"step": premise.step})
                        for premise in step.premises
                    ],
                    "derivations": step.derivations,
                    "weight": step.weight,
                    "is_past": step.is_past,
                }
                for step in self.steps
            ],
        }

    def to_json(self) -> str:
        """Returns `to_dict()` as JSON text, on one line."""
        return dump_json(self.to_dict())

    def graph(self) -> Drawing:
        """Returns a drawing of the proof (SVG): a box for each step, above those that it rests on."""
        from tidelog.database.queries.explain_svg import draw_proof

        return draw_proof(self)

    def __str__(self) -> str:
        return self.to_text()

    def _text(self, width: int) -> str:
        return fit(self.to_text(max_lines=100).splitlines(), width)

    def _repr_html_(self) -> str:
        """Renders for notebooks: a drawing of a small proof, and the text."""
        drawing = f"{self.graph().svg}\n" if len(self) <= _DRAWN else ""
        return f"<p><b>{escape(repr(self)[1:-1])}</b></p>\n{drawing}{preformatted(self.to_text(max_lines=100))}"

    def __repr__(self) -> str:
        return f"<Explanation of {self.steps[0].text}: {len(self)} steps, height {self.height}>"


def explanation(proof: Proof, program: RuleProgram) -> Explanation:
    """Turns a proof into an explanation."""
    return _Explaining(proof, program).run()


def row_not_there(program: RuleProgram, relation: str, row: Row) -> UsageError:
    """Makes the error for a row that has no explanation."""
    text = Describer(program).row(relation, row)
    help = "`why_not` says what is missing"
    if program.relations[relation].kind is Kind.STREAM:
        help = "a stream keeps no rows after their epoch"
    return UsageError(f"there is no row {text} to explain", code=Code.NO_SUCH_ROW, help=help)


class _Explaining:
    def __init__(self, proof: Proof, program: RuleProgram) -> None:
        self._proof = proof
        self._program = program
        self._describe = Describer(program)
        # The body before an `Inspect` is shown as part of the rule, and not as a row of its own; so is the choice
        # between the total of some rows and that of none.
        kept = [
            number
            for number, proved in enumerate(proof.rows)
            if number == 0 or hidden_kind(program, proved.relation) not in ("inspect", "total")
        ]
        self._numbers = {number: place for place, number in enumerate(kept)}
        self._rows = [proof.rows[number].row for number in kept]

    def run(self) -> Explanation:
        steps = tuple(self._step(number) for number in self._numbers)
        return Explanation(steps, self._proof.is_shortest, self._row_form)

    def _step(self, number: int) -> Step:
        proved = self._proof.rows[number]
        rule = proved.rule
        shown = rule is not None and proved.origin in (Origin.RULE, Origin.FACT)
        shown = shown and hidden_kind(self._program, proved.relation) is None
        return Step(
            self._numbers[number],
            proved.relation,
            self._given(proved),
            self._text(proved) + self._behind(proved),
            proved.origin.value,
            rule_text(rule) if rule is not None and shown else None,
            str(rule.span) if rule is not None and shown else None,
            _bindings(proved, self._program),
            tuple(self._premises(proved)),
            proved.derivations,
            proved.weight,
            proved.is_past,
        )

    def _given(self, proved: Proved) -> Row:
        relation = self._program.relations[proved.relation]
        return user_rows([proved.row], relation, self._program.functions.definitions)[0]

    def _text(self, proved: Proved) -> str:
        members = len(proved.rows) if proved.members is None else proved.members
        return self._describe.row(proved.relation, proved.row, members, len(proved.rows))

    def _behind(self, proved: Proved) -> str:
        """Returns the remark behind a row: its transformer, or a weight other than 1."""
        if proved.rule is not None and isinstance(transform := next(iter(proved.rule.body), None), Transform):
            return f" made by the transformer `{transform.name}`"
        return "" if proved.weight == 1 else f" {proved.weight:+}"

    def _premises(self, proved: Proved) -> Iterator[Premise]:
        if proved.origin is Origin.GROUP:
            for _, number in proved.rows:
                yield self._row(number)
            return
        rule = proved.rule
        if rule is None or proved.origin not in (Origin.RULE, Origin.FACT):
            return
        types = variable_types(rule)
        rows = dict(proved.rows)
        for place, literal in enumerate(rule.body):
            if isinstance(literal, Positive):
                inner = self._proof.rows[rows[place]]
                if rows[place] in self._numbers:
                    yield self._row(rows[place])
                else:
                    yield from self._premises(inner)
                continue
            text = self._describe.literal(literal, proved.values, types)
            if text is not None:
                yield Premise(_KINDS.get(type(literal).__name__, "value"), text)

    def _row(self, number: int) -> Premise:
        proved = self._proof.rows[number]
        return Premise("row", self._text(proved), self._numbers[number])

    def _row_form(self, step: Step) -> list[Any]:
        columns = self._program.relations[step.relation].columns
        definitions = self._program.functions.definitions
        forms = []
        for value, column in zip(self._rows[step.number], columns, strict=True):
            try:
                forms.append(json_form(column.type, definitions)(value))
            except UsageError:
                # A function, or a group of them, has no form of its own.
                forms.append(self._describe.value(value, column.type))
        return forms


def _bindings(proved: Proved, program: RuleProgram) -> Mapping[str, Any]:
    shown = {name: value for name, value in proved.values.items() if "#" not in name}
    if proved.rule is None or not shown:
        return shown
    return user_values(shown, variable_types(proved.rule), program.functions.definitions)


_DRAWN = 40
_KINDS = {"Negative": "absent", "Condition": "condition"}


def _height(steps: Sequence[Step]) -> int:
    """Returns the number of steps on the longest way down."""
    heights: dict[int, int] = {}
    pending = [0]
    while pending:
        step = steps[pending[-1]]
        below = [premise.step for premise in step.premises if premise.step is not None]
        waiting = [number for number in below if number not in heights]
        if waiting:
            pending += waiting
            continue
        pending.pop()
        adds = 1 if step.origin in ("rule", "group") else 0
        heights[step.number] = adds + max((heights[number] for number in below), default=0)
    return heights[0]
