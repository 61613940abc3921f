"""Drawings of strata and proofs: valid XML, every box and line there, escaped."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import tidelog
from tidelog.diagnostics.svg import Box, Drawing, Line, draw

SVG = "{http://www.w3.org/2000/svg}"
PROGRAM = """
input relation Edge(src: string, dst: string)
input relation Blocked(name: string)
output relation Reach(src: string, dst: string)
output relation Lonely(name: string)
output relation Degree(name: string, n: u64)
Reach(x, y) :- Edge(x, y), not Blocked(y).
Reach(x, z) :- Reach(x, y), Reach(y, z).
Lonely(x) :- Edge(x, _), not Reach(x, _).
Degree(x, n) :- Edge(x, y), var n = y.group_by(x).count_distinct().
"""


def parsed(drawing: Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(drawing.svg)


def texts(root: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in root.iter(f"{SVG}text")]


def test_strata_are_drawn_without_hidden_relations() -> None:
    root = parsed(tidelog.compile(PROGRAM).graph())
    shown = texts(root)
    assert {"Edge", "Blocked", "Reach", "Lonely", "Degree"} == {each for each in shown if each[0].isupper()}
    assert "output, recursive, 2 rules" in shown
    assert not any("#" in each for each in shown)
    paths = list(root.iter(f"{SVG}path"))
    assert len(paths) == 5
    assert sum("stroke-dasharray" in each.attrib for each in paths) == 2


def test_a_proof_is_drawn_with_its_rules_and_escaped(tmp_path: Path) -> None:
    with tidelog.compile(PROGRAM).open() as db:
        with db.transaction() as tx:
            tx.insert("Edge", [("<a>", "b"), ("b", "c&d"), ("c&d", "e")])
        drawing = db.explain("Reach", ("<a>", "e")).graph()
    root = parsed(drawing)
    shown = texts(root)
    assert 'Reach("<a>", "e")' in shown
    assert 'Edge("b", "c&d")' in shown
    assert 'not Blocked("b")' in shown
    assert sum(each == "input" for each in shown) == 3
    drawing.write(str(tmp_path / "proof.svg"))
    assert (tmp_path / "proof.svg").read_text() == drawing.svg
    assert repr(drawing).startswith("<Drawing: ")


def test_a_long_proof_is_cut() -> None:
    with tidelog.compile(PROGRAM).open() as db:
        with db.transaction() as tx:
            tx.insert("Edge", [(str(number), str(number + 1)) for number in range(400)])
        drawing = db.explain("Reach", ("0", "400")).graph()
        assert "<svg" not in db.explain("Reach", ("0", "400"))._repr_html_()
    assert drawing.svg.count("<rect") == 150
    assert "more below" in drawing.svg


@pytest.mark.parametrize("seed", range(20))
def test_boxes_of_a_layer_do_not_overlap_and_lines_lead_down(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 25)
    boxes = [Box(("x" * rng.randint(0, 80), "y"), rng.choice(("plain", "given"))) for _ in range(count)]
    lines = [Line(a, b) for a in range(count) for b in range(a + 1, count) if rng.random() < 0.15]
    root = parsed(draw(boxes, lines, "title"))
    rects = [
        {name: float(each.attrib[name]) for name in ("x", "y", "width", "height")} for each in root.iter(f"{SVG}rect")
    ]
    assert len(rects) == count
    for place, one in enumerate(rects):
        for other in rects[place + 1 :]:
            beside = one["x"] + one["width"] <= other["x"] + 1 or other["x"] + other["width"] <= one["x"] + 1
            below = one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
            assert beside or below
    for line in lines:
        assert rects[line.above]["y"] + rects[line.above]["height"] < rects[line.below]["y"]


def test_nothing_is_drawn_of_nothing() -> None:
    parsed(draw([], [], "nothing"))
    parsed(tidelog.compile("").graph())
