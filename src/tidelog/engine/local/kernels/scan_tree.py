"""A sorted sequence of entries of one or two words each; both ends and any place are found in O(log n).

The entries lie in pages, one column of a page behind the other. The directory has the pages in order, each with the
number of its entries. A full page is split in two; an empty page leaves the directory and is used again. Equal entries
may be present more than once. Python owns the arrays (`aggregates.scan_tree`), and makes room when a kernel reports
that there is none.

    header      pages in the directory │ pages ever taken │ first free page + 1, or 0 │ entries │ words of an entry
"""

from __future__ import annotations

from tidelog.engine.local.kernels.memory import entry_point, kernel

ROWS = 256
PAGES, TAKEN, FREE, SIZE, WIDTH = 0, 1, 2, 3, 4
HEADER = 5
NO_ROOM = -1
FIRST, LAST, FROM = 0, 1, 2


@kernel
def is_before(words, width, page, offset, entries, at):
    """True if the entry at a place of a page comes before another one."""
    place = page * width * ROWS + offset
    for column in range(width):
        here, there = words[place + column * ROWS], entries[at * width + column]
        if here != there:
            return here < there
    return False


@kernel
def find_page(header, words, directory, entries, at):
    """Returns the place of the last page that begins before the entry; 0 if there is none."""
    low, high = 0, header[PAGES]
    while high - low > 1:
        middle = (low + high) >> 1
        if is_before(words, header[WIDTH], directory[2 * middle], 0, entries, at):
            low = middle
        else:
            high = middle
    return low


@kernel
def find_offset(header, words, directory, place, entries, at):
    """Returns the first offset in a page whose entry does not come before the entry."""
    low, high = 0, directory[2 * place + 1]
    while low < high:
        middle = (low + high) >> 1
        if is_before(words, header[WIDTH], directory[2 * place], middle, entries, at):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def take_page(header, words, directory, place):
    """Puts an empty page into the directory; returns False if there is no room for it."""
    count = header[PAGES]
    if 2 * count == directory.size:
        return False
    span = header[WIDTH] * ROWS
    if header[FREE]:
        page = header[FREE] - 1
        header[FREE] = words[page * span]
    elif header[TAKEN] * span < words.size:
        page = header[TAKEN]
        header[TAKEN] += 1
    else:
        return False
    for at in range(2 * count - 1, 2 * place - 1, -1):
        directory[at + 2] = directory[at]
    directory[2 * place] = page
    directory[2 * place + 1] = 0
    header[PAGES] = count + 1
    return True


@kernel
def insert(header, words, directory, entries, at):
    """Inserts an entry; returns False, and changes nothing, if there is no room for it."""
    if header[PAGES] == 0 and not take_page(header, words, directory, 0):
        return False
    width = header[WIDTH]
    place = find_page(header, words, directory, entries, at)
    offset = find_offset(header, words, directory, place, entries, at)
    rows = directory[2 * place + 1]
    if rows == ROWS:
        # Entries that are inserted in order fill their pages.
        kept = ROWS if offset == ROWS else ROWS // 2
        if not take_page(header, words, directory, place + 1):
            return False
        source, target = directory[2 * place] * width * ROWS, directory[2 * place + 2] * width * ROWS
        for column in range(width):
            for i in range(kept, rows):
                words[target + column * ROWS + i - kept] = words[source + column * ROWS + i]
        directory[2 * place + 1] = kept
        directory[2 * place + 3] = rows - kept
        if offset > kept or kept == ROWS:
            place += 1
            offset -= kept
        rows = directory[2 * place + 1]
    page = directory[2 * place] * width * ROWS
    for column in range(width):
        start = page + column * ROWS
        for i in range(rows - 1, offset - 1, -1):
            words[start + i + 1] = words[start + i]
        words[start + offset] = entries[at * width + column]
    directory[2 * place + 1] = rows + 1
    header[SIZE] += 1
    return True


@kernel
def locate(header, words, directory, entries, at):
    """Returns the place of the page, and the offset in it, of the first entry that does not come before this one.

    If there is none, the place is the one behind the last page.
    """
    if header[PAGES] == 0:
        return 0, 0
    place = find_page(header, words, directory, entries, at)
    offset = find_offset(header, words, directory, place, entries, at)
    if offset == directory[2 * place + 1]:
        return place + 1, 0
    return place, offset


@kernel
def is_at(header, words, directory, place, offset, entries, at):
    """True if the entry is at this place and offset, where `locate` found it."""
    if place == header[PAGES]:
        return False
    width = header[WIDTH]
    page = directory[2 * place] * width * ROWS
    for column in range(width):
        if words[page + column * ROWS + offset] != entries[at * width + column]:
            return False
    return True


@kernel
def remove(header, words, directory, entries, at):
    """Removes an entry, one of several equal ones; returns False if there is none."""
    place, offset = locate(header, words, directory, entries, at)
    if not is_at(header, words, directory, place, offset, entries, at):
        return False
    width = header[WIDTH]
    page = directory[2 * place] * width * ROWS
    rows = directory[2 * place + 1]
    for column in range(width):
        start = page + column * ROWS
        for i in range(offset + 1, rows):
            words[start + i - 1] = words[start + i]
    directory[2 * place + 1] = rows - 1
    header[SIZE] -= 1
    if rows == 1:
        words[page] = header[FREE]
        header[FREE] = directory[2 * place] + 1
        header[PAGES] -= 1
        for i in range(2 * place, 2 * header[PAGES]):
            directory[i] = directory[i + 2]
    return True


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64)")
def insert_all(header, words, directory, entries, first):
    """Inserts entries from number `first` on; returns the number of the entry that found no room, or how many there
    are."""
    count = entries.size // header[WIDTH]
    for at in range(first, count):
        if not insert(header, words, directory, entries, at):
            return at
    return count


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1])")
def remove_all(header, words, directory, entries):
    """Removes entries; returns how many of them were present."""
    found = 0
    for at in range(entries.size // header[WIDTH]):
        if remove(header, words, directory, entries, at):
            found += 1
    return found


@entry_point("void(int64[::1], int64[::1], int64[::1], int64[::1], boolean[::1])")
def find_all(header, words, directory, entries, found):
    """Writes for each entry whether it is present."""
    for at in range(found.size):
        place, offset = locate(header, words, directory, entries, at)
        found[at] = is_at(header, words, directory, place, offset, entries, at)


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64)")
def read(header, words, directory, entry, which):
    """Overwrites `entry` with the first entry, the last one, or the first one from `entry` on; returns 0 if there is
    none."""
    place, offset = 0, 0
    if which == LAST and header[PAGES]:
        place = header[PAGES] - 1
        offset = directory[2 * place + 1] - 1
    elif which == FROM:
        place, offset = locate(header, words, directory, entry, 0)
    if place >= header[PAGES]:
        return 0
    page = directory[2 * place] * header[WIDTH] * ROWS
    for column in range(header[WIDTH]):
        entry[column] = words[page + column * ROWS + offset]
    return 1
