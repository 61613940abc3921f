"""A rule with known kinds → its head's terms and the steps of its body, in an order in which they can run.

    R(x + 1) :- A(x, [y, _]), x < y.

    Scan A(x, r), Unpack r as [y, _], Test x < y; head x + 1

Atoms keep their order. Whatever can be computed, compared or taken apart is done as soon as its variables are bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.souffle.check.kinds import Kinds
from tidelog.souffle.check.normal_form import Literal, Rule
from tidelog.souffle.plan import terms
from tidelog.souffle.text import tree
from tidelog.souffle.text.constants import constant, fits

_WIDE = 64
_COMPARED = tuple[str, terms.Term, terms.Term, Span]


@dataclass(slots=True)
class _Folding:
    """An aggregate that waits for its keys."""

    variable: terms.Var
    node: tree.Aggregate
    target: terms.Term | None
    first: terms.Term | None
    items: list[_Item]
    span: Span


@dataclass(slots=True)
class _Ranging:
    variable: terms.Var
    bounds: tuple[terms.Term, ...]
    span: Span


_Item = terms.Scan | terms.Absent | terms.Test | terms.Truth | _Folding | _Ranging


def plan_rule(
    rule: Rule,
    kinds: Kinds,
    bits: int,
    diagnostics: list[Diagnostic],
    fresh: str = "?",
    given: Collection[str] = (),
) -> terms.Planned | None:
    """Returns the rule as steps; None after an error, which is reported.

    `fresh` begins the names of new variables; the variables `given` have a value before the first step.
    """
    return _Planning(kinds, bits, diagnostics, fresh).rule(rule, given)


class _Planning:
    def __init__(self, kinds: Kinds, bits: int, diagnostics: list[Diagnostic], fresh: str) -> None:
        self._kinds, self._bits, self._diagnostics, self._mark = kinds, bits, diagnostics, fresh
        self._fresh = 0
        self._errors: int = 0
        self._injected: dict[int, set[str]] = {}
        self._body: Sequence[tree.Node] = ()

    def rule(self, rule: Rule, given: Collection[str] = ()) -> terms.Planned | None:
        items: list[_Item] = []
        self._injected = _injected(rule)
        self._body = (rule.head, *rule.body)
        for literal in rule.body:
            self._literal(literal, items)
        head = tuple(self._term(each, items) for each in rule.head.arguments)
        better = None
        if rule.better is not None:
            better = tuple(self._term(each, items) for each in rule.better.arguments)
        bound: set[str] = set(given)
        steps = self._order(items, bound)
        if self._errors or steps is None:
            return None
        missing = [
            (argument, names)
            for argument, term in zip(rule.head.arguments, head, strict=True)
            if (names := sorted(terms.variables(term) - bound))
        ]
        for argument, names in missing:
            self._ungrounded(argument, names)
        if missing:
            return None
        return terms.Planned(rule.head.name, head, tuple(steps), rule.span, better)

    # Reading

    def _literal(self, literal: Literal, items: list[_Item]) -> None:
        match literal:
            case tree.Atom(name, arguments):
                columns: list[terms.Var | terms.Const | None] = []
                after: list[_Item] = []
                for each in arguments:
                    columns.append(self._column(each, after))
                items.append(terms.Scan(name, tuple(columns), literal.span))
                items += after
            case tree.Negation(tree.Atom(name, arguments)):
                wanted = tuple(
                    None if isinstance(each, tree.Unnamed) else self._term(each, items) for each in arguments
                )
                items.append(terms.Absent(name, wanted, literal.span))
            case tree.Constraint(operator, left, right):
                blank = left if isinstance(left, tree.Unnamed) else right
                if isinstance(blank, tree.Unnamed):
                    other = self._term(right if blank is left else left, items)
                    if operator != "=":
                        self._misplaced(blank)
                    items.append(terms.Test("=", self._variable(other.kind), other, literal.span))
                    return
                items.append(terms.Test(operator, self._term(left, items), self._term(right, items), literal.span))
            case tree.Truth(value):
                items.append(terms.Truth(value, literal.span))

    def _column(self, argument: tree.Argument, items: list[_Item]) -> terms.Var | terms.Const | None:
        if isinstance(argument, tree.Unnamed):
            return None
        term = self._term(argument, items)
        if isinstance(term, terms.Var | terms.Const):
            return term
        fresh = self._variable(term.kind)
        items.append(terms.Test("=", fresh, term, argument.span))
        return fresh

    def _term(self, argument: tree.Argument, items: list[_Item]) -> terms.Term:
        kind = self._kinds.of(argument)
        match argument:
            case tree.Variable(name):
                return terms.Var(name, kind)
            case tree.Unnamed():
                # Only inside records and branches that are taken apart.
                self._fresh += 1
                return terms.Var(f"_?{self._fresh}", kind)
            case tree.Text(value):
                return terms.Const(value, "symbol")
            case tree.Number(text):
                if not fits(text, kind, self._bits):
                    self._too_large(argument, text, kind)
                return terms.Const(constant(text, kind, self._bits), kind)
            case tree.Nil():
                return terms.Make("nil", (), kind)
            case tree.Counter():
                fresh = self._variable("number")
                items.append(terms.Test("=", fresh, terms.Count("number"), argument.span))
                return fresh
            case tree.IterationCounter():
                return terms.Count(kind, rounds=True)
            case tree.Record(arguments):
                return terms.Make("", tuple(self._term(each, items) for each in arguments), kind)
            case tree.Branch(name, arguments):
                return terms.Make(name, tuple(self._term(each, items) for each in arguments), kind)
            case tree.Cast(inside):
                term = self._term(inside, items)
                return _cast(term, kind)
            case tree.Functor("range", arguments):
                bounds = tuple(self._term(each, items) for each in arguments)
                fresh = self._variable(kind)
                items.append(_Ranging(fresh, bounds, argument.span))
                return fresh
            case tree.Functor(name, arguments):
                return terms.Op(name, tuple(self._term(each, items) for each in arguments), kind)
            case tree.UserFunctor(name, arguments):
                return terms.Op(f"@{name}", tuple(self._term(each, items) for each in arguments), kind)
            case tree.Aggregate():
                return self._aggregate(argument, kind, items)

    def _aggregate(self, node: tree.Aggregate, kind: str, items: list[_Item]) -> terms.Var:
        inside: list[_Item] = []
        body = node.body.parts if isinstance(node.body, tree.Conjunction) else (node.body,)
        for literal in body:
            self._literal(literal, inside)  # type: ignore[arg-type]
        target = None if node.target is None else self._term(node.target, inside)
        first = None if node.first is None else self._term(node.first, items)
        if node.function in ("count", "sum", "mean") and not _is_distinct(node, body):
            inside = [self._counted(each) for each in inside]
        fresh = self._variable(kind)
        items.append(_Folding(fresh, node, target, first, inside, node.span))
        return fresh

    def _counted(self, item: _Item) -> _Item:
        """Returns a scan with a variable for each column: rows that differ only there are counted apart."""
        if not isinstance(item, terms.Scan) or None not in item.terms:
            return item
        kinds = self._kinds.columns(item.relation)
        made = tuple(
            self._variable(kind) if each is None else each for each, kind in zip(item.terms, kinds, strict=True)
        )
        return terms.Scan(item.relation, made, item.span)

    def _variable(self, kind: str) -> terms.Var:
        self._fresh += 1
        return terms.Var(f"{self._mark}{self._fresh}", kind)

    # Order

    def _order(self, items: Sequence[_Item], bound: set[str]) -> list[terms.Step] | None:
        """Returns the steps of a body; None after an error. The variables that they bind are added to `bound`."""
        waiting = [*items]
        steps: list[terms.Step] = []
        while waiting:
            if not self._ready(waiting, steps, bound):
                scan = next((each for each in waiting if isinstance(each, terms.Scan)), None)
                counted = next((each for each in waiting if _counts(each)), None)
                if scan is None and isinstance(counted, terms.Test):
                    # A counter counts instances, so it comes last.
                    waiting.remove(counted)
                    assert isinstance(counted.left, terms.Var)
                    steps.append(terms.Bind(counted.left, counted.right, counted.span))
                    bound.add(counted.left.name)
                    continue
                if scan is None:
                    self._report_waiting(waiting, bound)
                    return None
                waiting.remove(scan)
                steps.append(scan)
                bound |= {each.name for each in scan.terms if isinstance(each, terms.Var)}
        return steps

    def _ready(self, waiting: list[_Item], steps: list[terms.Step], bound: set[str]) -> bool:
        """Adds the first item that can run to the steps; False if there is none."""
        for place, item in enumerate(waiting):
            match item:
                case terms.Scan():
                    # One that binds nothing more is as good as a comparison.
                    if not all(
                        each is None or isinstance(each, terms.Const) or each.name in bound for each in item.terms
                    ):
                        continue
                    steps.append(item)
                case terms.Truth():
                    steps.append(item)
                case terms.Absent():
                    if not all(terms.variables(each) <= bound for each in item.terms):
                        continue
                    steps.append(item)
                case terms.Test():
                    if _counts(item) or not self._test(item, waiting, steps, bound):
                        continue
                case _Ranging():
                    if not all(terms.variables(each) <= bound for each in item.bounds):
                        continue
                    variable = self._unbound(item.variable, item.span, waiting, bound)
                    steps.append(terms.Each(variable, item.bounds, item.span))
                    bound.add(variable.name)
                case _Folding():
                    if not self._fold(item, waiting, steps, bound):
                        continue
            # Whatever was taken apart has put its items behind all others.
            del waiting[place]
            return True
        return False

    def _test(self, item: terms.Test, waiting: list[_Item], steps: list[terms.Step], bound: set[str]) -> bool:
        left, right = item.left, item.right
        ready = terms.variables(left) <= bound, terms.variables(right) <= bound
        if all(ready):
            steps.append(item)
            return True
        if item.operator != "=":
            return False
        for one, other, is_ready in ((left, right, ready[1]), (right, left, ready[0])):
            if not is_ready:
                continue
            if isinstance(one, terms.Var):
                steps.append(terms.Bind(one, other, item.span))
                bound.add(one.name)
                return True
            if isinstance(one, terms.Op) and one.name == "cast" and isinstance(one.arguments[0], terms.Var):
                inside = one.arguments[0]
                steps.append(terms.Bind(inside, _cast(other, inside.kind), item.span))
                bound.add(inside.name)
                return True
            if isinstance(one, terms.Make) and not isinstance(other, terms.Make):
                self._unpack(one, other, item, waiting, steps, bound)
                return True
        if isinstance(left, terms.Make) and isinstance(right, terms.Make):
            self._pairs(left, right, item, waiting)
            return True
        return False

    def _pairs(self, left: terms.Make, right: terms.Make, item: terms.Test, waiting: list[_Item]) -> None:
        if left.branch != right.branch or len(left.arguments) != len(right.arguments):
            waiting.append(terms.Truth(False, item.span))
            return
        for one, other in zip(left.arguments, right.arguments, strict=True):
            blank = any(isinstance(each, terms.Var) and each.name.startswith("_?") for each in (one, other))
            if not blank:
                waiting.append(terms.Test("=", one, other, item.span))

    def _unpack(
        self,
        one: terms.Make,
        other: terms.Term,
        item: terms.Test,
        waiting: list[_Item],
        steps: list[terms.Step],
        bound: set[str],
    ) -> None:
        """Takes the value of `other` apart into what `one` is made of."""
        if not isinstance(other, terms.Var):
            value = self._variable(one.kind)
            steps.append(terms.Bind(value, other, item.span))
            bound.add(value.name)
        else:
            value = other
        fields: list[terms.Var | None] = []
        taken: set[str] = set()
        for each in one.arguments:
            if isinstance(each, terms.Var) and each.name not in bound and each.name not in taken:
                if each.name.startswith("_?"):
                    fields.append(None)
                    continue
                fields.append(each)
                taken.add(each.name)
            else:
                fresh = self._variable(each.kind)
                fields.append(fresh)
                taken.add(fresh.name)
                waiting.append(terms.Test("=", each, fresh, item.span))
        steps.append(terms.Unpack(value, one.branch, tuple(fields), item.span))
        bound |= taken

    def _fold(self, item: _Folding, waiting: list[_Item], steps: list[terms.Step], bound: set[str]) -> bool:
        injected = self._injected[id(item.node)]
        if not injected <= bound or not terms.variables(item.first) <= bound:
            return False
        keys = tuple(sorted(injected))
        inside = set(bound)
        made = self._order(item.items, inside)
        if made is None or not terms.variables(item.target) <= inside:
            if made is not None:
                assert item.node.target is not None
                self._ungrounded(item.node.target, sorted(terms.variables(item.target) - inside))
            self._errors += 1
            steps.append(terms.Truth(False, item.span))
            bound.add(item.variable.name)
            return True
        kinds = self._kinds.variables
        key_vars = tuple(terms.Var(name, kinds.get(name) or _kind_of(name, steps)) for name in keys)
        free = self._free(item, set(keys))
        variable = self._unbound(item.variable, item.span, waiting, bound)
        steps.append(
            terms.Fold(variable, item.node.function, item.target, tuple(made), key_vars, item.span, item.first, free)
        )
        bound.add(variable.name)
        return True

    def _unbound(self, variable: terms.Var, span: Span, waiting: list[_Item], bound: set[str]) -> terms.Var:
        """Returns the variable, or another one that is compared with it if it is bound already."""
        if variable.name not in bound:
            return variable
        fresh = self._variable(variable.kind)
        waiting.append(terms.Test("=", variable, fresh, span))
        return fresh

    def _free(self, item: _Folding, keys: set[str]) -> tuple[terms.Step, ...] | None:
        """Returns the steps of an aggregate that bind its keys themselves; None if there are none."""
        reported, errors = len(self._diagnostics), self._errors
        bound: set[str] = set()
        made = self._order(item.items, bound)
        failed = made is None or self._errors > errors or not keys <= bound
        del self._diagnostics[reported:]
        self._errors = errors
        return None if failed or made is None else tuple(made)

    # Errors

    def _too_large(self, node: tree.Number, text: str, kind: str) -> None:
        self._errors += 1
        wider = None
        if self._bits < _WIDE and fits(text, kind, _WIDE):
            wider = f"`--word-bits {_WIDE}` (in Python `word_bits={_WIDE}`) has numbers of {_WIDE} bits"
        elif text.startswith("-") and fits(text, "number", self._bits):
            wider = f"`as({text}, {kind})` has the same bits"
        message = f"the constant {text} is no `{kind}` of {self._bits} bits"
        self._diagnostics.append(diagnostic(Code.LITERAL_OUT_OF_RANGE, message, node.span, "does not fit", help=wider))

    def _report_waiting(self, waiting: Sequence[_Item], bound: set[str]) -> None:
        names: dict[str, Span] = {}
        for item in waiting:
            for name in sorted(_mentioned([item]) - bound):
                names.setdefault(name, item.span)
        written = {name: span for name, span in names.items() if not name.startswith(("?", "_?"))}
        for name, span in (written or names).items():
            self._errors += 1
            shown = name.split("@")[0]
            places = self._places(name, span)
            self._diagnostics.append(
                diagnostic(
                    Code.UNBOUND_VARIABLE,
                    f"variable `{shown}` is not grounded" if written else "a value is not grounded",
                    places[0].span if places else span,
                    "no atom or equation gives it a value",
                )
            )

    def _places(self, name: str, inside: Span) -> list[tree.Variable]:
        """Returns the variables of a name that stand in a part of the text."""
        return [
            node
            for part in self._body
            for node in tree.walk(part)
            if isinstance(node, tree.Variable) and node.name == name
            if node.span.source is inside.source and inside.start <= node.span.start and node.span.end <= inside.end
        ]

    def _ungrounded(self, argument: tree.Argument, names: Iterable[str]) -> None:
        found = {node.name: node for node in tree.walk(argument) if isinstance(node, tree.Variable)}
        for name in names:
            self._errors += 1
            if name.startswith("_?"):
                blank = next((each for each in tree.walk(argument) if isinstance(each, tree.Unnamed)), argument)
                self._misplaced(blank)
                continue
            node = found.get(name, argument)
            self._diagnostics.append(
                diagnostic(
                    Code.UNBOUND_HEAD_VARIABLE,
                    f"variable `{name.split('@')[0]}` is not grounded",
                    node.span,
                    "no atom of the body mentions it",
                )
            )

    def _misplaced(self, node: tree.Node) -> None:
        self._errors += 1
        self._diagnostics.append(
            diagnostic(Code.MISPLACED_WILDCARD, "`_` stands where a value is needed", node.span, "has no value")
        )


def _is_distinct(node: tree.Aggregate, body: Sequence[tree.Node]) -> bool:
    """True where Soufflé aggregates over the variables of a body, each combination of values once.

    It makes a relation of them if the body has several atoms, one of them with a variable twice, a `range` or another
    aggregate. Otherwise it aggregates over the rows of the atom, so that rows that differ only in a `_` count apart.
    """
    atoms = [each for each in body if isinstance(each, tree.Atom)]
    inner = [each for part in body for each in tree.walk(part)]
    names = [each.name for atom in atoms for each in tree.walk(atom) if isinstance(each, tree.Variable)]
    targets = [] if node.target is None else [*tree.walk(node.target)]
    return (
        len(atoms) > 1
        or len(set(names)) < len(names)
        or any(isinstance(each, tree.Aggregate) for each in (*inner, *targets))
        or any(isinstance(each, tree.Functor) and each.name == "range" for each in (*inner, *targets))
    )


def _injected(rule: Rule) -> dict[int, set[str]]:
    """Returns, for each aggregate of a rule, the variables that it shares with what stands around it."""
    parts = (rule.head, *rule.body, *((rule.better,) if rule.better is not None else ()))
    everywhere = _occurrences(parts)
    found: dict[int, set[str]] = {}
    for part in parts:
        for node in tree.walk(part):
            if isinstance(node, tree.Aggregate):
                inside = _occurrences([node])
                found[id(node)] = {name for name, count in inside.items() if everywhere[name] > count}
    return found


def _occurrences(parts: Iterable[tree.Node]) -> Counter[str]:
    return Counter(node.name for part in parts for node in tree.walk(part) if isinstance(node, tree.Variable))


def _counts(item: _Item) -> bool:
    return isinstance(item, terms.Test) and isinstance(item.right, terms.Count) and not item.right.rounds


def _mentioned(items: Iterable[_Item]) -> set[str]:
    found: set[str] = set()
    for item in items:
        match item:
            case terms.Scan() | terms.Absent():
                found |= {name for each in item.terms for name in terms.variables(each)}
            case terms.Test():
                found |= terms.variables(item.left) | terms.variables(item.right)
            case _Ranging():
                found |= {item.variable.name} | {name for each in item.bounds for name in terms.variables(each)}
            case _Folding():
                found |= {item.variable.name}
            case _:
                pass
    return found


def _kind_of(name: str, steps: Sequence[terms.Step]) -> str:
    """Returns the kind of a variable that planning has made."""
    return next((each.kind for each in terms.bound_by(steps) if each.name == name), "number")


def _cast(term: terms.Term, kind: str) -> terms.Term:
    return term if term.kind == kind else terms.Op("cast", (term,), kind)
