"""The memory of a trie: the rows of a relation sorted by all their columns, in pages, maintained row by row.

A page has a column of words for each column of the relation, in the trie's order, and one of lines; its rows lie side
by side at the front. The directory has the pages in order, each with the first word of its first row: a search reads
the directory, which the caches hold, and then a page. A full page is split in two; an empty page leaves the directory.
Inserting or removing a row moves at most one page's rows, and now and then the directory.

    order (src, dst):   directory │ page 7: 210 rows │ page 2: 256 rows │ …
                        page 7      src 1 1 1 4 …   dst 2 5 9 1 …   line 40 3 17 8 …

Level l of a trie is column l of this order: the vertices below a prefix are the different words behind it.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import kernel, load64, store64
from tidelog.engine.local.leapfrog.page_counts import count_rows, recount

COLUMN_BYTES = k.PAGE_ROWS * 8
ENTRY = k.DIRECTORY_ENTRY


@kernel
def page_at(A, trie, place):
    """Returns the address of the page at a place of the directory."""
    page = load64(A[trie, k.DIRECTORY], ENTRY * place + k.DIRECTORY_PAGE)
    return A[trie, k.PAGES] + page * (A[trie, k.KEY_COUNT] + 1) * COLUMN_BYTES


@kernel
def rows_at(A, trie, place):
    """Returns how many rows the page at a place of the directory has."""
    return load64(A[trie, k.DIRECTORY], ENTRY * place + k.DIRECTORY_ROWS)


@kernel
def first_word(A, trie, place):
    """Returns the word in the first column of the first row of the page at a place of the directory."""
    return load64(A[trie, k.DIRECTORY], ENTRY * place + k.DIRECTORY_FIRST)


@kernel
def set_rows(A, trie, place, rows):
    """Sets how many rows the page at a place of the directory has, at least one."""
    count_rows(A, trie, place, rows - rows_at(A, trie, place))
    store64(A[trie, k.DIRECTORY], ENTRY * place + k.DIRECTORY_ROWS, rows)
    store64(A[trie, k.DIRECTORY], ENTRY * place + k.DIRECTORY_FIRST, load64(page_at(A, trie, place), 0))


@kernel
def compare(A, trie, page, offset, row):
    """Returns -1 if the page's row comes before the row at an address, 0 if they are equal, else 1."""
    keys = A[trie, k.KEYS]
    for i in range(A[trie, k.KEY_COUNT]):
        here = load64(page + i * COLUMN_BYTES, offset)
        there = load64(row, load64(keys, i))
        if here != there:
            return -1 if here < there else 1
    return 0


@kernel
def find_page(A, trie, row):
    """Returns the place of the last page that does not begin behind the row; 0 if all do."""
    low = 0
    high = A[trie, k.PAGE_COUNT]
    word = load64(row, load64(A[trie, k.KEYS], 0))
    while high - low > 1:
        middle = (low + high) >> 1
        first = first_word(A, trie, middle)
        if first < word or (first == word and compare(A, trie, page_at(A, trie, middle), 0, row) <= 0):
            low = middle
        else:
            high = middle
    return low


@kernel
def find_offset(A, trie, page, rows, row):
    """Returns the first offset in a page whose row does not come before the row."""
    low = 0
    high = rows
    while low < high:
        middle = (low + high) >> 1
        if compare(A, trie, page, middle, row) < 0:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def take_page(A, trie, place):
    """Puts an unused page, without rows, into the directory; returns False if there is no room for it."""
    count = A[trie, k.PAGE_COUNT]
    if count == A[trie, k.DIRECTORY_CAPACITY]:
        return False
    free = A[trie, k.FREE_PAGE]
    if free > 0:
        page = free - 1
        A[trie, k.FREE_PAGE] = load64(A[trie, k.PAGES] + page * (A[trie, k.KEY_COUNT] + 1) * COLUMN_BYTES, 0)
    elif A[trie, k.PAGES_TAKEN] < A[trie, k.PAGE_CAPACITY]:
        page = A[trie, k.PAGES_TAKEN]
        A[trie, k.PAGES_TAKEN] = page + 1
    else:
        return False
    directory = A[trie, k.DIRECTORY]
    for at in range(ENTRY * count - 1, ENTRY * place - 1, -1):
        store64(directory, at + ENTRY, load64(directory, at))
    store64(directory, ENTRY * place + k.DIRECTORY_PAGE, page)
    store64(directory, ENTRY * place + k.DIRECTORY_ROWS, 0)
    A[trie, k.PAGE_COUNT] = count + 1
    recount(A, trie, place)
    return True


@kernel
def split_page(A, trie, place, kept):
    """Moves the rows of a page from `kept` on to a new page behind it; returns False if there is no room for it."""
    rows = rows_at(A, trie, place)
    if not take_page(A, trie, place + 1):
        return False
    source = page_at(A, trie, place)
    target = page_at(A, trie, place + 1)
    for column in range(A[trie, k.KEY_COUNT] + 1):
        for i in range(rows - kept):
            store64(target + column * COLUMN_BYTES, i, load64(source + column * COLUMN_BYTES, kept + i))
    set_rows(A, trie, place, kept)
    if kept < rows:
        set_rows(A, trie, place + 1, rows - kept)
    return True


@kernel
def arrange_sorted(S, A, trie, line):
    """Inserts a row, unless it is there; returns False, and changes nothing, if the trie must grow."""
    relation = A[trie, k.RELATION]
    row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
    columns = A[trie, k.KEY_COUNT]
    if A[trie, k.PAGE_COUNT] == 0 and not take_page(A, trie, 0):
        return False
    place = find_page(A, trie, row)
    rows = rows_at(A, trie, place)
    page = page_at(A, trie, place)
    offset = find_offset(A, trie, page, rows, row)
    if offset < rows and compare(A, trie, page, offset, row) == 0:
        return True
    if rows == k.PAGE_ROWS:
        # Rows that are inserted in order fill their pages.
        kept = rows if offset == rows else rows // 2
        if not split_page(A, trie, place, kept):
            return False
        rows = kept
        if offset > kept or kept == k.PAGE_ROWS:
            place += 1
            offset -= kept
            rows = rows_at(A, trie, place)
        page = page_at(A, trie, place)
    keys = A[trie, k.KEYS]
    for column in range(columns + 1):
        words = page + column * COLUMN_BYTES
        for at in range(rows - 1, offset - 1, -1):
            store64(words, at + 1, load64(words, at))
        store64(words, offset, line if column == columns else load64(row, load64(keys, column)))
    set_rows(A, trie, place, rows + 1)
    return True


@kernel
def unarrange_sorted(S, A, trie, line):
    """Removes a row, if it is there. The row's columns are still in place."""
    if A[trie, k.PAGE_COUNT] == 0:
        return
    relation = A[trie, k.RELATION]
    row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
    columns = A[trie, k.KEY_COUNT]
    place = find_page(A, trie, row)
    rows = rows_at(A, trie, place)
    page = page_at(A, trie, place)
    offset = find_offset(A, trie, page, rows, row)
    if offset == rows or compare(A, trie, page, offset, row) != 0:
        return
    for column in range(columns + 1):
        words = page + column * COLUMN_BYTES
        for at in range(offset + 1, rows):
            store64(words, at - 1, load64(words, at))
    if rows > 1:
        set_rows(A, trie, place, rows - 1)
        return
    directory = A[trie, k.DIRECTORY]
    store64(page, 0, A[trie, k.FREE_PAGE])
    A[trie, k.FREE_PAGE] = load64(directory, ENTRY * place + k.DIRECTORY_PAGE) + 1
    for at in range(ENTRY * place, ENTRY * (A[trie, k.PAGE_COUNT] - 1)):
        store64(directory, at, load64(directory, at + ENTRY))
    A[trie, k.PAGE_COUNT] -= 1
    recount(A, trie, place)
