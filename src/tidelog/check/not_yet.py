"""Refuses what `check` knows and the Spark engine cannot run yet, each construct by its name (E108).

Whoever teaches that engine a construct takes it out of here. Nothing else in `check` knows what runs where.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.check import program, typed
from tidelog.check.types import BitType, BoolType, SignedType, StringType, Type
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import diagnostic
from tidelog.diagnostics.spans import Span

_Refused = tuple[str, Span]

_LITERALS: dict[type[object], str] = {
    program.Destructure: "a pattern before `=`",
    program.FlatMap: "`FlatMap`",
    program.GroupBy: "`group_by`",
    program.Inspect: "`Inspect`",
}
_EXPRESSIONS = {
    typed.MakeTuple: "a tuple",
    typed.Construct: "a struct",
    typed.MakeVec: "a vector",
    typed.MakeMap: "a map",
    typed.FunctionValue: "a function as a value",
    typed.Closure: "a closure",
    typed.Deref: "a reference",
    typed.MakeRef: "a reference",
    typed.Field: "a field",
    typed.TupleItem: "a part of a tuple",
    typed.Call: "the call of a function",
    typed.CallValue: "the call of a function",
    typed.Match: "`match`",
    typed.Block: "a block of several statements",
    typed.Declare: "`var` inside an expression",
    typed.SetPlace: "`=` inside an expression",
    typed.For: "`for` inside an expression",
}


def refuse_on_spark(source: program.TypedProgram) -> None:
    """Raises ProgramError with everything that the Spark engine does not run yet, in the order of the text."""
    found = {(what, span.source, span.start): (what, span) for what, span in _refused(source)}
    diagnostics = [
        diagnostic(Code.NOT_YET, f"{what} cannot be run on Spark yet", span, "the local engine can")
        for what, span in sorted(found.values(), key=lambda each: each[1].start)
    ]
    if diagnostics:
        raise ProgramError(tuple(diagnostics))


def _refused(source: program.TypedProgram) -> Iterator[_Refused]:
    for relation in source.relations.values():
        yield from _of_relation(relation)
    for index in source.indexes.values():
        yield "an index", index.span
    for application in source.applications:
        yield "a transformer", application.span
    for rule in source.rules:
        for head in rule.heads:
            yield from _of_atom(head)
        for literal in rule.body:
            yield from _of_literal(literal)


def _of_relation(relation: program.Relation) -> Iterator[_Refused]:
    if relation.kind != "relation":
        yield f"a {relation.kind}", relation.span
    if relation.explicit:
        yield "a relation of a given type", relation.span
    if relation.reference:
        yield "a relation of references", relation.span
    if relation.key is not None:
        yield "a primary key", relation.key.expression.span
    for column in relation.columns if not relation.explicit else ():
        if not _runs(column.type):
            yield f"a column of type `{column.type}`", column.span


def _of_literal(literal: program.Literal) -> Iterator[_Refused]:
    match literal:
        case program.Positive(atom) | program.Negative(atom):
            yield from _of_atom(atom)
        case program.Condition(expression) | program.Assign(expression=expression):
            yield from _of_expression(expression)
        case _:
            yield _LITERALS[type(literal)], literal.span


def _of_atom(atom: program.Atom) -> Iterator[_Refused]:
    if atom.row is not None:
        yield "a variable for a row", atom.row.span
    if atom.delay:
        yield "a delayed relation", atom.span
    if atom.latest:
        yield "the `'` behind a stream", atom.span
    if atom.location is not None:
        yield "`@` in a head", atom.location.span
    for term in atom.terms:
        if isinstance(term, typed.Pattern):
            yield "a pattern in an atom", term.span
        elif not isinstance(term, program.Wild):
            yield from _of_expression(term)


def _of_expression(expression: typed.Expression) -> Iterator[_Refused]:
    """The outermost parts of an expression that cannot be run."""
    stack = [expression]
    while stack:
        node = stack.pop()
        what = _EXPRESSIONS.get(type(node))
        if what is None and not _runs(node.type):
            what = f"a value of type `{node.type}`"
        if what is None:
            stack.extend(reversed(typed.children(node)))
        else:
            yield what, node.span


def _runs(type_: Type) -> bool:
    return isinstance(type_, BoolType | BitType | SignedType | StringType)
