"""Ways through trees see all of them."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from tests.syntax.programs import EVERYTHING
from tests.syntax.reading import expression, program
from tests.syntax.trees import expressions
from tidelog.syntax import ast


def _below(node: ast.Node) -> list[ast.Node]:
    """The nearest expressions below a node, by way of the fields of all nodes."""
    found: list[ast.Node] = []
    for child in ast.below(node):
        found += [child] if isinstance(child, ast.Expression) else _below(child)
    return found


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(expressions)
def test_the_children_of_an_expression_are_all_expressions_directly_below_it(tree: ast.Expression) -> None:
    for node in ast.walk(tree):
        assert list(ast.children(node)) == _below(node)


def test_every_kind_of_node_stands_in_the_program_that_has_everything() -> None:
    kinds = {type(node) for node in ast.nodes(program(EVERYTHING))}
    declared = {each for each in vars(ast).values() if isinstance(each, type) and issubclass(each, ast.Node)}
    assert declared - kinds == {ast.Node, ast.Spelt}


def test_spans_of_children_lie_inside_those_of_their_parents() -> None:
    for node in ast.nodes(program(EVERYTHING)):
        for child in ast.below(node):
            assert node.span.start <= child.span.start <= child.span.end <= node.span.end, (node, child)


def test_the_height_counts_the_longest_way_down() -> None:
    assert ast.height(expression("x")) == 1
    assert ast.height(expression("f(x, -y)")) == 3
    assert ast.height(expression("x[1:0]")) == 3
