"""`ast.Program` → `TypedProgram`: names, arguments, types and the safety of rules.

Declarations come first, wherever they stand in the text; then each rule by itself. All errors are collected.
"""

from __future__ import annotations

from tidelog.check.check_rule import check_rule
from tidelog.check.declare import declare
from tidelog.check.program import TypedProgram
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic
from tidelog.syntax import ast


def check(program: ast.Program) -> TypedProgram:
    """The typed program. Raises ProgramError with all that is wrong, in the order of the text."""
    diagnostics: list[Diagnostic] = []
    signatures = declare(program, diagnostics)
    checked = [check_rule(item, signatures, diagnostics) for item in program.items if isinstance(item, ast.Rule)]
    if diagnostics:
        raise ProgramError(tuple(sorted(diagnostics, key=lambda diagnostic: diagnostic.span.start)))
    relations = {name: signature.relation() for name, signature in signatures.items()}
    return TypedProgram(relations, tuple(rule.typed() for rule in checked))
