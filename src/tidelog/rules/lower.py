"""`TypedProgram` → `RuleProgram`: the flat rules that engines run.

    Next(x, y + 1) :- Step(x, y), Step(x + 1, 2 * 3), not Step(y, _).

    Next(x, e#1) :- Step(x, y), var e#0 = x + 1, Step(e#0, 6), not Step#0(y), var e#1 = y + 1.
    Step#0(a) :- Step(a, _).

An expression in an atom gets a variable of its own, with a `#` in its name. It is computed before the atom; where it
reads a variable that the same atom binds, the atom binds both and a condition compares them. Expressions without
variables become constants. A pattern in an atom is a variable that is taken apart behind it. A negated atom with
wildcards stands on a hidden projection of its relation to the columns that it names, shared by all rules; one with
patterns, on a hidden relation of what the patterns let through. What stands before a `group_by` or an `Inspect` becomes
the body of a hidden relation of its own. `R-1` and `S'` are hidden relations that the engine feeds. Hidden rules come
after the rules of the program.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidelog.check import program, typed
from tidelog.check.types import BOOL, Type
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.spans import Span
from tidelog.functions.compile_functions import CompiledFunctions, compile_functions
from tidelog.functions.scalar import ScalarFunction, compile_scalar
from tidelog.library.extern_types import LIBRARY_TYPES
from tidelog.library.externs import library_externs
from tidelog.rules.ir import (
    Assign,
    Atom,
    Column,
    Condition,
    Constant,
    Feed,
    Group,
    Index,
    Inspection,
    Kind,
    Literal,
    Negative,
    Positive,
    Relation,
    Role,
    Rule,
    RuleProgram,
    Term,
    Transform,
    Unfold,
    Variable,
    Wildcard,
)
from tidelog.rules.stratify import stratify
from tidelog.rules.weights import reads_weights, with_weights
from tidelog.values import Definitions

_WEIGHT, _TIME = "ddlog_weight", "ddlog_timestamp"
_ROLES = {"input": Role.INPUT, "output": Role.OUTPUT, "": Role.INTERNAL}


@dataclass(frozen=True, slots=True)
class Options:
    """How a program is compiled.

    `externs` are the Python functions of extern functions, by their qualified names. With `keep_duplicates` a group
    has one value for each instance of the body before it. With `output_internal` internal relations are outputs.
    """

    externs: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    keep_duplicates: bool = False
    output_internal: bool = False


def lower(source: program.TypedProgram, options: Options) -> RuleProgram:
    """The rules and strata of a program. Raises ProgramError when there is a cycle through negation, UsageError when
    an extern function that a rule needs has no Python function."""
    externs = ChainMap(dict(options.externs), library_externs())  # type: ignore[arg-type]
    functions = compile_functions(source.functions, Definitions(source.types, LIBRARY_TYPES), externs)
    lowering = _Lowering(source, functions, options)
    for rule in source.rules:
        lowering.add(rule)
    indexes = {index.name: lowering.index(index) for index in source.indexes.values()}
    for application in source.applications:
        lowering.apply(application, externs)
    relations, rules = lowering.finish()
    strata = stratify(relations, rules)
    feeds, inspections = tuple(lowering.feeds.values()), tuple(lowering.inspections)
    weighted = with_weights(relations, rules, strata, feeds, inspections)
    return RuleProgram(weighted, rules, strata, functions, indexes, feeds, inspections)


class _Lowering:
    def __init__(self, source: program.TypedProgram, functions: CompiledFunctions, options: Options) -> None:
        self._source = source
        self.functions = functions
        self.options = options
        self._relations = {relation.name: self._relation(relation) for relation in source.relations.values()}
        self._rules: list[Rule] = []
        self._hidden: list[tuple[Atom, tuple[Literal, ...], Span]] = []
        self._projections: set[str] = set()
        self.feeds: dict[str, Feed] = {}
        self.inspections: list[Inspection] = []

    def add(self, rule: program.Rule) -> None:
        """Lowers a rule: one flat rule for each of its heads, with one body up to the last `group_by`."""
        flat = _RuleLowering(self, rule.heads[0].relation)
        for place, literal in enumerate(rule.body):
            if isinstance(literal, program.GroupBy):
                flat.group(literal, reads_weights(rule.body[place + 1 :], rule.heads, self._source.functions))
            else:
                flat.add(literal)
        for head in rule.heads:
            body, atom = flat.finish(head)
            self._rules.append(Rule(len(self._rules), atom, body, rule.span.text, rule.span))

    def index(self, index: program.Index) -> Index:
        """An index on the relation itself where its atom only names columns, else on a hidden relation of what fits."""
        target = self._relations[index.atom.relation]
        names = [term.name if isinstance(term, typed.Var) else None for term in index.atom.terms]
        keys = tuple(names.index(column.name) for column in index.columns if column.name in names)
        plain = len(keys) == len(index.columns) and all(
            isinstance(term, typed.Var | program.Wild) for term in index.atom.terms
        )
        columns = tuple(Column(column.name, column.type) for column in index.columns)
        if plain:
            row = tuple(range(len(target.columns)))
            return Index(index.name, target.name, target.name, keys, columns, row, index.span)
        flat = _RuleLowering(self, target.name)
        terms = flat.positive(index.atom, whole=True)
        count = len(columns)
        name = f"{target.name}#index_{index.name}"
        variables = tuple(Variable(column.name, column.type) for column in columns)
        self.hide(name, (*columns, *target.columns), (*variables, *terms), flat.body)
        row = tuple(range(count, count + len(target.columns)))
        return Index(index.name, target.name, name, tuple(range(count)), columns, row, index.span)

    def apply(self, application: program.Apply, externs: Mapping[str, Callable[..., Any]]) -> None:
        """Each output reads a hidden relation that holds what the transformer makes."""
        found = externs.get(application.transformer)
        if found is None:
            raise UsageError(
                f"extern transformer `{application.transformer}` has no Python function",
                code=Code.MISSING_EXTERN,
                help=f'give it when the program is compiled: externs={{"{application.transformer}": ...}}',
            )
        inputs: list[Atom | ScalarFunction] = []
        for given in application.inputs:
            if isinstance(given, str):
                wild = (Wildcard(),) * len(self._relations[given].columns)
                inputs.append(Atom(given, wild, application.span))
            else:
                inputs.append(compile_scalar(given, (), self.functions))
        for place, output in enumerate(application.outputs):
            columns = self._relations[output].columns
            variables = tuple(Variable(column.name, column.type) for column in columns)
            name = self.fresh_name(output, "apply")
            made = Transform(application.transformer, found, tuple(inputs), place, application.span)
            self.hide(name, columns, variables, (made,))
            body = (Positive(Atom(name, variables, application.span)),)
            head = Atom(output, variables, application.span)
            self._rules.append(Rule(len(self._rules), head, body, application.span.text, application.span))

    def fed(self, atom: program.Atom) -> str:
        """The relation that an atom reads: what it names, or a hidden one that the engine feeds."""
        if not atom.delay and not atom.latest:
            return atom.relation
        name = f"{atom.relation}'" if atom.latest else f"{atom.relation}-{atom.delay}"
        if name not in self.feeds:
            source = self._relations[atom.relation]
            kind = Kind.MULTISET if atom.latest else source.kind
            self._relations[name] = Relation(name, source.columns, Role.HIDDEN, source.span, kind)
            self.feeds[name] = Feed(name, atom.relation, atom.delay, atom.latest)
            if atom.latest:
                # The rule says that the stream comes first.
                variables = tuple(Variable(column.name, column.type) for column in source.columns)
                body = (Positive(Atom(source.name, variables, source.span)),)
                self._hidden.append((Atom(name, variables, source.span), body, source.span))
        return name

    def inspect(self, name: str, expression: typed.Expression) -> None:
        """Shows the changes of a hidden relation."""
        times = [node for node in typed.walk(expression) if isinstance(node, typed.Var) and node.name == _TIME]
        read = typed.variables(expression)
        extra = tuple(each for each in (_WEIGHT, _TIME) if each in read)
        names = (*(column.name for column in self._relations[name].columns), *extra)
        function = compile_scalar(expression, names, self.functions)
        self.inspections.append(Inspection(name, function, _WEIGHT in read, times[0].type if times else None))

    def declared(self, name: str) -> program.Relation:
        return self._source.relations[name]

    def _relation(self, relation: program.Relation) -> Relation:
        role = _ROLES[relation.role]
        if role is Role.INTERNAL and self.options.output_internal:
            role = Role.OUTPUT
        key = relation.key
        return Relation(
            relation.name,
            tuple(Column(column.name, column.type) for column in relation.columns),
            role,
            relation.span,
            Kind(relation.kind),
            relation.value,
            relation.explicit,
            None if key is None else compile_scalar(key.expression, (key.variable.name,), self.functions),
            None if key is None else key.expression.type,
        )

    def hide(self, name: str, columns: tuple[Column, ...], terms: tuple[Term, ...], body: tuple[Literal, ...]) -> None:
        """Adds a hidden relation with its only rule."""
        span = self._relations[name.split("#", 1)[0]].span
        read = [literal.atom.relation for literal in body if isinstance(literal, Positive | Group)]
        is_stream = any(self._relations[relation].kind is Kind.STREAM for relation in read)
        kind = Kind.STREAM if is_stream else Kind.SET
        self._relations[name] = Relation(name, columns, Role.HIDDEN, span, kind)
        atom = Atom(name, terms, _span_of(body, span))
        self._hidden.append((atom, body, atom.span))

    def fresh_name(self, relation: str, kind: str) -> str:
        """A name for a hidden relation made for one place in the program."""
        return f"{relation}#{kind}{len(self._hidden)}"

    def projection(self, atom: Atom) -> Atom:
        """The atom without its wildcards, on the hidden relation that has only the other columns."""
        kept = [place for place, term in enumerate(atom.terms) if not isinstance(term, Wildcard)]
        columns = tuple(self._relations[atom.relation].columns[place] for place in kept)
        name = f"{atom.relation}#{'_'.join(map(str, kept))}"
        if name not in self._projections:
            self._projections.add(name)
            variables = tuple(Variable(column.name, column.type) for column in columns)
            terms: list[Term] = [Wildcard()] * len(atom.terms)
            for place, variable in zip(kept, variables):
                terms[place] = variable
            self.hide(name, columns, variables, (Positive(Atom(atom.relation, tuple(terms), atom.span)),))
        return Atom(name, tuple(atom.terms[place] for place in kept), atom.span)

    def finish(self) -> tuple[Mapping[str, Relation], tuple[Rule, ...]]:
        from tidelog.rules.show import show_rule

        for head, body, span in self._hidden:
            rule = Rule(len(self._rules), head, body, "", span)
            self._rules.append(replace(rule, text=show_rule(rule)))
        return self._relations, tuple(self._rules)


class _RuleLowering:
    """The body of one rule as it grows."""

    def __init__(self, lowering: _Lowering, head: str) -> None:
        self._lowering = lowering
        self._head = head
        self._bound: dict[str, Type] = {}
        self._fresh = 0
        self._body: list[Literal] = []

    def add(self, literal: program.Literal) -> None:
        match literal:
            case program.Positive(atom):
                self.positive(atom)
            case program.Negative(atom):
                self._negative(atom, literal.span)
            case program.Condition(expression):
                self._body.append(Condition(expression))
            case program.Assign(name, type_, expression):
                self._bound[name] = type_
                self._body.append(Assign(Variable(name, type_), expression))
            case program.Destructure(pattern, expression):
                self._unfold(pattern, expression, each=False)
            case program.FlatMap(pattern, expression):
                self._unfold(pattern, expression, each=True)
            case program.GroupBy():
                raise AssertionError("see `group`")
            case program.Inspect(expression):
                self._inspect(expression, literal.span)

    def finish(self, head: program.Atom) -> tuple[tuple[Literal, ...], Atom]:
        """The body and the head for one of the rule's heads; the body stays as it is for the next one."""
        before, fresh = list(self._body), self._fresh
        atom = Atom(head.relation, tuple(self._computed(term) for term in head.terms), head.span)
        body, self._body, self._fresh = tuple(self._body), before, fresh
        return body, atom

    # Atoms

    @property
    def body(self) -> tuple[Literal, ...]:
        return tuple(self._body)

    def positive(self, atom: program.Atom, *, whole: bool = False) -> tuple[Term, ...]:
        """Adds a positive atom; its terms. With `whole`, or for a row variable, none of them is a wildcard."""
        whole = whole or atom.row is not None
        own = {term.name: term.type for term in atom.terms if isinstance(term, typed.Var)}
        own = {name: type_ for name, type_ in own.items() if name not in self._bound}
        columns = self._lowering.declared(atom.relation).columns
        opened = [_of_inside(term, column.type) for term, column in zip(atom.terms, columns, strict=True)]
        direct = {term.name for term in opened if isinstance(term, typed.Var)}
        terms: list[Term] = []
        after: list[tuple[typed.Pattern, typed.Expression]] = []
        conditions: list[Literal] = []
        for term, column in zip(opened, columns, strict=True):
            if isinstance(term, program.Wild) and whole:
                terms.append(self._fresh_variable(column.type))
            elif isinstance(term, typed.BindPattern) and term.type == column.type:
                self._bound[term.name] = term.type
                terms.append(Variable(term.name, term.type))
            elif isinstance(term, typed.Pattern):
                if isinstance(term, typed.EqualPattern) and isinstance(term.expression, typed.Var):
                    name = term.expression.name
                    if name in own and name not in direct:
                        direct.add(name)
                        term = typed.BindPattern(name, term.type, term.span)
                taken = self._fresh_variable(column.type)
                terms.append(taken)
                after.append((term, typed.Var(taken.name, taken.type, term.span)))
            elif isinstance(term, program.Wild | typed.Var) or not typed.variables(term) & own.keys():
                terms.append(self._computed(term))
            else:
                fresh = self._fresh_variable(term.type)
                terms.append(fresh)
                found = typed.Var(fresh.name, fresh.type, term.span)
                conditions.append(Condition(typed.Binary("==", found, term, BOOL, term.span)))
        self._bound |= own
        self._body.append(Positive(Atom(self._lowering.fed(atom), tuple(terms), atom.span)))
        self._body += conditions
        for pattern, value in after:
            self._unfold(pattern, value, each=False)
        if atom.row is not None:
            self._bound[atom.row.name] = atom.row.type
            self._body.append(Assign(Variable(atom.row.name, atom.row.type), self._row(atom, tuple(terms))))
        return tuple(terms)

    def _row(self, atom: program.Atom, terms: tuple[Term, ...]) -> typed.Expression:
        """The whole row as one value, from the terms of its columns."""
        relation = self._lowering.declared(atom.relation)
        parts: list[typed.Expression] = []
        for term in terms:
            assert not isinstance(term, Wildcard), "a row's columns are all named"
            if isinstance(term, Variable):
                parts.append(typed.Var(term.name, term.type, atom.span))
            else:
                parts.append(typed.Lit(term.value, term.type, atom.span))
        if relation.explicit:
            return parts[0]
        assert relation.value is not None
        return typed.Construct(relation.name, tuple(parts), relation.value, atom.span)

    def _negative(self, atom: program.Atom, span: Span) -> None:
        if any(isinstance(term, typed.Pattern) for term in atom.terms):
            self._body.append(Negative(self._filtered(atom, span)))
            return
        lowered = Atom(self._lowering.fed(atom), tuple(self._computed(term) for term in atom.terms), span)
        wild = any(isinstance(term, Wildcard) for term in lowered.terms)
        self._body.append(Negative(self._lowering.projection(lowered) if wild else lowered))

    def _filtered(self, atom: program.Atom, span: Span) -> Atom:
        """A negated atom with patterns: a look into a hidden relation of the values that they compare."""
        inner = _RuleLowering(self._lowering, self._head)
        compared: list[typed.Expression] = []
        terms: list[program.Term] = []
        for term in atom.terms:
            if isinstance(term, program.Wild):
                terms.append(term)
            else:
                pattern = term if isinstance(term, typed.Pattern) else typed.EqualPattern(term, term.type, term.span)
                terms.append(_opened(pattern, compared))
        inner.positive(replace(atom, terms=tuple(terms)))
        variables = tuple(Variable(_compared_name(place), each.type) for place, each in enumerate(compared))
        columns = tuple(Column(variable.name, variable.type) for variable in variables)
        name = self._lowering.fresh_name(atom.relation, "not")
        self._lowering.hide(name, columns, variables, inner.body)
        return Atom(name, tuple(self._computed(expression) for expression in compared), span)

    # Values

    def _unfold(self, pattern: typed.Pattern, expression: typed.Expression, *, each: bool) -> None:
        """Takes a value apart; what the pattern compares with an expression is a condition behind it."""
        compared: list[typed.Expression] = []
        prefix = f"p#{self._fresh}_"
        opened = _opened(pattern, compared, prefix)
        self._fresh += 1
        variables = tuple(Variable(bound.name, bound.type) for bound in typed.bindings(opened))
        self._body.append(Unfold(variables, opened, expression, each))
        self._bound |= {variable.name: variable.type for variable in variables}
        stand_ins = (variable for variable in variables if variable.name.startswith(prefix))
        for variable, wanted in zip(stand_ins, compared, strict=True):
            found = typed.Var(variable.name, variable.type, wanted.span)
            self._body.append(Condition(typed.Binary("==", found, wanted, BOOL, wanted.span)))

    def group(self, literal: program.GroupBy, reads_weights: bool) -> None:
        """Everything so far becomes the body of a hidden relation, which a second one groups."""
        value = self._computed(literal.value)
        keys = tuple(Variable(key.name, key.type) for key in literal.keys)
        names = {key.name for key in keys}
        record: tuple[Variable, ...] = ()
        if self._lowering.options.keep_duplicates:
            record = tuple(variable for variable in self._variables() if variable.name not in names)
        members = self._lowering.fresh_name(self._head, "members")
        key_columns = tuple(Column(f"k{place}", key.type) for place, key in enumerate(keys))
        record_columns = tuple(Column(f"r{place}", each.type) for place, each in enumerate(record))
        columns = (*key_columns, *record_columns, Column("value", literal.value.type))
        self._lowering.hide(members, columns, (*keys, *record, value), self.body)
        groups = self._lowering.fresh_name(self._head, "groups")
        group = Variable(literal.variable, literal.type)
        columns = (*key_columns, Column("group", literal.type))
        atom = Atom(members, (*keys, *(Wildcard(),) * (len(record) + 1)), literal.span)
        plain = isinstance(literal.key, typed.Var)
        self._lowering.hide(groups, columns, (*keys, group), (Group(atom, group, plain, reads_weights),))
        self._body = [Positive(Atom(groups, (*keys, group), literal.span))]
        self._bound = {variable.name: variable.type for variable in (*keys, group)}

    def _inspect(self, expression: typed.Expression, span: Span) -> None:
        """Everything so far becomes the body of a hidden relation, whose changes are shown."""
        variables = self._variables()
        name = self._lowering.fresh_name(self._head, "inspect")
        columns = tuple(Column(variable.name, variable.type) for variable in variables)
        self._lowering.hide(name, columns, variables, self.body)
        self._lowering.inspect(name, expression)
        self._body = [Positive(Atom(name, variables, span))]

    def _variables(self) -> tuple[Variable, ...]:
        """The variables that the program names and that are bound so far."""
        return tuple(Variable(name, type_) for name, type_ in self._bound.items() if "#" not in name)

    def _computed(self, term: program.Term) -> Term:
        """The term as a variable or constant; what has to be computed is assigned first."""
        assert not isinstance(term, typed.Pattern), "patterns are unfolded"
        if isinstance(term, program.Wild):
            return Wildcard()
        if isinstance(term, typed.Var):
            return Variable(term.name, term.type)
        folded = fold(term, self._lowering.functions)
        if folded is not None:
            return folded
        fresh = self._fresh_variable(term.type)
        self._body.append(Assign(fresh, term))
        return fresh

    def _fresh_variable(self, type_: Type) -> Variable:
        self._fresh += 1
        return Variable(f"e#{self._fresh - 1}", type_)


def fold(expression: typed.Expression, functions: CompiledFunctions) -> Constant | None:
    """The constant that an expression without variables and calls is.

    None also when it would fail, which it then does when it runs.
    """
    if isinstance(expression, typed.Lit):
        return Constant(expression.value, expression.type)
    if typed.variables(expression) or any(isinstance(node, _NOT_FOLDED) for node in typed.walk(expression)):
        return None
    try:
        return Constant(compile_scalar(expression, (), functions).call(), expression.type)
    except ZeroDivisionError:
        return None


_NOT_FOLDED = (typed.Call, typed.CallValue, typed.Closure, typed.FunctionValue)


def _opened(pattern: typed.Pattern, compared: list[typed.Expression], prefix: str = "c#") -> typed.Pattern:
    """The pattern with a variable in the place of each expression; the expressions are added to the list."""
    match pattern:
        case typed.EqualPattern(expression, type_, span):
            compared.append(expression)
            return typed.BindPattern(_compared_name(len(compared) - 1, prefix), type_, span)
        case typed.TuplePattern(items):
            return replace(pattern, items=tuple(_opened(item, compared, prefix) for item in items))
        case typed.ConstructPattern(fields=fields):
            return replace(pattern, fields=tuple(_opened(each, compared, prefix) for each in fields))
        case typed.AsPattern(pattern=inner):
            return replace(pattern, pattern=_opened(inner, compared, prefix))
        case _:
            return pattern


def _of_inside(term: program.Term, type_: Type) -> program.Term:
    """The term of a column, as a pattern where it stands for what is inside a shared or interned value."""
    if isinstance(term, program.Wild | typed.Pattern) or term.type == type_:
        return term
    return typed.EqualPattern(term, term.type, term.span)


def _compared_name(place: int, prefix: str = "c#") -> str:
    return f"{prefix}{place}"


def _span_of(body: tuple[Literal, ...], otherwise: Span) -> Span:
    for literal in body:
        if isinstance(literal, Positive | Negative | Group):
            return literal.atom.span
        if isinstance(literal, Transform):
            return literal.span
    return otherwise
