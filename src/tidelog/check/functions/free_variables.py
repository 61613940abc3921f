"""The variables that an expression takes from its surroundings: those it mentions and does not declare itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tidelog.syntax import ast

PatternVariable = ast.Variable | ast.VariableDeclaration


def free_variables(*expressions: ast.Expression) -> list[ast.Variable]:
    """Returns the free variables, the first mention of each, in the order of the text; functions look like variables
    here."""
    found: dict[str, ast.Variable] = {}
    for expression in expressions:
        _collect(expression, frozenset(), found)
    return list(found.values())


def called_names(*expressions: ast.Expression) -> set[str]:
    """Returns the names that are called: most of them are functions."""
    return {
        node.function.name
        for expression in expressions
        for node in ast.walk(expression)
        if isinstance(node, ast.Call) and isinstance(node.function, ast.Variable)
    }


def pattern_variables(pattern: ast.Expression) -> list[PatternVariable | ast.Binding]:
    """Returns the nodes that name variables in pattern position, not those inside expressions to compare with."""
    match pattern:
        case ast.Variable() | ast.VariableDeclaration():
            return [pattern]
        case ast.Annotation(operand) | ast.Reference(operand) | ast.Block((operand,), False):
            return pattern_variables(operand)
        case ast.Binding(_, inner):
            return [pattern, *pattern_variables(inner)]
        case ast.Tuple(items):
            return [node for item in items for node in pattern_variables(item)]
        case ast.Struct(_, arguments):
            return [node for argument in arguments for node in pattern_variables(argument.value)]
        case _:
            return []


def with_variables(pattern: ast.Expression, change: Callable[[PatternVariable], ast.Expression]) -> ast.Expression:
    """Returns the pattern of a `match`, or the left of a `=`, with other nodes in the place of its variables."""
    match pattern:
        case ast.Variable() | ast.VariableDeclaration():
            return change(pattern)
        case ast.Annotation(operand):
            return replace(pattern, operand=with_variables(operand, change))
        case ast.Tuple(items):
            return replace(pattern, items=tuple(with_variables(item, change) for item in items))
        case ast.Struct(arguments=arguments):
            inner = tuple(replace(each, value=with_variables(each.value, change)) for each in arguments)
            return replace(pattern, arguments=inner)
        case _:
            return pattern


def name_of(node: PatternVariable | ast.Binding) -> str:
    """Returns the name that the node is about."""
    return node.name if isinstance(node, ast.Variable) else node.name.text


def _collect(node: ast.Expression, own: frozenset[str], found: dict[str, ast.Variable]) -> None:
    match node:
        case ast.Variable(name):
            if name not in own:
                found.setdefault(name, node)
        case ast.Closure(parameters, _, body):
            _collect(body, own | {parameter.name.text for parameter in parameters}, found)
        case ast.Block(expressions):
            for expression in expressions:
                _collect(expression, own, found)
                own |= _declared(expression)
        case ast.Match(subject, arms):
            _collect(subject, own, found)
            for arm in arms:
                _collect(arm.value, own | _names(pattern_variables(arm.pattern)), found)
        case ast.For(pattern, iterable, body):
            _collect(iterable, own, found)
            _collect(body, own | _names(pattern_variables(pattern)), found)
        case ast.Assign(target, value):
            _collect(value, own, found)
            _collect(target, own, found)
        case _:
            for child in ast.children(node):
                _collect(child, own, found)


def _declared(expression: ast.Expression) -> frozenset[str]:
    """Returns the variables that a statement of a block declares for those behind it."""
    if not isinstance(expression, ast.Assign):
        return frozenset()
    nodes = pattern_variables(expression.target)
    return _names(node for node in nodes if not isinstance(node, ast.Variable))


def _names(nodes: Iterable[PatternVariable | ast.Binding]) -> frozenset[str]:
    return frozenset(name_of(node) for node in nodes)
