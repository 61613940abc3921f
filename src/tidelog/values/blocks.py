"""Sorted sequences in blocks: what sets and maps are made of.

A sequence is a list of blocks, each a non-empty list of at most `LARGEST` items. None of these lists is ever changed: a
new sequence shares all blocks but one with the old, so a change to n items costs about sqrt(n) and leaves the old
sequence as it was. Beside the blocks goes `lasts`, the last key of each, for the search by bisection. A map has another
sequence, of its values, cut at the same places: the functions cut by length only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

Block = list[Any]
Blocks = list[Block]
# Block and position of the first key that is not less, and whether it is equal.
Place = tuple[int, int, bool]

LARGEST = 256


def cut(items: Sequence[Any]) -> Blocks:
    """Returns the items in blocks, not too full to grow."""
    if len(items) <= LARGEST:
        return [list(items)] if items else []
    size = LARGEST * 3 // 4
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


def last_keys(blocks: Blocks) -> Block:
    return [block[-1] for block in blocks]


def find(blocks: Blocks, lasts: Block, key: Any) -> Place:
    """Returns the place of the key, or where it belongs: behind the end of the last block if it is the largest."""
    index = bisect_left(lasts, key)
    if index == len(lasts):
        return (index - 1, len(blocks[-1]), False) if blocks else (0, 0, False)
    block = blocks[index]
    position = bisect_left(block, key)
    return index, position, bool(block[position] == key)


def insert(blocks: Blocks, place: Place, item: Any) -> Blocks:
    """Returns the blocks with one more item at the place; a block that gets too large is cut in two."""
    if not blocks:
        return [[item]]
    index, position, _ = place
    block = blocks[index].copy()
    block.insert(position, item)
    changed = blocks.copy()
    if len(block) <= LARGEST:
        changed[index] = block
    else:
        # Keys that come in order fill their blocks this way.
        middle = LARGEST - 1 if position == LARGEST else LARGEST // 2
        changed[index : index + 1] = block[:middle], block[middle:]
    return changed


def replace(blocks: Blocks, place: Place, item: Any) -> Blocks:
    """Returns the blocks with another item at the place."""
    index, position, _ = place
    changed = blocks.copy()
    changed[index] = block = blocks[index].copy()
    block[position] = item
    return changed


def remove(blocks: Blocks, place: Place) -> Blocks:
    """Returns the blocks without the item at the place; a block that gets empty goes."""
    index, position, _ = place
    changed = blocks.copy()
    changed[index] = block = blocks[index].copy()
    del block[position]
    if not block:
        del changed[index]
    return changed


def update_lasts(lasts: Block, before: Blocks, after: Blocks, index: int) -> Block:
    """`last_keys(after)`, where `after` came from `before` by a change at one block."""
    grown = len(after) - len(before)
    if not grown and lasts[index] is after[index][-1]:
        return lasts
    changed = lasts.copy()
    changed[index : index + 1] = [block[-1] for block in after[index : index + 1 + grown]]
    return changed
