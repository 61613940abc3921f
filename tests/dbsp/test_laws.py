"""The algebra that makes circuits incremental, law by law."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dbsp.generate import nested, seen, seen_nested, streams, zsets
from tidelog.dbsp import (
    INTEGERS,
    NESTED,
    ZSETS,
    Stream,
    ZSet,
    delay,
    differentiate,
    distinct_changes,
    eliminate,
    feedback,
    incremental,
    integrate,
    introduce,
    join_changes,
    lift,
    nested_distinct_changes,
    nested_join_changes,
    row_hashes,
    zset,
)
from tidelog.dbsp.operators import Nested

Operator = Callable[[Stream[ZSet]], Stream[ZSet]]
ON = (1, 0)
LINEAR: dict[str, Callable[[ZSet], ZSet]] = {
    "project": lambda z: z.project(1),
    "where": lambda z: z.where(lambda x, y: x == y),
    "map": lambda z: z.map(lambda x, y: (y, x)),
    "flat_map": lambda z: z.flat_map(lambda x, y: [(x,), (y,)]),
    "negate": lambda z: -z,
}
OPERATORS: dict[str, Operator] = {"delay": delay, "integrate": integrate, "differentiate": differentiate}
NOT_LINEAR: dict[str, Operator] = {
    "distinct": lift(ZSet.distinct, ZSETS),
    "two steps": lift(lambda z: z.join(z, ON).project(0, 3), ZSETS),
    "integrate": integrate,
}


@pytest.fixture(params=["hashes that tell rows apart", "hashes that do not"], autouse=True)
def hashing(request: pytest.FixtureRequest) -> Iterator[None]:
    """No law may rest on rows having different hashes."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "hashes that do not":
            for module in (row_hashes, zset):
                patch.setattr(module, "hash_rows", lambda rows: np.full(len(rows), 7, dtype=np.uint64))
        yield


few = settings(deadline=None, max_examples=40)


@few
@given(zsets(), zsets(), zsets())
def test_z_sets_are_an_abelian_group(a: ZSet, b: ZSet, c: ZSet) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + ZSet() == a
    assert a - a == ZSet()
    assert (a == b) == (dict(a.items()) == dict(b.items()))
    assert dict((a + b).items()) == {
        row: weight for row in {*a, *b} if (weight := dict(a.items()).get(row, 0) + dict(b.items()).get(row, 0))
    }
    assert a + a == a * 2 == 2 * a


@pytest.mark.parametrize("name", LINEAR)
@few
@given(zsets(), zsets())
def test_linear_functions_respect_sums(name: str, a: ZSet, b: ZSet) -> None:
    assert LINEAR[name](a + b) == LINEAR[name](a) + LINEAR[name](b)


@few
@given(zsets(), zsets(), zsets())
def test_a_join_is_bilinear(a: ZSet, b: ZSet, c: ZSet) -> None:
    assert (a + b).join(c, ON) == a.join(c, ON) + b.join(c, ON)
    assert c.join(a + b, ON) == c.join(a, ON) + c.join(b, ON)


@few
@given(zsets(), zsets())
def test_a_join_pairs_the_rows_that_agree(a: ZSet, b: ZSet) -> None:
    pairs: dict[tuple[object, ...], int] = {}
    for left, weight in a.items():
        for right, other in b.items():
            if left[1] == right[0]:
                pairs[*left, *right] = weight * other
    assert dict(a.join(b, ON).items()) == pairs
    assert len(a.join(b)) == len(a) * len(b)


@few
@given(zsets())
def test_distinct_gives_a_set_and_does_it_once(a: ZSet) -> None:
    assert a.distinct().is_set()
    assert a.distinct().distinct() == a.distinct()
    assert set(a.distinct()) == {row for row, weight in a.items() if weight > 0}
    assert a.signs() == a.distinct() - (-a).distinct()


@few
@given(streams())
def test_integration_and_differentiation_are_inverse(s: Stream[ZSet]) -> None:
    assert seen(differentiate(integrate(s))) == seen(s) == seen(integrate(differentiate(s)))


@few
@given(st.lists(st.integers()))
def test_integration_adds_up(numbers: list[int]) -> None:
    sums = integrate(Stream.of(numbers, INTEGERS)).first(len(numbers))
    assert sums == [sum(numbers[: i + 1]) for i in range(len(numbers))]


@pytest.mark.parametrize("name", OPERATORS)
@few
@given(streams(), streams())
def test_delay_integration_and_differentiation_are_linear(name: str, a: Stream[ZSet], b: Stream[ZSet]) -> None:
    assert seen(OPERATORS[name](a + b)) == seen(OPERATORS[name](a) + OPERATORS[name](b))


@pytest.mark.parametrize("name", LINEAR)
@few
@given(streams())
def test_a_lifted_linear_function_is_its_own_incremental_form(name: str, s: Stream[ZSet]) -> None:
    operator = lift(LINEAR[name], ZSETS)
    assert seen(incremental(operator)(s)) == seen(operator(s))


@pytest.mark.parametrize("first", NOT_LINEAR)
@pytest.mark.parametrize("second", NOT_LINEAR)
@settings(deadline=None, max_examples=15)
@given(streams())
def test_the_chain_rule(first: str, second: str, s: Stream[ZSet]) -> None:
    f, g = NOT_LINEAR[first], NOT_LINEAR[second]
    assert seen(incremental(lambda x: g(f(x)))(s)) == seen(incremental(g)(incremental(f)(s)))


@few
@given(streams())
def test_the_incremental_form_of_a_sum_is_the_sum(s: Stream[ZSet]) -> None:
    f, g = NOT_LINEAR["distinct"], lift(lambda z: z.map(lambda x, y: (y, x)), ZSETS)
    assert seen(incremental(lambda x: f(x) + g(x))(s)) == seen(incremental(f)(s) + incremental(g)(s))


@few
@given(streams())
def test_the_cycle_rule(s: Stream[ZSet]) -> None:
    """A loop is made incremental by making its inside so."""

    def step(given_: Stream[ZSet], found: Stream[ZSet]) -> Stream[ZSet]:
        return lift(lambda a, b: (a + b.join(a, ON).project(0, 3)).distinct(), ZSETS)(given_, found)

    def loop(given_: Stream[ZSet]) -> Stream[ZSet]:
        return feedback(lambda found: step(given_, delay(found)), ZSETS)

    by_inside = feedback(lambda found: incremental(step)(s, delay(found)), ZSETS)
    assert seen(incremental(loop)(s)) == seen(by_inside)


@few
@given(streams(), streams())
def test_the_three_terms_of_a_join_are_its_incremental_form(a: Stream[ZSet], b: Stream[ZSet]) -> None:
    lifted = incremental(lift(lambda x, y: x.join(y, ON), ZSETS))
    assert seen(join_changes(a, b, ON)) == seen(lifted(a, b))


@few
@given(streams())
def test_distinct_of_changes_is_its_incremental_form(s: Stream[ZSet]) -> None:
    assert seen(distinct_changes(s)) == seen(incremental(lift(ZSet.distinct, ZSETS))(s))


def both_times(function: Callable[..., ZSet]) -> Callable[..., Nested]:
    """The incremental form in epochs and rounds, as it is defined."""
    inner_sum, inner_change = lift(integrate, NESTED), lift(differentiate, NESTED)

    def operator(*changes: Nested) -> Nested:
        applied = lift(lift(function, ZSETS), NESTED)(*(inner_sum(integrate(each)) for each in changes))
        return differentiate(inner_change(applied))

    return operator


@settings(deadline=None, max_examples=20)
@given(nested(), nested())
def test_the_four_terms_of_a_nested_join_are_its_incremental_form(a: Nested, b: Nested) -> None:
    def join(x: ZSet, y: ZSet) -> ZSet:
        return x.join(y, ON)

    assert seen_nested(nested_join_changes(join)(a, b)) == seen_nested(both_times(join)(a, b))


@settings(deadline=None, max_examples=20)
@given(nested())
def test_nested_distinct_is_its_incremental_form(s: Nested) -> None:
    assert seen_nested(nested_distinct_changes(s)) == seen_nested(both_times(ZSet.distinct)(s))


@few
@given(zsets())
def test_what_is_introduced_is_what_elimination_gives(a: ZSet) -> None:
    assert eliminate(introduce(a, ZSETS)) == a


@few
@given(st.lists(zsets(), min_size=1, max_size=4))
def test_cuts_the_changes_of_all_epochs_sum_up_to_those_of_one(changes: list[ZSet]) -> None:
    whole = ZSet()
    for change in changes:
        whole += change
    many, one = Stream.of(changes, ZSETS), Stream.of([whole], ZSETS)
    for operator in (distinct_changes, lambda s: join_changes(s, s, ON)):
        assert integrate(operator(many))[len(changes)] == operator(one)[0]
