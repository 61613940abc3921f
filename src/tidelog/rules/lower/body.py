"""The body of one typed rule → flat literals, one by one.

    Sale(i, c), Sale(i, c * 2), Sale(j, j + 1)

    Sale(i, c), var e#0 = c * 2, Sale(i, e#0), Sale(j, e#1), e#1 == j + 1

`lower/program.py` says what becomes of each kind of literal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tidelog.check import program, typed
from tidelog.diagnostics.spans import Span
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import compile_scalar
from tidelog.rules import ir
from tidelog.rules.lower.row_aggregates import lower_row_aggregates
from tidelog.types import BOOL, Type

if TYPE_CHECKING:
    from tidelog.rules.lower.program import Lowering


class RuleLowering:
    """The body of one rule as it grows."""

    def __init__(self, lowering: Lowering, head: str) -> None:
        self._lowering = lowering
        self._head = head
        self._bound: dict[str, Type] = {}
        self._fresh = 0
        self._body: list[ir.Literal] = []

    def add(self, literal: program.Literal) -> None:
        match literal:
            case program.Positive(atom):
                self.positive(atom)
            case program.Negative(atom):
                self._negative(atom, literal.span)
            case program.Condition(expression):
                self._body.append(ir.Condition(expression))
            case program.Assign(name, type_, expression):
                self._bound[name] = type_
                self._body.append(ir.Assign(ir.Variable(name, type_), expression))
            case program.Destructure(pattern, expression):
                self._unfold(pattern, expression, each=False)
            case program.FlatMap(pattern, expression):
                self._unfold(pattern, expression, each=True)
            case program.GroupBy():
                raise AssertionError("see `group`")
            case program.RowAggregates():
                self._row_aggregates(literal)
            case program.Inspect(expression):
                self._inspect(expression, literal.span)

    def finish(self, head: program.Atom) -> tuple[tuple[ir.Literal, ...], ir.Atom]:
        """Returns the body and the head for one of the rule's heads; the body stays as it is for the next one."""
        before, fresh = list(self._body), self._fresh
        atom = ir.Atom(head.relation, self._looked_up(head), head.span)
        body, self._body, self._fresh = tuple(self._body), before, fresh
        return body, atom

    # Atoms

    @property
    def body(self) -> tuple[ir.Literal, ...]:
        return tuple(self._body)

    def positive(self, atom: program.Atom, *, whole: bool = False) -> tuple[ir.Term, ...]:
        """Adds a positive atom; its terms. With `whole`, or for a row variable, none of them is a wildcard."""
        whole = whole or atom.row is not None or self._lowering.options.keep_duplicates
        atom = replace(atom, terms=tuple(self._unwrapped(atom)))
        own = {term.name: term.type for term in atom.terms if isinstance(term, typed.Var)}
        own = {name: type_ for name, type_ in own.items() if name not in self._bound}
        binds: dict[str, Type] = {}
        terms: list[ir.Term] = []
        after: list[tuple[typed.Pattern, typed.Expression]] = []
        conditions: list[ir.Literal] = []
        for term, column in zip(atom.terms, self._lowering.declared(atom.relation).columns, strict=True):
            if isinstance(term, program.Wild) and whole:
                terms.append(self._unnamed(column.type, binds))
            elif isinstance(term, typed.BindPattern) and term.type == column.type:
                binds[term.name] = term.type
                terms.append(ir.Variable(term.name, term.type))
            elif isinstance(term, typed.Pattern):
                # Not the type of the pattern, which is that of what is inside where the column is shared or interned.
                taken = self._unnamed(column.type, binds)
                terms.append(taken)
                after.append((term, typed.Var(taken.name, type=taken.type, span=term.span)))
            elif isinstance(term, program.Wild | typed.Var) or not typed.variables(term) & own.keys():
                terms.append(self._computed(term))
                if isinstance(term, typed.Var) and term.name in own:
                    binds[term.name] = term.type
            else:
                fresh = self._fresh_variable(term.type)
                terms.append(fresh)
                found = typed.Var(fresh.name, type=fresh.type, span=term.span)
                conditions.append(ir.Condition(typed.Binary("==", found, term, type=BOOL, span=term.span)))
        self._bound |= binds
        self._body.append(ir.Positive(ir.Atom(self._lowering.fed(atom), tuple(terms), atom.span)))
        self._body += conditions
        for pattern, value in after:
            self._unfold(pattern, value, each=False)
        if atom.row is not None:
            self._bound[atom.row.name] = atom.row.type
            self._body.append(ir.Assign(ir.Variable(atom.row.name, atom.row.type), self._row(atom, tuple(terms))))
        return tuple(terms)

    def _unwrapped(self, atom: program.Atom) -> Iterator[program.Term]:
        """Yields the terms, variables for what is inside a shared or interned column as patterns."""
        pairs = list(zip(atom.terms, self._lowering.declared(atom.relation).columns, strict=True))
        plain = {term.name for term, column in pairs if isinstance(term, typed.Var) and term.type == column.type}
        for term, column in pairs:
            if not isinstance(term, typed.Var) or term.type == column.type:
                yield term
            elif term.name in self._bound or term.name in plain:
                yield typed.EqualPattern(term, type=term.type, span=term.span)
            else:
                yield typed.BindPattern(term.name, type=term.type, span=term.span)

    def _row(self, atom: program.Atom, terms: tuple[ir.Term, ...]) -> typed.Expression:
        """Returns the whole row as one value, from the terms of its columns."""
        relation = self._lowering.declared(atom.relation)
        parts: list[typed.Expression] = []
        for term, written in zip(terms, atom.terms, strict=True):
            assert not isinstance(term, ir.Wildcard), "a row's columns are all named"
            if isinstance(term, ir.Variable):
                parts.append(typed.Var(term.name, type=term.type, span=atom.span))
            else:
                # The expression and not its value, which has no literal if it is a struct or a collection.
                assert not isinstance(written, program.Wild | typed.Pattern)
                parts.append(written)
        if relation.explicit:
            return parts[0]
        assert relation.value is not None
        return typed.Construct(relation.name, tuple(parts), type=relation.value, span=atom.span)

    def _negative(self, atom: program.Atom, span: Span) -> None:
        if any(isinstance(term, typed.Pattern) for term in atom.terms):
            self._body.append(ir.Negative(self._filtered(atom, span)))
            return
        lowered = ir.Atom(self._lowering.fed(atom), self._looked_up(atom), span)
        wild = any(isinstance(term, ir.Wildcard) for term in lowered.terms)
        self._body.append(ir.Negative(self._lowering.projection(lowered) if wild else lowered))

    def _looked_up(self, atom: program.Atom) -> tuple[ir.Term, ...]:
        """Returns the terms of an atom that only has values, with the types of the columns."""
        columns = self._lowering.declared(atom.relation).columns
        return tuple(self._computed(term, column.type) for term, column in zip(atom.terms, columns, strict=True))

    def _filtered(self, atom: program.Atom, span: Span) -> ir.Atom:
        """Returns a negated atom with patterns: a look into a hidden relation of the values that they compare."""
        inner = RuleLowering(self._lowering, self._head)
        compared: list[typed.Expression] = []
        terms: list[program.Term] = []
        for term in atom.terms:
            if isinstance(term, program.Wild):
                terms.append(term)
            else:
                pattern = (
                    term
                    if isinstance(term, typed.Pattern)
                    else typed.EqualPattern(term, type=term.type, span=term.span)
                )
                terms.append(_opened(pattern, compared))
        inner.positive(replace(atom, terms=tuple(terms)))
        variables = tuple(ir.Variable(_compared_name(place), each.type) for place, each in enumerate(compared))
        columns = tuple(ir.Column(variable.name, variable.type) for variable in variables)
        name = self._lowering.fresh_name(atom.relation, "not")
        self._lowering.hide(name, columns, variables, inner.body)
        return ir.Atom(name, tuple(self._computed(expression) for expression in compared), span)

    # Values

    def _unfold(self, pattern: typed.Pattern, expression: typed.Expression, *, each: bool) -> None:
        """Takes a value apart; what the pattern compares with an expression is a condition behind it."""
        compared: list[typed.Expression] = []
        prefix = f"p#{self._fresh}_"
        opened = _opened(pattern, compared, prefix)
        self._fresh += 1
        variables = tuple(ir.Variable(bound.name, bound.type) for bound in typed.bindings(opened))
        self._body.append(ir.Unfold(variables, opened, expression, each))
        self._bound |= {variable.name: variable.type for variable in variables}
        for variable, wanted in zip(
            (each for each in variables if each.name.startswith(prefix)), compared, strict=True
        ):
            found = typed.Var(variable.name, type=variable.type, span=wanted.span)
            self._body.append(ir.Condition(typed.Binary("==", found, wanted, type=BOOL, span=wanted.span)))

    def group(self, literal: program.GroupBy, reads_weights: bool) -> None:
        """Everything so far becomes the body of a hidden relation, which a second one groups."""
        value = self._computed(literal.value)
        keys = tuple(ir.Variable(key.name, key.type) for key in literal.keys)
        names = {key.name for key in keys}
        record: tuple[ir.Variable, ...] = ()
        if self._lowering.options.keep_duplicates:
            record = tuple(variable for variable in self.variables(_UNNAMED) if variable.name not in names)
        members = self._lowering.fresh_name(self._head, "members")
        key_columns = tuple(ir.Column(f"k{place}", key.type) for place, key in enumerate(keys))
        record_columns = tuple(ir.Column(f"r{place}", each.type) for place, each in enumerate(record))
        columns = (*key_columns, *record_columns, ir.Column("value", literal.value.type))
        self._lowering.hide(members, columns, (*keys, *record, value), self.body)
        groups = self._lowering.fresh_name(self._head, "groups")
        group = ir.Variable(literal.variable, literal.type)
        columns = (*key_columns, ir.Column("group", literal.type))
        atom = ir.Atom(members, (*keys, *(ir.Wildcard(),) * (len(record) + 1)), literal.span)
        plain = isinstance(literal.key, typed.Var)
        self._lowering.hide(groups, columns, (*keys, group), (ir.Group(atom, group, plain, reads_weights),))
        self._body = [ir.Positive(ir.Atom(groups, (*keys, group), literal.span))]
        self._bound = {variable.name: variable.type for variable in (*keys, group)}

    def _row_aggregates(self, literal: program.RowAggregates) -> None:
        """Everything so far becomes the body of a hidden relation, whose rows are aggregated."""
        lowered = lower_row_aggregates(self._lowering, self._head, self._body, literal, self._fresh_variable)
        self._body = list(lowered.body)
        self._bound = {variable.name: variable.type for variable in lowered.variables}

    def _inspect(self, expression: typed.Expression, span: Span) -> None:
        """Everything so far becomes the body of a hidden relation, whose changes are shown."""
        variables = self.variables()
        name = self._lowering.fresh_name(self._head, "inspect")
        columns = tuple(ir.Column(variable.name, variable.type) for variable in variables)
        self._lowering.hide(name, columns, variables, self.body)
        self._lowering.inspect(name, expression)
        self._body = [ir.Positive(ir.Atom(name, variables, span))]

    def variables(self, prefix: str | None = None) -> tuple[ir.Variable, ...]:
        """Returns the variables that are bound so far: those that the program names, and those of the prefix."""
        return tuple(
            ir.Variable(name, type_)
            for name, type_ in self._bound.items()
            if "#" not in name or (prefix is not None and name.startswith(prefix))
        )

    def _computed(self, term: program.Term, type_: Type | None = None) -> ir.Term:
        """Returns the term as a variable or constant of the type; what has to be computed is assigned first."""
        assert not isinstance(term, typed.Pattern), "patterns are unfolded"
        if isinstance(term, program.Wild):
            return ir.Wildcard()
        type_ = type_ or term.type
        if isinstance(term, typed.Var) and term.type == type_:
            return ir.Variable(term.name, term.type)
        folded = fold(term, self._lowering.functions)
        if folded is not None:
            return replace(folded, type=type_)
        fresh = self._fresh_variable(type_)
        self._body.append(ir.Assign(fresh, term))
        return fresh

    def _unnamed(self, type_: Type, binds: dict[str, Type]) -> ir.Variable:
        """Returns a variable for a column that the program does not name as a whole.

        Where groups keep duplicates it is bound like a named one: rows that differ only here are different members.
        """
        if not self._lowering.options.keep_duplicates:
            return self._fresh_variable(type_)
        fresh = self._fresh_variable(type_, _UNNAMED)
        binds[fresh.name] = type_
        return fresh

    def _fresh_variable(self, type_: Type, prefix: str = "e#") -> ir.Variable:
        self._fresh += 1
        return ir.Variable(f"{prefix}{self._fresh - 1}", type_)


def fold(expression: typed.Expression, functions: CompiledFunctions) -> ir.Constant | None:
    """Returns the constant that an expression without variables and calls is.

    None also when it would fail, which it then does when it runs.
    """
    if isinstance(expression, typed.Lit):
        return ir.Constant(expression.value, expression.type)
    if typed.variables(expression) or any(isinstance(node, _NOT_FOLDED) for node in typed.walk(expression)):
        return None
    try:
        return ir.Constant(compile_scalar(expression, (), functions).call(), expression.type)
    except ZeroDivisionError:
        return None


_UNNAMED = "u#"
_NOT_FOLDED = (typed.Call, typed.CallValue, typed.Closure, typed.FunctionValue)


def _opened(pattern: typed.Pattern, compared: list[typed.Expression], prefix: str = "c#") -> typed.Pattern:
    """Returns the pattern with a variable in the place of each expression; the expressions are added to the list."""
    match pattern:
        case typed.EqualPattern(expression, type=type_, span=span):
            compared.append(expression)
            return typed.BindPattern(_compared_name(len(compared) - 1, prefix), type=type_, span=span)
        case typed.TuplePattern(items):
            return replace(pattern, items=tuple(_opened(item, compared, prefix) for item in items))
        case typed.ConstructPattern(fields=fields):
            return replace(pattern, fields=tuple(_opened(each, compared, prefix) for each in fields))
        case typed.AsPattern(pattern=inner):
            return replace(pattern, pattern=_opened(inner, compared, prefix))
        case _:
            return pattern


def _compared_name(place: int, prefix: str = "c#") -> str:
    return f"{prefix}{place}"
