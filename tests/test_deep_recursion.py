"""Deep work gets the room that it needs, and what is too deep is an error instead of a crash."""

from __future__ import annotations

import sys
import threading

import pytest

from tidelog.deep_recursion import DEEPEST, at_any_depth, deeply, is_deep, through_c


def down(levels: int) -> int:
    return down(levels - 1) + 1 if levels else 0


def test_python_can_recurse_deeper_than_usual() -> None:
    limit = sys.getrecursionlimit()
    assert limit < 10_000
    assert deeply(down, 15_000) == 15_000
    assert at_any_depth(down, 15_000) == 15_000
    assert sys.getrecursionlimit() == limit


def test_what_never_ends_is_an_error() -> None:
    with pytest.raises(RecursionError):
        deeply(down, DEEPEST * 2)
    assert not is_deep()


def test_sorting_inside_sorting_does_not_crash() -> None:
    def nested(levels: int) -> int:
        def key(item: int) -> int:
            return through_c(nested, (levels - 1,)) + item  # type: ignore[no-any-return]

        return max([1], key=key) if levels else 0

    assert deeply(nested, 400) == 1
    with pytest.raises(RecursionError):
        deeply(nested, 15_000)
    assert through_c(down, (3,)) == 3


def test_threads_share_the_limit() -> None:
    limit = sys.getrecursionlimit()
    entered, leave = threading.Event(), threading.Event()

    def wait() -> None:
        entered.set()
        leave.wait()
        assert down(5_000) == 5_000

    thread = threading.Thread(target=lambda: deeply(wait))
    thread.start()
    entered.wait()
    assert deeply(down, 5_000) == 5_000
    assert not is_deep()
    leave.set()
    thread.join()
    assert sys.getrecursionlimit() == limit
