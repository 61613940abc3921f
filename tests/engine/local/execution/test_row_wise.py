"""Waves that go head by head give the rows, and the numbers, that usual waves give."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tidelog
from tidelog.diagnostics.errors import EvaluationError, InternalError
from tidelog.engine.interface import Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.execution import row_made_words, row_wise, row_wise_lists, row_wise_workers
from tidelog.engine.local.execution.row_domains import columns_read, domains_of
from tidelog.engine.local.execution.row_wise_code import part_of
from tidelog.engine.local.execution.row_wise_plan import NO_PREFIX, RowWisePlan
from tidelog.engine.local.execution.row_wise_rules import Planner, fits
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import row_wise as kernels
from tidelog.maintain.limits import Limits

NEVER = 1 << 60
INPUTS = """
input relation A(a: s64, b: s64)
input relation B(a: s64, b: s64)
input relation C(a: s64)
input relation D(a: s64, b: s64, c: s64)
"""
COLUMNS = {"A": 2, "B": 2, "C": 1, "D": 3}
# By the number of columns of the head.
BASES = {
    1: ("{0}(x) :- C(x).", "{0}(y) :- A(y, _)."),
    2: ("{0}(x, y) :- A(x, y).", "{0}(x, y) :- B(y, x).", "{0}(x, z) :- D(x, _, z).", "{0}(x, y) :- A(x, y), C(x)."),
    3: ("{0}(x, y, z) :- D(z, x, y).", "{0}(x, y, y) :- B(y, x)."),
    4: ("{0}(x, y, z, x) :- D(z, x, y).", "{0}(x, y, z, w) :- A(x, y), B(z, w), C(x)."),
}
FILTERS = ("{0} < {1}", "{0} + {1} > 3", "{0} != {1}", "({0} & 1) == 1 or {1} >= 2", "{0} % 2 == 0")
MAKERS = ("({0} + 1) % 9", "({0} * 3 + {1}) & 7", "if ({0} < {1}) {{ {0} }} else {{ 4 }}", "{0} % 5 - {1} % 3")
CLOSURE = INPUTS + "output relation P(a: s64, b: s64)\nP(x, y) :- A(x, y).\nP(x, z) :- P(x, y), P(y, z).\n"

Facts = dict[str, list[tuple[int, ...]]]


def random_program(rng: random.Random, widest: int = 2, makes: float = 0) -> tuple[str, Sequence[str]]:
    """One to three relations that depend on one another, of two columns or of up to `widest`; their names. `makes`:
    the part of the columns of heads whose words are made."""
    inside = ("P", "Q", "R")[: rng.randint(1, 3)]
    columns = COLUMNS | {name: 2 if widest == 2 else rng.randint(1, widest) for name in inside}
    lines = [INPUTS]
    for name in inside:
        lines.append(f"output relation {name}({', '.join(f'{c}: s64' for c in 'abcd'[: columns[name]])})")
    for name in inside:
        lines.append(rng.choice(BASES[columns[name]]).format(name))
        lines += [random_rule(rng, name, inside, columns, makes) for _ in range(rng.randint(1, 3))]
    return "\n".join(lines), inside


def random_rule(
    rng: random.Random, head: str, inside: Sequence[str], columns: Mapping[str, int], makes: float = 0
) -> str:
    count = rng.randint(1, 4)
    names = [rng.choice(inside), *(rng.choice([*COLUMNS, *inside]) for _ in range(count - 1))]
    rng.shuffle(names)
    used: list[str] = []
    body = []
    for name in names:
        terms = []
        for _ in range(columns[name]):
            kind = rng.random()
            if kind < 0.45 and used:
                terms.append(rng.choice(used))
            elif kind < 0.5:
                terms.append(str(rng.randint(0, 5)))
            elif kind < 0.58:
                terms.append("_")
            else:
                terms.append(rng.choice("xyzuvw"[: count + 2]))
        used += [term for term in terms if term.isalpha() and term not in used]
        body.append(f"{name}({', '.join(terms)})")
    if not used:
        used.append("x")
        body.append("A(x, _)")
    if rng.random() < 0.2:
        body.append(f"not B({rng.choice(used)}, {rng.choice(used)})")
    if rng.random() < 0.2:
        body.append(rng.choice(FILTERS).format(rng.choice(used), rng.choice(used)))
    terms = [rng.choice(used) if rng.random() < 0.95 else str(rng.randint(0, 5)) for _ in range(columns[head])]
    if rng.random() < makes:
        made = rng.choice(MAKERS).format(rng.choice(used), rng.choice(used))
        terms[rng.randrange(len(terms))] = made
        if rng.random() < 0.3:
            body += [f"var m = {made}", f"m != {rng.choice(used)}", "not B(m, m)"]
    return f"{head}({', '.join(terms)}) :- {', '.join(body)}."


def random_facts(rng: random.Random) -> Facts:
    """Facts over a few numbers: small ones, which are their own ids, or others."""
    count, factor, offset = rng.randint(3, 14), *rng.choice([(1, 0), (1, 0), (10**15, -7)])

    def rows(columns: int, most: int) -> list[tuple[int, ...]]:
        return sorted({tuple(rng.randrange(count) * factor + offset for _ in range(columns)) for _ in range(most)})

    return {"A": rows(2, 3 * count), "B": rows(2, 2 * count), "C": rows(1, count // 2), "D": rows(3, count)}


def running(text: str, threads: int = 1, limits: Limits | None = None) -> LocalEngine:
    engine = LocalEngine(tidelog.compile(text).stages.rules, threads=threads, limits=limits)
    engine.open()
    return engine


def state(engine: LocalEngine, relation: str) -> list[tuple[Any, ...]]:
    """The rows of a relation with their numbers."""
    return sorted(tuple(row.values()) for row in engine.state_table(relation).to_pylist())


def insert(facts: Facts) -> list[Operation]:
    return [Operation(name, 1, rows) for name, rows in facts.items()]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_have_the_same_state(seed: int) -> None:
    rng = random.Random(seed)
    require_same_state(rng, *random_program(rng))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_of_any_width_have_the_same_state(seed: int) -> None:
    rng = random.Random(seed)
    text, inside = random_program(rng, widest=4)
    # All counters in hash tables that have to grow, and all keys of several columns in tables.
    with (
        mock.patch.object(row_wise_workers, "DENSE_VALUES", rng.choice([0, 1 << 22])),
        mock.patch.object(row_wise_workers, "HASH_SLOTS", rng.choice([4, 1 << 12])),
        mock.patch.object(row_wise_lists, "FEW_KEYS", rng.choice([-(1 << 40), 1 << 20])),
        mock.patch.object(row_wise_lists, "SMALLEST_TABLE", rng.choice([4, 1 << 10])),
    ):
        require_same_state(rng, text, inside)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_that_make_words_have_the_same_state(seed: int) -> None:
    rng = random.Random(seed)
    text, inside = random_program(rng, widest=3, makes=0.5)
    # Words are found in arrays, or all in hash tables.
    with mock.patch.object(row_made_words, "SPARSE", rng.choice([16, -(1 << 40)])):
        require_same_state(rng, text, inside)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_of_one_column_have_the_same_state(seed: int) -> None:
    rng = random.Random(seed)
    text, inside = random_program(rng, widest=1)
    require_same_state(rng, text, inside)


def test_heads_of_one_column_have_no_prefix_where_rules_begin_with_new_rows() -> None:
    chosen: list[int] = []
    plan = Planner.plan

    def noting(self: Planner, *arguments: Any) -> RowWisePlan | None:
        made = plan(self, *arguments)
        chosen.extend(head.prefix for head in (made.heads if made is not None else ()) if head.nests)
        return made

    for seed in range(40):
        rng = random.Random(seed)
        text, _ = random_program(rng, widest=1)
        with going_head_by_head(), mock.patch.object(Planner, "plan", noting):
            engine = running(text)
            engine.commit(insert(random_facts(rng)))
            engine.close()
    assert chosen.count(NO_PREFIX) > 10
    assert chosen.count(0) > 10


def test_words_are_made_of_many_pairs_of_sparse_words() -> None:
    text = """
        input relation S(x: u32, a: u64, b: u64)
        input relation Go(x: u32)
        output relation R(x: u32, v: u64)
        R(x, 0) :- Go(x).
        R(x, (a * 3 + b) % 60000) :- R(x, v), S(x, a, b), v < 60000.
    """
    many = 60_000
    rows = [(i % 40, i * 7, i * 7919 % many * 11) for i in range(many)]
    db = tidelog.compile(text).open()
    with db.transaction() as tx:
        tx.insert("S", rows)
        tx.insert("Go", [(x,) for x in range(40)])
    expected = {(x, (a * 3 + b) % 60000) for x, a, b in rows} | {(x, 0) for x in range(40)}
    assert set(db.relation("R").rows()) == expected


def test_many_random_programs_that_make_words_go_head_by_head() -> None:
    began = []
    begin = row_wise.RowWise.begin

    def counting(self: row_wise.RowWise, **options: bool) -> bool:
        made = bool(self._made)
        began.append(begin(self, **options) and (made or bool(self._made)))
        return began[-1]

    for seed in range(60):
        rng = random.Random(seed)
        text, _ = random_program(rng, widest=3, makes=0.5)
        with going_head_by_head(), mock.patch.object(row_wise.RowWise, "begin", counting):
            engine = running(text)
            engine.commit(insert(random_facts(rng)))
            engine.close()
    assert sum(began) > 15


STEPS = """
input relation Edge(a: s64, b: s64)
output relation Way(a: s64, b: s64, n: s64)
Way(x, y, 1) :- Edge(x, y).
Way(x, z, n + 1) :- Way(x, y, n), Edge(y, z){0}.
"""


@pytest.mark.parametrize(("limit", "fits"), [(", n < 40", True), ("", False), (", n < 1000000", False)])
def test_rules_that_could_make_too_many_words_are_left_to_usual_waves(limit: str, fits: bool) -> None:
    line: list[tuple[int, ...]] = [(i, i + 1) for i in range(30)]
    began = []
    begin = row_wise.RowWise.begin

    def noting(self: row_wise.RowWise, **options: bool) -> bool:
        began.append(begin(self, **options))
        return began[-1]

    with going_head_by_head(first_rows=5), mock.patch.object(row_wise.RowWise, "begin", noting):
        engine = running(STEPS.format(limit))
        engine.commit(insert({"Edge": line}))
    assert sorted(row for row, _ in engine.rows("Way")) == [(i, j, j - i) for i in range(31) for j in range(i + 1, 31)]
    assert any(began) == fits
    engine.close()


def test_a_made_word_without_an_id_is_an_internal_error() -> None:
    with (
        going_head_by_head(first_rows=5),
        mock.patch.object(row_made_words.MadeWords, "find", return_value={}),
        pytest.raises(InternalError, match="E901"),
    ):
        running(STEPS.format(", n < 40")).commit(insert({"Edge": [(i, i + 1) for i in range(30)]}))


@contextmanager
def going_head_by_head(first_rows: int = 0, expected: int = 0) -> Iterator[None]:
    """Lets waves with so many rows go head by head, and first waves by what they are expected to have."""
    with (
        mock.patch.object(row_wise, "FIRST_ROWS", first_rows),
        mock.patch.object(row_wise, "PART", 1 << 40),
        mock.patch.object(row_wise, "AGAIN", 0),
        mock.patch.object(row_wise, "MET", 0),
        mock.patch.object(row_wise, "START_ROWS", first_rows),
        mock.patch.object(row_wise, "EXPECTED", expected),
    ):
        yield


def require_same_state(rng: random.Random, text: str, inside: Sequence[str]) -> None:
    """Compares usual waves with waves head by head, on one thread and on two: the state, and that of later epochs."""
    facts = random_facts(rng)
    seed = rng.random()
    found = []
    # With no loss at all, usual waves follow each wave head by head; with the other one, never.
    with mock.patch.object(row_wise, "MOST_LOSS", rng.choice([0, 1 << 60])), mock.patch.object(row_wise, "CHANGE", 0):
        for first_rows, threads, from_new in ((NEVER, 1, False), (0, 1, False), (0, 1, True), (0, 2, True)):
            with (
                going_head_by_head(first_rows, expected=rng.choice([0, 1 << 60])),
                mock.patch.object(row_wise.RowWise, "_is_wasteful", lambda *_, from_new=from_new: from_new),
            ):
                engine = running(text, threads)
                outcome = engine.commit(insert(facts))
                assert outcome is not None
                instances = sum(each.instances for each in outcome.report.strata)
                loaded = [state(engine, name) for name in inside]
                deletes = random.Random(seed)
                after = []
                for _ in range(3):
                    engine.commit(
                        [
                            Operation(name, -1, deletes.sample(rows, min(len(rows), deletes.randint(0, 2))))
                            for name, rows in facts.items()
                        ]
                    )
                    after.append([sorted(engine.rows(name)) for name in inside])
                found.append((instances, loaded, after))
                engine.close()
    assert found[1:] == found[:1] * 3


def plan(text: str, inside: str = "P") -> RowWisePlan | None:
    """The plan of the stratum of a relation, with empty relations."""
    program = tidelog.compile(text).stages.rules
    widths = {name: len(relation.columns) for name, relation in program.relations.items()}
    numbers = {name: number for number, name in enumerate(widths)}
    (stratum,) = (each for each in program.strata if inside in each.relations)
    rules = [rule for rule in stratum.rules if any(each.relation in stratum.relations for each in rule.positives)]
    if not rules or not all(map(fits, rules)):
        return None
    domains = domains_of(rules, stratum.relations, widths, lambda value, _: int(value))
    domains.number({(name, column): np.arange(9) for name, column in columns_read(rules, stratum.relations, widths)})
    rows = dict.fromkeys(widths, 10)
    return Planner(rules, stratum.relations, domains, rows, numbers, lambda value, _: int(value)).plan()


@pytest.mark.parametrize("widest", [2, 4])
def test_most_random_programs_go_head_by_head(widest: int) -> None:
    count = 0
    for seed in range(60):
        text, inside = random_program(random.Random(seed), widest)
        count += any(plan(text, name) is not None for name in inside)
    assert count > 50


def plan_of(rules: str) -> RowWisePlan | None:
    return plan(INPUTS + "output relation P(a: s64, b: s64)\n" + rules)


def test_a_rule_runs_from_the_prefix_to_the_value() -> None:
    plan = plan_of("P(x, y) :- A(x, y).\nP(x, w) :- B(y, z), P(y, x), P(z, w).")
    assert plan is not None
    (head,) = plan.heads
    (nest,) = head.nests
    assert (head.prefix, nest.ends, len(nest.literals)) == (0, kernels.ENDS_IN_LIST, 3)
    assert [literal.order.is_inside for literal in nest.literals] == [True, False, True]
    assert nest.leads_to_end(1)


@pytest.mark.parametrize(
    "rule",
    [
        "P(x, y) :- P(x, y), A(x, y).",
        "P(x, y) :- P(y, x), x < y.",
        "P(x, y + 1) :- P(x, y), y < 10.",
        "P(x, y) :- P(x, _), C(y).",
        "P(x, y) :- P(y, x), 6 / x > y.",
    ],
)
def test_rules_that_may_fail_are_left_to_usual_waves(rule: str) -> None:
    plan = plan_of("P(x, y) :- A(x, y).\n" + rule)
    assert (plan is None) == ("/" in rule)


def cliques() -> Facts:
    return {"A": [(i, j) for i in range(12) for j in range(12) if i != j]}


@pytest.mark.parametrize("threads", [1, 2])
def test_more_instances_of_a_prefix_than_32_bits_count(threads: int) -> None:
    with mock.patch.object(row_wise, "FIRST_ROWS", NEVER):
        usual = running(CLOSURE)
        usual.commit(insert(cliques()))
    with mock.patch.multiple(row_wise, FIRST_ROWS=0, MET=0), mock.patch.object(row_wise_workers, "MOST_INSTANCES", 20):
        engine = running(CLOSURE, threads)
        engine.commit(insert(cliques()))
    assert state(engine, "P") == state(usual, "P")


def test_a_total_that_outgrows_its_half_makes_the_relation_wide() -> None:
    with mock.patch.object(row_wise, "FIRST_ROWS", NEVER):
        usual = running(CLOSURE)
        usual.commit(insert(cliques()))
    with mock.patch.multiple(row_wise, FIRST_ROWS=0, MET=0), mock.patch.object(row_wise_workers, "MOST_TOTAL", 5):
        engine = running(CLOSURE)
        engine.commit(insert(cliques()))
    assert engine._store("P").line[k.WIDE] == 1
    assert state(engine, "P") == state(usual, "P")
    engine.commit([Operation("A", -1, [(0, 1)])])
    usual.commit([Operation("A", -1, [(0, 1)])])
    assert sorted(engine.rows("P")) == sorted(usual.rows("P"))


def test_too_many_rows_end_the_epoch_and_leave_the_state() -> None:
    with mock.patch.multiple(row_wise, FIRST_ROWS=0, MET=0):
        engine = running(CLOSURE, limits=Limits(max_rows=100))
        engine.commit(insert({"A": [(1, 2), (2, 3)]}))
        before = state(engine, "P")
        with pytest.raises(EvaluationError):
            engine.commit(insert({"A": [(i, (i + 1) % 15) for i in range(15)]}))
        assert state(engine, "P") == before
        engine.commit(insert({"A": [(3, 4)]}))
    assert sorted(row for row, _ in engine.rows("P")) == [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]


def test_digits_of_all_numbers_are_found_by_multiplication() -> None:
    rng = random.Random(5)
    for _ in range(20_000):
        size = rng.choice([1, 2, rng.randrange(1, 50), rng.randrange(1, 1 << 31)])
        radix = rng.choice([1, 1 << rng.randrange(31), rng.randrange(1, 1 << 31)])
        if radix * size >= 1 << 31:
            continue
        near = radix * rng.randrange((1 << 31) // radix)
        number = min(max(rng.choice([near, near - 1, rng.randrange(1 << 31)]), 0), (1 << 31) - 1)
        low, low_shift, high, high_shift, size = part_of(radix, size)
        assert max(number * low, number * high) < 1 << 63
        assert (number * low >> low_shift) - (number * high >> high_shift) * size == number // radix % size


def test_rules_read_rows_by_their_prefix_from_the_lists_of_values() -> None:
    head = "output relation P(a: s64, b: s64, c: s64)\n"
    found = plan(INPUTS + head + "P(x, l, y) :- D(x, l, y).\nP(x, l, z) :- P(x, l, y), D(y, l, z).")
    assert found is not None
    assert [order for order in found.orders if order.is_inside] == [found.heads[0].natural]


def test_few_new_words_among_many_are_found_without_moving_all_others() -> None:
    rng = np.random.default_rng(3)
    first = np.unique(rng.integers(-(1 << 40), 1 << 40, 100_000))
    known, expected = row_made_words._Known(first), set(first.tolist())
    for step in range(100):
        given = np.concatenate([rng.integers(-1000, 1000, step % 7), rng.choice(first, 3)])
        assert known.add(given).tolist() == sorted(set(given.tolist()) - expected)
        expected.update(given.tolist())
        assert known._runs[0] is first
        assert len(known._runs) < 20
    assert known.all().tolist() == sorted(expected)


def test_a_deadline_ends_the_search_for_made_words() -> None:
    text = (
        INPUTS + "output relation P(a: s64, b: s64)\nP(x, y) :- A(x, y).\nP(z, y + 1) :- P(x, y), A(x, z), y < 500.\n"
    )
    rounds = 0

    def slow(maker: row_made_words._Maker, given: Any, stores: Any) -> Any:
        nonlocal rounds
        rounds += 1
        time.sleep(0.05)
        return run(maker, given, stores)

    run = row_made_words._Maker.run
    engine = running(text, limits=Limits(deadline=0.3))
    with (
        mock.patch.multiple(row_wise, FIRST_ROWS=0, MET=0),
        mock.patch.object(row_made_words._Maker, "run", slow),
        pytest.raises(EvaluationError, match="deadline"),
    ):
        engine.commit(insert({"A": [(i, (i + 1) % 15) for i in range(15)]}))
    assert 0 < rounds < 20
    assert not state(engine, "P")
