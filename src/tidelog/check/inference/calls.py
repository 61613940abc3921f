"""Calls: one function is chosen among all that share a name, by its arguments and by what its place wants.

A function that is the only one with this name and number of arguments is chosen at once, so that an argument that does
not fit is reported where it stands. Otherwise the candidates are narrowed down as types become known; closures are read
last, because the function often says what they take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.check.inference.drafts import (
    BROKEN,
    FUNCTION,
    Draft,
    Shape,
    Unknown,
    could_accept,
    could_be,
    current,
    describe,
    function_of,
    instantiate,
    shape,
    written,
)
from tidelog.check.inference.state import Inference, Reason, Reasons
from tidelog.check.names.library_modules import import_for
from tidelog.check.names.scope import FunctionEntry
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.spans import Span
from tidelog.diagnostics.wording import counted
from tidelog.syntax import ast
from tidelog.syntax.habits import aggregate
from tidelog.syntax.show import show_expression

_GROUP = "ddlog_std::Group"
GROUP_BY = "group_by"


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A function that was chosen, with drafts for its type variables."""

    entry: FunctionEntry
    meaning: dict[str, Draft]

    def parameter(self, place: int) -> Draft:
        assert self.entry.parameters is not None
        return instantiate(self.entry.parameters[place].type, self.meaning)

    @property
    def result(self) -> Draft:
        assert self.entry.result is not None
        return instantiate(self.entry.result, self.meaning)

    @property
    def draft(self) -> Draft:
        """The function as a value."""
        assert self.entry.parameters is not None
        parts = (*(self.parameter(place) for place in range(self.entry.arity)), self.result)
        return Shape(FUNCTION, parts, tuple(parameter.mutable for parameter in self.entry.parameters))

    def reason(self, place: int) -> tuple[Reason, ...]:
        """Returns the place where the parameter is declared, unless that is in the library."""
        if self.entry.module.is_library:
            return ()
        parameter = self.entry.declaration.parameters[place]
        return ((parameter.span, f"parameter `{parameter.name.text}` is declared here"),)


def choose(at: Inference, entry: FunctionEntry) -> Choice:
    """Returns the function with fresh drafts for its type variables."""
    return Choice(entry, {name: Unknown() for name in entry.type_parameters})


def fitting_functions(
    candidates: Sequence[FunctionEntry], arguments: Sequence[Draft], result: Draft
) -> list[FunctionEntry]:
    """Returns the candidates that could take the arguments and give the result, as far as is known."""
    return [entry for entry in candidates if _fits(entry, arguments, result)]


def _fits(entry: FunctionEntry, arguments: Sequence[Draft], result: Draft) -> bool:
    if entry.parameters is None or entry.result is None or len(entry.parameters) != len(arguments):
        return False
    meaning: dict[str, Draft] = {}
    return all(
        could_accept(parameter.type, argument, meaning) for parameter, argument in zip(entry.parameters, arguments)
    ) and could_accept(entry.result, result, meaning)


# The nodes


def call(at: Inference, node: ast.Call, wanted: Draft | None, reasons: Reasons) -> Draft:
    group = at.groups.get(id(node))
    if group is not None:
        return group.draft
    match node.function:
        case ast.Variable(name) if at.local(name) is None:
            return _named(at, _Called(node, name, node.function.span, node.arguments), wanted)
        case ast.FunctionName(name):
            return _named(at, _Called(node, name, node.function.span, node.arguments), wanted)
        case ast.Struct(name, bare=True) if at.module.find_relations(name.text):
            for argument in node.arguments:
                at.infer(argument)
            return report_relation(at, name.text, node.span)
        case ast.Struct(name, bare=True) if at.module.find_constructors(name.text):
            for argument in node.arguments:
                at.infer(argument)
            fields = ", ".join(map(show_expression, node.arguments))
            message, label = f"`{name.text}` is a constructor, not a function", "its fields stand in braces"
            return at.report(Code.TYPE_MISMATCH, message, node.span, label, help=f"`{name.text}{{{fields}}}`")
        case function:
            return _value(at, node, function, at.infer(function))


def method_call(at: Inference, node: ast.MethodCall, wanted: Draft | None, reasons: Reasons) -> Draft:
    group = at.groups.get(id(node))
    if group is not None:
        return group.draft
    called = _Called(node, node.function.text, node.function.span, (node.receiver, *node.arguments))
    return _named(at, called, wanted)


def function_value(at: Inference, node: ast.Expression, name: str, wanted: Draft | None) -> Draft:
    """Returns the name of a function where a value is wanted."""
    candidates = at.module.find_functions(name)
    if not candidates:
        return _unknown(at, name, node.span)
    usable = [entry for entry in candidates if entry.parameters is not None and entry.result is not None]
    if not usable:
        return BROKEN
    if len(usable) == 1:
        choice = at.choices[id(node)] = choose(at, usable[0])
        return choice.draft
    draft = wanted if wanted is not None else Unknown()

    def attempt() -> bool:
        found = [entry for entry in usable if could_be(choose(at, entry).draft, draft)]
        if len(found) > 1:
            return False
        if not found:
            at.report(
                Code.NO_OVERLOAD,
                f"no function `{name}` is {describe(draft)}",
                node.span,
                f"{len(usable)} functions have this name",
            )
            at.solver.unify(draft, BROKEN)
        else:
            choice = at.choices[id(node)] = choose(at, found[0])
            at.agree(node, choice.draft, draft)
        return True

    called = _Called(node, name, node.span)
    at.defer(attempt, lambda: [draft], lambda: _ambiguous(at, called, usable))
    return draft


# One function among several


class _Called(NamedTuple):
    """A call of a function by its name, which stands at the span."""

    node: ast.Expression
    name: str
    span: Span
    arguments: tuple[ast.Expression, ...] = ()


def _named(at: Inference, called: _Called, wanted: Draft | None) -> Draft:
    arguments = called.arguments
    candidates = at.module.find_functions(called.name)
    if not candidates:
        drafts = [at.infer(argument) for argument in arguments]
        return _unknown(at, called.name, called.span, drafts[0] if drafts else None)
    usable = [entry for entry in candidates if entry.arity == len(arguments)]
    if not usable:
        _wrong_count(at, called, candidates)
    if len(usable) == 1 and usable[0].parameters is not None:
        choice = at.choices[id(called.node)] = choose(at, usable[0])
        _pass(at, choice, arguments, [None] * len(arguments))
        return choice.result if usable[0].result is not None else BROKEN
    if not usable or any(entry.parameters is None or entry.result is None for entry in usable):
        for argument in arguments:
            at.infer(argument)
        return BROKEN
    return _overloaded(at, called, usable, wanted)


def _overloaded(at: Inference, called: _Called, usable: list[FunctionEntry], wanted: Draft | None) -> Draft:
    node, arguments, result = called.node, called.arguments, Unknown()
    found: list[Draft | None] = [None if isinstance(each, ast.Closure) else at.infer(each) for each in arguments]

    def drafts() -> list[Draft]:
        return [draft if draft is not None else _closure_shape(argument) for draft, argument in zip(found, arguments)]

    def commit(entry: FunctionEntry) -> None:
        choice = at.choices[id(node)] = choose(at, entry)
        at.agree(node, choice.result, result)
        _pass(at, choice, arguments, found)

    if wanted is not None:
        fitting = fitting_functions(usable, drafts(), wanted) or fitting_functions(usable, drafts(), result)
    else:
        fitting = fitting_functions(usable, drafts(), result)
    if len(fitting) == 1:
        commit(fitting[0])
        return result
    for place, argument in enumerate(arguments):
        if found[place] is None:
            found[place] = at.infer(argument)

    def attempt() -> bool:
        fitting = fitting_functions(usable, drafts(), result)
        if not fitting:
            fitting = fitting_functions(usable, drafts(), Unknown())
        if len(fitting) > 1:
            return False
        if fitting:
            commit(fitting[0])
        else:
            _no_overload(at, called, usable, drafts())
            at.solver.unify(result, BROKEN)
        return True

    def guess() -> bool:
        """Chooses the module's own function over imported ones, where both fit."""
        own = [entry for entry in fitting_functions(usable, drafts(), result) if entry.module is at.module]
        if len(own) != 1:
            return False
        usable[:] = own
        return True

    def give_up() -> None:
        # What is broken was reported, perhaps in another declaration, and fits everything.
        if all(current(draft) is not BROKEN for draft in drafts()):
            _ambiguous(at, called, fitting_functions(usable, drafts(), result) or usable)

    at.defer(attempt, lambda: [*drafts(), result], give_up, guess)
    return result


def _pass(at: Inference, choice: Choice, arguments: tuple[ast.Expression, ...], found: Sequence[Draft | None]) -> None:
    """Holds the arguments against the parameters; those without a draft are inferred, closures last."""
    order = sorted(range(len(arguments)), key=lambda place: isinstance(arguments[place], ast.Closure))
    for place in order:
        wanted = choice.parameter(place)
        draft = found[place]
        if draft is None:
            draft = at.infer(arguments[place], wanted, choice.reason(place))
        at.agree(arguments[place], draft, wanted, *choice.reason(place), help=_grouped(choice, arguments[place], draft))


def _grouped(choice: Choice, argument: ast.Expression, found: Draft) -> str | None:
    """Returns a help for a value that is given to an aggregate of the library, which takes a group."""
    whole, given = shape(choice.parameter(0)), shape(found)
    if whole is None or whole.head != _GROUP or not choice.entry.module.is_library or choice.entry.arity != 1:
        return None
    if isinstance(current(found), Unknown) or (given is not None and given.head == _GROUP):
        return None
    name, value = choice.entry.name.rpartition("::")[2], show_expression(argument)
    over_rows = aggregate(name)
    grouped = f"`{value}.group_by(key).{name}()` takes a group"
    return f"{grouped}; {over_rows}" if over_rows else grouped


def _closure_shape(node: ast.Expression) -> Draft:
    """Returns the shape of a closure before its body is read: the number of its parameters."""
    assert isinstance(node, ast.Closure)
    return function_of(len(node.parameters))


# A function that is a value


def _value(at: Inference, node: ast.Call, function: ast.Expression, draft: Draft) -> Draft:
    found = shape(draft)
    count = len(node.arguments)
    if found is None and isinstance(current(draft), Unknown):
        found = function_of(count)
        at.agree(function, draft, found)
    if found is None or found.head is not FUNCTION or len(found.parts) != count + 1:
        for argument in node.arguments:
            at.infer(argument)
        if current(draft) is BROKEN:
            return BROKEN
        if found is None or found.head is not FUNCTION:
            shown = describe(draft)
            message = f"expected a function, found {shown}"
            return at.report(Code.TYPE_MISMATCH, message, function.span, f"this is {shown}")
        wanted = len(found.parts) - 1
        message = f"this function takes {counted(wanted, 'argument')}, {count} given"
        return at.report(Code.WRONG_ARGUMENT_COUNT, message, node.span, f"expected {wanted}, found {count}")
    for argument, part in zip(node.arguments, found.parts):
        at.expect(argument, part)
    return found.parts[-1]


# What goes wrong


def report_relation(at: Inference, name: str, span: Span) -> Draft:
    """Reports an atom, or the name of a relation, where a value is wanted."""
    return at.report(
        Code.RELATION_IN_EXPRESSION,
        f"relation `{name}` stands inside an expression",
        span,
        "an atom is a literal of its own, not a value",
        help="`,` joins literals, `not` negates one; write alternatives as separate rules",
    )


def _unknown(at: Inference, name: str, span: Span, first: Draft | None = None) -> Draft:
    if name == GROUP_BY:
        message = "`group_by` stands outside of the body of a rule"
        return at.report(Code.BAD_GROUP, message, span, "there is nothing to group here")
    taken = None if first is None else written(first).partition("<")[0]
    at.names.unknown_function(name, span, at.visible(), taken)
    return BROKEN


def _wrong_count(at: Inference, called: _Called, candidates: list[FunctionEntry]) -> None:
    found = len(called.arguments)
    counts = sorted({entry.arity for entry in candidates})
    wanted = " or ".join(str(count) for count in counts)
    takes = counted(counts[0], "argument") if len(counts) == 1 else f"{wanted} arguments"
    related = [] if len(candidates) > 1 or candidates[0].module.is_library else [(candidates[0].span, "declared here")]
    at.report(
        Code.WRONG_ARGUMENT_COUNT,
        f"function `{called.name}` takes {takes}, {found} given",
        called.span,
        f"expected {wanted}, found {found}",
        related=related,
        help=aggregate(called.name) if all(entry.module.is_library for entry in candidates) else None,
    )


def _no_overload(at: Inference, called: _Called, candidates: list[FunctionEntry], arguments: Sequence[Draft]) -> None:
    name = called.name
    taken = ", ".join(written(argument) for argument in arguments)
    at.report(
        Code.NO_OVERLOAD,
        f"no function `{name}` takes `({taken})`",
        called.span,
        f"{len(candidates)} functions have this name" if len(candidates) > 1 else "it takes something else",
        notes=_listed(candidates),
        help=import_for(name, written(arguments[0]).partition("<")[0], at.module.prefixes()) if arguments else None,
    )


def _ambiguous(at: Inference, called: _Called, candidates: list[FunctionEntry]) -> None:
    at.report(
        Code.AMBIGUOUS_CALL,
        f"function `{called.name}` may be any of {len(candidates)}",
        called.span,
        "nothing says which one",
        notes=_listed(candidates),
        help=_deciding(called.name, candidates),
    )


def _deciding(name: str, candidates: Sequence[FunctionEntry]) -> str:
    """Returns a help that tells the candidates apart."""
    results = {entry.result for entry in candidates}
    if len(results) == len(candidates) and candidates[0].result is not None:
        given = "…" if candidates[0].arity else ""
        return f"the type of the result says it: `({name}({given}): {written(candidates[0].result)})`"
    return "the type of an argument says it, for example `(x: u32)`"


def _listed(candidates: Sequence[FunctionEntry], most: int = 5) -> list[str]:
    """Returns the signatures of some functions, for notes."""
    shown = [f"`{_signature(entry)}`" for entry in candidates[:most]]
    rest = len(candidates) - most
    return [*shown, f"and {rest} more"] if rest > 0 else shown


def _signature(entry: FunctionEntry) -> str:
    assert entry.parameters is not None
    assert entry.result is not None
    taken = (f"{each.name}: {'mut ' if each.mutable else ''}{written(each.type)}" for each in entry.parameters)
    return f"{entry.name}({', '.join(taken)}): {written(entry.result)}"
