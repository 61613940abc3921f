"""The generated loops of rule bodies: long bodies, instances one by one, the furthest try and its limits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.database.queries.test_explain import opened

from tidelog.compile_program import compile_program
from tidelog.diagnostics.spans import Source
from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.queries.match_rule import Matcher
from tidelog.engine.local.storage.weighted_table import Row

# More literals than Python allows loops inside one another.
LONG = 25
CHAIN = ", ".join(f"E(x{i}, x{i + 1})" for i in range(LONG))
EDGES: list[object] = [(i, i + 1) for i in range(LONG)]


class _Rows:
    """Rows in a dictionary; `looked_at` are those that a match has taken so far."""

    def __init__(self, **rows: list[Row]) -> None:
        self._rows = rows
        self.looked_at: list[Row] = []

    def size(self, relation: str) -> int:
        return len(self._rows[relation])

    def find(
        self, relation: str, columns: tuple[int, ...], key: Row, below: int | None = None
    ) -> Iterator[tuple[Row, int]]:
        for row in self._rows[relation]:
            if tuple(row[column] for column in columns) == key:
                self.looked_at.append(row)
                yield row, 2

    def weight(self, relation: str, row: Row) -> int:
        return int(row in self._rows[relation])


def matcher(body: str, rows: _Rows, *known: str) -> Matcher:
    text = f"input relation A(x: s64, y: s64)\ninput relation B(x: s64)\noutput relation P(x: s64, y: s64)\n{body}"
    program = compile_program(Source("text", text)).rules
    (rule,) = (rule for rule in program.rules if rule.head.relation == "P")
    return Matcher(rule, known, rows, Values(), program.functions)


@pytest.mark.parametrize("kind", ["relation", "multiset"])
def test_a_body_may_have_more_literals_than_python_nests_loops(kind: str) -> None:
    text = f"input {kind} E(x: u8, y: u8)\noutput {kind} P(x: u8, y: u8)\nP(x0, x{LONG}) :- {CHAIN}, x0 < x{LONG}."
    with opened(text, E=EDGES) as db:
        assert list(db.relation("P")) == [(0, LONG)]
        assert db.query(f"{CHAIN}, x0 < x{LONG}").rows == [tuple(range(LONG + 1))]
        steps = db.explain("P", (0, LONG)).steps
        assert [each.row for each in steps[1:]] == EDGES
        (obstacle,) = db.why_not("P", (1, LONG)).obstacles
        assert obstacle.reason.startswith("there is no E(")
        assert len(obstacle.held) == LONG  # all but one literal, and the condition


def test_an_instance_is_looked_for_when_it_is_asked_for() -> None:
    rows = _Rows(A=[(i, j) for i in range(10) for j in range(10)], B=[(3,)])
    found = matcher("P(x, y) :- A(x, y), not B(y).", rows).run({})
    assert rows.looked_at == []
    assert next(found) == ({"x": 0, "y": 0}, ((0, 0),), 2)
    assert rows.looked_at == [(0, 0)]
    assert [each.words["y"] for each in found] == [y for _ in range(10) for y in range(10) if y != 3][1:]


def test_an_instance_has_the_rows_of_its_literals_in_their_order_and_the_product_of_the_weights() -> None:
    rows = _Rows(A=[(1, 2), (2, 5), (2, 6)], B=[(6,)])
    (found,) = matcher("P(x, z) :- A(x, y), A(y, z), B(z).", rows, "x").run({"x": 1})
    assert (found.words, found.rows, found.weight) == ({"x": 1, "y": 2, "z": 6}, ((1, 2), (2, 6), (6,)), 8)


def test_the_furthest_try_ends_where_no_other_gets_past_and_has_its_words() -> None:
    rows = _Rows(A=[(1, 2), (1, 3), (3, 9)], B=[])
    match = matcher("P(x, z) :- A(x, y), A(y, z), B(z).", rows, "x")
    furthest, is_sure = match.furthest({"x": 1}, 100)
    assert furthest is not None
    assert is_sure
    assert (furthest.place, furthest.done, furthest.words) == (2, (0, 1), {"x": 1, "y": 3, "z": 9})
    furthest, is_sure = match.furthest({"x": 1}, 2)
    assert furthest is not None
    assert not is_sure
    assert (furthest.place, furthest.words) == (1, {"x": 1, "y": 2})


@pytest.mark.parametrize(
    ("body", "instead"),
    [
        ("P(x, y) :- A(x, z), var y = z + 1.", {"y": 11}),
        ("P(x, y) :- A(x, z), (var y, var w) = (z + 2, z).", {"y": 12, "w": 10}),
        ("P(x, y) :- A(x, y), x > y.", {}),
    ],
)
def test_a_result_that_differs_from_a_known_word_is_told(body: str, instead: dict[str, int]) -> None:
    match = matcher(body, _Rows(A=[(1, 10), (1, 20)], B=[]), "x", "y")
    furthest, _ = match.furthest({"x": 1, "y": 5}, 100)
    assert furthest is not None
    assert furthest.instead == instead
    assert match.furthest({"x": 1, "y": 5}, 100) == (furthest, True)


def test_a_rule_that_has_an_instance_has_no_furthest_try() -> None:
    assert matcher("P(x, y) :- A(x, y).", _Rows(A=[(1, 2)], B=[]), "x").furthest({"x": 1}, 100) == (None, True)


def test_names_of_variables_are_no_text_of_the_loops() -> None:
    text = "input relation E(x: u8)\noutput relation P(x: u8)\nP(rows) :- E(rows), E(row), E(weight), E(own), E(tries)."
    with opened(text, E=[(7,)]) as db:
        assert db.explain("P", (7,)).steps[0].bindings == dict.fromkeys(("rows", "row", "weight", "own", "tries"), 7)
        assert not db.why_not("P", (8,)).is_present
