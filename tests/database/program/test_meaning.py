"""Random programs, laid out anew, shuffled and changed: their meaning stays, or does not."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.oracle.compose import FEATURES, random_language_case
from tests.oracle.write import write
from tidelog.database.program.meaning import Meaning, meaning
from tidelog.diagnostics.spans import Source
from tidelog.syntax.format import format_program
from tidelog.syntax.parse import parse


def meaning_of(text: str) -> Meaning:
    return meaning(tidelog.compile(text).stages.typed)


def items_of(text: str) -> list[str]:
    return [item.span.text for item in parse(Source("<text>", text)).items]


@pytest.mark.parametrize("seed", range(24))
def test_layout_comments_and_order_do_not_count_and_each_item_does(seed: int) -> None:
    rng = random.Random(f"meaning {seed}")
    text = write(random_language_case(rng, FEATURES[seed % len(FEATURES)]).program)
    expected = meaning_of(text)
    assert expected.is_same(meaning_of(format_program(Source("<text>", text))))
    items = items_of(text)
    rng.shuffle(items)
    assert expected.is_same(meaning_of("\n/* between */\n".join(items)))
    rules = [item for item in items_of(text) if ":-" in item and not item.startswith(("function", "input", "output"))]
    if rules:
        left_out = rng.choice(rules)
        assert not expected.is_same(meaning_of(text.replace(left_out, "", 1))) or text.count(left_out) > 1


def test_each_part_of_a_declaration_counts() -> None:
    text = """
typedef Size = Small | Large{n: u8}
input relation R(a: u8, b: Size) primary key (x) x.a
function twice(x: u8): u8 { x + x }
output relation S(a: u8)
index ByA(a: u8) on R(a, _)
S(twice(a)) :- R(a, _).
"""
    expected = meaning_of(text)
    assert expected.is_same(meaning_of(text.replace("x: u8): u8 { x + x }", "x: u8): u8 {\n // twice\n x + x }")))
    for old, new in [
        ("Large{n: u8}", "Large{n: u16}"),
        ("Small | ", "Small | Middle | "),
        ("x.a\n", "x.b\n"),
        ("x + x", "x * 2"),
        ("output relation S", "relation S"),
        ("ByA", "ByB"),
        ("input relation R", "input multiset R"),
    ]:
        changed = text.replace(old, new)
        if new == "input multiset R":
            changed = changed.replace(" primary key (x) x.a", "")
        assert not expected.is_same(meaning_of(changed)), new
