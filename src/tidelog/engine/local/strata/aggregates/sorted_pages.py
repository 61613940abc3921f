"""A sorted sequence of Python values, in pages: a scan tree for values that are not words.

Only Python knows the order of text, tuples or structs, so the pages are lists and are searched by `bisect`. A change
moves at most one page's values, and now and then the list of pages. Every page caches its text for each way in which
the sequence is joined, so that a change rebuilds the text of one page: a rope, as in the leapfrog paper (2.3.3).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any

_MOST = 512
_FILLED = _MOST * 3 // 4

Texts = Callable[[Any], str]


class _Page:
    __slots__ = ("items", "texts")

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.texts: dict[int, str] = {}


class SortedPages:
    """The sorted values; a value may occur more than once."""

    __slots__ = ("_firsts", "_pages", "_size")

    def __init__(self, values: Iterable[Any]) -> None:
        ordered = sorted(values)
        self._pages = [_Page(ordered[at : at + _FILLED]) for at in range(0, len(ordered), _FILLED)]
        self._firsts = [page.items[0] for page in self._pages]
        self._size = len(ordered)

    def __len__(self) -> int:
        return self._size

    def insert(self, value: Any) -> None:
        """Inserts a value."""
        self._size += 1
        if not self._pages:
            self._pages, self._firsts = [_Page([value])], [value]
            return
        place = self._page(value)
        page = self._pages[place]
        page.items.insert(bisect_left(page.items, value), value)
        if len(page.items) > _MOST:
            half = len(page.items) // 2
            behind = _Page(page.items[half:])
            del page.items[half:]
            self._pages.insert(place + 1, behind)
            self._firsts.insert(place + 1, behind.items[0])
        self._has_changed(place)

    def remove(self, value: Any) -> bool:
        """Deletes a value, one of several equal ones; False if it is absent."""
        place, offset = self._locate(value)
        if place == len(self._pages) or self._pages[place].items[offset] != value:
            return False
        del self._pages[place].items[offset]
        self._size -= 1
        if self._pages[place].items:
            self._has_changed(place)
        else:
            del self._pages[place], self._firsts[place]
        return True

    def first(self) -> Any:
        return self._firsts[0]

    def last(self) -> Any:
        return self._pages[-1].items[-1]

    def first_from(self, value: Any) -> Any:
        """Returns the first value that does not come before this one; there must be one."""
        place, offset = self._locate(value)
        return self._pages[place].items[offset]

    def joined(self, number: int, separator: str, text: Texts | None) -> str:
        """Returns all values, converted by the function if given, as one text. `number` identifies the way to join."""
        parts = []
        for page in self._pages:
            known = page.texts.get(number)
            if known is None:
                known = separator.join(page.items if text is None else map(text, page.items))
                page.texts[number] = known
            parts.append(known)
        return separator.join(parts)

    def _page(self, value: Any) -> int:
        """Returns the place of the last page that begins before the value; 0 where none does."""
        return max(bisect_left(self._firsts, value) - 1, 0)

    def _locate(self, value: Any) -> tuple[int, int]:
        """Returns the page and the offset in it of the first value that does not come before this one."""
        if not self._pages:
            return 0, 0
        place = self._page(value)
        offset = bisect_left(self._pages[place].items, value)
        return (place, offset) if offset < len(self._pages[place].items) else (place + 1, 0)

    def _has_changed(self, place: int) -> None:
        page = self._pages[place]
        page.texts.clear()
        self._firsts[place] = page.items[0]
