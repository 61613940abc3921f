"""Planned rules and declarations of Soufflé's language → Tidelog's syntax tree, which `check` takes from there.

    .decl edge(a: symbol, b: symbol)          relation edge(a: string, b: string)
    .decl n(c: number)                        relation n(c: signed<32>)
    n(c) :- c = count : { edge(_, _) }.       n.count.1(c) :- edge(a, b), var k = count() by (), var c = k as signed<32>
                                              n(c) :- n.count.1(c)

An aggregate is a relation of its own: the keys that it shares with its surroundings, and the value. Where its body does
not bind a key, one more relation has the keys that are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from zlib import crc32

from tidelog.diagnostics.spans import Span
from tidelog.souffle.lower.lower_terms import TermLowering, again, cast_integer
from tidelog.souffle.lower.open_records import Opened, open_records
from tidelog.souffle.lower.share_folds import Folds, share_folds
from tidelog.souffle.plan import terms
from tidelog.syntax import ast

_HALF = 32
_FOUND = "?found"


class RuleLowering:
    """Collects the `items` of Tidelog's program; `columns` are names and kinds of each declared relation's columns."""

    def __init__(self, lowering: TermLowering, columns: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        self.terms = lowering
        self._columns = columns
        self.items: list[ast.Item] = []
        self._count = 0
        self._opened: set[str] = set()
        self._made: set[str] = set()

    def relation(self, name: str, columns: Sequence[tuple[str, str]], role: str, span: Span) -> None:
        """Declares a relation; its columns are names and kinds."""
        made = tuple(
            ast.Column(ast.Name(column, span=again(span)), self.terms.names.type(kind, again(span)), span=again(span))
            for column, kind in columns
        )
        self.items.append(ast.RelationDeclaration(role, ast.Name(name, span=span), made, span=span))

    def rule(self, rule: terms.Planned) -> None:
        """Adds a rule. Variables and relations that are made for it depend on nothing but the rule."""
        self._count = 0
        steps, opened = open_records(rule.steps)
        for each in opened:
            self._open(each, rule.span)
        self._rule(rule.head, rule.terms, self._existing(steps), rule.span)

    def _existing(self, steps: Sequence[terms.Step]) -> list[terms.Step]:
        """Returns the steps with a relation without columns for each atom that only asks whether there is a row.

        Such an atom would be joined row by row with all others.
        """
        if sum(isinstance(step, terms.Scan) for step in steps) < 2:
            return [*steps]
        made: list[terms.Step] = []
        for step in steps:
            if isinstance(step, terms.Scan) and step.terms and all(each is None for each in step.terms):
                name = f"{step.relation}.nonempty"
                if name not in self._made:
                    self._made.add(name)
                    self.relation(name, (), "", step.span)
                    self._rule(name, (), (step,), step.span)
                step = replace(step, relation=name, terms=())
            made.append(step)
        return made

    def _open(self, opened: Opened, span: Span) -> None:
        """Declares a relation with a column taken apart, once, and the rule that derives it."""
        if opened.name in self._opened:
            return
        self._opened.add(opened.name)
        columns = self._columns[opened.relation]
        kind = columns[opened.place][1]
        kinds = self.terms.names.fields[kind, opened.branch]
        parts = [(f"part{place}", each) for place, each in enumerate(kinds)]
        self.relation(opened.name, [*columns, *parts], "", span)
        whole = tuple(terms.Var(f"c{place}", each) for place, (_, each) in enumerate(columns))
        fields = tuple(terms.Var(name, each) for name, each in parts)
        steps = (
            terms.Scan(opened.relation, whole, span),
            terms.Unpack(whole[opened.place], opened.branch, fields, span),
        )
        self._rule(opened.name, (*whole, *fields), steps, span)

    def _rule(self, head: str, wanted: Sequence[terms.Term], steps: Sequence[terms.Step], span: Span) -> None:
        for body in self._bodies(steps, head):
            after: list[ast.Literal] = []
            arguments = []
            for term in wanted:
                if isinstance(term, terms.Var | terms.Const):
                    arguments.append(self.terms.expression(term, span))
                else:
                    value = self._fresh(term.kind)
                    after.append(self._assigned(value, term, span))
                    arguments.append(self.terms.expression(value, span))
            atom = self._atom(head, arguments, span)
            self.items.append(ast.Rule((atom,), (*body, *after), span=span))

    def body(self, steps: Sequence[terms.Step]) -> tuple[ast.Literal, ...]:
        """Returns the literals of a body without aggregates."""
        (found,) = self._bodies(steps, "")
        return tuple(found)

    def copy(self, head: str, source: str, kinds: Sequence[str], span: Span) -> None:
        """Adds a rule that copies one relation into another."""
        columns = tuple(terms.Var(f"c{place}", kind) for place, kind in enumerate(kinds))
        self._rule(head, columns, (terms.Scan(source, columns, span),), span)

    # Bodies

    def _bodies(self, steps: Sequence[terms.Step], head: str) -> list[list[ast.Literal]]:
        """Returns the literals of a body; several where a sum or count may be that of nothing."""
        bodies: list[list[ast.Literal]] = [[]]
        for step in share_folds(steps):
            if isinstance(step, Folds):
                bodies = self._fold_together(step, bodies, head)
            elif isinstance(step, terms.Fold):
                bodies = self._fold(step, steps[: steps.index(step)], bodies, head)
            else:
                for body in bodies:
                    body += self._literals(step)
        return bodies

    def _literals(self, step: terms.Step) -> list[ast.Literal]:
        span = again(step.span)
        match step:
            case terms.Scan(relation, columns):
                arguments = [self._column(each, step.span) for each in columns]
                return [ast.Positive(self._atom(relation, arguments, step.span), span=span)]
            case terms.Absent():
                return self._absent(step)
            case terms.Bind(variable, value):
                return [self._assigned(variable, value, step.span)]
            case terms.Test():
                return [ast.Condition(self.terms.condition(step), span=span)]
            case terms.Truth(value):
                return [ast.Condition(ast.Boolean(value, span=span), span=span)]
            case terms.Unpack():
                return [self._taken_apart(step)]
            case terms.Each(variable, bounds):
                given = tuple(self.terms.expression(each, step.span) for each in bounds)
                name = "numbers" if len(given) == 2 else "numbers_by"
                found = self.terms.call(name, given, step.span)
                declared = ast.VariableDeclaration(ast.Name(variable.name, span=again(step.span)), span=span)
                return [ast.FlatMap(declared, found, span=again(step.span))]
            case terms.Fold():
                raise AssertionError("see `_fold`")

    def _absent(self, step: terms.Absent) -> list[ast.Literal]:
        before: list[ast.Literal] = []
        arguments: list[ast.Expression] = []
        for each in step.terms:
            if each is None or isinstance(each, terms.Var | terms.Const):
                arguments.append(self._column(each, step.span))
            else:
                value = self._fresh(each.kind)
                before.append(self._assigned(value, each, step.span))
                arguments.append(self.terms.expression(value, step.span))
        atom = self._atom(step.relation, arguments, step.span)
        return [*before, ast.Negative(atom, span=again(step.span))]

    def _taken_apart(self, step: terms.Unpack) -> ast.Literal:
        name = self.terms.names.constructors[step.value.kind, step.branch]
        fields: list[ast.Argument] = []
        for each in step.fields:
            span = again(step.span)
            inner: ast.Expression = ast.Wildcard(span=span)
            if each is not None:
                inner = ast.VariableDeclaration(ast.Name(each.name, span=span), span=span)
            fields.append(ast.Argument(None, inner, span=again(step.span)))
        pattern = ast.Struct(ast.Name(name, span=again(step.span)), tuple(fields), span=again(step.span))
        return ast.Destructuring(pattern, self.terms.expression(step.value, step.span), span=again(step.span))

    def _column(self, term: terms.Term | None, span: Span) -> ast.Expression:
        if isinstance(term, terms.Var):
            return ast.Variable(term.name, span=again(span))
        return ast.Wildcard(span=again(span)) if term is None else self.terms.expression(term, span)

    def _atom(self, relation: str, arguments: Sequence[ast.Expression], span: Span) -> ast.Atom:
        made = tuple(ast.Argument(None, each, span=again(span)) for each in arguments)
        return ast.Atom(ast.Name(relation, span=again(span)), made, span=again(span))

    def _assigned(self, variable: terms.Var, value: terms.Term, span: Span) -> ast.Literal:
        return self._set(variable, self.terms.expression(value, span), span)

    def _set(self, variable: terms.Var, value: ast.Expression, span: Span) -> ast.Literal:
        annotation = self.terms.names.type(variable.kind, again(span))
        return ast.Assignment(ast.Name(variable.name, span=again(span)), annotation, value, span=again(span))

    def _fresh(self, kind: str) -> terms.Var:
        self._count += 1
        return terms.Var(f"?v{self._count}", kind)

    # Aggregates

    def _fold(
        self, step: terms.Fold, before: Sequence[terms.Step], bodies: list[list[ast.Literal]], head: str
    ) -> list[list[ast.Literal]]:
        mark = _mark(step)
        name = f"{head}.{step.function}.{mark}"
        keys = [(f"k{place}", key.kind) for place, key in enumerate(step.keys)]
        inner: Sequence[terms.Step]
        if step.free is not None:
            inner = step.free
        else:
            mark = _mark((*before, step))
            name = f"{head}.{step.function}.{mark}"
            asked = f"{head}.keys.{mark}"
            if asked not in self._made:
                self.relation(asked, keys, "", step.span)
                self._rule(asked, step.keys, before, step.span)
            inner = (terms.Scan(asked, step.keys, step.span), *step.steps)
            self._made.add(asked)
        return self._folded(name, (step,), inner, bodies)

    def _fold_together(self, folds: Folds, bodies: list[list[ast.Literal]], head: str) -> list[list[ast.Literal]]:
        first = folds.members[0]
        functions = "".join(f".{each.function}" for each in folds.members)
        assert first.free is not None
        return self._folded(f"{head}{functions}.{_mark(folds.text)}", folds.members, first.free, bodies)

    def _folded(
        self,
        name: str,
        folds: Sequence[terms.Fold],
        inner: Sequence[terms.Step],
        bodies: list[list[ast.Literal]],
    ) -> list[list[ast.Literal]]:
        """Returns the bodies with the values of aggregates by the same keys, which are a relation of the `name`."""
        keys, span = folds[0].keys, folds[0].span
        if name not in self._made:
            self._made.add(name)
            places = [""] if len(folds) == 1 else [f"{place}" for place in range(len(folds))]
            values = [(f"value{place}", each.variable.kind) for place, each in zip(places, folds, strict=True)]
            columns = [(f"k{place}", key.kind) for place, key in enumerate(keys)]
            self.relation(name, [*columns, *values], "", span)
            self._aggregated(name, folds, inner)
        made: list[list[ast.Literal]] = []
        has_default = bool(keys) and all(each.function in ("count", "sum") for each in folds)
        for body in bodies:
            found = terms.Scan(name, (*keys, *(each.variable for each in folds)), span)
            made.append([*body, *self._literals(found)])
            if has_default:
                made.append([*body, *self._literals(terms.Absent(name, (*keys, *(None for _ in folds)), span))])
                for each in folds:
                    zero = terms.Bind(each.variable, terms.Const(0, each.variable.kind), each.span)
                    made[-1] += self._literals(zero)
        return made

    def _aggregated(self, name: str, folds: Sequence[terms.Fold], inner: Sequence[terms.Step]) -> None:
        """Adds the rule that aggregates a body by the keys."""
        step, span = folds[0], folds[0].span
        bodies = self._bodies(inner, name)
        # A blank that is left here must not tell instances apart: see `plan_rule`.
        has_blank = any(isinstance(each, terms.Scan) and None in each.terms for each in inner)
        if len(bodies) > 1 or (has_blank and any(each.function in ("count", "sum", "mean") for each in folds)):
            bodies = [self._gathered(name, bodies, inner, span)]
        for body in bodies:
            calls: list[ast.Expression] = []
            found: list[ast.Expression] = []
            values: list[terms.Var] = []
            results: list[ast.Literal] = []
            for each in folds:
                kind, own = each.variable.kind, f"{_FOUND}{len(values)}"
                function, target, result = self._target(each, kind, own)
                calls.append(ast.Call(ast.Variable(function, span=again(span)), target, span=again(span)))
                found.append(ast.VariableDeclaration(ast.Name(own, span=again(span)), span=again(span)))
                values.append(self._fresh(kind))
                results.append(self._set(values[-1], result, span))
            is_one = len(folds) == 1
            pattern = found[0] if is_one else ast.Tuple(tuple(found), span=again(span))
            value = calls[0] if is_one else ast.Tuple(tuple(calls), span=again(span))
            keys = tuple(ast.Variable(key.name, span=again(span)) for key in step.keys)
            aggregated = ast.RowAggregates(pattern, value, keys, span=again(span))
            head = self._atom(name, [self.terms.expression(key, span) for key in (*step.keys, *values)], span)
            self.items.append(ast.Rule((head,), (*body, aggregated, *results), span=span))

    def _gathered(
        self, name: str, bodies: list[list[ast.Literal]], steps: Sequence[terms.Step], span: Span
    ) -> list[ast.Literal]:
        """Returns a body that reads all instances of several bodies, which are put into one relation first."""
        columns = tuple(terms.bound_by(steps))
        rows = f"{name}.rows"
        kinds = [(f"c{place}", each.kind) for place, each in enumerate(columns)]
        self.relation(rows, kinds, "", span)
        for body in bodies:
            head = self._atom(rows, [self.terms.expression(each, span) for each in columns], span)
            self.items.append(ast.Rule((head,), tuple(body), span=span))
        return self._literals(terms.Scan(rows, columns, span))

    def _target(
        self, step: terms.Fold, kind: str, variable: str
    ) -> tuple[str, tuple[ast.Expression, ...], ast.Expression]:
        """Returns the aggregate of Tidelog, what it is of, and what is made of its result, which is the `variable`."""
        span, names = step.span, self.terms.names
        own = names.type(kind, again(span))
        found: ast.Expression = ast.Variable(variable, span=again(span))
        if step.function == "count":
            if kind == "float":
                return "count", (), ast.Cast(found, own, span=again(span))
            return "count", (), cast_integer(found, ("bit", 64), names.family(kind), span)
        assert step.target is not None
        target = self.terms.expression(step.target, span)
        match step.function:
            case "sum" if kind == "float":
                double = ast.Cast(target, _double(span), span=again(span))
                return "sum", (double,), ast.Cast(found, own, span=again(span))
            case "sum" if names.bits == _HALF:
                wide = cast_integer(target, names.family(kind), ("signed", 64), span)
                return "sum", (wide,), cast_integer(found, ("signed", 64), names.family(kind), span)
            case "sum":
                big = ast.Cast(target, ast.NamedType("bigint", span=again(span)), span=again(span))
                signed = ast.Cast(found, ast.SizedType("signed", names.bits, span=again(span)), span=again(span))
                return "sum", (big,), cast_integer(signed, ("signed", names.bits), names.family(kind), span)
            case "mean":
                return "avg", (target,), ast.Cast(found, own, span=again(span))
            case _:
                return step.function, (target,), found


def _mark(steps: object) -> str:
    """Returns a few letters that depend on what steps say, and not on where they stand."""
    return f"{crc32(terms.text_of(steps).encode('utf-8', 'surrogatepass')):08x}"


def _double(span: Span) -> ast.Type:
    return ast.NamedType("double", span=again(span))
