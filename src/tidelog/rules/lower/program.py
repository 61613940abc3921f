"""`TypedProgram` → `RuleProgram`: the flat rules that engines run.

    Next(x, y + 1) :- Step(x, y), Step(x + 1, 2 * 3), not Step(y, _).

    Next(x, e#1) :- Step(x, y), var e#0 = x + 1, Step(e#0, 6), not Step#0(y), var e#1 = y + 1.
    Step#0(a) :- Step(a, _).

An expression in an atom gets a variable of its own, with a `#` in its name. It is computed before the atom; where it
reads a variable that the same atom binds, the atom binds both and a condition compares them. Expressions without
variables become constants. A pattern in an atom becomes a variable that is taken apart behind the atom. A negated atom
with wildcards reads a hidden projection of its relation to the columns that it names, shared by all rules; one with
patterns reads a hidden relation of the rows that the patterns let through. The literals before a `group_by` or an
`Inspect` become the body of a hidden relation. `R-1` and `S'` are hidden relations that the engine feeds. Hidden rules
come after the rules of the program.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidelog.check import program, typed
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError, UsageError
from tidelog.diagnostics.report import diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.functions.compile_functions import CompiledFunctions, compile_functions
from tidelog.functions.scalar import ScalarFunction, compile_scalar
from tidelog.library._runtime.registry import library_externs
from tidelog.library._runtime.representations import LIBRARY_TYPES
from tidelog.rules import ir
from tidelog.rules.analysis.weights import reads_weights
from tidelog.rules.lower.body import RuleLowering
from tidelog.rules.lower.checked_arithmetic import WRAP, with_checked_arithmetic
from tidelog.rules.lower.singleton import with_singleton
from tidelog.types import U64
from tidelog.values import Definitions

_WEIGHT, _TIME = "ddlog_weight", "ddlog_timestamp"
_ROLES = {"input": ir.Role.INPUT, "output": ir.Role.OUTPUT, "": ir.Role.INTERNAL}


FIRST_LAYOUT = 1
SPLIT_LAYOUT = 2  # from here on, grouped tuples have a column for each part (`rules.analysis.split_values`)
RECURSIVE_LAYOUT = 3  # from here on, sums and counts inside recursion are aggregates (`rules.analysis.aggregates`)
LAYOUT = RECURSIVE_LAYOUT


@dataclass(frozen=True, slots=True)
class Options:
    """How a program is compiled.

    `externs` are the Python functions of extern functions, by their qualified names. With `keep_duplicates` a group
    has one value for each instance of the body before it. With `output_internal` internal relations are outputs.
    `layout` says which columns hidden relations have; a stored database keeps that of the version that made it.
    With `overflow="error"` integers that do not fit end the epoch; otherwise they wrap.
    `dialect` is the language of the text, which is recognised where it is empty; `word_bits` is the size of numbers in
    Soufflé's language, and `macros` are defined before such a text. `waits_for_facts`: the facts of such a text count
    from the first transaction on, and not before, as in a batch run that reads all files first.
    """

    externs: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    keep_duplicates: bool = False
    output_internal: bool = False
    layout: int = LAYOUT
    overflow: str = WRAP
    dialect: str = ""
    word_bits: int = 32
    waits_for_facts: bool = False
    macros: Mapping[str, str] = field(default_factory=dict)


def lower_program(source: program.TypedProgram, options: Options, *, to_run: bool = True) -> ir.RuleProgram:
    """Returns the flat rules of a program, not yet stratified. Raises ProgramError for what no engine can run and,
    where it is `to_run`, UsageError when an extern function that a rule needs has no Python function."""
    source = with_checked_arithmetic(source, options.overflow)
    source = with_singleton(source, always=options.output_internal)
    externs = ChainMap(dict(options.externs), library_externs())  # type: ignore[arg-type]
    functions = compile_functions(source.functions, Definitions(source.types, LIBRARY_TYPES), externs)
    refuse_locations(source.rules)
    lowering = Lowering(source, functions, options)
    for rule in source.rules:
        lowering.add(rule)
    indexes = {index.name: lowering.index(index) for index in source.indexes.values()}
    for application in source.applications:
        lowering.apply(application, externs)
    relations, rules = lowering.finish()
    # Now, and not in the epoch that first needs it: what is missing is missing from the start.
    if to_run:
        functions.require_for(*expressions_of(rules))
    feeds, inspections = tuple(lowering.feeds.values()), tuple(lowering.inspections)
    return ir.RuleProgram(relations, rules, (), functions, indexes, feeds, inspections)


def expressions_of(rules: Iterable[ir.Rule]) -> Iterator[typed.Expression]:
    """Yields the expressions that may need a compiled Python function."""
    for rule in rules:
        for literal in rule.body:
            if isinstance(literal, ir.Condition | ir.Assign | ir.Unfold):
                yield literal.expression


class Lowering:
    """Lowers rules, beside the relations `known` that have been lowered already."""

    def __init__(
        self,
        source: program.TypedProgram,
        functions: CompiledFunctions,
        options: Options,
        known: Mapping[str, ir.Relation] | None = None,
    ) -> None:
        self._source = source
        self.functions = functions
        self.options = options
        self._relations = dict(known or {})
        for name, relation in source.relations.items():
            if name not in self._relations:
                self._relations[name] = self._relation(relation)
        self._rules: list[ir.Rule] = []
        self._first_id = 0
        self._hidden: list[tuple[ir.Atom, tuple[ir.Literal, ...], Span]] = []
        self._projections: set[str] = set()
        self.feeds: dict[str, ir.Feed] = {}
        self.inspections: list[ir.Inspection] = []

    def add(self, rule: program.Rule) -> None:
        """Lowers a rule: one flat rule for each of its heads, with one body up to the last `group_by`."""
        flat = self.body(rule, rule.heads[0].relation)
        attributes = {each.name: each.value for each in rule.attributes}
        for head in rule.heads:
            body, atom = flat.finish(head)
            flat_rule = ir.Rule(
                self._next_id(),
                atom,
                body,
                rule.span.text,
                rule.span,
                join=str(attributes.get("join", "")),
                maintain=str(attributes.get("maintain", "")),
                cycle=str(attributes.get("cycle", "")),
                max_rounds=int(attributes.get("max_rounds") or 0),
            )
            self._rules.append(flat_rule)

    def body(self, rule: program.Rule, head: str) -> RuleLowering:
        """Returns the lowered body of a rule; hidden relations are named after `head`."""
        flat = RuleLowering(self, head)
        for place, literal in enumerate(rule.body):
            if isinstance(literal, program.GroupBy):
                flat.group(literal, reads_weights(rule.body[place + 1 :], rule.heads, self._source.functions))
            else:
                flat.add(literal)
        return flat

    def index(self, index: program.Index) -> ir.Index:
        """Returns an index on the relation itself where its atom only names columns, else on a hidden relation of what
        fits."""
        target = self._relations[index.atom.relation]
        names = [term.name if isinstance(term, typed.Var) else None for term in index.atom.terms]
        keys = tuple(names.index(column.name) for column in index.columns if column.name in names)
        plain = len(keys) == len(index.columns) and all(
            isinstance(term, typed.Var | program.Wild) for term in index.atom.terms
        )
        columns = tuple(ir.Column(column.name, column.type) for column in index.columns)
        if plain:
            row = tuple(range(len(target.columns)))
            return ir.Index(index.name, target.name, target.name, keys, columns, row, index.span)
        flat = RuleLowering(self, target.name)
        terms = flat.positive(index.atom, whole=True)
        count = len(columns)
        name = f"{target.name}#index_{index.name}"
        variables = tuple(ir.Variable(column.name, column.type) for column in columns)
        self.hide(name, (*columns, *target.columns), (*variables, *terms), flat.body)
        row = tuple(range(count, count + len(target.columns)))
        return ir.Index(index.name, target.name, name, tuple(range(count)), columns, row, index.span)

    def apply(self, application: program.Apply, externs: Mapping[str, Callable[..., Any]]) -> None:
        """Adds a hidden relation of the transformer's result for each output, and the rule that reads it."""
        found = externs.get(application.transformer)
        if found is None:
            raise UsageError(
                f"extern transformer `{application.transformer}` has no Python function",
                code=Code.MISSING_EXTERN,
                help=f'give it when the program is compiled: externs={{"{application.transformer}": ...}}',
            )
        inputs: list[ir.Atom | ScalarFunction] = []
        for given in application.inputs:
            if isinstance(given, str):
                wild = (ir.Wildcard(),) * len(self._relations[given].columns)
                inputs.append(ir.Atom(given, wild, application.span))
            else:
                inputs.append(compile_scalar(given, (), self.functions))
        for place, output in enumerate(application.outputs):
            columns = self._relations[output].columns
            variables = tuple(ir.Variable(column.name, column.type) for column in columns)
            name = self.fresh_name(output, "apply")
            made = ir.Transform(
                application.transformer, found, tuple(inputs), place, application.span, len(application.outputs)
            )
            self.hide(name, columns, variables, (made,))
            self._relations[name] = replace(self._relations[name], explicit=self._relations[output].explicit)
            body = (ir.Positive(ir.Atom(name, variables, application.span)),)
            head = ir.Atom(output, variables, application.span)
            self._rules.append(ir.Rule(self._next_id(), head, body, application.span.text, application.span))

    def fed(self, atom: program.Atom) -> str:
        """Returns the relation that an atom reads: what it names, or a hidden one that the engine feeds."""
        if not atom.delay and not atom.latest:
            return atom.relation
        name = f"{atom.relation}'" if atom.latest else f"{atom.relation}-{atom.delay}"
        if name not in self.feeds:
            source = self._relations[atom.relation]
            kind = ir.Kind.MULTISET if atom.latest else source.kind
            self._relations[name] = ir.Relation(name, source.columns, ir.Role.HIDDEN, source.span, kind)
            self.feeds[name] = ir.Feed(name, atom.relation, atom.delay, atom.latest)
            if atom.latest:
                # The rule says that the stream comes first.
                variables = tuple(ir.Variable(column.name, column.type) for column in source.columns)
                body = (ir.Positive(ir.Atom(source.name, variables, source.span)),)
                self._hidden.append((ir.Atom(name, variables, source.span), body, source.span))
        return name

    def inspect(self, name: str, expression: typed.Expression) -> None:
        """Shows the changes of a hidden relation."""
        # A rule with several `Inspect`s has several such variables, with numbers behind their names.
        read = {node.name: node.type for node in typed.walk(expression) if isinstance(node, typed.Var)}
        weights = tuple(each for each in read if each.partition("#")[0] == _WEIGHT)
        times = tuple(each for each in read if each.partition("#")[0] == _TIME)
        names = (*(column.name for column in self._relations[name].columns), *weights, *times)
        function = compile_scalar(expression, names, self.functions)
        self.inspections.append(ir.Inspection(name, function, bool(weights), read[times[0]] if times else None))

    def declared(self, name: str) -> program.Relation:
        return self._source.relations[name]

    def _relation(self, relation: program.Relation) -> ir.Relation:
        role = _ROLES[relation.role]
        if role is ir.Role.INTERNAL and self.options.output_internal:
            role = ir.Role.OUTPUT
        key = relation.key
        return ir.Relation(
            relation.name,
            tuple(ir.Column(column.name, column.type) for column in relation.columns),
            role,
            relation.span,
            ir.Kind(relation.kind),
            relation.value,
            relation.explicit,
            None if key is None else compile_scalar(key.expression, (key.variable.name,), self.functions),
            None if key is None else key.expression.type,
            functional=_functional(relation),
        )

    def hide(
        self, name: str, columns: tuple[ir.Column, ...], terms: tuple[ir.Term, ...], body: tuple[ir.Literal, ...]
    ) -> None:
        """Adds a hidden relation with its only rule."""
        span = self._relations[name.split("#", 1)[0]].span
        read = [literal.atom.relation for literal in body if isinstance(literal, ir.Positive | ir.Group)]
        is_stream = any(self._relations[relation].kind is ir.Kind.STREAM for relation in read)
        kind = ir.Kind.STREAM if is_stream else ir.Kind.SET
        self._relations[name] = ir.Relation(name, columns, ir.Role.HIDDEN, span, kind)
        atom = ir.Atom(name, terms, _span_of(body, span))
        self._hidden.append((atom, body, atom.span))

    def hide_more(self, name: str, terms: tuple[ir.Term, ...], body: tuple[ir.Literal, ...]) -> None:
        """Adds another rule to a hidden relation."""
        atom = ir.Atom(name, terms, _span_of(body, self._relations[name].span))
        self._hidden.append((atom, body, atom.span))

    def relation(self, name: str) -> ir.Relation:
        """Returns a relation, declared or hidden."""
        return self._relations[name]

    def fresh_name(self, relation: str, kind: str) -> str:
        """Returns a name for a hidden relation made for one place in the program."""
        return f"{relation}#{kind}{len(self._hidden)}"

    def projection(self, atom: ir.Atom) -> ir.Atom:
        """Returns the atom without its wildcards, on the hidden relation that has only the other columns."""
        kept = [place for place, term in enumerate(atom.terms) if not isinstance(term, ir.Wildcard)]
        columns = tuple(self._relations[atom.relation].columns[place] for place in kept)
        name = f"{atom.relation}#{'_'.join(map(str, kept))}"
        if name not in self._projections:
            self._projections.add(name)
            variables = tuple(ir.Variable(column.name, column.type) for column in columns)
            terms: list[ir.Term] = [ir.Wildcard()] * len(atom.terms)
            for place, variable in zip(kept, variables):
                terms[place] = variable
            self.hide(name, columns, variables, (ir.Positive(ir.Atom(atom.relation, tuple(terms), atom.span)),))
        return ir.Atom(name, tuple(atom.terms[place] for place in kept), atom.span)

    def distinct(self, relation: str) -> str:
        """Returns a hidden relation with the rows of a set, each with the weight 1, whatever others ask of the set."""
        name = f"{relation}#distinct"
        if name not in self._projections:
            self._projections.add(name)
            columns = self._relations[relation].columns
            variables = tuple(ir.Variable(column.name, column.type) for column in columns)
            atom = ir.Atom(relation, variables, self._relations[relation].span)
            group = ir.Group(atom, ir.Variable("g#", U64), plain=False, aggregates=(), parts=0, of_rows=True)
            self.hide(name, columns, variables, (group,))
        return name

    def finish(self) -> tuple[Mapping[str, ir.Relation], tuple[ir.Rule, ...]]:
        from tidelog.rules.show import show_rule

        for head, body, span in self._hidden:
            rule = ir.Rule(self._next_id(), head, body, "", span)
            self._rules.append(replace(rule, text=show_rule(rule)))
        return self._relations, tuple(self._rules)

    def _next_id(self) -> int:
        return self._first_id + len(self._rules)


def _functional(relation: program.Relation) -> int:
    """Returns the number of key columns of a relation declared as `functional`; 0 for others."""
    attributes = (each.value for each in relation.attributes if each.name == "functional")
    return next((value for value in attributes if isinstance(value, int)), 0)


def refuse_locations(rules: Iterable[program.Rule]) -> None:
    """Raises ProgramError for heads whose rows belong to another place."""
    located = [head.location for rule in rules for head in rule.heads if head.location is not None]
    if located:
        raise ProgramError(
            tuple(
                diagnostic(Code.NOT_YET, "`@` in a head cannot be run yet", place.span, "no engine sends rows away")
                for place in located
            )
        )


def _span_of(body: tuple[ir.Literal, ...], otherwise: Span) -> Span:
    for literal in body:
        if isinstance(literal, ir.Positive | ir.Negative | ir.Group):
            return literal.atom.span
        if isinstance(literal, ir.Transform):
            return literal.span
    return otherwise
