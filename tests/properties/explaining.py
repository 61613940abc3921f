"""Explanations against the oracle: every proof replays, the shortest is the shortest, `why_not` names what fails.

A step replays when the oracle, given only the rows that the step rests on (and all rows for what it negates), derives
the step's row by the step's rule. Leaves are facts of the history, or of the program.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from tests.oracle.case import Case
from tests.oracle.evaluate import weigh
from tests.oracle.history import is_an_epoch, weigh_facts
from tests.oracle.instances import instances
from tests.oracle.program import (
    Assign,
    GroupBy,
    Literal,
    Negative,
    OverRows,
    Positive,
    Program,
    Rule,
    Var,
    terms_of,
    variables,
)
from tests.oracle.types import Row, Type, Weights
from tests.oracle.write import write_rule
from tests.properties.check import INSTANCE_LIMIT
from tests.properties.language import EngineReplay, from_engine
from tidelog.check import typed
from tidelog.database.queries.query import compile_query
from tidelog.diagnostics.errors import DataError, ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.engine.proof import Absence, Cut, FailedMatch, Origin, Proof
from tidelog.functions.scalar import compile_scalar
from tidelog.rules import ir
from tidelog.rules.lower.query import Query
from tidelog.rules.lower.unfold import compile_unfold
from tidelog.syntax.lex import lex
from tidelog.syntax.tokens import Kind

LEAVES = {Origin.INPUT, Origin.FACT, Origin.DELAYED, Origin.STREAM}
ROWS_AN_EPOCH = 12


def explanations_replay(
    case: Case, seed: int = 0, strategy: str = "elastic", replay_of: type[EngineReplay] = EngineReplay
) -> int:
    """After every epoch, some rows are explained in both ways; how many were."""
    rng = random.Random(seed)
    explained = 0
    for replay, facts, past in _epochs(case, strategy, replay_of):
        program = case.program
        least = None if any(_is_wide(rule) for rule in program.rules) else least_heights(program, facts, past[-1])
        rows = [
            (relation.name, row)
            for relation in program.relations
            if relation.kind != "stream" and relation.name in program.derived
            for row, weight in past[-1][relation.name].items()
            if weight > 0
        ]
        for name, row in rng.sample(rows, min(len(rows), ROWS_AN_EPOCH)):
            first, shortest = (_proof(replay, name, row, shortest=each) for each in (False, True))
            for proof in (first, shortest):
                _replays(proof, replay, program, facts, past)
                assert (proof.rows[0].relation, proof.rows[0].row) == (name, replay.row_in(name, row))
            heights = height(first), height(shortest)
            assert heights[1] <= heights[0], (
                f"{name}{row}: the shortest proof is {heights[1]} high, the first {heights[0]}"
            )
            assert shortest.is_shortest
            if least is not None:
                assert heights[1] == least[name, row], f"{name}{row}: {heights[1]} high, {least[name, row]} will do"
            explained += 1
    return explained


def absences_are_explained(
    case: Case, seed: int = 0, strategy: str = "elastic", replay_of: type[EngineReplay] = EngineReplay
) -> int:
    """After every epoch, for some rows that are not there, each rule names a literal that really fails."""
    rng = random.Random(seed)
    explained = 0
    for replay, _, past in _epochs(case, strategy, replay_of):
        for relation in case.program.relations:
            if relation.name not in case.program.derived or relation.kind == "stream":
                continue
            for row in _absent(relation.columns, past[-1], case.program, relation.name, rng):
                depth = rng.randint(1, 6)
                given = replay.row_in(relation.name, row)
                attempts = replay.engine.queries().why_not(relation.name, given, depth=depth)
                assert attempts is not None, f"{relation.name}{row} is not there"
                assert len(attempts) == sum(rule.head.relation == relation.name for rule in case.program.rules)
                for attempt in attempts:
                    assert attempt.is_sure
                    _really_fails(attempt, replay, depth)
                explained += 1
            for row, weight in past[-1][relation.name].items():
                if weight > 0:
                    assert replay.engine.queries().why_not(relation.name, replay.row_in(relation.name, row)) is None
                    break
    return explained


def height(proof: Proof) -> int:
    """The steps on the longest way down. Raises AssertionError for a proof that rests on itself."""
    heights: dict[int, int] = {}
    pending, entered = [0], set()
    while pending:
        number = pending[-1]
        below = [child for _, child in proof.rows[number].rows]
        waiting = [child for child in below if child not in heights]
        if not waiting:
            heights[number] = (proof.rows[number].origin not in LEAVES) + max((heights[b] for b in below), default=0)
            pending.pop()
            continue
        assert number not in entered, f"step {number} rests on itself"
        entered.add(number)
        pending += waiting
    return heights[0]


def least_heights(program: Program, facts: Weights, rows: Weights) -> dict[tuple[str, Row], int]:
    """The height of the lowest proof of every row, by going around until nothing gets lower."""
    heights = {(name, row): 0 for name, given in facts.items() for row, weight in given.items() if weight > 0}
    ways = []
    for rule in program.rules:
        atoms = [literal for literal in rule.body if isinstance(literal, Positive | Negative)]
        ways += [
            ((rule.head.relation, each.row), each.body, 1 if atoms else 0)
            for each in instances(rule, rows, INSTANCE_LIMIT)
        ]
    changed = True
    while changed:
        changed = False
        for key, body, adds in ways:
            if all(each in heights for each in body):
                found = adds + max((heights[each] for each in body), default=0)
                if found < heights.get(key, found + 1):
                    heights[key], changed = found, True
    return heights


def _epochs(
    case: Case, strategy: str, replay_of: type[EngineReplay]
) -> Iterator[tuple[EngineReplay, Weights, Sequence[Weights]]]:
    """The engine after each epoch, with the facts that it was given and the oracle's results so far."""
    program = case.program
    facts: Weights = {}
    past: list[Weights] = [weigh(program, facts, (), INSTANCE_LIMIT)]
    replay = replay_of(program, strategy)
    replay.open()
    yield replay, facts, past
    for transaction in case.history:
        before, facts = facts, weigh_facts(program, facts, transaction)
        if is_an_epoch(program, before, facts):
            past.append(weigh(program, facts, past, INSTANCE_LIMIT))
            replay.commit(transaction)
            yield replay, facts, past
        else:
            replay.commit(transaction)


def _proof(replay: EngineReplay, name: str, row: Row, *, shortest: bool) -> Proof:
    proof = replay.engine.queries().explain(name, replay.row_in(name, row), shortest=shortest)
    assert proof is not None, f"{name}{row} is there, and has no proof"
    return proof


def _is_wide(rule: Rule) -> bool:
    """Whether the rule becomes more than one step, or its rows come from elsewhere."""
    moments = any(isinstance(each, Positive | Negative) and each.atom.moment for each in rule.body)
    return moments or any(isinstance(each, GroupBy | OverRows) for each in rule.body)


def _replays(proof: Proof, replay: EngineReplay, program: Program, facts: Weights, past: Sequence[Weights]) -> None:
    names = {relation.name for relation in program.relations}
    for proved in proof.rows:
        if proved.relation not in names:
            continue
        row = replay.row_out(proved.relation, proved.row)
        if proved.origin is Origin.INPUT:
            assert facts[proved.relation].get(row, 0) != 0, f"{proved.relation}{row} was never inserted"
            continue
        assert proved.rule is not None
        assert proved.origin in (Origin.RULE, Origin.FACT), proved.origin
        rule = program.rules[proved.rule.id]
        assert rule.head.relation == proved.relation
        given: dict[str, dict[Row, int]] = {}
        for literal in rule.body:
            if isinstance(literal, Positive):
                given.setdefault(literal.atom.source, {})
            elif isinstance(literal, Negative):
                given[f"{literal.atom.source}!"] = dict(past[-1][literal.atom.relation])
        for source, found in _visible(proof, [number for _, number in proved.rows], names):
            base = source.rstrip("'").partition("-")[0]
            given[source][replay.row_out(base, found)] = 1
            _is_there(source, replay.row_out(base, found), past)
        heads = [each.row for each in instances(_with_own_negation(rule), given, INSTANCE_LIMIT)]
        assert row in heads, f"{proved.relation}{row} does not follow by {proved.rule.text} from {given}"


def _visible(proof: Proof, numbers: Sequence[int], names: set[str]) -> Iterator[tuple[str, Row]]:
    """The rows of relations that the program names, behind those that it does not."""
    pending = list(numbers)
    while pending:
        proved = proof.rows[pending.pop()]
        if proved.relation in names or proved.origin in (Origin.DELAYED, Origin.STREAM):
            yield proved.relation, proved.row
        else:
            pending += [number for _, number in proved.rows]


def _is_there(source: str, row: Row, past: Sequence[Weights]) -> None:
    if source.endswith("'"):
        assert row in past[-1][source[:-1]]
    elif "-" in source:
        name, _, ago = source.partition("-")
        assert row in past[-1 - int(ago)][name]
    else:
        assert row in past[-1][source]


def _with_own_negation(rule: Rule) -> Rule:
    """The rule reading what it negates from relations of their own, so that the others can be cut down."""

    def renamed(literal: Literal) -> Literal:
        if not isinstance(literal, Negative):
            return literal
        return Negative(replace(literal.atom, moment=f"{literal.atom.moment}!"))

    return replace(rule, body=tuple(map(renamed, rule.body)))


# Rows that are not there


def _absent(columns: Sequence[Type], rows: Weights, program: Program, name: str, rng: random.Random) -> list[Row]:
    """Some rows of the relation's types that it does not have, made of values that other rows have."""
    seen: list[list[Any]] = []
    for wanted in columns:
        values = {
            row[place]
            for relation in program.relations
            for place, type_ in enumerate(relation.columns)
            if type_ == wanted
            for row in rows[relation.name]
        }
        seen.append(sorted(values)[:4])
    absent = [row for row in product(*seen) if row not in rows[name]]
    return rng.sample(absent, min(len(absent), 4))


def _really_fails(attempt: FailedMatch, replay: EngineReplay, depth: int) -> None:
    """Under the binding, the literals that are said to hold do, and the one that is said to fail does; so do those of
    the rules below it, not deeper than asked for."""
    assert depth > 0
    if not attempt.fits:
        return
    while attempt.inner is not None:
        attempt = attempt.inner
    assert attempt.place is not None, "no weights cancel one another out here"
    assert not _may_hold(attempt.rule.body[attempt.place], attempt, replay), f"{attempt} holds"
    for place in attempt.done:
        assert _may_hold(attempt.rule.body[place], attempt, replay), f"{attempt} does not hold at {place}"
    if attempt.below is not None:
        _is_missing(attempt.below, replay, depth - 1)
    if attempt.present is not None:
        found = attempt.present.rows[0]
        assert found.row in _rows(found.relation, replay)
        height(attempt.present)


def _is_missing(absence: Absence, replay: EngineReplay, depth: int) -> None:
    """No row has these values, and each rule says why."""
    columns = absence.columns
    for row in _rows(absence.relation, replay):
        assert any(row[column] != value for column, value in columns.items()), f"{absence} is there: {row}"
    if absence.cut is not None:
        assert not absence.attempts
        assert (depth == 0) or absence.cut is not Cut.DEPTH
        return
    rules = [rule for rule in replay.engine.program.rules if rule.head.relation == absence.relation]
    assert len(absence.attempts) == len(rules)
    for attempt in absence.attempts:
        _really_fails(attempt, replay, depth)


def _may_hold(literal: ir.Literal, attempt: FailedMatch, replay: EngineReplay) -> bool:
    """Whether a literal holds under the binding, for some value of the variables that it leaves open."""
    values = attempt.values
    functions = replay.engine.program.functions
    match literal:
        case ir.Positive(atom):
            return any(_fits(atom, row, values) for row in _rows(atom.relation, replay))
        case ir.Negative(atom):
            return not any(_fits(atom, row, values) for row in _rows(atom.relation, replay))
        case ir.Condition(expression):
            names = sorted(typed.variables(expression))
            return bool(compile_scalar(expression, names, functions).call(*[values[name] for name in names]))
        case ir.Assign(variable, expression):
            names = sorted(typed.variables(expression))
            found = compile_scalar(expression, names, functions).call(*[values[name] for name in names])
            return bool(found == values.get(variable.name, found))
        case ir.Unfold(variables, _, expression):
            names = sorted(typed.variables(expression))
            ways = compile_unfold(literal, functions).call(*[values[name] for name in names])
            return any(all(values.get(v.name, part) == part for v, part in zip(variables, way)) for way in ways)
        case _:
            return False


def _rows(relation: str, replay: EngineReplay) -> list[Row]:
    return [row for row, weight in replay.engine.rows(relation) if weight > 0]


def _fits(atom: ir.Atom, row: Row, values: Mapping[str, Any]) -> bool:
    bound = dict(values)
    for term, found in zip(atom.terms, row, strict=True):
        if isinstance(term, ir.Constant) and term.value != found:
            return False
        if isinstance(term, ir.Variable) and bound.setdefault(term.name, found) != found:
            return False
    return True


# Queries


def _with_parameters(text: str, replay: EngineReplay) -> Query | None:
    """The query with a parameter in the place of each number and each plain string; None where that is no query."""
    written, params, end = "", dict[str, Any](), 0
    for token in lex(Source("<query>", text))[0]:
        is_number = token.kind is Kind.INTEGER and token.text.isdecimal()
        is_text = token.kind is Kind.STRING and token.text[1:-1].isalnum()
        if is_number or is_text:
            name = f"p{len(params)}"
            written += f"{text[end : token.start]}${name}"
            params[name] = int(token.text) if is_number else token.text[1:-1]
            end = token.end
    if not params:
        return None
    try:
        return compile_query(written + text[end:], replay.typed, replay.engine.program, params)
    except (ProgramError, DataError):
        return None  # a width, an index of a tuple, or a number whose type its place does not tell


def queries_agree(case: Case, replay_of: type[EngineReplay] = EngineReplay) -> int:
    """After every epoch, the body of each rule as a query has the oracle's answer; how many answers were compared."""
    asked = 0
    for replay, _, past in _epochs(case, "elastic", replay_of):
        for rule in case.program.rules:
            if not rule.body or any(isinstance(each, Positive | Negative) and each.atom.moment for each in rule.body):
                continue
            if any(isinstance(each, Positive) and _is_stream(each, case.program) for each in rule.body):
                continue
            text = write_rule(replace(rule, as_statement=False)).partition(" :- ")[2].strip()
            query = compile_query(text, replay.typed, replay.engine.program)
            found = {tuple(row) for row in replay.engine.queries().evaluate(query)}
            leaping = compile_query(f'#[join = "leapfrog"] {text}', replay.typed, replay.engine.program)
            assert {tuple(row) for row in replay.engine.queries().evaluate(leaping)} == found, f"{text}, by leapfrog"
            given = _with_parameters(text, replay)
            if given is not None:
                assert {tuple(row) for row in replay.engine.queries().evaluate(given)} == found, f"{text}, parameters"
            types = {each.name: each.type for each in _bound(rule)}
            # Groups and whole rows are not values of the oracle.
            unknown = {"group", *(relation.name for relation in case.program.relations)}
            columns = list(enumerate(query.answer.columns))
            places = [place for place, column in columns if types[column.name].kind not in unknown]
            names = [query.answer.columns[place].name for place in places]
            head = replace(rule.head, terms=tuple(Var(name, types[name]) for name in names))
            expected = {each.row for each in instances(replace(rule, head=head), past[-1], INSTANCE_LIMIT)}
            definitions = query.functions.definitions
            answer = {
                tuple(from_engine(row[place], types[name], definitions) for place, name in zip(places, names))
                for row in found
            }
            assert answer == expected, f"{text}: expected {expected}, found {answer}"
            asked += 1
    return asked


def _is_stream(literal: Positive, program: Program) -> bool:
    return any(each.name == literal.atom.relation and each.kind == "stream" for each in program.relations)


def _bound(rule: Rule) -> Iterator[Var]:
    for literal in rule.body:
        for term in terms_of(literal):
            yield from variables(term)
        if isinstance(literal, Assign | GroupBy):
            yield literal.variable
        if isinstance(literal, OverRows):
            yield from (each.variable for each in literal.values)
        if isinstance(literal, Positive) and literal.row is not None:
            yield literal.row
