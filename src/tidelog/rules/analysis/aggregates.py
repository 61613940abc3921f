"""Groups of which rules read only aggregates → those aggregates, so that an engine can update them value by value.

    Best(s, g.min(), g.count_distinct()) :- Sale(s, p), var g = p.group_by(s).

    G(s, g) :- group of M(s, _).                 G(s, a#0, a#1) :- a#0 = min, a#1 = count of M(s, _).
    Best(s, e#0, e#1) :- G(s, g),          →     Best(s, e#0, e#1) :- G(s, a#0, a#1),
        e#0 = g.min(), e#1 = g.count_distinct().     e#0 = a#0, e#1 = a#1.

The known aggregates are `count_distinct`, `min`, `max`, `first`, `key` and `to_vec().join(text)` of every group, and
`arg_min`, `arg_max`, `count`, `sum_of` and `map(f).join(text)` of the module `group`, also inside small functions
(`inline`). A group stays a group where a rule uses it in any other way. Inside recursion it stays one, too, unless the
recursion itself reads a sum or a count of it: least and greatest values alone may be monotone (`monotone.py`). An
aggregate must not fail on a value that the rule would not have evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.check import typed
from tidelog.check.rule.same_rule import RuleKey, structure_key
from tidelog.deep_recursion import deeply
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import compile_scalar
from tidelog.rules import ir
from tidelog.rules.lower.inline import inline
from tidelog.rules.lower.program import RECURSIVE_LAYOUT, Options
from tidelog.strong_components import strong_components
from tidelog.types import FunctionType, NamedType, ScaledType, TupleType, Type

_OF_ALL = {
    "ddlog_std::group_count_distinct": ir.AggregateKind.COUNT,
    "ddlog_std::group_min": ir.AggregateKind.MIN,
    "ddlog_std::group_first": ir.AggregateKind.MIN,
    "ddlog_std::group_max": ir.AggregateKind.MAX,
}
_OF_EACH = {
    "group::count": ir.AggregateKind.COUNT_IF,
    "group::sum_of": ir.AggregateKind.SUM,
    "group::arg_min": ir.AggregateKind.ARG_MIN,
    "group::arg_max": ir.AggregateKind.ARG_MAX,
}
# A recursion through one of these is not monotone, so nobody looks for the group there.
_OF_MANY = (ir.AggregateKind.COUNT, ir.AggregateKind.COUNT_IF, ir.AggregateKind.SUM)
# With duplicates, what else is in the instance of the body says which value comes first.
_ORDERED = ("ddlog_std::group_first", "group::arg_min", "group::arg_max", "ddlog_std::string_join")
_MOST_CALLS = 8  # of small functions inside one another

Relations = Mapping[str, ir.Relation]


class _StaysGroupError(Exception):
    """Something is done with the group that is no aggregate."""


def aggregates(program: ir.RuleProgram, options: Options) -> ir.RuleProgram:
    """Returns the program with aggregates wherever no rule needs the group as a value. Expects compiled functions."""
    relations, rules = with_aggregates(program.relations, program.rules, program.functions, options)
    return replace(program, relations=relations, rules=rules)


def with_aggregates(
    relations: Relations,
    rules: Sequence[ir.Rule],
    functions: CompiledFunctions,
    options: Options,
    others: Sequence[ir.Rule] = (),
) -> tuple[dict[str, ir.Relation], tuple[ir.Rule, ...]]:
    """Does the same for some of the rules of a program; `others` are the rest, which stay as they are."""
    from tidelog.rules.show import show_rule

    grouping = {rule.head.relation: rule for rule in rules if rule.group is not None and _is_group(rule.group)}
    if not grouping:
        return dict(relations), tuple(rules)
    inside = _in_recursion((*rules, *others))
    readers: dict[str, list[ir.Rule]] = {name: [] for name in grouping}
    for rule in rules:
        for atom in rule.positives:
            if atom.relation in readers:
                readers[atom.relation].append(rule)
    changed_relations, changed = dict(relations), {rule.id: rule for rule in rules}
    for name, rule in grouping.items():
        if name in inside and options.layout < RECURSIVE_LAYOUT:
            continue
        try:
            # One of these rules may read several groups, if one group is made of another.
            found, recursive = _Uses(rule, functions), _Uses(rule, functions)
            reading = [deeply(found.rewritten, changed[reader.id]) for reader in readers[name]]
            for reader in readers[name]:
                if name in inside and inside.get(reader.head.relation) == inside[name]:
                    deeply(recursive.rewritten, changed[reader.id])
        except _StaysGroupError:
            continue
        if name in inside and not any(each.kind in _OF_MANY for each in recursive.aggregates):
            continue
        made = found.grouping()
        changed[rule.id] = replace(made, text=show_rule(made))
        for reader in reading:
            reader = found.with_all(reader)
            changed[reader.id] = replace(reader, text=show_rule(reader)) if "#" in reader.head.relation else reader
        columns = relations[name].columns[: len(found.keys)]
        kept = tuple(ir.Column(f"a{place}", each.variable.type) for place, each in enumerate(found.aggregates))
        changed_relations[name] = replace(relations[name], columns=(*columns, *kept))
    return changed_relations, tuple(changed.values())


def _is_group(group: ir.Group) -> bool:
    """True if there is a group as a value, and nobody reads its weights."""
    return group.aggregates is None and not group.weighted


def _in_recursion(rules: Sequence[ir.Rule]) -> dict[str, int]:
    """Returns the relations that depend on themselves, with the number of their recursion."""
    graph: dict[str, list[str]] = {}
    for rule in rules:
        read = [atom.relation for atom in rule.atoms]
        graph.setdefault(rule.head.relation, []).extend(read)
        for name in read:
            graph.setdefault(name, [])
    components = enumerate(strong_components(graph))
    return {name: number for number, component in components if len(component) > 1 for name in component}


@dataclass(frozen=True, slots=True)
class _At:
    """Where in a rule an expression stands: whether it is evaluated for every group, and behind how many inlined
    calls."""

    always: bool
    calls: int = 0


class _Uses:
    """What the rules behind one group do with it."""

    def __init__(self, rule: ir.Rule, functions: CompiledFunctions) -> None:
        assert rule.group is not None
        self._rule = rule
        self._group = rule.group
        self._functions = functions
        self.keys = tuple(term for term in rule.group.atom.terms if isinstance(term, ir.Variable))
        self._has_duplicates = len(rule.group.atom.terms) > len(self.keys) + 1
        self._found: dict[RuleKey, ir.Aggregate] = {}
        self._name = ""

    @property
    def aggregates(self) -> tuple[ir.Aggregate, ...]:
        return tuple(self._found.values())

    def rewritten(self, rule: ir.Rule) -> ir.Rule:
        """Returns a rule behind the group, reading aggregates. Raises _StaysGroupError where it does anything else with
        it."""
        (atom,) = (each for each in rule.positives if each.relation == self._rule.head.relation)
        variable = atom.terms[-1]
        if not isinstance(variable, ir.Variable):
            return rule
        self._name = variable.name
        if variable in rule.head.terms or atom.terms[:-1] != self.keys:
            raise _StaysGroupError
        body: list[ir.Literal] = []
        always = True
        for literal in rule.body:
            match literal:
                case ir.Assign(expression=expression) | ir.Condition(expression) | ir.Unfold(expression=expression):
                    changed = self._changed(expression, _At(always))
                    body.append(literal if changed is expression else replace(literal, expression=changed))
                    always = always and isinstance(literal, ir.Assign)
                case ir.Positive(read) if read is atom:
                    body.append(literal)
                case _:
                    if variable in _terms(literal):
                        raise _StaysGroupError
                    body.append(literal)
                    always = False
        return replace(rule, body=tuple(body))

    def grouping(self) -> ir.Rule:
        """Returns the rule that groups, with the aggregates that were found."""
        terms = (*self.keys, *(each.variable for each in self.aggregates))
        head = replace(self._rule.head, terms=terms)
        return replace(self._rule, head=head, body=(replace(self._group, aggregates=self.aggregates),))

    def with_all(self, rule: ir.Rule) -> ir.Rule:
        """Returns a rewritten rule with an atom that has a term for every aggregate."""
        read = {name for literal in rule.body for name in _read(literal)}
        terms = [each.variable if each.variable.name in read else ir.Wildcard() for each in self.aggregates]

        def widened(literal: ir.Literal) -> ir.Literal:
            if isinstance(literal, ir.Positive) and literal.atom.relation == self._rule.head.relation:
                return ir.Positive(replace(literal.atom, terms=(*self.keys, *terms)))
            return literal

        return replace(rule, body=tuple(map(widened, rule.body)))

    def _changed(self, node: typed.Expression, at: _At) -> typed.Expression:
        """Returns the expression with a variable in the place of each aggregate."""
        if self._name not in typed.variables(node):
            return node
        if isinstance(node, typed.Var | typed.Closure):
            raise _StaysGroupError
        if isinstance(node, typed.Call):
            found = self._call(node, at)
            if found is not None:
                return found
        conditional = replace(at, always=False)
        match node:
            case typed.IfElse() | typed.Match():
                first = True

                def each(child: typed.Expression) -> typed.Expression:
                    nonlocal first
                    here, first = at if first else conditional, False
                    return self._changed(child, here)

                return typed.rebuilt(node, each)
            case typed.Binary(op="and" | "or" | "=>"):
                return replace(node, left=self._changed(node.left, at), right=self._changed(node.right, conditional))
            case typed.For() | typed.SetPlace() | typed.Return() | typed.Try():
                raise _StaysGroupError
            case _:
                return typed.rebuilt(node, lambda child: self._changed(child, at))

    def _call(self, node: typed.Call, at: _At) -> typed.Expression | None:
        """Returns the replacement of a call with the group in its arguments; None where the arguments themselves must
        be rewritten."""
        callees = self._functions.callees
        id_, _ = callees.resolve(node.function, node.type_arguments)
        name = callees.function(id_).name
        given = node.arguments
        if self._has_duplicates and name in _ORDERED:
            raise _StaysGroupError
        match given:
            case (first,) if self._is_group(first) and name in _OF_ALL:
                return self._kept(_OF_ALL[name], node, None, at)
            case (first,) if self._is_group(first) and name == "ddlog_std::group_key":
                return self._key(node)
            case (first, function) if self._is_group(first) and name in _OF_EACH:
                if _OF_EACH[name] is ir.AggregateKind.SUM and isinstance(node.type, ScaledType):
                    raise _StaysGroupError  # sums in kernels wrap, and these must not
                return self._kept(_OF_EACH[name], node, function, at)
            case (typed.Call() as inner, typed.Lit(separator)) if name == "ddlog_std::string_join":
                return self._joined(node, inner, str(separator), at)
        if not any(map(self._is_group, given)):
            return None
        inlined = inline(node, callees) if at.calls < _MOST_CALLS else None
        if inlined is None:
            raise _StaysGroupError
        return self._changed(inlined, replace(at, calls=at.calls + 1))

    def _joined(self, node: typed.Call, inner: typed.Call, separator: str, at: _At) -> typed.Expression | None:
        """Returns the text of a vector that is made of the group and of nothing else."""
        callees = self._functions.callees
        name = callees.function(callees.resolve(inner.function, inner.type_arguments)[0]).name
        match name, inner.arguments:
            case "ddlog_std::group_to_vec", (first,) if self._is_group(first):
                return self._kept(ir.AggregateKind.JOIN, node, None, at, separator)
            case "group::map", (first, function) if self._is_group(first):
                return self._kept(ir.AggregateKind.JOIN, node, function, at, separator)
        return None

    def _is_group(self, node: typed.Expression) -> bool:
        return isinstance(node, typed.Var) and node.name == self._name

    def _key(self, node: typed.Call) -> typed.Expression:
        """Returns the group's own key, from the variables that it is made of."""
        keys = tuple(typed.Var(key.name, type=key.type, span=node.span) for key in self.keys)
        if self._group.plain:
            return keys[0]
        if not isinstance(node.type, TupleType) or len(node.type.items) != len(keys):
            raise _StaysGroupError
        return typed.MakeTuple(keys, type=node.type, span=node.span)

    def _kept(
        self, kind: ir.AggregateKind, node: typed.Call, function: typed.Expression | None, at: _At, separator: str = ""
    ) -> typed.Expression:
        """Returns the variable of an aggregate; equal aggregates share one variable."""
        value = _value_type(self._group.variable.type)
        parameter, of = _applied(function, value)
        if of is not None:
            self._functions.require_for(of)
            if typed.variables(of) - {parameter.name, *(key.name for key in self.keys)}:
                raise _StaysGroupError
            if (typed.may_fail(of) and not at.always) or self._functions.has_side_effects(of):
                raise _StaysGroupError
        names = (parameter.name, *(key.name for key in self.keys))
        read = None if of is None else compile_scalar(of, names, self._functions)
        variable = ir.Variable(f"a#{len(self._found)}", node.type)
        found = ir.Aggregate(kind, variable, (parameter,), of, read, separator)
        known = self._found.setdefault(aggregate_key(found, self.keys), found)
        return typed.Var(known.variable.name, type=known.variable.type, span=node.span)


def aggregate_key(aggregate: ir.Aggregate, keys: Sequence[ir.Variable]) -> RuleKey:
    """Returns the key of an aggregate up to the names of its variables and of the group's keys."""
    names = tuple(each.name for each in (*aggregate.parameters, *keys))
    return aggregate.kind, aggregate.separator, structure_key(aggregate.of, names)


def _value_type(group: Type) -> Type:
    assert isinstance(group, NamedType)
    return group.arguments[1]


def _applied(function: typed.Expression | None, value: Type) -> tuple[ir.Variable, typed.Expression | None]:
    """Returns the result of a function on one value, as an expression over that value; None for the value itself."""
    parameter = ir.Variable("value#", value)
    if function is None:
        return parameter, None
    assert isinstance(function.type, FunctionType)
    given, made = typed.Var(parameter.name, type=value, span=function.span), function.type.result
    match function:
        case typed.Closure(parameters=(only,), body=body) if not only.mutable and _is_plain(body):
            parameter = ir.Variable(only.name, value)
            is_itself = isinstance(body, typed.Var) and body.name == only.name
            return parameter, None if is_itself else body
        case typed.FunctionValue(function=id_, type_arguments=type_arguments):
            return parameter, typed.Call(id_, type_arguments, (given,), type=made, span=function.span)
        case _:
            return parameter, typed.CallValue(function, (given,), type=made, span=function.span)


def _is_plain(body: typed.Expression) -> bool:
    """True if the body of a closure means the same outside of it."""
    return not any(isinstance(node, typed.Return | typed.Try | typed.SetPlace) for node in typed.walk(body))


def _terms(literal: ir.Literal) -> tuple[ir.Term, ...]:
    return literal.atom.terms if isinstance(literal, ir.Positive | ir.Negative) else ()


def _read(literal: ir.Literal) -> frozenset[str]:
    """Returns the variables that a literal's expression reads."""
    if isinstance(literal, ir.Assign | ir.Condition | ir.Unfold):
        return typed.variables(literal.expression)
    return frozenset()
