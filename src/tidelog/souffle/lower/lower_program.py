"""Strata and declarations of Soufflé's language → Tidelog's syntax tree and the transformers that it applies.

A relation that is read from a file and also derived, or written, is two: `R.facts` is the input, and `R` has its rows
and the derived ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.diagnostics.spans import Span
from tidelog.library._runtime.equivalence_closure import EquivalenceClosure
from tidelog.library._runtime.ordinal_table import OrdinalTable
from tidelog.souffle.check.declared import Declared
from tidelog.souffle.check.lattices import bounds_of
from tidelog.souffle.check.type_table import PRIMITIVES, TypeTable
from tidelog.souffle.evaluate.evaluate_stratum import ContinuedStratum, RecomputedStratum
from tidelog.souffle.evaluate.evaluate_terms import Shapes
from tidelog.souffle.lower.dominated import dominated_name, orders_of, undominated
from tidelog.souffle.lower.lower_outside import outside_relation, row_type
from tidelog.souffle.lower.lower_rules import RuleLowering
from tidelog.souffle.lower.lower_terms import Names, TermLowering, again
from tidelog.souffle.plan import terms
from tidelog.souffle.plan.clause_text import clause_row, clause_text
from tidelog.souffle.plan.number_values import NUMBERED, Numbering
from tidelog.souffle.plan.strata import Stratum
from tidelog.souffle.text import tree
from tidelog.syntax import ast
from tidelog.values.structs import Shape, classes

_LIBRARY = "souffle_functors"
LOADED = ".loaded"

Transformer = RecomputedStratum | EquivalenceClosure | OrdinalTable


@dataclass(frozen=True, slots=True)
class Clauses:
    """The relations in which a recomputed stratum has its clauses, and the rows of what is not among its `inputs`.

    `own` are the relations of the stratum. `counts` says whether its clauses may have counters.
    """

    table: str
    outside: str
    inputs: frozenset[str]
    own: frozenset[str]
    counts: bool


@dataclass(frozen=True, slots=True)
class Lowered:
    tree: ast.Program
    transformers: Mapping[str, Transformer]
    recomputed: Mapping[str, str]
    heads: Mapping[str, str]
    facts: Mapping[str, str]
    shapes: Shapes
    order: tuple[str, ...]
    waits: bool
    names: Names
    columns: Mapping[str, Sequence[tuple[str, str]]]
    clauses: Mapping[str, Clauses]


def lower_program(
    ordered: Sequence[Stratum],
    declared: Declared,
    span: Span,
    bits: int,
    ordinals: Mapping[str, Numbering],
    *,
    waits: bool = False,
) -> Lowered:
    """Returns Tidelog's program.

    With `waits`, facts of the text count when `LOADED` has its row: before that, files are not read yet, and a
    recursion that a negated atom ends might have no end.
    """
    strict = any(
        isinstance(step, terms.Absent | terms.Fold)
        for stratum in ordered
        for rule in stratum.rules
        for step in rule.steps
    )
    has_input = any(each.kind == "input" for each in declared.directives)
    return _Lowering(ordered, declared, span, bits, ordinals, waits=waits and strict and has_input).run()


class _Lowering:
    def __init__(
        self,
        ordered: Sequence[Stratum],
        declared: Declared,
        span: Span,
        bits: int,
        ordinals: Mapping[str, Numbering],
        *,
        waits: bool,
    ) -> None:
        self._ordinals = ordinals
        self._waits = waits
        self._strata, self._declared, self._span, self._bits = ordered, declared, span, bits
        self._names, self._fields = _names(declared, bits)
        self._columns = {
            name: [(each.name, declared.types.kinds[each.type]) for each in relation.attributes]
            for name, relation in declared.relations.items()
        }
        self._rules = RuleLowering(TermLowering(self._names), self._columns)
        self._shapes = _shapes(declared.types, self._names, self._fields)
        self._transformers: dict[str, Transformer] = {}
        self._recomputed: dict[str, str] = {}
        self._heads = {name: f"{name}.pairs" for each in ordered if each.is_closure for name in each.relations}
        self._orders = {each.relations[0]: found for each in ordered if (found := orders_of(each)) is not None}
        self._heads |= {name: f"{name}.candidates" for name in self._orders}
        self._facts: dict[str, str] = {}
        self._counting = [each for each in ordered if each.counts]
        self._clauses: dict[str, Clauses] = {}

    def run(self) -> Lowered:
        items = self._rules.items
        items.append(ast.Import(ast.Name(_LIBRARY, span=again(self._span)), None, span=again(self._span)))
        self._types(items)
        self._functors(items)
        derived = {rule.head for stratum in self._strata for rule in stratum.rules}
        special = {name for stratum in self._strata if stratum.why for name in stratum.relations}
        tables = {each.table for each in self._ordinals.values()}
        is_recomputed = bool(special - set(self._heads) - tables)
        for name, relation in self._declared.relations.items():
            if name in self._declared.inline() and name not in derived:
                continue
            self._relation(name, relation, name in derived or name in special)
        if self._waits:
            self._rules.relation(LOADED, (), "input", self._span)
        if is_recomputed:
            items.append(row_type(TermLowering(self._names), (*PRIMITIVES, *self._names.types), self._span))
        for stratum in self._strata:
            if stratum.is_closure:
                self._close(stratum)
            elif stratum.relations[0] in self._orders:
                self._select(stratum)
            elif stratum.why == NUMBERED:
                self._number(stratum)
            elif stratum.why:
                self._recompute(stratum)
            else:
                for rule in stratum.rules:
                    self._rules.rule(self._fact(rule))
        whole = ast.Program(tuple(items), span=self._span)
        order = tuple(name for stratum in self._strata for name in sorted(stratum.relations))
        return Lowered(
            whole,
            self._transformers,
            self._recomputed,
            self._heads,
            self._facts,
            self._shapes,
            order,
            self._waits,
            self._names,
            self._columns,
            self._clauses,
        )

    def _fact(self, rule: terms.Planned) -> terms.Planned:
        """Returns a rule; one that reads nothing waits, if facts have to."""
        if not self._waits or any(isinstance(step, terms.Scan) for step in rule.steps):
            return rule
        return replace(rule, steps=(terms.Scan(LOADED, (), rule.span), *rule.steps))

    # Declarations

    def _relation(self, name: str, relation: tree.RelationDeclaration, is_derived: bool) -> None:
        columns = [(each.name, self._declared.types.kinds[each.type]) for each in relation.attributes]
        is_input = bool(self._declared.given("input", name))
        is_output = bool(self._declared.given("output", name) or self._declared.given("printsize", name))
        if is_input and not is_derived and not is_output:
            self._rules.relation(name, columns, "input", relation.span)
            self._facts[name] = name
            return
        self._rules.relation(name, columns, "output" if is_output else "", relation.span)
        if is_input:
            facts = f"{name}.facts"
            self._rules.relation(facts, columns, "input", relation.span)
            self._facts[name] = facts
            self._ask(name, facts, columns, relation.span)
            if name in self._heads or name not in {
                each for stratum in self._strata if stratum.why for each in stratum.relations
            }:
                self._rules.copy(self._heads.get(name, name), facts, [kind for _, kind in columns], relation.span)

    def _types(self, items: list[ast.Item]) -> None:
        for kind, name in self._names.types.items():
            declaration = self._declared.types.declarations[kind]
            span = declaration.span
            constructors = []
            for branch, fields in _constructors(kind, self._declared.types):
                made = tuple(
                    ast.Field(
                        ast.Name(self._fields[kind, branch][place], span=again(span)),
                        self._names.type(self._declared.types.kinds[each.type], again(span)),
                        span=again(span),
                    )
                    for place, each in enumerate(fields)
                )
                own = again(span)
                constructor = ast.Name(self._names.constructors[kind, branch], span=own)
                constructors.append(ast.Constructor(constructor, made, span=again(span)))
            definition = ast.Constructors(tuple(constructors), span=again(span))
            items.append(ast.TypeDeclaration(ast.Name(name, span=span), (), definition, span=span))

    def _functors(self, items: list[ast.Item]) -> None:
        kinds = self._declared.types.kinds
        for name, functor in self._declared.functors.items():
            span = functor.span
            parameters = tuple(
                ast.Parameter(
                    ast.Name(f"p{place}", span=again(span)),
                    ast.ArgumentType(False, self._names.type(kinds[each.type], again(span)), span=again(span)),
                    span=again(span),
                )
                for place, each in enumerate(functor.parameters)
            )
            result = self._names.type(kinds[functor.result], again(span))
            items.append(ast.FunctionDeclaration(ast.Name(name, span=span), parameters, result, None, span=span))

    # Equivalence relations

    def _close(self, stratum: Stratum) -> None:
        """Derives the pairs of an equivalence relation like any rows, and applies the closure to them."""
        (name,) = stratum.relations
        relation, pairs = self._declared.relations[name], self._heads[name]
        self._rules.relation(pairs, self._columns[name], "", relation.span)
        for rule in stratum.rules:
            self._rules.rule(self._fact(replace(rule, head=pairs)))
        columns = tuple(each.name for each in relation.attributes)
        (row_class,) = classes(Shape(name, ((name, columns),), False))
        called = f"{name}.classes"
        self._transformers[called] = EquivalenceClosure(row_class)
        self._apply(called, (pairs,), (name,))

    # Ordinals

    def _ask(self, name: str, facts: str, columns: Sequence[tuple[str, str]], span: Span) -> None:
        """Asks for the ordinals of the facts of an input, where a table has to have them."""
        variables = tuple(terms.Var(f"c{place}", kind) for place, (_, kind) in enumerate(columns))
        for table in self._ordinals.values():
            for place in sorted(place for one, place in table.facts if one == name):
                scan = terms.Scan(facts, variables, span)
                self._rules.rule(terms.Planned(table.asked, (variables[place],), (scan,), span))

    def _number(self, stratum: Stratum) -> None:
        """Applies the transformer that keeps a table of ordinals."""
        (name,) = stratum.relations
        (asked,) = terms.reads(stratum.rules[0].steps[0])
        columns = tuple(column for column, _ in self._columns[name])
        (row_class,) = classes(Shape(name, ((name, columns),), False))
        is_text = self._columns[name][0][1] == "symbol"
        called = f"{name}.table"
        self._transformers[called] = OrdinalTable(row_class, self._symbols() if is_text else ())
        self._apply(called, (asked,), (name,))

    # Subsumption

    def _select(self, stratum: Stratum) -> None:
        """Derives the rows of a relation that no other row dominates."""
        (name,) = stratum.relations
        relation, candidates = self._declared.relations[name], self._heads[name]
        self._rules.relation(candidates, self._columns[name], "", relation.span)
        for rule in stratum.rules:
            if rule.better is None:
                self._rules.rule(self._fact(replace(rule, head=candidates)))
        rules = undominated(stratum, self._orders[name], self._declared.kinds(name), candidates)
        if any(rule.head != name for rule in rules):
            self._rules.relation(dominated_name(name), self._columns[name], "", relation.span)
        self._columns[candidates] = self._columns[name]
        for rule in rules:
            self._rules.rule(rule)

    # Recomputed strata

    def _recompute(self, stratum: Stratum) -> None:
        own = set(stratum.relations)
        read = {name for rule in stratum.rules for step in rule.steps for name in terms.reads(step)} - own
        fixed = []
        for name in stratum.relations:
            if name in self._facts:
                facts = self._facts[name]
                columns = tuple(terms.Var(f"c{place}", kind) for place, kind in enumerate(self._declared.kinds(name)))
                span = self._declared.relations[name].span
                fixed.append(terms.Planned(name, columns, (terms.Scan(facts, columns, span),), span))
                read.add(facts)
        inputs, outputs = tuple(sorted(read)), tuple(sorted(own))
        relations = {name: self._declared.relations[name] for name in outputs}
        continues = any(each.dependencies for each in relations.values()) or stratum.counts
        transformer = (ContinuedStratum if continues else RecomputedStratum)(
            inputs,
            outputs,
            stratum.rules,
            {name: tuple(each.name for each in relation.attributes) for name, relation in relations.items()},
            frozenset(name for name, relation in relations.items() if "eqrel" in relation.qualifiers),
            {
                name: tuple(
                    tuple([each.name for each in relation.attributes].index(one) for one in names)
                    for names, _ in relation.dependencies
                )
                for name, relation in relations.items()
                if relation.dependencies
            },
            {
                name: int(dict(directive.parameters).get("n", "0"))
                for name in outputs
                for directive in self._declared.given("limitsize", name)
            },
            self._shapes,
            self._bits,
            self._counting.index(stratum) if stratum in self._counting else 0,
            max(1, len(self._counting)),
            self._symbols() if stratum.why == "choice-domain" else (),
            {name: bounds for name in outputs if (bounds := bounds_of(name, self._declared))},
            tuple(fixed),
        )
        called = f"{outputs[0]}.recompute"
        self._transformers[called] = transformer
        self._recomputed |= dict.fromkeys(outputs, stratum.why)
        clauses = Clauses(
            f".clauses.{outputs[0]}", f".outside.{outputs[0]}", frozenset(inputs), frozenset(own), stratum.counts
        )
        self._clauses |= dict.fromkeys(outputs, clauses)
        span = self._declared.relations[outputs[0]].span
        self._rules.relation(clauses.table, [("clause", "symbol")], "", span)
        self._rules.items.append(outside_relation(clauses.outside, span))
        for rule in {clause_text(rule): rule for rule in stratum.rules}.values():
            self._rules.rule(self._fact(clause_row(clauses.table, rule)))
        self._apply(called, (*inputs, clauses.table, clauses.outside), outputs)

    def _symbols(self) -> tuple[str, ...]:
        """Returns the symbols that the program's text mentions, in its order."""
        found: dict[str, None] = {}
        for clause in self._declared.clauses:
            for node in tree.walk(clause):
                if isinstance(node, tree.Text):
                    found.setdefault(node.value)
        return tuple(found)

    def _apply(self, called: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        span = self._declared.relations[outputs[0]].span
        name = ast.Name(called, span=again(span))

        def parameters(names: Sequence[str]) -> tuple[ast.TransformerParameter, ...]:
            return tuple(
                ast.TransformerParameter(
                    ast.Name(each, span=again(span)),
                    ast.RelationType(ast.NamedType(each, span=again(span)), span=again(span)),
                    span=again(span),
                )
                for each in names
            )

        self._rules.items.append(
            ast.TransformerDeclaration(name, parameters(inputs), parameters(outputs), span=again(span))
        )
        given = tuple(ast.Name(each, span=again(span)) for each in inputs)
        made = tuple(ast.Name(each, span=again(span)) for each in outputs)
        self._rules.items.append(ast.Apply(ast.Name(called, span=again(span)), given, made, span=again(span)))


def _constructors(kind: str, types: TypeTable) -> list[tuple[str, tuple[tree.Attribute, ...]]]:
    if kind in types.records:
        return [("nil", ()), ("", types.records[kind])]
    return [(branch.name, branch.fields) for branch in types.unions[kind]]


def _names(declared: Declared, bits: int) -> tuple[Names, dict[tuple[str, str], tuple[str, ...]]]:
    """Returns names of types and constructors that differ from those of relations, and the fields of constructors."""
    taken = set(declared.relations) | {f"{name}.facts" for name in declared.relations}
    kinds = [*declared.types.records, *declared.types.unions]
    types: dict[str, str] = {}
    constructors: dict[tuple[str, str], str] = {}
    fields: dict[tuple[str, str], tuple[str, ...]] = {}
    for kind in kinds:
        types[kind] = _free(kind, taken)
    taken = set(declared.relations)
    for kind in kinds:
        seen: dict[str, str] = {}
        for branch, attributes in _constructors(kind, declared.types):
            wanted = {"": kind, "nil": f"{kind}.nil"}.get(branch, branch) if kind in declared.types.records else branch
            constructors[kind, branch] = _free(wanted, taken)
            names = []
            for attribute in attributes:
                type_ = declared.types.kinds.get(attribute.type, "")
                name = attribute.name
                if seen.setdefault(name, type_) != type_:
                    name = f"{branch}.{name}"
                names.append(name)
            fields[kind, branch] = tuple(names)
    kinds_of = {
        (kind, branch): tuple(declared.types.kinds.get(each.type, "number") for each in attributes)
        for kind in kinds
        for branch, attributes in _constructors(kind, declared.types)
    }
    return Names(types, constructors, bits, kinds_of), fields


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"{name}'"
    taken.add(name)
    return name


def _shapes(types: TypeTable, names: Names, fields: Mapping[tuple[str, str], tuple[str, ...]]) -> Shapes:
    made: dict[str, Shape] = {}
    places: dict[tuple[str, str], int] = {}
    for kind in names.types:
        found = _constructors(kind, types)
        constructors = tuple((names.constructors[kind, branch], fields[kind, branch]) for branch, _ in found)
        made[kind] = Shape(names.types[kind], constructors, _is_recursive(kind, types))
        places |= {(kind, branch): place for place, (branch, _) in enumerate(found)}
    return Shapes(made, places)


def _is_recursive(kind: str, types: TypeTable) -> bool:
    seen: set[str] = set()
    waiting = [kind]
    while waiting:
        each = waiting.pop()
        for _, attributes in _constructors(each, types):
            for attribute in attributes:
                inner = types.kinds.get(attribute.type, "")
                if inner == kind:
                    return True
                if inner not in seen and inner not in PRIMITIVES and inner:
                    seen.add(inner)
                    waiting.append(inner)
    return False
