"""All derivations of rows → the proof of least height.

The height of a proof is the length of its longest path down: 0 for an input fact, else one more than the highest row
that the step rests on. The search goes down from the row in layers and finds all derivations of a layer's rows; heights
propagate up as they become known, and only ever fall. A proof of height h uses rows of the first h layers only, so the
search ends when it has seen as many layers as the row is high. It needs no ranks, and its proofs are never circular.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.proof import Origin
from tidelog.rules.ir import Rule

Key = tuple[str, Row]


@dataclass(frozen=True, slots=True)
class Node:
    """One derivation of a row. `premises` are the rows that it rests on, with the places of their literals.

    By a rule, `words` are those of its variables, and `weight` is the product of the weights of the premises. A group
    that shows only some of its `members` has their number.
    """

    key: Key
    origin: Origin
    rule: Rule | None = None
    premises: tuple[tuple[int, Key], ...] = ()
    words: Mapping[str, int] = field(default_factory=dict)
    weight: int = 1
    members: int | None = None

    @property
    def depth(self) -> int:
        """The height that the step itself adds to a proof."""
        return 1 if self.origin in (Origin.RULE, Origin.GROUP) else 0


Ways = Callable[[Key, int | None], Iterator[Node]]
"""Yields the derivations of a row; those that cannot be as low as the number may be skipped."""


def search(
    root: Key,
    ways: Ways,
    is_given: Callable[[Key], bool],
    *,
    below: int | None = None,
    most: int | None = None,
) -> tuple[dict[Key, Node] | None, bool]:
    """Returns the derivation of each row of a lowest proof, or None if there is no proof; and whether all were tried.

    Input facts have height 0. With `below`, only lower proofs count. After `most` derivations the search
    ends with the best so far.
    """
    return _Search(root, ways, is_given, below, most).run()


def height_of(root: Key, nodes: Mapping[Key, Node]) -> int:
    """Returns the height of the proof with these nodes."""
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
        """Finds the derivations of a row; yields the rows that they rest on."""
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
        """Takes the derivation if it makes its row lower."""
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
        """Propagates heights that have fallen to the rows that rest on them."""
        while self._fallen:
            for node in self._users.get(self._fallen.popleft(), ()):
                self._try(node)

    def _chosen(self) -> dict[Key, Node]:
        """Returns the best derivations of the root and of all rows that it rests on."""
        chosen: dict[Key, Node] = {}
        pending = [self._root]
        while pending:
            key = pending.pop()
            if key not in chosen:
                chosen[key] = self._best[key]
                pending.extend(child for _, child in chosen[key].premises)
        return chosen
