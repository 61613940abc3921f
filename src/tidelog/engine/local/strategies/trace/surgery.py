"""Tree surgery and the change oracle: the changes of an epoch in tries → the regions where a trace may change with
them.

An inserted or deleted row is a change at each level of a trie where a vertex is inserted or deleted with it (paper 003,
section 4.2.1). Such a change is matched with the intervals of the index there: each gives the region of a node, and is
removed from the index. Without an index the change itself names its node, and the region is one value. The regions are
the change oracle: an evaluation goes from one to the next, and their values are never listed.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import entry_point, kernel, load32, load64
from tidelog.engine.local.leapfrog.iterators import open_below, open_root, seek_lub
from tidelog.engine.local.strategies.trace import evaluate
from tidelog.engine.local.strategies.trace.sensitivity import SMALLEST_WORD, find_intervals


@kernel
def add_region(levels, parts, part, words, record, line, lowest, up_to, regions, count):
    """Adds the region of a node whose variables are in a record, or in the path of a change."""
    depth = levels.shape[0]
    level = parts[part, evaluate.PART_LEVEL]
    regions[count, evaluate.REGION_LEVEL] = level
    for i in range(depth):
        regions[count, evaluate.REGION_VALUES + i] = (
            record[line, 1 + load64(words, parts[part, evaluate.COLUMNS_AT] + i)] if i < level else 0
        )
    regions[count, evaluate.REGION_VALUES + depth] = lowest
    regions[count, evaluate.REGION_VALUES + depth + 1] = up_to


@entry_point(
    "int64(int64[:,::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[::1], int64[:,::1], int64,"
    " int64, int64[:,::1], int64[:,::1], int64[::1], int64[:,::1])"
)
def find_regions(S, A, X, levels, parts, code, places, part, count, regions, matched, scratch, path):
    """Matches the changes in the trie of a part, or in a relation that is looked up, with the part's index.

    Tree surgery: a change of a row counts at the part's level only if a vertex is inserted or deleted with it. Adds to
    the `count` regions, with the matched records beside them (the index first, or -1); returns how many there are then,
    or -1 if there is no room. `path` is scratch for one line.
    """
    words = code.ctypes.data
    relation = parts[part, evaluate.PART_RELATION]
    index = parts[part, evaluate.INDEX]
    known = parts[part, evaluate.KNOWN_N]
    trie = parts[part, evaluate.TRIE]
    level = parts[part, evaluate.TRIE_LEVEL]
    slot = places.shape[0] - 1
    columns = S[relation, k.COLUMNS]
    for direction in range(2):
        lines = S[relation, k.INSERTED] if direction == 0 else S[relation, k.DELETED]
        changes = S[relation, k.INSERTED_COUNT] if direction == 0 else S[relation, k.DELETED_COUNT]
        for i in range(changes):
            row = S[relation, k.ROWS] + load32(lines, i) * S[relation, k.WIDTH] * 8
            for column in range(columns):
                path[0, 1 + column] = load64(row, load64(words, parts[part, evaluate.ORDER_AT] + column))
            word = path[0, 1 + level]
            if trie >= 0:
                open_root(A, trie, places, slot)
                for at in range(level + 1):
                    seek_lub(A, trie, at, places, slot, path[0, 1 + at])
                    if at < level:
                        open_below(A, trie, at + 1, places, slot, slot)
                was_there = evaluate.has_vertex(S, A, parts, part, places, slot, evaluate.OLD)
                if was_there == evaluate.has_vertex(S, A, parts, part, places, slot, evaluate.NEW):
                    continue
            if index < 0:
                if count == regions.shape[0]:
                    return -1
                matched[count, 0] = -1
                add_region(levels, parts, part, words, path, 0, word, word, regions, count)
                count += 1
                continue
            for column in range(X[index, k.KEY_COUNT]):
                scratch[column] = path[0, 1 + column] if column < known else SMALLEST_WORD
            found = find_intervals(X, index, scratch.ctypes.data, known, word, trie < 0, matched, count)
            if found < 0 or found > regions.shape[0]:
                return -1
            for at in range(count, found):
                matched[at, 0] = index
                first = matched[at, 1 + known]
                last = matched[at, X[index, k.KEY_COUNT]]
                add_region(levels, parts, part, words, matched, at, first, last, regions, at)
            count = found
    return count


@entry_point("int64(int64[:,::1], int64[:,::1])")
def unite_regions(regions, united):
    """Unites overlapping regions of a sorted list; returns how many are left."""
    count = 0
    width = regions.shape[1]
    for i in range(regions.shape[0]):
        same = count > 0 and regions[i, width - 2] <= united[count - 1, width - 1]
        for column in range(width - 2):
            if same and regions[i, column] != united[count - 1, column]:
                same = False
        if same:
            united[count - 1, width - 1] = max(united[count - 1, width - 1], regions[i, width - 1])
        else:
            united[count] = regions[i]
            count += 1
    return count
