"""Checked declarations → the typed program, with those functions and types of the library that it uses.

A function of the library is checked when something calls it. Its typed form depends only on the library, so it is kept
for all programs of the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tidelog.check import program, typed
from tidelog.check.declarations.check_items import check_relation
from tidelog.check.functions.check_function import check_function
from tidelog.check.names.scope import Environment, FunctionEntry
from tidelog.diagnostics.report import Diagnostic

_checked: dict[FunctionEntry, program.Function] = {}


class Reachable:
    """Collects what a program uses."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._entries: dict[str, FunctionEntry] = {
            entry.id: entry
            for module in environment.modules.values()
            for entries in module.functions.values()
            for entry in entries
        }

    def assemble(
        self,
        relations: Sequence[program.Relation],
        rules: Sequence[program.Rule],
        functions: Sequence[program.Function],
        indexes: Sequence[program.Index],
        applications: Sequence[program.Apply],
    ) -> program.TypedProgram:
        """Returns the typed program with all functions that it calls, and all types."""
        found = {function.id: function for function in functions}
        library = self.missing(found, relations, rules, functions, indexes, applications)
        ordered = {name: library[name] for name in self._entries if name in library}
        names = {relation.name: relation for relation in relations}
        names |= self.missing_relations(names, rules, applications)
        types = {
            entry.name: entry.definition
            for module in self._environment.modules.values()
            for entry in module.types.values()
            if entry.definition is not None
        }
        transformers = {application.transformer for application in applications}
        return program.TypedProgram(
            names,
            tuple(rules),
            types,
            ordered | found,
            {index.name: index for index in indexes},
            {name: self._transformer(name) for name in sorted(transformers)},
            tuple(applications),
        )

    def missing(
        self,
        known: Mapping[str, program.Function],
        relations: Iterable[program.Relation] = (),
        rules: Iterable[program.Rule] = (),
        functions: Iterable[program.Function] = (),
        indexes: Iterable[program.Index] = (),
        applications: Iterable[program.Apply] = (),
    ) -> dict[str, program.Function]:
        """Returns the functions of the library that these can reach and that are not known."""
        found: dict[str, program.Function] = {}
        expressions = _expressions(relations, rules, functions, indexes, applications)
        waiting = [name for expression in expressions for name in _called(expression)]
        while waiting:
            name = waiting.pop()
            if name not in known and name not in found:
                function = found[name] = self._library_function(name)
                if function.body is not None:
                    waiting.extend(_called(function.body))
        return found

    def missing_relations(
        self,
        known: Mapping[str, program.Relation],
        rules: Sequence[program.Rule],
        applications: Sequence[program.Apply] = (),
    ) -> dict[str, program.Relation]:
        """Returns the relations of the library that these mention and that are not known."""
        mentioned = _mentioned(rules, applications)
        return {name: self._library_relation(name) for name in sorted(mentioned - known.keys())}

    def _library_function(self, name: str) -> program.Function:
        entry = self._entries[name]
        known = _checked.get(entry)
        if known is None:
            diagnostics: list[Diagnostic] = []
            known = check_function(entry, self._environment, diagnostics)
            assert known is not None, f"the library is wrong: {''.join(each.render() for each in diagnostics)}"
            _checked[entry] = known
        return known

    def _library_relation(self, name: str) -> program.Relation:
        module, _, last = name.rpartition("::")
        found = check_relation(self._environment.modules[module].relations[last], self._environment, [])
        assert found is not None, "the library is right"
        return found

    def _transformer(self, name: str) -> program.Transformer:
        module, _, last = name.rpartition("::")
        entry = self._environment.modules[module].transformers[last]
        inputs = tuple((each, type_) for each, type_, _ in entry.inputs if type_ is not None)
        outputs = tuple((each, type_) for each, type_, _ in entry.outputs if type_ is not None)
        return program.Transformer(name, inputs, outputs, entry.span)


def _mentioned(rules: Iterable[program.Rule], applications: Iterable[program.Apply]) -> set[str]:
    found = {head.relation for rule in rules for head in rule.heads}
    for rule in rules:
        for literal in rule.body:
            if isinstance(literal, program.Positive | program.Negative):
                found.add(literal.atom.relation)
    for application in applications:
        found.update(application.outputs)
        found.update(each for each in application.inputs if isinstance(each, str))
    return found


def _called(expression: typed.Expression) -> Iterator[str]:
    for node in typed.walk(expression):
        if isinstance(node, typed.Call | typed.FunctionValue):
            yield node.function


def _expressions(
    relations: Iterable[program.Relation],
    rules: Iterable[program.Rule],
    functions: Iterable[program.Function],
    indexes: Iterable[program.Index],
    applications: Iterable[program.Apply],
) -> Iterator[typed.Expression]:
    """Yields all expressions of a program."""
    yield from (relation.key.expression for relation in relations if relation.key is not None)
    yield from (function.body for function in functions if function.body is not None)
    for index in indexes:
        yield from _of_atom(index.atom)
    for application in applications:
        yield from (each for each in application.inputs if not isinstance(each, str))
    for rule in rules:
        for head in rule.heads:
            yield from _of_atom(head)
        for literal in rule.body:
            yield from literal_expressions(literal)


def literal_expressions(literal: program.Literal) -> Iterator[typed.Expression]:
    """Yields the expressions of a literal, those inside patterns too."""
    match literal:
        case program.Positive(atom) | program.Negative(atom):
            yield from _of_atom(atom)
        case program.GroupBy(value=value, key=key):
            yield value
            yield key
        case program.RowAggregates(values):
            yield from (each.value for each in values if each.value is not None)
        case program.Destructure(pattern, expression) | program.FlatMap(pattern, expression):
            yield from _of_pattern(pattern)
            yield expression
        case program.Condition(expression) | program.Inspect(expression) | program.Assign(expression=expression):
            yield expression


def _of_atom(atom: program.Atom) -> Iterator[typed.Expression]:
    if atom.location is not None:
        yield atom.location
    for term in atom.terms:
        if isinstance(term, typed.Pattern):
            yield from _of_pattern(term)
        elif not isinstance(term, program.Wild):
            yield term


def _of_pattern(pattern: typed.Pattern) -> Iterator[typed.Expression]:
    for each in typed.subpatterns(pattern):
        if isinstance(each, typed.EqualPattern):
            yield each.expression
