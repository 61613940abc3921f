"""Relations that only added clauses of a recomputed stratum read → rows of one relation, which the stratum takes.

    s(a) :- q(a, "x").      .outside.s(clause, "q", .cell.number{c0, .cell.symbol{c1, .end{}}}) :- q(c0, c1).

The inputs of a transformer are fixed when a program is compiled. `evaluate/outside_rows.py` takes the rows apart again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.diagnostics.spans import Span
from tidelog.souffle.lower.lower_terms import TermLowering, again
from tidelog.souffle.plan import terms
from tidelog.syntax import ast

ROW = ".row"
_END = ".end"


def row_type(lowering: TermLowering, kinds: Iterable[str], span: Span) -> ast.TypeDeclaration:
    """Returns the declaration of the type of rows with columns of these kinds."""
    constructors = [ast.Constructor(_name(_END, span), (), span=again(span))]
    for kind in kinds:
        fields = (
            ast.Field(_name(f".value.{kind}", span), lowering.names.type(kind, again(span)), span=again(span)),
            ast.Field(_name(".rest", span), ast.NamedType(ROW, span=again(span)), span=again(span)),
        )
        constructors.append(ast.Constructor(_name(f".cell.{kind}", span), fields, span=again(span)))
    definition = ast.Constructors(tuple(constructors), span=again(span))
    return ast.TypeDeclaration(_name(ROW, span), (), definition, span=again(span))


def outside_relation(name: str, span: Span) -> ast.RelationDeclaration:
    """Returns the declaration of the relation that has such rows, by clause and relation."""
    types = (("clause", "string"), ("relation", "string"), ("row", ROW))
    columns = tuple(
        ast.Column(_name(column, span), ast.NamedType(type_, span=again(span)), span=again(span))
        for column, type_ in types
    )
    return ast.RelationDeclaration("", _name(name, span), columns, span=again(span))


def outside_rule(lowering: TermLowering, head: str, clause: str, scan: terms.Scan) -> ast.Rule:
    """Returns the rule that gives a stratum the rows of a relation, which a clause reads."""
    span = scan.span
    row: ast.Expression = ast.Struct(_name(_END, span), (), span=again(span))
    variables = [each for each in scan.terms if isinstance(each, terms.Var)]
    for each in reversed(variables):
        inside = (
            ast.Argument(None, lowering.expression(each, span), span=again(span)),
            ast.Argument(None, row, span=again(span)),
        )
        row = ast.Struct(_name(f".cell.{each.kind}", span), inside, span=again(span))
    whole = (ast.String(clause, span=again(span)), ast.String(scan.relation, span=again(span)), row)
    read = [lowering.expression(each, span) for each in variables]
    body = ast.Positive(_atom(scan.relation, read, span), span=again(span))
    return ast.Rule((_atom(head, whole, span),), (body,), span=span)


def _name(text: str, span: Span) -> ast.Name:
    return ast.Name(text, span=again(span))


def _atom(relation: str, arguments: Sequence[ast.Expression], span: Span) -> ast.Atom:
    made = tuple(ast.Argument(None, each, span=again(span)) for each in arguments)
    return ast.Atom(_name(relation, span), made, span=again(span))
