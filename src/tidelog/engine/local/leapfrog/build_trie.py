"""Rows → the pages of a new trie: the lines are sorted by radix, column by column from the last, and the rows are
copied."""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import entry_point, kernel, load64, store64
from tidelog.engine.local.leapfrog.pages import COLUMN_BYTES, page_at, set_rows, take_page

DIGIT_BITS = 11
DIGITS = 1 << DIGIT_BITS
# New pages have room, so that the first inserted rows do not split all of them.
FILLED = k.PAGE_ROWS * 7 // 8


@kernel
def sort_by_word(words, lines, other_words, other_lines, counts):
    """Sorts lines by the words beside them; lines with equal words keep their order. Needs as much memory again."""
    count = lines.size
    least = words[0]
    most = words[0]
    for i in range(count):
        least = min(least, words[i])
        most = max(most, words[i])
    # As an unsigned number; a negative one has all its bits.
    spread = most - least
    for i in range(count):
        words[i] -= least
    shift = 0
    while shift < 64 and (spread < 0 or spread >> shift != 0):
        counts[:] = 0
        for i in range(count):
            counts[(words[i] >> shift) & (DIGITS - 1)] += 1
        at = 0
        for digit in range(DIGITS):
            here = counts[digit]
            counts[digit] = at
            at += here
        for i in range(count):
            digit = (words[i] >> shift) & (DIGITS - 1)
            other_words[counts[digit]] = words[i]
            other_lines[counts[digit]] = lines[i]
            counts[digit] += 1
        for i in range(count):
            words[i] = other_words[i]
            lines[i] = other_lines[i]
        shift += DIGIT_BITS


@entry_point("int64(int64[:,::1], int64[:,::1], int64, int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def build_trie(S, A, trie, lines, words, other_lines, other_words, counts):
    """Fills the empty pages of a trie with the rows at these lines, and sorts the lines; the caller has made room.

    `words`, `other_lines` and `other_words` are scratch as long as `lines`, `counts` for DIGITS words.
    """
    relation = A[trie, k.RELATION]
    rows = S[relation, k.ROWS]
    stride = S[relation, k.WIDTH] * 8
    columns = A[trie, k.KEY_COUNT]
    keys = A[trie, k.KEYS]
    if lines.size == 0:
        return 0
    for column in range(columns - 1, -1, -1):
        for i in range(lines.size):
            words[i] = load64(rows + lines[i] * stride, load64(keys, column))
        sort_by_word(words, lines, other_words, other_lines, counts)
    done = 0
    place = 0
    while done < lines.size:
        count = min(FILLED, lines.size - done)
        take_page(A, trie, place)
        page = page_at(A, trie, place)
        for i in range(count):
            row = rows + lines[done + i] * stride
            for column in range(columns):
                store64(page + column * COLUMN_BYTES, i, load64(row, load64(keys, column)))
            store64(page + columns * COLUMN_BYTES, i, lines[done + i])
        set_rows(A, trie, place, count)
        done += count
        place += 1
    return 0
