"""`match`: what is missing and what is never reached, held against a list of all values."""

from __future__ import annotations

import random
from itertools import product
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.check.programs import checked, wrong
from tidelog.diagnostics.errors import ProgramError

TYPES = """
typedef Color = Red{} | Green{} | Blue{}
typedef Car = Bare{} | Painted{color: Color, dull: bool} | Pair{one: Color, parked: bool}
"""

# A value is text, or a constructor with its parts; a pattern is one, too, with `_` for any value.
Tree = str | tuple["Tree", ...]

COLORS: list[Tree] = ["Red{}", "Green{}", "Blue{}"]
BOOLS: list[Tree] = ["false", "true"]
CARS: list[Tree] = ["Bare{}"] + [
    (name, color, flag) for name in ("Painted", "Pair") for color in COLORS for flag in BOOLS
]
VALUES: list[Tree] = [("", car, flag) for car, flag in product(CARS, BOOLS)]


def fits(pattern: Tree, value: Tree) -> bool:
    if pattern == "_":
        return True
    if isinstance(pattern, str) or isinstance(value, str):
        return pattern == value
    return len(pattern) == len(value) and all(map(fits, pattern, value))


def shown(tree: Tree) -> str:
    if isinstance(tree, str):
        return tree
    name, *parts = tree
    inside = ", ".join(map(shown, parts))
    return f"{name}{{{inside}}}" if name else f"({inside})"


def _choices(values: list[Tree]) -> st.SearchStrategy[Tree]:
    return st.sampled_from(["_", *values])


CAR_PATTERNS = st.one_of(
    st.just("_"),
    st.just("Bare{}"),
    st.tuples(st.sampled_from(["Painted", "Pair"]), _choices(COLORS), _choices(BOOLS)),
)
PATTERNS = st.one_of(st.just("_"), st.tuples(st.just(""), CAR_PATTERNS, _choices(BOOLS)))


@settings(deadline=None, max_examples=150)
@given(st.lists(PATTERNS, min_size=1, max_size=8))
def test_missing_and_unreachable_patterns_are_those_of_the_list_of_all_values(patterns: list[Tree]) -> None:
    reached = [next((at for at, pattern in enumerate(patterns) if fits(pattern, value)), None) for value in VALUES]
    arms = ",\n".join(f"{shown(pattern)} -> {at}" for at, pattern in enumerate(patterns))
    text = f"{TYPES}function f(x: (Car, bool)): u64 {{ match (x) {{\n{arms}\n}} }}"
    expected = ["E243"] if None in reached else []
    expected += ["E244" for at in range(len(patterns)) if at not in reached]
    try:
        checked(text)
        found = []
    except ProgramError as error:
        found = sorted(each.code for each in error.diagnostics)
    assert found == expected


def test_the_missing_value_is_shown_as_a_pattern() -> None:
    text = f"{TYPES}function f(x: (Car, bool)): u64 {{ match (x) {{ (Bare{{}}, _) -> 1, (_, false) -> 2 }} }}"
    with pytest.raises(ProgramError) as caught:
        checked(text)
    assert "(Painted{}, true)" in str(caught.value)


def test_numbers_and_texts_need_a_last_pattern_for_all_others() -> None:
    (message,) = wrong('function f(x: (u8, string)): u64 { match (x) { (0, "a") -> 1, (1, _) -> 2 } }')
    assert message.startswith("E243")
    checked('function f(x: (u8, string)): u64 { match (x) { (0, "a") -> 1, (1, _) -> 2, (_, t) -> t.len() } }')


def test_a_constant_that_stood_before_is_not_reached() -> None:
    (message,) = wrong("function f(x: u8): u64 { match (x) { 0 -> 1, 0 -> 2, _ -> 3 } }")
    assert message.startswith("E244")


def test_a_match_on_a_thousand_constructors_is_checked() -> None:
    names = [f"C{number}" for number in range(1_000)]
    declared = "typedef Many = " + " | ".join(f"{name}{{x: u8}}" for name in names)
    arms = ", ".join(f"{name}{{x}} -> x" for name in names)
    checked(f"{declared}\nfunction f(m: Many): u8 {{ match (m) {{ {arms} }} }}")


def test_a_match_that_would_take_for_ever_is_let_pass() -> None:
    rng = random.Random(20)
    columns = 20
    arms = []
    for number in range(100):
        parts = ["_"] * columns
        for place in rng.sample(range(columns), 3):
            parts[place] = rng.choice(("true", "false"))
        arms.append(f"({', '.join(parts)}) -> {number}")
    tuples = ", ".join(["bool"] * columns)
    text = f"function f(x: ({tuples})): u64 {{ match (x) {{ {', '.join(arms)}, _ -> 0 }} }}"
    started = process_time()
    checked(text)
    assert process_time() - started < 10
