"""One function → its typed form."""

from __future__ import annotations

from tidelog.check.functions.elaborate import Elaborator
from tidelog.check.inference import Frame, Inference
from tidelog.check.inference.drafts import BROKEN
from tidelog.check.names.scope import Environment, FunctionEntry
from tidelog.check.program import Function
from tidelog.diagnostics.report import Diagnostic


def check_function(entry: FunctionEntry, environment: Environment, diagnostics: list[Diagnostic]) -> Function | None:
    """Returns the typed function, or None when something is wrong with it, which is reported."""
    declaration = entry.declaration
    body = None
    if declaration.body is not None:
        at = Inference(environment, entry.module, diagnostics)
        at.types.variables = frozenset(entry.type_parameters)
        at.types.where = f"by `{declaration.name.text}`"
        for place, parameter in enumerate(declaration.parameters):
            draft = entry.parameters[place].type if entry.parameters is not None else BROKEN
            local = at.declare(parameter.name.text, draft, parameter.name.span, "parameter")
            local.flag = parameter.type.mutable
        result = BROKEN if entry.result is None else entry.result
        span = declaration.result.span if declaration.result else declaration.name.span
        reason = (span, "the result type is declared here")
        at.frame = Frame(result, reason)
        with at.scope():
            at.expect(declaration.body, result, reason)
        at.finish()
        if at.errors or entry.parameters is None or entry.result is None:
            return None
        make, syntax = Elaborator(at), declaration.body
        body = make.complete(lambda: make.expression(syntax))
        if body is None:
            return None
    if entry.parameters is None or entry.result is None:
        return None
    return Function(
        entry.id,
        entry.name,
        entry.type_parameters,
        entry.parameters,
        entry.result,
        body,
        entry.attributes,
        entry.span,
    )
