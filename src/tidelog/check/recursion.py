"""Rules → which relations depend on themselves, and what may not stand on such a circle.

A relation depends on those that the bodies of its rules mention, except delayed ones: those are what they were in an
earlier epoch. On a circle there may be no negation, no stream, no `'` and no transformer; a `group_by` may stand there,
but it is worth a warning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.check.components import strongly_connected
from tidelog.check.inference.drafts import short_name
from tidelog.check.rule.groups import find_groups
from tidelog.check.scope import Module, RelationEntry
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, Label
from tidelog.diagnostics.spans import Span
from tidelog.syntax import ast


@dataclass(frozen=True, slots=True)
class Step:
    """The head depends on the body's relation; `kind` is `positive`, `negative`, `latest` or `transformer`."""

    head: str
    body: str
    kind: str
    is_stream: bool
    span: Span


class Recursion:
    """The dependencies of all relations, and their circles."""

    def __init__(self, rules: Sequence[tuple[ast.Rule, Module]], applications: Sequence[tuple[ast.Apply, Module]]):
        self.steps: list[Step] = []
        self._rules = rules
        for rule, module in rules:
            heads = [entry for head in rule.heads if (entry := _relation(module, head.relation)) is not None]
            for literal in rule.body:
                if isinstance(literal, ast.Positive | ast.Negative) and not literal.atom.delay:
                    self._add(heads, literal, module)
        for application, module in applications:
            self._add_application(application, module)
        graph: dict[str, list[str]] = {}
        for step in self.steps:
            graph.setdefault(step.head, []).append(step.body)
            graph.setdefault(step.body, [])
        self._circle = {
            name: number for number, component in enumerate(strongly_connected(graph)) for name in component
        }

    def is_recursive(self, rule: ast.Rule, module: Module) -> bool:
        """Whether a head of the rule depends on itself through this rule."""
        heads = {entry.name for head in rule.heads if (entry := _relation(module, head.relation)) is not None}
        return any(
            (entry := _relation(module, literal.atom.relation)) is not None
            and not literal.atom.delay
            and any(self._circle.get(head) == self._circle.get(entry.name) for head in heads)
            for literal in rule.body
            if isinstance(literal, ast.Positive | ast.Negative)
        )

    def report(self, diagnostics: list[Diagnostic]) -> None:
        """Reports what stands on a circle and must not."""
        streams: set[int] = set()
        for step in self.steps:
            circle = self._circle[step.head]
            if circle != self._circle[step.body]:
                continue
            if step.kind == "negative":
                diagnostics.append(self._negative(step))
            elif step.kind != "positive" or (step.is_stream and circle not in streams):
                diagnostics.append(self._misplaced(step))
                streams.add(circle)

    def warnings(self) -> list[Diagnostic]:
        """A warning for each `group_by` that groups what depends on it."""
        found = []
        for rule, module in self._rules:
            steps: list[Step] = []
            for literal in rule.body:
                steps += self._recursive_steps(rule, literal, module)
                groups = list(_groups(literal))
                if groups and steps:
                    found.append(self._grouped(steps[0], groups[0]))
                    break
        return found

    def _recursive_steps(self, rule: ast.Rule, literal: ast.Literal, module: Module) -> list[Step]:
        """The steps that a literal makes on the circle of a head of its rule."""
        if not isinstance(literal, ast.Positive) or literal.atom.delay:
            return []
        body = _relation(module, literal.atom.relation)
        heads = [_relation(module, head.relation) for head in rule.heads]
        return [
            Step(head.name, body.name, "positive", body.is_stream, literal.atom.span)
            for head in heads
            if head is not None and body is not None and self._circle.get(head.name) == self._circle.get(body.name)
        ]

    def _grouped(self, step: Step, span: Span) -> Diagnostic:
        head, body = short_name(step.head), short_name(step.body)
        labels = [
            Label(span, f"what is grouped here depends on `{head}`", primary=True),
            Label(step.span, f"`{head}` depends on `{body}` here"),
        ]
        return Diagnostic(
            Code.GROUP_IN_CYCLE,
            f"`group_by` stands in the recursion of `{head}`",
            (*labels, *self._way(step)),
            notes=(
                "a group may change with every round: they go on until two are equal, which may never happen",
                "whatever changes, the relations of this recursion are computed anew",
            ),
        )

    def _negative(self, step: Step) -> Diagnostic:
        """The error for a negated literal whose relation depends on the head: its steps, back to the head."""
        head, body = short_name(step.head), short_name(step.body)
        labels = [Label(step.span, f"`{head}` depends on `not {body}` here", primary=True)]
        return Diagnostic(
            Code.NEGATIVE_CYCLE,
            f"relation `{head}` depends on its own negation",
            (*labels, *self._way(step)),
            notes=("a negated relation must be complete before the rule that negates it runs",),
        )

    def _misplaced(self, step: Step) -> Diagnostic:
        head, body = short_name(step.head), short_name(step.body)
        what, message = {
            "latest": (f"`{body}'`", f"`{body}'` stands in the recursion of `{head}`"),
            "transformer": (f"`{body}`", f"a transformer stands in the recursion of `{head}`"),
            "positive": (f"`{body}`", f"stream `{body}` depends on itself"),
        }[step.kind]
        labels = [Label(step.span, f"`{head}` depends on {what} here", primary=True)]
        return Diagnostic(Code.STREAM_IN_CYCLE, message, (*labels, *self._way(step)))

    def _way(self, step: Step) -> list[Label]:
        """The shortest way from the relation of the step back to its head, as labels."""
        labels = []
        for each in _shortest_way(step.body, step.head, self.steps, self._circle):
            prefix = "not " if each.kind == "negative" else ""
            text = f"`{short_name(each.head)}` depends on `{prefix}{short_name(each.body)}` here"
            labels.append(Label(each.span, text))
        return labels

    def _add(self, heads: list[RelationEntry], literal: ast.Positive | ast.Negative, module: Module) -> None:
        entry = _relation(module, literal.atom.relation)
        if entry is None:
            return
        kind = "negative" if isinstance(literal, ast.Negative) else "latest" if literal.atom.prime else "positive"
        span = literal.span if isinstance(literal, ast.Negative) else literal.atom.span
        for head in heads:
            self.steps.append(Step(head.name, entry.name, kind, entry.is_stream, span))

    def _add_application(self, application: ast.Apply, module: Module) -> None:
        inputs = [_relation(module, name) for name in application.inputs]
        outputs = [_relation(module, name) for name in application.outputs]
        for head in outputs:
            for body in inputs:
                if head is not None and body is not None:
                    step = Step(head.name, body.name, "transformer", False, application.transformer.span)
                    self.steps.append(step)


def _groups(literal: ast.Literal) -> Iterator[Span]:
    """Where a literal groups."""
    match literal:
        case ast.Aggregate():
            yield literal.span
        case ast.Condition(value) | ast.Inspect(value) | ast.Assignment(value=value):
            yield from (node.span for node in find_groups(value))
        case ast.Destructuring(value=value) | ast.FlatMap(value=value):
            yield from (node.span for node in find_groups(value))
        case _:
            return


def _relation(module: Module, name: ast.Name) -> RelationEntry | None:
    found = module.find_relations(name.text)
    return found[0] if found else None


def _shortest_way(start: str, end: str, steps: Sequence[Step], circle: Mapping[str, int]) -> list[Step]:
    """The steps from one relation to what it depends on, up to the other."""
    outgoing: dict[str, list[Step]] = {}
    for step in steps:
        if circle[step.head] == circle[start] == circle[step.body]:
            outgoing.setdefault(step.head, []).append(step)
    came_by: dict[str, Step] = {}
    queue = deque([start])
    while queue and end not in came_by and start != end:
        for step in outgoing.get(queue.popleft(), ()):
            if step.body not in came_by and step.body != start:
                came_by[step.body] = step
                queue.append(step.body)
    way: list[Step] = []
    node = end
    while node != start:
        way.append(came_by[node])
        node = way[-1].head
    return way[::-1]
