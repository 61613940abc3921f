"""Items of an iterator → the same items, of which a thread reads the next one while the caller works on the last.

It pays where reading is done outside Python, such as by Arrow.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yields the items. An exception of `items` is raised in its place; once the result is closed, nothing reads.

    With a single processor there is no thread.
    """
    if len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)) < 2:
        yield from items
        return
    end: Any = object()
    with ThreadPoolExecutor(1, thread_name_prefix="tidelog-read") as thread:
        following = thread.submit(next, items, end)
        while (item := following.result()) is not end:
            following = thread.submit(next, items, end)
            yield item
