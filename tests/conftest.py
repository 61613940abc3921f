"""What tests share: one Spark session for the whole run; and which tests run only when they are asked for.

Tests marked `slow` start clusters or take minutes. `make slow` runs them, and nothing else. Where several processes
share the tests, one of them has all those that use the session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sample import VARIABLE, day


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the slow tests, or all others."""
    is_asked = os.environ.get("TIDELOG_SLOW", "") not in ("", "0")
    left_out = [item for item in items if (item.get_closest_marker("slow") is not None) != is_asked]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says which sample was taken, so that a failure of today can be repeated tomorrow."""
    terminalreporter.write_line(f"sample of day {day()}; {VARIABLE}={day()} takes it again")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local session with two cores. Starting one takes seconds, so all tests share it; they are marked `spark`."""
    from tidelog.engine.spark.session import local_session

    session = local_session(cores=2)
    yield session
    session.stop()
