"""Randomness → a case of the wider language: values of all kinds, functions, patterns, `FlatMap`, groups, weights.

A relation has a level; a rule reads levels up to its own and negates only lower ones. A rule that reads its own level
makes no values that are larger than those it read, so every recursion ends, except one through a group that has no
fixed point: the oracle gives up on it, and the case does not count.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.oracle import vocabulary as words
from tests.oracle.case import Case
from tests.oracle.history import History, Transaction, Write
from tests.oracle.program import (
    Apart,
    Assign,
    Atom,
    Call,
    Condition,
    Const,
    Expression,
    GroupBy,
    Literal,
    Negative,
    Positive,
    Program,
    Relation,
    Rule,
    Term,
    Unpack,
    Var,
    Wildcard,
)
from tests.oracle.types import BOOL, STRING, Function, Row, Type, Value
from tests.oracle.vocabulary import N

Fact = tuple[str, Row]
COLUMNS = (
    *(N, N, N, STRING, words.PAIR, words.FIGURE, words.FIGURE, words.OPTION, words.POINT, words.VEC, words.SET),
    *(
        words.MAP,
        words.WORDS,
        words.BIG,
        words.DOUBLE,
        words.TREE,
        words.U64,
        BOOL,
        words.OPTION_TEXT,
        words.INTERNED,
        words.INTERNED,
        words.SHARED,
    ),
)
STRUCTURED = (words.PAIR, words.FIGURE, words.OPTION, words.POINT, words.SHARED)
VALUES_A_TYPE = 4
ROWS_A_RELATION = 14


@dataclass(frozen=True, slots=True)
class Features:
    """What may occur besides values, functions, patterns, `FlatMap` and groups outside recursion."""

    weights: bool = False
    multisets: bool = False
    streams: bool = False
    delays: bool = False
    grouped_recursion: bool = False
    many_groups: bool = False


PLAIN = Features()
FEATURES = (
    PLAIN,
    Features(weights=True),
    Features(weights=True, multisets=True),
    Features(weights=True, multisets=True, streams=True),
    Features(weights=True, delays=True),
    Features(grouped_recursion=True),
    Features(many_groups=True, multisets=True),
    Features(weights=True, multisets=True, streams=True, delays=True, grouped_recursion=True),
)


def random_language_case(rng: random.Random, features: Features = PLAIN) -> Case:
    """A program of the wider language, with a history."""
    maker = _Maker(rng, features)
    program = maker.program()
    return Case(program, maker.history(program))


@dataclass
class _Scope:
    """The variables that are bound so far in a body, in which only `shrinks` functions may be used or all of them."""

    rng: random.Random
    shrinks: bool
    variables: list[Var] = field(default_factory=list)
    made: int = 0

    def fresh(self, type_: Type) -> Var:
        self.made += 1
        return Var(f"v{self.made}", type_)

    def of_type(self, type_: Type) -> list[Var]:
        return [variable for variable in self.variables if variable.type == type_]

    def expression(self, type_: Type, depth: int) -> Expression:
        """An expression of the type."""
        rng, bound = self.rng, self.of_type(type_)
        if bound and (depth == 0 or rng.random() < 0.4):
            return rng.choice(bound)
        functions = [*words.SHRINKING, *([] if self.shrinks else words.GROWING)]
        fitting = [function for function in functions if function.result == type_ and self._has_some(function)]
        if fitting and depth > 0 and rng.random() < 0.8:
            return self.call(rng.choice(fitting), depth - 1)
        if bound:
            return rng.choice(bound)
        return self.constant(type_)

    def call(self, function: Function, depth: int) -> Expression:
        return Call(function, tuple(self.expression(type_, depth) for type_ in function.parameters))

    def constant(self, type_: Type) -> Expression:
        """A value of the type from its makers, down to literals."""
        makers = [
            function for function in words.MAKERS if function.result == type_ and type_ not in function.parameters
        ]
        if makers:
            return self.call_of_constants(self.rng.choice(makers))
        return Const(self.rng.choice(words.SAMPLES[type_]), type_)

    def call_of_constants(self, function: Function) -> Expression:
        return Call(function, tuple(self.constant(type_) for type_ in function.parameters))

    def _has_some(self, function: Function) -> bool:
        return any(self.of_type(type_) for type_ in function.parameters)


@dataclass
class _Maker:
    rng: random.Random
    features: Features
    relations: list[Relation] = field(default_factory=list)
    level: dict[str, int] = field(default_factory=dict)

    def program(self) -> Program:
        rng = self.rng
        types = [N, *(rng.choice(each) for each in (STRUCTURED, list(words.ITERABLES), COLUMNS) if rng.random() < 0.65)]
        for i in range(rng.randint(2, 3)):
            self._add_relation(f"E{i}", 0, types)
        for i in range(rng.randint(2, 5)):
            self._add_relation(f"P{i}", rng.randint(1, 3), types)
        rules = [
            self.rule(relation)
            for relation in self.relations
            if self.level[relation.name]
            for _ in range(rng.choice((1, 2, 2, 3)))
        ]
        rng.shuffle(rules)
        return Program(tuple(self.relations), tuple(rules))

    def _add_relation(self, name: str, level: int, types: Sequence[Type]) -> None:
        rng = self.rng
        columns = tuple(rng.choice(types) for _ in range(rng.choice((1, 2, 2, 3))))
        role = "input" if level == 0 else rng.choice(("output", "output", "output", "internal"))
        kind = "relation"
        chance = {"E0": 0.0, "E1": 0.8, "P0": 0.5}.get(name, 0.25)
        if self.features.streams and rng.random() < chance:
            kind = "stream"
        elif self.features.multisets and rng.random() < 0.4:
            kind = "multiset"
        self.relations.append(Relation(name, columns, role, kind))
        self.level[name] = level

    def rule(self, head: Relation) -> Rule:
        """A rule for the relation. A stream's rule reads one stream, all others none except through `'`."""
        rng, level = self.rng, self.level[head.name]
        tables = [each for each in self.relations if each.kind != "stream"]
        lower = [each for each in tables if self.level[each.name] < level]
        same = [each for each in tables if self.level[each.name] == level and each.kind == "relation"]
        recursive = head.kind == "relation" and rng.random() < 0.35
        scope = _Scope(rng, shrinks=recursive)
        body: list[Literal] = []
        negated = [] if head.kind == "stream" else [each for each in lower if each.kind == "relation"]
        streams = [each for each in self.relations if each.kind == "stream" and self.level[each.name] < level]
        if head.kind == "stream":
            if not streams:
                return Rule(Atom(head.name, tuple(scope.constant(type_) for type_ in head.columns)))
            body.append(self._atom(rng.choice(streams), scope))
        for _ in range(rng.choice((1, 1, 2, 2, 3)) - len(body)):
            relation = rng.choice(same if recursive and same and rng.random() < 0.6 else lower)
            body += self._row(relation, scope) if rng.random() < 0.1 else [self._atom(relation, scope)]
            if rng.random() < 0.5:
                body += self._extra(scope, negated)
        if streams and head.kind != "stream" and rng.random() < 0.25:
            body.append(self._atom(rng.choice(streams), scope, "'"))
        if self.features.delays and rng.random() < 0.25:
            delayed = rng.choice([each for each in tables if each.role != "internal"])
            body.append(self._atom(delayed, scope, rng.choice(("-1", "-1", "-2"))))
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            body += self._extra(scope, negated)
        chance = 0.6 if recursive else 0.8 if self.features.many_groups else 0.3
        if (not recursive or self.features.grouped_recursion) and rng.random() < chance:
            body += self._group(scope)
        terms = tuple(scope.expression(type_, 2) for type_ in head.columns)
        as_statement = rng.random() < 0.4 and all(isinstance(each, Positive | Condition | Assign) for each in body)
        return Rule(Atom(head.name, terms), tuple(body), as_statement)

    def _atom(self, relation: Relation, scope: _Scope, moment: str = "") -> Positive:
        terms = tuple(self._pattern(type_, scope, 2) for type_ in relation.columns)
        return Positive(Atom(relation.name, terms, moment))

    def _row(self, relation: Relation, scope: _Scope) -> list[Literal]:
        """`row in R(...)`, and one of the row's fields."""
        row = scope.fresh(Type(relation.name))
        place = self.rng.randrange(len(relation.columns))
        type_ = relation.columns[place]
        atom = self._atom(relation, scope)
        column = scope.fresh(type_)
        scope.variables.append(column)
        field_of = Function(f"{{0}}.c{place}", (row.type,), type_, lambda value: value.fields[place])
        return [replace(atom, row=row), Assign(column, Call(field_of, (row,)))]

    def _refusal(self, type_: Type, scope: _Scope, depth: int) -> Term:
        """A term of a negated atom: it binds nothing."""
        rng = self.rng
        shapes = [shape for shape in words.SHAPES if shape.type == type_]
        if shapes and depth and rng.random() < 0.3:
            shape = rng.choice(shapes)
            return Apart(shape, tuple(self._refusal(part, scope, depth - 1) for part in shape.parts))
        return Wildcard() if rng.random() < 0.3 else scope.expression(type_, 1)

    def _pattern(self, type_: Type, scope: _Scope, depth: int, new: bool = False) -> Term:
        """A term that may bind; `new`: every variable in it must be a new one, and nothing is computed."""
        rng = self.rng
        shapes = [shape for shape in words.SHAPES if shape.type == type_]
        bound = scope.of_type(type_)
        dice = rng.random()
        if shapes and depth and dice < 0.3:
            shape = rng.choice(shapes)
            return Apart(shape, tuple(self._pattern(part, scope, depth - 1, new) for part in shape.parts))
        if dice < 0.42:
            return Wildcard()
        if not new and bound and dice < 0.6:
            return rng.choice(bound)
        if not new and bound and depth == 2 and dice < 0.62:
            return scope.expression(type_, 1)
        fresh = scope.fresh(type_)
        scope.variables.append(fresh)
        return fresh

    def _extra(self, scope: _Scope, negated: Sequence[Relation]) -> list[Literal]:
        """A literal over what is bound so far; none when nothing fits."""
        rng = self.rng
        match rng.choice(("condition", "assign", "unpack", "flatmap", "flatmap", "flatmap", "negative")):
            case "negative":
                if not negated:
                    return []
                relation = rng.choice(negated)
                terms = tuple(self._refusal(type_, scope, 2) for type_ in relation.columns)
                return [Negative(Atom(relation.name, terms))]
            case "condition":
                return [Condition(scope.expression(BOOL, 2))] if scope.variables else []
            case "assign":
                type_ = rng.choice([variable.type for variable in scope.variables] or [N])
                made = scope.expression(type_, 2)
                if isinstance(made, Const):
                    return []
                fresh = scope.fresh(type_)
                scope.variables.append(fresh)
                return [Assign(fresh, made)]
            case "unpack":
                types = [type_ for type_ in {shape.type: 0 for shape in words.SHAPES} if scope.of_type(type_)]
                if not types:
                    return []
                value = scope.expression(rng.choice(types), 1)
                return [Unpack(self._pattern(value.type, scope, 2, new=True), value)]
            case _:
                types = [type_ for type_ in words.ITERABLES if scope.of_type(type_)]
                if not types:
                    return []
                value = scope.expression(rng.choice(types), 1)
                return [Unpack(self._pattern(words.ITERABLES[value.type], scope, 2, new=True), value, each=True)]

    def _group(self, scope: _Scope) -> list[Literal]:
        """`group_by` with some of the bound variables as its key, and what is done with the group."""
        rng = self.rng
        functions = [*words.GROUPED, *([words.WEIGHED] * 2 if self.features.weights else [])]
        functions += [] if scope.shrinks else words.AGGREGATED
        values = {function.parameters[0].items[0] for function in functions}
        grouped = [variable for variable in scope.variables if variable.type in values]
        if not grouped:
            return []
        value = scope.expression(rng.choice(grouped).type, 1)
        keys = tuple(rng.sample(scope.variables, min(len(scope.variables), rng.choice((0, 1, 1, 2)))))
        group = scope.fresh(words.group_of(value.type))
        scope.variables = [*keys]
        literals: list[Literal] = [GroupBy(group, value, keys)]
        fitting = [function for function in functions if function.parameters == (group.type,)]
        for function in rng.sample(fitting, min(len(fitting), rng.choice((1, 1, 2, 3)))):
            fresh = scope.fresh(function.result)
            literals.append(Assign(fresh, Call(function, (group,))))
            scope.variables.append(fresh)
        return literals

    def history(self, program: Program) -> History:
        """A load, then transactions that mix inserts and deletes."""
        rng = self.rng
        universe: list[Fact] = []
        for relation in program.named("input"):
            pools = [rng.sample(words.SAMPLES[t], min(VALUES_A_TYPE, len(words.SAMPLES[t]))) for t in relation.columns]
            rows: set[tuple[Value, ...]] = {tuple(map(rng.choice, pools)) for _ in range(ROWS_A_RELATION)}
            universe += [(relation.name, row) for row in sorted(rows)]
        kinds = {relation.name: relation.kind for relation in program.relations}
        held: dict[Fact, int] = {}
        history = []
        for number in range(rng.randint(3, 7)):
            share = rng.choice((0.6, 0.9)) if number == 0 else rng.choice((0.0, 0.1, 0.1, 0.3, 0.6))
            touched = rng.choices(universe, k=max(number > 0, round(len(universe) * share)))
            writes = []
            after = dict(held)
            for name, row in touched:
                here = after.get((name, row), 0)
                sign = -1 if kinds[name] != "stream" and here and rng.random() < 0.6 else +1
                after[name, row] = here + sign if kinds[name] == "multiset" else max(sign, 0)
                writes.append(Write(sign, name, (row,)))
            fails = rng.random() < 0.1
            history.append(Transaction(tuple(writes), fails))
            held = held if fails else after
        return tuple(history)
