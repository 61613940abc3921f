"""All ways in which rows are derived → the proof of least height.

The height of a proof is the number of steps on its longest way down: 0 for what is given, else one more than that of
the highest row that the step rests on. The search goes down from the row in layers and finds all ways of a layer's
rows; heights come back up through the ways as they become known, and only ever fall. A proof of height h uses rows of
the first h layers only, so the search is over when the layers seen are as many as the row is high. It needs no ranks,
and what it finds never rests on itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tidelog.engine.local.queries.match_rule import Instance
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.proof import Origin
from tidelog.rules.ir import Rule

Key = tuple[str, Row]


@dataclass(frozen=True, slots=True)
class Node:
    """One way in which a row is there. `premises` are the rows that it rests on, with the places of their literals."""

    key: Key
    origin: Origin
    rule: Rule | None = None
    instance: Instance | None = None
    premises: tuple[tuple[int, Key], ...] = ()

    @property
    def depth(self) -> int:
        """What the step itself adds to the height of a proof."""
        return 1 if self.origin in (Origin.RULE, Origin.GROUP) else 0


Ways = Callable[[Key, int | None], Iterator[Node]]
"""The ways of a row; those that cannot be as low as the number says may be left out."""


def search(
    root: Key,
    ways: Ways,
    is_given: Callable[[Key], bool],
    *,
    below: int | None = None,
    most: int | None = None,
) -> tuple[dict[Key, Node] | None, bool]:
    """The way to take for each row of a lowest proof, or None where there is no proof; and whether all were looked at.

    Rows that are given have height 0. With `below`, only proofs that are less high count. After `most` ways the search
    ends with what it has.
    """
    return _Search(root, ways, is_given, below, most).run()


def height_of(root: Key, nodes: Mapping[Key, Node]) -> int:
    """The height of the proof that the nodes are."""
    heights: dict[Key, int] = {}
    pending = [root]
    while pending:
        node = nodes[pending[-1]]
        waiting = [child for _, child in node.premises if child not in heights]
        if waiting:
            pending += waiting
        else:
            heights[pending.pop()] = node.depth + max((heights[child] for _, child in node.premises), default=0)
    return heights[root]


class _Search:
    def __init__(
        self, root: Key, ways: Ways, is_given: Callable[[Key], bool], below: int | None, most: int | None
    ) -> None:
        self._root = root
        self._ways = ways
        self._is_given = is_given
        self._below = below
        self._left = most
        self._heights: dict[Key, int] = {}
        self._best: dict[Key, Node] = {}
        self._users: dict[Key, list[Node]] = {}
        self._fallen: deque[Key] = deque()

    def run(self) -> tuple[dict[Key, Node] | None, bool]:
        layer, seen, depth = [self._root], {self._root}, 0
        is_exact = True
        while layer:
            # A row in this layer helps only if it is no higher than this.
            within = None if self._below is None else self._below - 1 - depth
            if within is not None and within < 0:
                break
            further: list[Key] = []
            for key in layer:
                for child in self._expand(key, within):
                    if child not in seen:
                        seen.add(child)
                        further.append(child)
                if self._left is not None and self._left < 0:
                    is_exact, further = False, []
                    break
            self._raise()
            if self._heights.get(self._root, depth + 1) <= depth:
                is_exact = True
                break
            layer, depth = further, depth + 1
        height = self._heights.get(self._root)
        if height is None or (self._below is not None and height >= self._below):
            return None, is_exact
        return self._chosen(), is_exact

    def _expand(self, key: Key, within: int | None) -> Iterator[Key]:
        """Finds the ways of a row; the rows that they rest on."""
        for node in self._ways(key, within):
            if self._left is not None:
                self._left -= 1
            all_given = True
            for _, child in node.premises:
                self._users.setdefault(child, []).append(node)
                if child not in self._heights and self._is_given(child):
                    self._settle(Node(child, Origin.INPUT), 0)
                all_given = all_given and self._heights.get(child) == 0
                yield child
            self._try(node)
            if all_given or (self._left is not None and self._left < 0):
                # No other way of this row can be lower.
                return

    def _try(self, node: Node) -> None:
        """Takes the way if it makes its row lower."""
        height = 0
        for _, child in node.premises:
            known = self._heights.get(child)
            if known is None:
                return
            height = max(height, known)
        height += node.depth
        if height < self._heights.get(node.key, height + 1):
            self._settle(node, height)

    def _settle(self, node: Node, height: int) -> None:
        self._heights[node.key] = height
        self._best[node.key] = node
        self._fallen.append(node.key)

    def _raise(self) -> None:
        """Hands heights that have fallen to the rows that rest on them."""
        while self._fallen:
            for node in self._users.get(self._fallen.popleft(), ()):
                self._try(node)

    def _chosen(self) -> dict[Key, Node]:
        """The best ways of the root and of all that it rests on."""
        chosen: dict[Key, Node] = {}
        pending = [self._root]
        while pending:
            key = pending.pop()
            if key not in chosen:
                chosen[key] = self._best[key]
                pending.extend(child for _, child in chosen[key].premises)
        return chosen
