"""`TypedProgram` → `RuleProgram`: the flat rules that engines run.

    Next(x, y + 1) :- Step(x, y), Step(x + 1, 2 * 3), not Step(y, _).

    Next(x, e#1) :- Step(x, y), var e#0 = x + 1, Step(e#0, 6), not Step#0(y), var e#1 = y + 1.
    Step#0(a) :- Step(a, _).

An expression in an atom gets a variable of its own, with a `#` in its name. It is computed before the atom; where it
reads a variable that the same atom binds, the atom binds both and a condition compares them. Expressions without
variables become constants. A negated atom with wildcards stands on a hidden projection of its relation to the columns
that it names; all rules share it. Hidden rules come after the rules of the program.
"""

from __future__ import annotations

from tidelog.check import program, typed
from tidelog.check.types import BOOL
from tidelog.functions.scalar import compile_scalar
from tidelog.rules.ir import (
    Assign,
    Atom,
    Column,
    Condition,
    Constant,
    Literal,
    Negative,
    Positive,
    Relation,
    Role,
    Rule,
    RuleProgram,
    Term,
    Variable,
    Wildcard,
)
from tidelog.rules.stratify import stratify

_ROLES = {"input": Role.INPUT, "output": Role.OUTPUT, "": Role.INTERNAL}


def lower(source: program.TypedProgram) -> RuleProgram:
    """The rules and strata of a program. Raises ProgramError when there is a cycle through negation."""
    lowering = _Lowering(source)
    for rule in source.rules:
        lowering.add(rule)
    relations, rules = lowering.finish()
    return RuleProgram(relations, rules, stratify(relations, rules))


class _Lowering:
    def __init__(self, source: program.TypedProgram) -> None:
        self._relations = {relation.name: _relation(relation) for relation in source.relations.values()}
        self._rules: list[Rule] = []
        self._projections: dict[str, tuple[Atom, Atom]] = {}

    def add(self, rule: program.Rule) -> None:
        """Lowers a rule: one flat rule for each of its heads."""
        for head in rule.heads:
            flat = _RuleLowering(self)
            for literal in rule.body:
                flat.add(literal)
            lowered = flat.head(head)
            self._rules.append(Rule(len(self._rules), lowered, tuple(flat.body), rule.span.text, rule.span))

    def projection(self, atom: Atom) -> Atom:
        """The atom without its wildcards, on the hidden relation that has only the other columns."""
        kept = [place for place, term in enumerate(atom.terms) if not isinstance(term, Wildcard)]
        whole = self._relations[atom.relation]
        name = f"{atom.relation}#{'_'.join(map(str, kept))}"
        if name not in self._projections:
            columns = tuple(whole.columns[place] for place in kept)
            self._relations[name] = Relation(name, columns, Role.HIDDEN, whole.span)
            variables = tuple(Variable(column.name, column.type) for column in columns)
            terms: list[Term] = [Wildcard()] * len(whole.columns)
            for place, variable in zip(kept, variables):
                terms[place] = variable
            self._projections[name] = (
                Atom(name, variables, atom.span),
                Atom(atom.relation, tuple(terms), atom.span),
            )
        return Atom(name, tuple(atom.terms[place] for place in kept), atom.span)

    def finish(self) -> tuple[dict[str, Relation], tuple[Rule, ...]]:
        for head, body in self._projections.values():
            text = f"{_written(head)} :- {_written(body)}."
            self._rules.append(Rule(len(self._rules), head, (Positive(body),), text, body.span))
        return self._relations, tuple(self._rules)


class _RuleLowering:
    """The body of one rule as it grows."""

    def __init__(self, lowering: _Lowering) -> None:
        self._lowering = lowering
        self._bound: set[str] = set()
        self._fresh = 0
        self.body: list[Literal] = []

    def add(self, literal: program.Literal) -> None:
        match literal:
            case program.Positive(atom):
                self._positive(atom)
            case program.Negative(atom):
                lowered = Atom(atom.relation, tuple(self._computed(term) for term in atom.terms), literal.span)
                wild = any(isinstance(term, Wildcard) for term in lowered.terms)
                self.body.append(Negative(self._lowering.projection(lowered) if wild else lowered))
            case program.Condition(expression):
                self.body.append(Condition(expression))
            case program.Assign(name, type_, expression):
                self._bound.add(name)
                self.body.append(Assign(Variable(name, type_), expression))

    def head(self, atom: program.Atom) -> Atom:
        return Atom(atom.relation, tuple(self._computed(term) for term in atom.terms), atom.span)

    def _positive(self, atom: program.Atom) -> None:
        own = {term.name for term in atom.terms if isinstance(term, typed.Var)} - self._bound
        terms: list[Term] = []
        after: list[Literal] = []
        for term in atom.terms:
            if isinstance(term, program.Wild) or not typed.variables(term) & own or isinstance(term, typed.Var):
                terms.append(self._computed(term))
                continue
            fresh = self._fresh_variable(term)
            terms.append(fresh)
            found = typed.Var(fresh.name, fresh.type, term.span)
            after.append(Condition(typed.Binary("==", found, term, BOOL, term.span)))
        self._bound |= own
        self.body.append(Positive(Atom(atom.relation, tuple(terms), atom.span)))
        self.body += after

    def _computed(self, term: program.Term) -> Term:
        """The term as a variable or constant; what has to be computed is assigned first."""
        if isinstance(term, program.Wild):
            return Wildcard()
        if isinstance(term, typed.Var):
            return Variable(term.name, term.type)
        folded = fold(term)
        if folded is not None:
            return folded
        fresh = self._fresh_variable(term)
        self.body.append(Assign(fresh, term))
        return fresh

    def _fresh_variable(self, term: typed.Expression) -> Variable:
        self._fresh += 1
        return Variable(f"e#{self._fresh - 1}", term.type)


def fold(expression: typed.Expression) -> Constant | None:
    """The constant that an expression without variables is, or None: also when it would fail, which it then does
    when it runs."""
    if isinstance(expression, typed.Lit):
        return Constant(expression.value, expression.type)
    if typed.variables(expression):
        return None
    try:
        return Constant(compile_scalar(expression, ()).call(), expression.type)
    except ZeroDivisionError:
        return None


def _relation(relation: program.Relation) -> Relation:
    columns = tuple(Column(column.name, column.type) for column in relation.columns)
    return Relation(relation.name, columns, _ROLES[relation.role], relation.span)


def _written(atom: Atom) -> str:
    terms = (term.name if isinstance(term, Variable) else "_" for term in atom.terms)
    return f"{atom.relation}({', '.join(terms)})"
