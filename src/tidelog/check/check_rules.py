"""Rules added or removed at run time, and the program that they change → their typed forms.

A text of rules is checked like more of the main module, with all declarations of the program in sight; the program
itself is not checked again. The text may declare types, functions and relations: the returned program has them, and the
given one does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidelog.check import program
from tidelog.check.check import ONE_AT_A_TIME, declare, rules_of
from tidelog.check.declarations.check_items import check_relation
from tidelog.check.functions.check_function import check_function
from tidelog.check.names.scope import Environment
from tidelog.check.rule.check_rule import check_rule
from tidelog.check.rule.recursion import Recursion, Tree
from tidelog.check.used_library import Reachable
from tidelog.deep_recursion import deeply
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.syntax import ast

_DECLARATIONS = (ast.TypeDeclaration, ast.FunctionDeclaration, ast.RelationDeclaration)
_RULES = (ast.Rule, ast.ForStatement)
_OTHERS = {
    ast.Import: "an import",
    ast.IndexDeclaration: "an index",
    ast.TransformerDeclaration: "a transformer",
    ast.Apply: "an `apply`",
}


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """A rule of the text: its place among the rules there, what was parsed, and what it means."""

    place: int
    tree: Tree
    rule: program.Rule


def check_added(
    tree: ast.Program, source: program.TypedProgram, left_out: frozenset[int] = frozenset()
) -> tuple[program.TypedProgram, list[CheckedRule]]:
    """Returns the program with what the text declares and what its rules use of the library, and the rules of the text.

    The rules are not in the program yet; those at the places `left_out` are not looked at. Raises ProgramError with all
    that is wrong, in the order of the text.
    """
    with ONE_AT_A_TIME:
        return deeply(_check_added, tree, source, left_out)


def check_removed(tree: ast.Program, source: program.TypedProgram) -> list[CheckedRule]:
    """Returns the rules of a text that declares nothing. Raises ProgramError with all that is wrong."""
    with ONE_AT_A_TIME:
        return deeply(_check_removed, tree, source)


def report_circles(recursion: Recursion) -> tuple[Diagnostic, ...]:
    """Returns the warnings of a program whose rules have changed. Raises ProgramError for a literal that must not be on
    a cycle."""
    diagnostics: list[Diagnostic] = []
    recursion.report(diagnostics)
    if diagnostics:
        raise ProgramError(tuple(diagnostics))
    return tuple(recursion.warnings())


def _check_added(
    tree: ast.Program, source: program.TypedProgram, left_out: frozenset[int]
) -> tuple[program.TypedProgram, list[CheckedRule]]:
    environment = source.environment
    assert environment is not None, "a checked program has one"
    diagnostics: list[Diagnostic] = []
    for item in tree.items:
        if type(item) in _OTHERS:
            message = f"{_OTHERS[type(item)]} cannot be added at run time"
            help = "put it into the program, and open the database again with `migrate=True`"
            diagnostics.append(diagnostic(Code.NOT_A_RULE_CHANGE, message, item.span, "not a rule", help=help))
    _raise(diagnostics)
    if any(isinstance(item, _DECLARATIONS) for item in tree.items):
        source = _declared(tree, source, environment, diagnostics)
        environment = source.environment
        assert environment is not None
    rules = _checked(tree, source, environment, diagnostics, left_out)
    _raise(diagnostics)
    reachable = Reachable(environment)
    typed = [each.rule for each in rules]
    functions = {**source.functions, **reachable.missing(source.functions, rules=typed)}
    relations = {**source.relations, **reachable.missing_relations(source.relations, typed)}
    return replace(source, functions=functions, relations=relations), rules


def _check_removed(tree: ast.Program, source: program.TypedProgram) -> list[CheckedRule]:
    environment = source.environment
    assert environment is not None, "a checked program has one"
    diagnostics = [
        diagnostic(
            Code.NOT_A_RULE_CHANGE,
            "only rules can be removed",
            item.span,
            "not a rule",
            help="declarations stay; remove the rules that derive or read the relation",
        )
        for item in tree.items
        if not isinstance(item, _RULES)
    ]
    _raise(diagnostics)
    rules = _checked(tree, source, environment, diagnostics, frozenset())
    _raise(diagnostics)
    return rules


def _declared(
    tree: ast.Program, source: program.TypedProgram, environment: Environment, diagnostics: list[Diagnostic]
) -> program.TypedProgram:
    """Returns the program with the declarations of the text."""
    before = environment.modules[""]
    module = before.extended(tree)
    declare([module], diagnostics)
    diagnostics[:] = [
        replace(each, help="a declaration stays when its rules are removed; add the rules without it")
        if each.code is Code.DUPLICATE_RELATION
        else each
        for each in diagnostics
    ]
    environment = Environment({**environment.modules, "": module})
    _raise(diagnostics)
    relations = [
        check_relation(entry, environment, diagnostics)
        for name, entry in module.relations.items()
        if name not in before.relations
    ]
    functions = [
        check_function(entry, environment, diagnostics)
        for entries in module.functions.values()
        for entry in entries
        if module.holds(entry.declaration)
    ]
    _raise(diagnostics)
    reachable = Reachable(environment)
    own = {function.id: function for function in functions if function is not None}
    new = {relation.name: relation for relation in relations if relation is not None}
    known = {**source.functions, **own}
    known |= reachable.missing(known, new.values(), functions=own.values())
    types = {entry.name: entry.definition for entry in module.types.values() if entry.definition is not None}
    return replace(
        source,
        relations={**source.relations, **new},
        types={**source.types, **types},
        functions=known,
        environment=environment,
    )


def _checked(
    tree: ast.Program,
    source: program.TypedProgram,
    environment: Environment,
    diagnostics: list[Diagnostic],
    left_out: frozenset[int],
) -> list[CheckedRule]:
    module = environment.modules[""]
    trees = [(place, (rule, module)) for place, rule in enumerate(rules_of(tree)) if place not in left_out]
    assert source.trees.recursion is not None, "a checked program has one"
    recursion = source.trees.recursion.changed([each for _, each in trees], ())
    found = []
    for place, (rule, home) in trees:
        is_recursive = recursion.is_recursive(rule, home)
        checked = check_rule(rule, home, environment, diagnostics, recursive=is_recursive)
        if checked is not None and checked.heads:
            found.append(CheckedRule(place, (rule, home), checked))
    return found


def _raise(diagnostics: Sequence[Diagnostic]) -> None:
    """Raises ProgramError with the errors, in the order of the text, none twice."""
    unique = {(each.code, each.span.start, each.message): each for each in diagnostics}
    if unique:
        raise ProgramError(tuple(sorted(unique.values(), key=lambda each: each.span.start)))
