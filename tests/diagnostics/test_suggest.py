"""Guesses for misspelt names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.diagnostics.suggest import edit_distance, suggest


@pytest.mark.parametrize(
    ("name", "candidates", "guess"),
    [
        ("Egde", ["Edge", "Node"], "Edge"),
        ("edge", ["Edge", "Node"], "Edge"),
        ("Reachabel", ["Reachable", "Reach"], "Reachable"),
        ("Edge", ["Edge"], None),
        ("x", ["y", "z"], None),
        ("Node", ["Edge"], None),
        ("strin", ["string", "signed"], "string"),
        ("a" * 1000, ["a" * 999], None),
    ],
)
def test_only_a_near_name_is_suggested(name: str, candidates: list[str], guess: str | None) -> None:
    assert suggest(name, candidates) == guess


def test_of_equally_near_names_the_first_in_the_alphabet_is_taken() -> None:
    assert suggest("Edge", ["Edgy", "Edga"]) == suggest("Edge", ["Edga", "Edgy"]) == "Edga"


words = st.text("abc", max_size=6)


@given(words, words, words)
def test_the_distance_is_a_distance(left: str, right: str, other: str) -> None:
    assert (edit_distance(left, right) == 0) == (left == right)
    assert edit_distance(left, right) == edit_distance(right, left)
    assert edit_distance(left, right) <= max(len(left), len(right))
    assert edit_distance(left + other, right + other) <= edit_distance(left, right)
