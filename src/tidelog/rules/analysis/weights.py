"""Marks the relations that must know how often each of their rows is derived.

    output multiset Paid(c: u32)            Paid: weighted     a multiset
    Paid(c) :- Part(c).                     Part: weighted     an internal relation that Paid's weights come from
    Part(c) :- Order(_, c).                 Order: a set       an input; each row has the weight 1

Weighted are multisets and streams, the relations that an `Inspect` shows, and the members of a group if a rule reads
the weights of its values; also the internal, non-recursive relations below these, which their weights come from. Every
other relation is a set, and each of its rows has the weight 1.

The weight of a row is the sum over the rule instances that derive it of the product of the weights in their bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tidelog.check import program, typed
from tidelog.check.used_library import literal_expressions
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import diagnostic
from tidelog.rules.ir import Kind, Role, RuleProgram
from tidelog.types import NamedType, Type, parts

_GROUP = "ddlog_std::Group"


def weights(rules: RuleProgram) -> RuleProgram:
    """Returns the program with the relations that need weights marked as `weighted`; all others are the same objects.

    Raises ProgramError for an input multiset inside recursion.
    """
    _refuse_recursive_multisets(rules)
    relations = rules.relations
    wanted = [name for name, relation in relations.items() if relation.kind is not Kind.SET]
    wanted += [inspection.relation for inspection in rules.inspections]
    wanted += [rule.group.atom.relation for rule in rules.rules if rule.group is not None and rule.group.weighted]
    weighted = _weighed(wanted, rules) if wanted else set()
    marked = {
        name: relation if relation.weighted == (name in weighted) else replace(relation, weighted=name in weighted)
        for name, relation in relations.items()
    }
    return replace(rules, relations=marked)


def _refuse_recursive_multisets(rules: RuleProgram) -> None:
    """Raises ProgramError for input multisets inside recursion, where a row has no weight to add to."""
    recursive = (rules.relations[name] for stratum in rules.strata if stratum.recursive for name in stratum.relations)
    wrong = [each for each in recursive if each.kind is Kind.MULTISET and each.role is Role.INPUT]
    if wrong:
        raise ProgramError(
            tuple(
                diagnostic(
                    Code.NOT_YET,
                    f"`{relation.name}` is an input multiset that depends on itself, which cannot be run yet",
                    relation.span,
                    "rows of a recursive relation have no weights",
                    help="derive into another relation: `Derived(x) :- Given(x).`",
                )
                for relation in wrong
            )
        )


def _weighed(wanted: list[str], rules: RuleProgram) -> set[str]:
    """Returns the relations that are `wanted` and those that their weights come from."""
    recursive = {name for stratum in rules.strata if stratum.recursive for name in stratum.relations}
    sources = {feed.relation: feed for feed in rules.feeds}
    below: dict[str, set[str]] = {}
    for rule in rules.rules:
        below.setdefault(rule.head.relation, set()).update(atom.relation for atom in rule.positives)
    # One row for each key of another relation, or what a transformer makes: there all weights are 1.
    made_whole = {rule.head.relation for rule in rules.rules if rule.group is not None or rule.transform is not None}
    weighted: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in weighted or name in recursive:
            continue
        weighted.add(name)
        feed = sources.get(name)
        for source in below.get(name, set()) if feed is None else {feed.source}:
            if rules.relations[source].role in (Role.INTERNAL, Role.HIDDEN) and source not in made_whole:
                wanted.append(source)
        # What is delayed has the weights of its source.
        wanted += [each.relation for each in sources.values() if each.source == name]
    return weighted


def reads_weights(
    literals: Sequence[program.Literal],
    heads: Sequence[program.Atom],
    functions: Mapping[str, program.Function],
) -> bool:
    """True if what stands behind a `group_by` may look at the weights of the group's values."""
    expressions: list[typed.Expression] = []
    for literal in literals:
        match literal:
            case program.FlatMap(pattern, expression) if _is_group(expression.type) and _takes_weight(pattern, ()):
                return True
        expressions += literal_expressions(literal)
    for head in heads:
        terms = [term for term in head.terms if not isinstance(term, program.Wild | typed.Pattern)]
        if any(_holds_group(term.type) for term in terms):
            return True
        expressions += terms
    return any(_reads(expression) for expression in _reached(expressions, functions))


def _reached(
    expressions: Sequence[typed.Expression], functions: Mapping[str, program.Function]
) -> Iterator[typed.Expression]:
    """Yields the expressions, and the bodies of all functions that they can reach."""
    pending = list(expressions)
    seen: set[str] = set()
    while pending:
        expression = pending.pop()
        yield expression
        for node in typed.walk(expression):
            if isinstance(node, typed.Call | typed.FunctionValue) and node.function not in seen:
                seen.add(node.function)
                body = functions[node.function].body
                if body is not None:
                    pending.append(body)


def _reads(expression: typed.Expression) -> bool:
    return any(
        isinstance(node, typed.For) and _is_group(node.iterable.type) and _takes_weight(node.pattern, (node.body,))
        for node in typed.walk(expression)
    )


def _takes_weight(pattern: typed.Pattern, bodies: Sequence[typed.Expression]) -> bool:
    """True if the pattern for a pair of value and weight binds the weight to something that is read."""
    if isinstance(pattern, typed.AnyPattern):
        return False
    if not isinstance(pattern, typed.TuplePattern):
        return True
    weight = pattern.items[1]
    if isinstance(weight, typed.AnyPattern):
        return False
    if isinstance(weight, typed.BindPattern) and bodies:
        return any(weight.name in typed.variables(body) for body in bodies)
    return True


def _is_group(type_: Type) -> bool:
    return isinstance(type_, NamedType) and type_.name == _GROUP


def _holds_group(type_: Type) -> bool:
    return _is_group(type_) or any(_holds_group(part) for part in parts(type_))
