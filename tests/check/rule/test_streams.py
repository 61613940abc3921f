"""Streams, multisets and delays: what may stand together."""

from __future__ import annotations

import pytest

from tests.check.programs import checked, wrong

STREAMS = """
input stream Click(user: string)
stream Seen(user: string)
input relation Known(user: string)
relation Users(user: string)
input multiset Word(text: string)
"""


@pytest.mark.parametrize(
    "rule",
    [
        "Seen(u) :- Click(u).",
        "Seen(u) :- Known(u), Click(u).",
        'Seen(u) :- Click(u), u != "".',
        "Users(u) :- Click'(u).",
        "Users(u) :- Click'(u), not Known(u).",
        "Users(u) :- Click'(u), Word(u).",
        "Users(u) :- Known(u), not Users-1(u).",
        "Users(u) :- Users-1(u).",
        "Seen(u) :- Click-2(u).",
    ],
)
def test_these_rules_are_right(rule: str) -> None:
    assert len(checked(STREAMS + rule).rules) == 1


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("Users(u) :- Click(u).", "E309 the body gives a stream, and `Users` is not one"),
        ("Seen(u) :- Known(u).", "E309 `Seen` is a stream, and the body does not give one"),
        ("Seen(u) :- Click(u), Seen(u).", "E309 stream `Seen` is joined with another stream"),
        ("Seen(u) :- Click(u), not Known(u).", "E309 `not Known` stands behind a stream"),
        ("Users(u) :- Known(u), not Click(u).", "E309 stream `Click` is negated"),
    ],
)
def test_these_rules_are_refused(rule: str, message: str) -> None:
    assert message in wrong(STREAMS + rule)


def test_a_prime_needs_a_stream() -> None:
    message = "E309 `Known'` reads the records of a stream, and `Known` is not a stream"
    assert wrong(STREAMS + "Users(u) :- Known'(u).") == [message]
    assert wrong(STREAMS + "Users(u) :- Word(u), not Known'(u).") == [message]
