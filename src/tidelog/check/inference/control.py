"""Type inference of blocks, branches, loops, assignments, `return`, `break` and `?`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tidelog.check.inference.drafts import (
    BROKEN,
    FUNCTION,
    TUPLE,
    Draft,
    Shape,
    Unknown,
    current,
    describe,
    instantiate,
    is_integer,
    named,
    shape,
)
from tidelog.check.inference.operators import hint_key
from tidelog.check.inference.patterns import Assigning, Declaring, pattern
from tidelog.check.inference.state import Inference, Reason, Reasons
from tidelog.check.inference.values import behind
from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression
from tidelog.types import BOOL, UNIT

OPTION, RESULT = "ddlog_std::Option", "ddlog_std::Result"


def block(at: Inference, node: ast.Block, wanted: Draft | None, reasons: Reasons) -> Draft:
    with at.scope():
        for place, expression in enumerate(node.expressions):
            if node.ends_open or place < len(node.expressions) - 1:
                at.infer(expression)
            elif wanted is None:
                return at.infer(expression)
            else:
                return at.expect(expression, wanted, *reasons)
    return UNIT


def conditional(at: Inference, node: ast.Conditional, wanted: Draft | None, reasons: Reasons) -> Draft:
    at.expect(node.condition, BOOL)
    if node.otherwise is None:
        at.expect(node.then, UNIT, (node.span, "an `if` without `else` gives `()`"))
        return UNIT
    if is_known(wanted):
        assert wanted is not None
        at.expect(node.then, wanted, *reasons)
        at.expect(node.otherwise, wanted, *reasons)
        return wanted
    first = at.infer(node.then, wanted)
    second = at.infer(node.otherwise, first)
    help = None
    if (around := at.choices.get(hint_key(node))) is not None:
        goes_on = replace(around, left=node.otherwise)
        help = f"`else ({show_expression(goes_on)})` takes what follows into the branch"
    return at.agree(
        node.otherwise, second, first, (node.then.span, f"the other branch is {describe(first)}"), help=help
    )


def is_known(draft: Draft | None) -> bool:
    """True if holding the branches of an expression against the draft one by one tells more."""
    return draft is not None and not isinstance(current(draft), Unknown)


def match(at: Inference, node: ast.Match, wanted: Draft | None, reasons: Reasons) -> Draft:
    subject = at.infer(node.subject)
    result = wanted if is_known(wanted) else None
    for arm in node.arms:
        with at.scope():
            pattern(at, arm.pattern, subject, Declaring("match"), ((node.subject.span, "the matched value"),))
            if result is not None and is_known(wanted):
                at.expect(arm.value, result, *reasons)
            elif result is None:
                result = at.infer(arm.value, wanted)
            else:
                found = at.infer(arm.value, result)
                why = (node.arms[0].value.span, f"the first arm is {describe(result)}")
                at.agree(arm.value, found, result, why)
    return BROKEN if result is None else result


def for_(at: Inference, node: ast.For, wanted: Draft | None, reasons: Reasons) -> Draft:
    item = iterate(at, node.iterable, at.infer(node.iterable))
    with at.scope():
        pattern(at, node.pattern, item, Declaring("loop"), ((node.iterable.span, "the iterated value"),))
        at.frame.loops += 1
        at.infer(node.body)
        at.frame.loops -= 1
    return UNIT


def iterate(at: Inference, node: ast.Expression, iterable: Draft) -> Draft:
    """Returns the draft of the items that `for` or `FlatMap` takes from a value."""
    result = Unknown()

    def attempt() -> bool:
        found, count = behind(at, iterable)
        if isinstance(found, Unknown):
            return False
        at.choices[iterated(node)] = count
        at.solver.unify(result, _item(at, node, found))
        return True

    at.defer(attempt, lambda: [iterable], lambda: at.report_unknown("the iterated value", node, "Vec<u64>"))
    return current(result)


def iterated(node: ast.Expression) -> int:
    """Returns the key of the number of references that a loop goes through."""
    return -id(node) - 2


def _item(at: Inference, node: ast.Expression, found: Draft) -> Draft:
    if found is BROKEN:
        return BROKEN
    whole = shape(found)
    definition = None
    if whole is not None and whole.head not in (TUPLE, FUNCTION):
        definition = at.environment.definition(whole.head)
    if whole is None or definition is None or definition.item is None:
        shown = describe(found)
        help = None
        if is_integer(found):
            help = f"`range_vec(0, {show_expression(node)}, 1)` are the numbers below it"
        elif whole is not None and whole.head == OPTION:
            help = f"`to_vec({show_expression(node)})` has one item or none"
        return at.report(
            Code.NOT_ITERABLE, f"{shown} cannot be iterated over", node.span, f"this is {shown}", help=help
        )
    return instantiate(definition.item, dict(zip(definition.parameters, whole.parts)))


# What leaves


def break_(at: Inference, node: ast.Break | ast.Continue, wanted: Draft | None, reasons: Reasons) -> Draft:
    if not at.frame.loops:
        word = "break" if isinstance(node, ast.Break) else "continue"
        at.report(Code.MISPLACED_CONTROL, f"`{word}` stands outside of a loop", node.span, "no loop around it")
    return Unknown()


def return_(at: Inference, node: ast.Return, wanted: Draft | None, reasons: Reasons) -> Draft:
    result = at.frame.result
    if result is None:
        at.report(Code.MISPLACED_CONTROL, "`return` stands outside of a function", node.span, "nothing to return from")
        if node.value is not None:
            at.infer(node.value)
        return Unknown()
    why = (at.frame.reason,) if at.frame.reason else ()
    if node.value is not None:
        at.expect(node.value, result, *why)
    elif not at.solver.unify(UNIT, result):
        at.mismatch(node, UNIT, result, why)
    return Unknown()


def try_(at: Inference, node: ast.Try, wanted: Draft | None, reasons: Reasons) -> Draft:
    """Infers `e?`: an Option leaves functions that return an Option; a Result also those that return a Result of that
    error."""
    operand = at.infer(node.operand)
    if at.frame.result is None:
        message = "`?` stands outside of a function"
        help = f"`Some{{var x}} = {show_expression(node.operand)}` goes on where there is a value"
        return at.report(Code.BAD_TRY, message, node.span, "nothing to return from", help=help)
    returned, reason = at.frame.result, at.frame.reason
    at.choices[id(node)] = returned
    result = Unknown()

    def attempt() -> bool:
        found = shape(operand)
        if isinstance(current(operand), Unknown):
            return False
        if current(operand) is BROKEN or current(returned) is BROKEN:
            at.solver.unify(result, BROKEN)
            return True
        if found is None or found.head not in (OPTION, RESULT):
            shown = describe(operand)
            message = f"`?` needs an `Option` or a `Result`, found {shown}"
            at.solver.unify(result, at.report(Code.BAD_TRY, message, node.operand.span, f"this is {shown}"))
            return True
        at.agree(node, found.parts[0], result)
        if isinstance(current(returned), Unknown):
            return found.head == OPTION and at.solver.unify(returned, named(OPTION, Unknown()))
        _leave(at, node, found, operand, returned, reason)
        return True

    def guess() -> bool:
        found = shape(operand)
        if found is None or not isinstance(current(returned), Unknown):
            return False
        return at.solver.unify(returned, named(RESULT, Unknown(), found.parts[1]))

    label = "an `Option` or a `Result`?"
    unknown = partial(at.report_unknown, "the operand of `?`", node.operand, "Option<u64>", label)
    at.defer(attempt, lambda: [operand, returned], unknown, guess)
    return result


def _leave(at: Inference, node: ast.Try, found: Shape, operand: Draft, returned: Draft, reason: Reason | None) -> None:
    """Holds what `?` would return against what the function or closure returns."""
    whole = shape(returned)
    related = [reason] if reason else []
    if whole is not None and whole.head == OPTION:
        return
    if whole is None or whole.head != RESULT or found.head != RESULT:
        message = f"`?` of {describe(operand)} leaves a function that returns {describe(returned)}"
        text = show_expression(node.operand)
        help = f"`unwrap_or_default({text})`"
        if whole is not None and whole.head == RESULT:
            help = f'`ok_or({text}, "no value")?` turns an `Option` into a `Result`'
        at.report(Code.BAD_TRY, message, node.span, "they do not fit", related=related, help=help)
    elif not at.solver.unify(found.parts[1], whole.parts[1]):
        message = f"`?` of {describe(operand)} leaves a function that returns {describe(returned)}"
        at.report(Code.BAD_TRY, message, node.span, f"its error is {describe(found.parts[1])}", related=related)


# Assignments


def assign(at: Inference, node: ast.Assign, wanted: Draft | None, reasons: Reasons) -> Draft:
    match node.target:
        case ast.Annotation(operand, type_):
            draft = at.resolve(type_)
            at.drafts[id(node.target)] = draft
            at.expect(node.value, draft, (type_.span, "because of this annotation"))
            pattern(at, operand, draft, Assigning())
        case ast.Variable(name) if (local := at.local(name)) is not None:
            at.locals[id(node.target)] = local
            at.drafts[id(node.target)] = local.draft
            at.expect(node.value, local.draft, (local.span, f"`{name}` is declared here"))
        case ast.FieldAccess() | ast.TupleField():
            draft = at.infer(node.target)
            at.expect(node.value, draft, (node.target.span, f"this is {describe(draft)}"))
        case target:
            draft = at.infer(node.value)
            pattern(at, target, draft, Assigning(), ((node.value.span, "the assigned value"),))
    return UNIT


def misplaced_binding(at: Inference, node: ast.Binding, wanted: Draft | None, reasons: Reasons) -> Draft:
    """Reports `x@p` where a value is wanted."""
    at.infer(node.pattern)
    label = "it only names a part of a pattern"
    return at.report(Code.NOT_A_PATTERN, "`@` stands where a value is needed", node.span, label)
