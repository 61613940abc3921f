"""Rules → the relations that depend on themselves, and the errors for literals that must not be on such a cycle.

A relation depends on those that the bodies of its rules mention, except delayed ones, which hold rows of an earlier
epoch. On a cycle there may be no negation, no stream, no `'`, no transformer, and no count or sum of all rows; a
`group_by` or another aggregate there gets a warning.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

from tidelog.check.inference.drafts import short_name
from tidelog.check.names.scope import Module, RelationEntry
from tidelog.check.rule.groups import find_groups
from tidelog.check.rule.row_aggregates import has_default
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, Label, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.strong_components import strong_components
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression


@dataclass(frozen=True, slots=True)
class Step:
    """The head depends on the body's relation; `kind` is `positive`, `negative`, `latest` or `transformer`."""

    head: str
    body: str
    kind: str
    is_stream: bool
    span: Span


Tree = tuple[ast.Rule, Module]  # a rule as it was parsed, and where its names are looked up


class Recursion:
    """The dependencies of all relations, and their cycles. Immutable: other rules make another one."""

    def __init__(self, rules: Sequence[Tree], applications: Sequence[tuple[ast.Apply, Module]] = ()) -> None:
        self._trees = {id(tree[0]): tree for tree in rules}
        self._steps = {id(rule): tuple(_steps_of(rule, module)) for rule, module in rules}
        self._applied = [step for each, module in applications for step in _steps_of_application(each, module)]
        self._added: list[Tree] | None = None
        self._graph: dict[str, Counter[str]] = {}
        self._learn(self._all_steps())
        self._find_circles()

    def changed(self, added: Sequence[Tree], removed: Sequence[Tree]) -> Recursion:
        """Returns the dependencies with other rules. Where no cycle opens or closes, only the added rules are read."""
        other = copy(self)
        other._trees, other._steps, other._graph = dict(self._trees), dict(self._steps), dict(self._graph)
        other._added = list(added)
        removed_steps: list[Step] = []
        for rule, _ in removed:
            del other._trees[id(rule)]
            removed_steps += other._steps.pop(id(rule))
        for tree in added:
            other._trees[id(tree[0])] = tree
            other._steps[id(tree[0])] = tuple(_steps_of(*tree))
        added_steps = [step for rule, _ in added for step in other._steps[id(rule)]]
        for head in {step.head for step in (*removed_steps, *added_steps)} & other._graph.keys():
            other._graph[head] = Counter(other._graph[head])
        for step in removed_steps:
            other._forget(step)
        other._learn(added_steps)
        if any(self._closes_circle(step) for step in removed_steps) or any(map(other._joins_circles, added_steps)):
            other._find_circles()
            return other
        other._circle = dict(self._circle)
        for step in added_steps:
            for name in (step.head, step.body):
                other._circle.setdefault(name, len(other._circle))
        other._new_steps = added_steps
        # A way along a circle may be shorter now, and then others are shown.
        other._new_rules = None if self.warnings() else list(added)
        other._warnings = None
        return other

    def _all_steps(self) -> Iterator[Step]:
        for steps in self._steps.values():
            yield from steps
        yield from self._applied

    def _learn(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self._graph.setdefault(step.head, Counter())[step.body] += 1
            self._graph.setdefault(step.body, Counter())

    def _forget(self, step: Step) -> None:
        bodies = self._graph[step.head]
        bodies[step.body] -= 1
        if not bodies[step.body]:
            del bodies[step.body]

    def _find_circles(self) -> None:
        components = strong_components(self._graph)
        self._circle = {name: number for number, component in enumerate(components) for name in component}
        # What was not looked at before: None for all.
        self._new_steps: list[Step] | None = None
        self._new_rules: list[Tree] | None = None
        self._warnings: list[Diagnostic] | None = None

    def _closes_circle(self, step: Step) -> bool:
        """True if the step leads from one relation to another on the same cycle."""
        return step.head != step.body and self._circle[step.head] == self._circle[step.body]

    def _joins_circles(self, step: Step) -> bool:
        """True if an added step makes a cycle of relations that were on none, or on others."""
        if step.head == step.body:
            return False
        here = self._circle.get(step.head)
        if here is not None and here == self._circle.get(step.body):
            return False
        waiting, seen = [step.body], {step.body}
        while waiting:
            for name in self._graph[waiting.pop()]:
                if name == step.head:
                    return True
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return False

    def is_recursive(self, rule: ast.Rule, module: Module) -> bool:
        """True if a head of the rule depends on itself through this rule."""
        heads = {entry.name for head in rule.heads if (entry := _relation(module, head.relation)) is not None}
        return any(
            (entry := _relation(module, literal.atom.relation)) is not None
            and not literal.atom.delay
            and any(self._circle.get(head) == self._circle.get(entry.name) for head in heads)
            for literal in rule.body
            if isinstance(literal, ast.Positive | ast.Negative)
        )

    def report(self, diagnostics: list[Diagnostic]) -> None:
        """Reports literals that must not be on a cycle; the rules that others were added to are taken to be right."""
        streams: set[int] = set()
        for step in self._all_steps() if self._new_steps is None else self._new_steps:
            circle = self._circle[step.head]
            if circle != self._circle[step.body]:
                continue
            if step.kind == "negative":
                diagnostics.append(negative_cycle(step, self._way(step)))
            elif step.kind != "positive" or (step.is_stream and circle not in streams):
                diagnostics.append(self._misplaced(step))
                streams.add(circle)
        for rule, module in self._trees.values() if self._added is None else self._added:
            self._report_bound(rule, module, diagnostics)
            self._report_total(rule, module, diagnostics)

    def _report_bound(self, rule: ast.Rule, module: Module, diagnostics: list[Diagnostic]) -> None:
        """Reports a `max_rounds` that bounds nothing, or that contradicts another attribute."""
        bound = next((each for each in rule.attributes if each.name.text == "max_rounds"), None)
        if bound is None:
            return
        if not self._warn_of([(rule, module)]):
            message = "`max_rounds` bounds a recursion with `group_by`, and this rule has none"
            label = "no `group_by` here groups what depends on it"
            diagnostics.append(diagnostic(Code.BAD_ATTRIBUTE, message, bound.span, label))
        elif any(each.name.text == "cycle" for each in rule.attributes):
            message = "a rule has either `cycle` or `max_rounds`"
            label = "rounds up to a bound may go around a cycle"
            diagnostics.append(diagnostic(Code.BAD_ATTRIBUTE, message, bound.span, label))

    def _report_total(self, rule: ast.Rule, module: Module, diagnostics: list[Diagnostic]) -> None:
        """Reports a count or a sum of all rows that depends on itself: it has a row while there are no others."""
        steps: list[Step] = []
        for literal in rule.body:
            steps += self._recursive_steps(rule, literal, module)
            if steps and isinstance(literal, ast.RowAggregates) and has_default(literal):
                head = short_name(steps[0].head)
                what = show_expression(literal.value)
                labels = [Label(literal.span, "it has a row even where there are none to aggregate", primary=True)]
                diagnostics.append(
                    Diagnostic(
                        Code.NEGATIVE_CYCLE,
                        f"`{what} by ()` is inside the recursion of `{head}`",
                        (*labels, *_labels((steps[0], *self._way(steps[0])))),
                        notes=("its rows must be complete before one can say that there are none",),
                        help=f"with a key it has no row where there are none: `{what} by (all = true)`",
                    )
                )
                return

    def warnings(self) -> list[Diagnostic]:
        """Returns a warning for each `group_by` that groups what depends on it."""
        if self._warnings is None:
            self._warnings = self._warn_of(self._trees.values() if self._new_rules is None else self._new_rules)
        return self._warnings

    def _warn_of(self, rules: Iterable[Tree]) -> list[Diagnostic]:
        found = []
        for rule, module in rules:
            if not any(True for literal in rule.body for _ in _groups(literal)):
                continue
            steps: list[Step] = []
            for literal in rule.body:
                steps += self._recursive_steps(rule, literal, module)
                groups = list(_groups(literal))
                if groups and steps:
                    what = "an aggregate over rows" if isinstance(literal, ast.RowAggregates) else "`group_by`"
                    found.append(self._grouped(steps[0], groups[0], what))
                    break
        return found

    def _recursive_steps(self, rule: ast.Rule, literal: ast.Literal, module: Module) -> list[Step]:
        """Returns the steps that a literal makes on the circle of a head of its rule."""
        if not isinstance(literal, ast.Positive) or literal.atom.delay:
            return []
        body = _relation(module, literal.atom.relation)
        heads = [_relation(module, head.relation) for head in rule.heads]
        return [
            Step(head.name, body.name, "positive", body.is_stream, literal.atom.span)
            for head in heads
            if head is not None and body is not None and self._circle.get(head.name) == self._circle.get(body.name)
        ]

    def _grouped(self, step: Step, span: Span, what: str) -> Diagnostic:
        head = short_name(step.head)
        label = Label(span, f"the grouped values depend on `{head}`", primary=True)
        return Diagnostic(
            Code.GROUP_IN_CYCLE,
            f"{what} is inside the recursion of `{head}`",
            (label, *_labels((step, *self._way(step)))),
            notes=(
                "a group may change in every round; rounds repeat until two are equal, which may never happen",
                "every change recomputes all relations of this recursion",
            ),
        )

    def _misplaced(self, step: Step) -> Diagnostic:
        head, body = short_name(step.head), short_name(step.body)
        what, message = {
            "latest": (f"`{body}'`", f"`{body}'` is inside the recursion of `{head}`"),
            "transformer": (f"`{body}`", f"a transformer is inside the recursion of `{head}`"),
            "positive": (f"`{body}`", f"stream `{body}` depends on itself"),
        }[step.kind]
        labels = [Label(step.span, f"`{head}` depends on {what} here", primary=True)]
        return Diagnostic(Code.STREAM_IN_CYCLE, message, (*labels, *_labels(self._way(step))))

    def _way(self, step: Step) -> list[Step]:
        return way_back(step, self._all_steps(), self._circle)


def _steps_of(rule: ast.Rule, module: Module) -> Iterator[Step]:
    heads = [entry for head in rule.heads if (entry := _relation(module, head.relation)) is not None]
    for literal in rule.body:
        if not isinstance(literal, ast.Positive | ast.Negative) or literal.atom.delay:
            continue
        entry = _relation(module, literal.atom.relation)
        if entry is None:
            continue
        kind = "negative" if isinstance(literal, ast.Negative) else "latest" if literal.atom.prime else "positive"
        span = literal.span if isinstance(literal, ast.Negative) else literal.atom.span
        for head in heads:
            yield Step(head.name, entry.name, kind, entry.is_stream, span)


def _steps_of_application(application: ast.Apply, module: Module) -> Iterator[Step]:
    inputs = [_relation(module, name) for name in application.inputs]
    outputs = [_relation(module, name) for name in application.outputs]
    for head in outputs:
        for body in inputs:
            if head is not None and body is not None:
                yield Step(head.name, body.name, "transformer", False, application.transformer.span)


def _groups(literal: ast.Literal) -> Iterator[Span]:
    """Yields the spans of the `group_by`s of a literal."""
    match literal:
        case ast.Aggregate() | ast.RowAggregates():
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


def negative_cycle(step: Step, way: Iterable[Step]) -> Diagnostic:
    """Returns the error for a negated literal whose relation depends on the head, with the steps back to the head."""
    return Diagnostic(
        Code.NEGATIVE_CYCLE,
        f"relation `{short_name(step.head)}` depends on its own negation",
        tuple(_labels((step, *way), primary=step)),
        notes=("a negated relation must be complete before the rule that negates it runs",),
    )


def _labels(steps: Iterable[Step], primary: Step | None = None) -> Iterator[Label]:
    for step in steps:
        prefix = "not " if step.kind == "negative" else ""
        text = f"`{short_name(step.head)}` depends on `{prefix}{short_name(step.body)}` here"
        yield Label(step.span, text, primary=step is primary)


def way_back(step: Step, steps: Iterable[Step], circle: Mapping[str, int]) -> list[Step]:
    """Returns the shortest way from the relation of a step back to its head, inside its circle."""
    start, end = step.body, step.head
    outgoing: dict[str, list[Step]] = {}
    for each in steps:
        if circle[each.head] == circle[start] == circle[each.body]:
            outgoing.setdefault(each.head, []).append(each)
    came_by: dict[str, Step] = {}
    queue = deque([start])
    while queue and end not in came_by and start != end:
        for each in outgoing.get(queue.popleft(), ()):
            if each.body not in came_by and each.body != start:
                came_by[each.body] = each
                queue.append(each.body)
    way: list[Step] = []
    node = end
    while node != start:
        way.append(came_by[node])
        node = way[-1].head
    return way[::-1]
