"""`ast.Program` → `TypedProgram`: modules loaded, names resolved, types inferred, functions and rules checked.

    input relation Sale(item: string, cents: u32)
    Dear(i, c / 100) :- Sale(i, c), c > 1000.

    Dear(i, c / (100: u32)) :- Sale(i, c), c > (1000: u32).         i: string, c: u32

Declarations come first, wherever they stand in the text; then each function and each rule by itself. All errors are
collected. Cycles through negation or streams are reported when there are no other errors. Functions of the library are
checked when a program uses them, once for all programs of the process; only used ones are in the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock

from tidelog.check import program
from tidelog.check.declarations.check_items import check_application, check_index, check_relation
from tidelog.check.declarations.declare_functions import declare_functions
from tidelog.check.declarations.declare_names import declare_names
from tidelog.check.declarations.declare_relations import declare_relations
from tidelog.check.declarations.declare_types import declare_types
from tidelog.check.declarations.infinite_types import report_infinite_types
from tidelog.check.functions.check_function import check_function
from tidelog.check.names import modules
from tidelog.check.names.scope import Environment, Module
from tidelog.check.open_else import open_else
from tidelog.check.rule.check_rule import check_rule
from tidelog.check.rule.imperative import plain_rules
from tidelog.check.rule.recursion import Recursion
from tidelog.check.rule.same_rule import RuleKey, rule_key
from tidelog.check.used_library import Reachable
from tidelog.deep_recursion import deeply
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic
from tidelog.forks import hold_during_forks
from tidelog.syntax import ast

# Modules of the library are shared by all programs of the process.
ONE_AT_A_TIME = RLock()
hold_during_forks(ONE_AT_A_TIME)


def check(
    tree: ast.Program, search_path: modules.SearchPath = (), library: Path = modules.LIBRARY
) -> program.TypedProgram:
    """Returns the typed program. Raises ProgramError with all errors, in the order of the text.

    Modules are looked for beside the program, then on the search path, then in the library.
    """
    with ONE_AT_A_TIME:
        # An expression may be a chain of hundreds of operators, and each takes several calls.
        return deeply(_check, tree, search_path, library)


def _check(tree: ast.Program, search_path: modules.SearchPath, library: Path) -> program.TypedProgram:
    return _Checking(tree, search_path, library).typed()


class _Checking:
    def __init__(self, tree: ast.Program, search_path: modules.SearchPath, library: Path) -> None:
        self._diagnostics: list[Diagnostic] = []
        self._modules = modules.load(tree, search_path, self._diagnostics, library)
        self._environment = Environment({module.name: module for module in self._modules})
        self._own = [module for module in self._modules if not module.is_library]
        if self._diagnostics:
            # What a missing module declares would be missing everywhere.
            raise ProgramError(_in_order(self._diagnostics, self._modules))
        declare([module for module in self._modules if not module.is_declared], self._diagnostics)

    def typed(self) -> program.TypedProgram:
        environment, diagnostics = self._environment, self._diagnostics
        relations = [
            check_relation(entry, environment, diagnostics)
            for module in self._own
            for entry in module.relations.values()
        ]
        functions = [
            check_function(entry, environment, diagnostics)
            for module in self._own
            for entries in module.functions.values()
            for entry in entries
        ]
        indexes = [
            check_index(item, module, environment, diagnostics)
            for module in self._own
            for item in module.indexes.values()
        ]
        plain = [(rule, module) for module in self._own for rule in rules_of(module.program)]
        applied = [
            (item, module) for module in self._own for item in module.program.items if isinstance(item, ast.Apply)
        ]
        recursion = Recursion(plain, applied)
        checked = [
            check_rule(rule, module, environment, diagnostics, recursive=recursion.is_recursive(rule, module))
            for rule, module in plain
        ]
        applications = [check_application(item, module, environment, diagnostics) for item, module in applied]
        if not diagnostics:
            recursion.report(diagnostics)
        if diagnostics:
            raise ProgramError(_in_order(diagnostics, self._modules))
        distinct = _distinct((rule, tree) for rule, tree in zip(checked, plain) if rule is not None and rule.heads)
        rules = list(distinct.values())
        assembled = Reachable(environment).assemble(
            [relation for relation in relations if relation is not None],
            [rule for rule, _ in rules],
            [function for function in functions if function is not None],
            [index for index in indexes if index is not None],
            [application for application in applications if application is not None],
        )
        warned = [warning for module in self._own for warning in open_else(module.program)]
        warnings = _in_order([*recursion.warnings(), *warned], self._modules)

        sources = {module.name: module.program.span.source for module in self._own}
        if len(rules) < len(plain):
            recursion = Recursion([tree for _, tree in rules], applied)
        trees = program.Trees(tuple(tree for _, tree in rules), recursion, tuple(distinct))
        return replace(assembled, warnings=warnings, environment=environment, sources=sources, trees=trees)


def declare(modules: Sequence[Module], diagnostics: list[Diagnostic]) -> None:
    """Fills the tables of modules with what their texts declare."""
    for declare_all in (declare_names, declare_types, declare_functions, declare_relations):
        for module in modules:
            declare_all(module, diagnostics)
    report_infinite_types([module for module in modules if not module.is_library], diagnostics)
    for module in modules:
        module.is_declared = True


def rules_of(tree: ast.Program) -> Iterator[ast.Rule]:
    """Yields the rules of a text, including those of imperative statements."""
    for item in tree.items:
        if isinstance(item, ast.Rule):
            yield item
        elif isinstance(item, ast.ForStatement):
            yield from plain_rules(item)


_Checked = tuple[program.Rule, tuple[ast.Rule, Module]]


def _distinct(rules: Iterable[_Checked]) -> dict[RuleKey, _Checked]:
    """Returns the rules without repetitions: rules are a set."""
    found: dict[RuleKey, _Checked] = {}
    for rule, tree in rules:
        found.setdefault(rule_key(rule), (rule, tree))
    return found


def _in_order(diagnostics: list[Diagnostic], loaded: list[Module]) -> tuple[Diagnostic, ...]:
    """Returns the errors, the main program's first, each module's in the order of its text; none twice."""
    place = {module.program.span.source: -number for number, module in enumerate(loaded)}
    unique = {(each.code, each.span.source, each.span.start, each.message): each for each in diagnostics}
    return tuple(sorted(unique.values(), key=lambda each: (place.get(each.span.source, 0), each.span.start)))
