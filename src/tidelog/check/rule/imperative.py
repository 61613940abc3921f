"""Imperative rules → plain rules.

    for (a in A if c) { B(a); if (d) C(a) else D(a) }

    B(a) :- a in A, c.
    C(a) :- a in A, c, d.
    D(a) :- a in A, c, not d.

Every statement that inserts is the head of a rule; what stands around it is the body. An arm of a `match` becomes a
condition that only this arm is taken, and an assignment for the variables of its pattern. A statement that inserts
nothing becomes a rule without a head, which is checked and then forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.check.functions.free_variables import PatternVariable, pattern_variables, with_variables
from tidelog.diagnostics.spans import Span
from tidelog.syntax import ast

Body = tuple[ast.Literal, ...]


def plain_rules(statement: ast.ForStatement) -> list[ast.Rule]:
    """Returns the rules that the statement stands for."""
    found: list[ast.Rule] = []
    _translate(statement, (), found)
    return found


def _translate(statement: ast.Statement, body: Body, found: list[ast.Rule]) -> None:
    span = statement.span
    match statement:
        case ast.InsertStatement(atom):
            found.append(ast.Rule((atom,), body, span=span))
        case ast.SkipStatement():
            found.append(ast.Rule((), body, span=span))
        case ast.BlockStatement(statements):
            for each in statements:
                _translate(each, body, found)
        case ast.ForStatement(atom, condition, inner):
            literals: Body = (ast.Positive(atom, span=atom.span),)
            if condition is not None:
                literals += (ast.Condition(condition, span=condition.span),)
            _translate(inner, (*body, *literals), found)
        case ast.IfStatement(condition, then, otherwise):
            _translate(then, (*body, ast.Condition(condition, span=condition.span)), found)
            if otherwise is not None:
                negated = ast.Unary("not", condition, span=condition.span)
                _translate(otherwise, (*body, ast.Condition(negated, span=condition.span)), found)
        case ast.MatchStatement(subject, arms):
            for place, arm in enumerate(arms):
                literals = tuple(_taken(subject, arms, place))
                _translate(arm.body, (*body, *literals), found)
        case ast.AssignStatement(assignment, inner):
            _translate(inner, (*body, _literal(assignment)), found)


def _literal(expression: ast.Expression) -> ast.Literal:
    """Returns the literal for an expression before `in`: an assignment or a condition."""
    span = expression.span
    match expression:
        case ast.Assign(ast.Annotation(ast.VariableDeclaration(name), type_), value):
            return ast.Assignment(name, type_, value, span=span)
        case ast.Assign(ast.VariableDeclaration(name), value):
            return ast.Assignment(name, None, value, span=span)
        case ast.Assign(target, value):
            return ast.Destructuring(target, value, span=span)
        case _:
            return ast.Condition(expression, span=span)


def _taken(subject: ast.Expression, arms: tuple[ast.StatementArm, ...], place: int) -> Iterator[ast.Literal]:
    """Yields the literals that hold when the arm at this place is taken."""
    arm = arms[place]
    span = arm.pattern.span
    cases = [_case(each.pattern, taken=index == place) for index, each in enumerate(arms[: place + 1])]
    nowhere = Span(span.source, span.end, span.end)
    cases.append(_case(ast.Wildcard(span=nowhere), taken=False))
    match = ast.Match(subject, tuple(cases), span=span)
    yield ast.Condition(match, span=span)
    if pattern_variables(arm.pattern):
        yield ast.Destructuring(with_variables(arm.pattern, _declaration), subject, span=span)


def _case(pattern: ast.Expression, *, taken: bool) -> ast.MatchArm:
    return ast.MatchArm(pattern, ast.Boolean(taken, span=pattern.span), span=pattern.span)


def _declaration(variable: PatternVariable) -> ast.VariableDeclaration:
    name = ast.Name(variable.name, span=variable.span) if isinstance(variable, ast.Variable) else variable.name
    return ast.VariableDeclaration(name, span=variable.span)
