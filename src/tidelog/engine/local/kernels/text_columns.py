"""Operations on columns of text, given by the addresses and lengths of UTF-8 bytes.

Results are written to memory that Python owns, or are places in the bytes of an argument. A kernel returns the number
of strings that it could not do (a position inside a character, a letter beyond ASCII): Python does the batch then.
"""

from __future__ import annotations

from tidelog.engine.local.kernels.memory import copy_bytes, entry_point, kernel, load8, store8
from tidelog.engine.local.kernels.string_pool import same_bytes

NUMBER_BYTES = 20
_SPACE = 32


@entry_point("int64(int64[::1], int64[::1], int64[::1])")
def append_texts(addresses, lengths, cursors):
    """Copies each string to its cursor, and moves the cursor behind it."""
    for i in range(lengths.size):
        copy_bytes(cursors[i], addresses[i], lengths[i])
        cursors[i] += lengths[i]
    return 0


@kernel
def is_inside_character(address, length, place):
    """True if the byte at a place continues a character."""
    return place < length and load8(address + place) & 0xC0 == 0x80


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1])")
def cut_texts(addresses, lengths, starts, ends):
    """Moves each string to its bytes from start to end, both unsigned; returns how many cuts are inside a character."""
    failed = 0
    for i in range(lengths.size):
        length = lengths[i]
        start, end = starts[i], ends[i]
        if start < 0 or start > length:
            start = length
        if end < 0 or end > length:
            end = length
        end = max(start, end)
        failed += is_inside_character(addresses[i], length, start) or is_inside_character(addresses[i], length, end)
        addresses[i] += start
        lengths[i] = end - start
    return failed


@kernel
def compare_bytes(left, left_length, right, right_length):
    """Returns a number below, equal to or above 0 as the left string is less than, equal to or above the right one."""
    for at in range(min(left_length, right_length)):
        difference = load8(left + at) - load8(right + at)
        if difference != 0:
            return difference
    return left_length - right_length


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def compare_texts(left, left_lengths, right, right_lengths, found):
    """Writes a number with the sign of the comparison. The order of bytes is the order of characters."""
    for i in range(found.size):
        found[i] = compare_bytes(left[i], left_lengths[i], right[i], right_lengths[i])
    return 0


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def equal_texts(left, left_lengths, right, right_lengths, found):
    """Writes whether the strings are equal."""
    for i in range(found.size):
        length = left_lengths[i]
        found[i] = length == right_lengths[i] and same_bytes(left[i], right[i], length)
    return 0


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64, int64[::1])")
def match_ends(texts, lengths, parts, part_lengths, at_end, found):
    """Writes whether each string starts, or ends, with its part."""
    for i in range(found.size):
        rest, size = lengths[i] - part_lengths[i], part_lengths[i]
        found[i] = rest >= 0 and same_bytes(texts[i] + (rest if at_end else 0), parts[i], size)
    return 0


@kernel
def contains_bytes(text, length, part, size):
    """True if the part is somewhere in the text."""
    if size == 0:
        return True
    first = load8(part)
    for at in range(length - size + 1):
        if load8(text + at) == first and same_bytes(text + at, part, size):
            return True
    return False


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def contain_texts(texts, lengths, parts, part_lengths, found):
    """Writes whether each string contains its part."""
    for i in range(found.size):
        found[i] = contains_bytes(texts[i], lengths[i], parts[i], part_lengths[i])
    return 0


@entry_point("int64(int64[::1], int64, int64, int64[::1], int64[::1])")
def write_numbers(words, is_unsigned, target, addresses, lengths):
    """Writes each number in decimal, into `NUMBER_BYTES` bytes of its own at the target."""
    for i in range(words.size):
        end = target + (i + 1) * NUMBER_BYTES
        at = end
        word = words[i]
        negative = word < 0 and is_unsigned == 0
        if word < 0:
            # Of numbers that do not fit: the last digit first, by halves, so that no word overflows.
            digit = (((word >> 1) & 0x7FFFFFFFFFFFFFFF) % 5) * 2 + (word & 1)
            rest = ((word >> 1) & 0x7FFFFFFFFFFFFFFF) // 5
            if negative:
                digit = -(word % -10)
                rest = (-(word + digit)) // 10
            at -= 1
            store8(at, 48 + digit)
            word = rest
        if word > 0 or at == end:
            while True:
                at -= 1
                store8(at, 48 + word % 10)
                word //= 10
                if word == 0:
                    break
        if negative:
            at -= 1
            store8(at, 45)
        addresses[i] = at
        lengths[i] = end - at
    return 0


@entry_point("int64(int64[::1], int64[::1], int64, int64, int64[::1])")
def change_case(addresses, lengths, is_upper, target, fresh):
    """Writes each string in upper or lower case to the target; returns how many have letters beyond ASCII."""
    failed = 0
    low, high = (97, 122) if is_upper else (65, 90)
    at = target
    for i in range(lengths.size):
        fresh[i] = at
        beyond = 0
        for place in range(lengths[i]):
            byte = load8(addresses[i] + place)
            beyond |= byte
            store8(at + place, byte ^ _SPACE if low <= byte <= high else byte)
        failed += beyond >= 128
        at += lengths[i]
    return failed


@kernel
def is_blank(byte):
    return byte == 32 or 9 <= byte <= 13


@entry_point("int64(int64[::1], int64[::1])")
def trim_texts(addresses, lengths):
    """Moves each string to its part without blanks around it; returns how many end in bytes beyond ASCII."""
    failed = 0
    for i in range(lengths.size):
        start, end = addresses[i], addresses[i] + lengths[i]
        while start < end and is_blank(load8(start)):
            start += 1
        while start < end and is_blank(load8(end - 1)):
            end -= 1
        if start < end and (load8(start) >= 128 or load8(end - 1) >= 128):
            failed += 1
        addresses[i] = start
        lengths[i] = end - start
    return failed


@entry_point("int64(int64[::1], int64[::1], int64, int64[::1], int64[::1])")
def parse_numbers(addresses, lengths, is_unsigned, words, is_number):
    """Reads decimal numbers of 64 bits with a sign; writes each word, and whether the string is one that fits."""
    for i in range(lengths.size):
        at, end = addresses[i], addresses[i] + lengths[i]
        negative = False
        if at < end and (load8(at) == 43 or (load8(at) == 45 and is_unsigned == 0)):
            negative = load8(at) == 45
            at += 1
        good = at < end
        while at < end and load8(at) == 48:
            at += 1
        digits = end - at
        word = 0
        good = good and digits <= 20
        if good:
            for place in range(at, end):
                digit = load8(place) - 48
                if digit < 0 or digit > 9:
                    good = False
                    break
                if place == end - 1 and digits >= 19:
                    good = fits(word, digit, is_unsigned, negative)
                word = word * 10 + digit
        words[i] = -word if negative else word
        is_number[i] = good
    return 0


@kernel
def fits(word, digit, is_unsigned, negative):
    """True if ten times the word, which has 18 or 19 digits, and a digit more fit into 64 bits."""
    if is_unsigned:
        # 18446744073709551615
        return 0 <= word < 1844674407370955161 or (word == 1844674407370955161 and digit <= 5)
    last = 8 if negative else 7
    return 0 <= word < 922337203685477580 or (word == 922337203685477580 and digit <= last)


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def count_parts(texts, lengths, separators, sizes, counts):
    """Writes into how many parts a separator splits each string; returns how many separators are empty."""
    failed = 0
    for i in range(counts.size):
        count, at, end, size = 1, texts[i], texts[i] + lengths[i], sizes[i]
        failed += size == 0
        while size > 0 and at + size <= end:
            if load8(at) == load8(separators[i]) and same_bytes(at, separators[i], size):
                count += 1
                at += size
            else:
                at += 1
        counts[i] = count
    return failed


@entry_point("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def split_texts(texts, lengths, separators, sizes, addresses, part_lengths):
    """Writes the parts of all strings, one after the other; `count_parts` says how many there are."""
    part = 0
    for i in range(lengths.size):
        start, at, end, size = texts[i], texts[i], texts[i] + lengths[i], sizes[i]
        while at + size <= end:
            if load8(at) == load8(separators[i]) and same_bytes(at, separators[i], size):
                addresses[part], part_lengths[part] = start, at - start
                part += 1
                at += size
                start = at
            else:
                at += 1
        addresses[part], part_lengths[part] = start, end - start
        part += 1
    return part
