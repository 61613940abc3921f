"""`#[max_rounds = n]`: rounds of a recursion with groups up to a bound, around cycles too."""

from __future__ import annotations

import random
from math import fsum
from typing import Any

import pytest
from tests.engine.local.run import Running

import tidelog
from tidelog.diagnostics.errors import EvaluationError, ProgramError
from tidelog.maintain.limits import Limits

RANK = """
    import group
    input relation Page(p: u32)
    input relation Link(p: u32, q: u32, share: double)
    relation Given(p: u32, q: u32, r: double)
    output relation Rank(p: u32, r: double)
    Given(p, p, 0.15) :- Page(p).
    Given(q, p, 0.85 * r * share) :- Link(p, q, share), Rank(p, r).
    #[max_rounds = {0}]
    Rank(p, s) :- Given(p, q, r), var s = (q, r).group_by(p).sum_of(|t| t.1).
"""
STRATEGIES = ["elastic", "recompute", "update", "counting"]


def ranks(pages: set[int], links: set[tuple[int, int, float]], rounds: int) -> dict[tuple[int, float], int]:
    """The ranks after so many rounds, as plain Python computes them."""
    given: set[tuple[int, int, float]] = set()
    found: set[tuple[int, float]] = set()
    for _ in range(rounds):
        rank: dict[int, list[float]] = {}
        for p, _q, share in given:
            rank.setdefault(p, []).append(share)
        given, found = (
            {(p, p, 0.15) for p in pages}
            | {(q, p, 0.85 * r * share) for p, q, share in links for o, r in found if o == p},
            {(p, fsum(each)) for p, each in rank.items()},
        )
    return dict.fromkeys(found, 1)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("rounds", [1, 2, 7, 30])
def test_ranks_are_those_of_so_many_rounds(strategy: str, rounds: int) -> None:
    chance = random.Random(rounds)
    run = Running(RANK.format(rounds), strategy=strategy)
    facts: dict[str, set[Any]] = {"Page": set(), "Link": set()}
    for _ in range(8):
        inserted: dict[str, set[Any]] = {
            "Page": {(chance.randrange(6),)},
            "Link": {(chance.randrange(6), chance.randrange(6), chance.choice([0.25, 0.5])) for _ in range(3)},
        }
        gone = {name: set(chance.sample(sorted(rows), len(rows) // 4)) for name, rows in facts.items()}
        new = {name: sorted(inserted[name] - rows) for name, rows in facts.items()}
        run.commit(new, {name: sorted(rows) for name, rows in gone.items()})
        for name, rows in facts.items():
            rows -= gone[name]
            rows |= set(new[name])
        assert run.rows("Rank") == ranks({p for (p,) in facts["Page"]}, facts["Link"], rounds)


def test_rounds_end_early_where_two_are_equal() -> None:
    run = Running(RANK.format(100))
    run.commit({"Page": [(1,), (2,)], "Link": [(1, 2, 0.5)]})
    (report,) = (each for each in run.report.strata if "Rank" in each.relations)
    assert (report.strategy, report.rounds) == ("rounds", 4)


def test_rounds_that_repeat_are_no_error_up_to_the_bound() -> None:
    flip = """
        input relation A(x: u32)
        relation Size(n: u64)
        output relation On(x: u32)
        Size(1) :- A(_).
        #[max_rounds = {0}]
        On(x) :- A(x), Size(n), On2(m), var k = (n, m).group_by(x).count_distinct(), k == 1.
        relation On2(m: u32)
        On2(0) :- A(_).
        On2(y + 1) :- On(y).
    """
    unbound = Running(flip.replace("#[max_rounds = {0}]", ""))
    with pytest.raises(EvaluationError, match="never reach a fixed point"):
        unbound.commit({"A": [(1,)]})
    for rounds, there in ((2, {(1,): 1}), (3, {(1,): 1}), (4, {}), (6, {(1,): 1})):
        run = Running(flip.format(rounds))
        run.commit({"A": [(1,)]})
        assert run.rows("On") == there, rounds


def test_the_limit_of_the_database_counts_the_same_rounds() -> None:
    facts: dict[str, Any] = {"Page": [(1,), (2,)], "Link": [(1, 2, 0.5), (2, 1, 0.5)]}
    Running(RANK.format(6), Limits(max_rounds=6)).commit(facts)
    with pytest.raises(EvaluationError, match="max_rounds"):
        Running(RANK.format(6), Limits(max_rounds=5)).commit(facts)


def test_a_bounded_recursion_has_no_warning() -> None:
    assert not tidelog.compile(RANK.format(6)).stages.typed.warnings
    assert tidelog.compile(RANK.format(6).replace("#[max_rounds = 6]", "")).stages.typed.warnings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RANK.format(0), "wants a number above 0"),
        (RANK.format('"6"'), "wants a number above 0"),
        (RANK.format(6).replace("#[max", '#[cycle = "error"] #[max'), "either `cycle` or `max_rounds`"),
        ("input relation A(x: u8) output relation B(x: u8) #[max_rounds = 6] B(x) :- A(x).", "this rule has none"),
        (
            "input relation A(x: u8) output relation B(n: u64)\n"
            "#[max_rounds = 6] B(n) :- A(x), var n = x.group_by(()).count_distinct().",
            "this rule has none",
        ),
    ],
)
def test_a_bound_that_bounds_nothing_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message) as raised:
        tidelog.compile(text)
    assert "E228" in str(raised.value)


def test_a_rule_with_a_bound_is_added_and_removed() -> None:
    bounded = "#[max_rounds = 7]\nRank(p, s) :- Given(p, q, r), var s = (q, r).group_by(p).sum_of(|t| t.1)."
    head, _ = RANK.split("#[max_rounds")
    with tidelog.compile(head).open() as db:
        with db.transaction() as tx:
            tx.insert("Page", [(1,), (2,)])
            tx.insert("Link", [(1, 2, 0.5), (2, 1, 0.5)])
        with db.transaction() as tx:
            tx.add_rules(bounded)
        expected = ranks({1, 2}, {(1, 2, 0.5), (2, 1, 0.5)}, 7)
        assert dict.fromkeys(db.relation("Rank").rows(), 1) == expected
        with db.transaction() as tx:
            tx.remove_rules(bounded)
        assert not len(db.relation("Rank"))
