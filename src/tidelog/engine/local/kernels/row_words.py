"""Words that rules make, in waves that go head by head (`row_wise`): all that an expression makes of given words, and
the id of a word that was made."""

from __future__ import annotations

from tidelog.engine.local.kernels.join import run_tail
from tidelog.engine.local.kernels.memory import (
    HASH_START,
    borrowed,
    entry_point,
    hash_end,
    hash_word,
    kernel,
    load32,
    load64,
)

# A finder: how the ids of a domain are found by their words. Its table has id + 1 or 0, of 32 bits by word - FIND_LEAST
# if FIND_MASK is negative, else of 64 bits by hash. FIND_MISSED is set if a word
# that a rule makes has no id.
FIND_TABLE, FIND_MASK, FIND_LEAST, FIND_SIZE, FIND_IDS, FIND_MISSED, FINDER_WORDS = 0, 1, 2, 3, 4, 5, 6


@kernel
def id_of(finder, word):
    """Returns the id of a word; -1 if it has none."""
    table, mask = load64(finder, FIND_TABLE), load64(finder, FIND_MASK)
    found = 0
    if mask < 0:
        at = word - load64(finder, FIND_LEAST)
        if 0 <= at < load64(finder, FIND_SIZE):
            found = load32(table, at)
    else:
        words = load64(finder, FIND_IDS)
        at = hash_end(hash_word(HASH_START, word)) & mask
        found = load64(table, at)
        while found != 0 and load64(words, found - 1) != word:
            at = (at + 1) & mask
            found = load64(table, at)
    return found - 1


@entry_point("int64(int64[:,::1], int64[::1], int64, int64[:,::1], int64[::1], int64[::1], int64, int64[::1])")
def make_words(S, code, count, given, targets, registers, made, words):
    """Runs a tail of `count` instructions for each line of given words, which go to the registers `targets`; writes the
    word in the register `made` if all filters pass. Returns how many words were written."""
    S, code, given, targets = borrowed(S), borrowed(code), borrowed(given), borrowed(targets)
    registers, words = borrowed(registers), borrowed(words)
    found = 0
    for line in range(given.shape[0]):
        for i in range(given.shape[1]):
            registers[targets[i]] = given[line, i]
        if run_tail(S, code.ctypes.data, 0, count, registers, 0, 0, registers) == 1:
            words[found] = registers[made]
            found += 1
    return found
