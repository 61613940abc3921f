"""A graph in layers → an SVG drawing, as text: for notebooks and files, without a server or a program beside this one.

    box        a node: one or two lines of text, cut where they are long; the whole text appears under the pointer
    layer      nodes with the same distance from the top; edges lead from a layer to one further down
    dashed     an edge through a negation

Nodes of a layer stand in the order in which they are given, moved to the average place of what they hang on, so that
edges of a tree do not cross. All text is escaped; there is no script in the drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tidelog.diagnostics.shown import cut
from tidelog.diagnostics.wording import counted

_CHAR, _LINE, _PAD = 7, 16, 8
_BETWEEN, _BELOW, _MARGIN = 20, 44, 12
_LONGEST = 48
_FILLS = {"plain": "#ffffff", "given": "#e8f1fb", "derived": "#f4f4f4", "special": "#fdf3dc"}


@dataclass(frozen=True, slots=True)
class Box:
    """A node. `kind` is `plain`, `given`, `derived` or `special`, for its colour."""

    lines: tuple[str, ...]
    kind: str = "plain"


@dataclass(frozen=True, slots=True)
class Line:
    """An edge between the boxes with these numbers."""

    above: int
    below: int
    is_dashed: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing: `svg` is its text. Notebooks show it; `write` makes a file of it."""

    svg: str

    def write(self, path: str) -> None:
        """Writes the drawing to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_svg_(self) -> str:
        """Renders for notebooks."""
        return self.svg

    def __repr__(self) -> str:
        boxes, lines = self.svg.count("<rect"), self.svg.count("<path")
        return f"<Drawing: {counted(boxes, 'box', 'boxes')}, {counted(lines, 'line')}>"


def draw(boxes: Sequence[Box], lines: Sequence[Line], title: str) -> Drawing:
    """Draws boxes in layers. The lines must not form a circle."""
    layers = _layers(len(boxes), lines)
    shown = [[cut(text, _LONGEST) for text in box.lines] for box in boxes]
    widths = [_CHAR * max(map(len, texts), default=0) + 2 * _PAD for texts in shown]
    heights = [_LINE * len(texts) + 2 * _PAD for texts in shown]
    centres = _centres(layers, lines, widths)
    left = min((centres[number] - widths[number] / 2 for number in centres), default=0.0) - _MARGIN
    right = max((centres[number] + widths[number] / 2 for number in centres), default=0.0) + _MARGIN
    tops: dict[int, float] = {}
    y = float(_MARGIN)
    for layer in layers:
        for number in layer:
            tops[number] = y
        y += max(heights[number] for number in layer) + _BELOW
    height = max(y - _BELOW + _MARGIN, 2 * _MARGIN)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{right - left:.0f}" height="{height:.0f}" '
        f'viewBox="{left:.0f} 0 {right - left:.0f} {height:.0f}" font-family="monospace" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
    ]
    for line in lines:
        start, end = centres[line.above], centres[line.below]
        top, bottom = tops[line.above] + heights[line.above], tops[line.below]
        dash = ' stroke-dasharray="5 3"' if line.is_dashed else ""
        middle = (top + bottom) / 2
        parts.append(
            f'<path d="M {start:.0f} {top:.0f} C {start:.0f} {middle:.0f}, {end:.0f} {middle:.0f}, {end:.0f}'
            f' {bottom:.0f}" fill="none" stroke="#777777"{dash}/>'
        )
    for number, box in enumerate(boxes):
        x = centres[number] - widths[number] / 2
        parts.append(
            f'<g><title>{escape(chr(10).join(box.lines))}</title><rect x="{x:.0f}" y="{tops[number]:.0f}" rx="4" '
            f'width="{widths[number]}" height="{heights[number]}" fill="{_FILLS[box.kind]}" stroke="#444444"/>'
        )
        for place, text in enumerate(shown[number]):
            baseline = tops[number] + _PAD + _LINE * place + 12
            parts.append(f'<text x="{x + _PAD:.0f}" y="{baseline:.0f}">{escape(text)}</text>')
        parts.append("</g>")
    return Drawing("\n".join([*parts, "</svg>"]))


def _layers(count: int, lines: Sequence[Line]) -> list[list[int]]:
    """Returns the numbers of the boxes by their longest way from a box that nothing leads to."""
    below: dict[int, list[int]] = {number: [] for number in range(count)}
    waiting = [0] * count
    for line in lines:
        below[line.above].append(line.below)
        waiting[line.below] += 1
    depth = [0] * count
    ready = [number for number in range(count) if not waiting[number]]
    for number in ready:
        for other in below[number]:
            depth[other] = max(depth[other], depth[number] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    assert len(ready) == count, "the lines form a circle"
    layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for number in range(count):
        layers[depth[number]].append(number)
    return layers


def _centres(layers: Sequence[Sequence[int]], lines: Sequence[Line], widths: Sequence[int]) -> dict[int, float]:
    """Returns where each box stands in its layer: below what it hangs on, and beside the one before it."""
    above: dict[int, list[int]] = {}
    for line in lines:
        above.setdefault(line.below, []).append(line.above)
    centres: dict[int, float] = {}
    for layer in layers:
        wanted = {
            number: sum(centres[each] for each in above[number]) / len(above[number]) if number in above else 0.0
            for number in layer
        }
        at = None
        placed: list[int] = sorted(layer, key=lambda number: wanted[number])
        for number in placed:
            half = widths[number] / 2
            centres[number] = wanted[number] if at is None else max(wanted[number], at + _BETWEEN + half)
            at = centres[number] + half
        # The layer as a whole is moved to where its boxes wanted to be.
        shift = sum(wanted[number] - centres[number] for number in placed) / len(placed)
        for number in placed:
            centres[number] += shift
    return centres
