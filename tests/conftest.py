"""What tests share: one Spark session for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local session with two cores. Starting one takes seconds, so all tests share it; they are marked `spark`."""
    from tidelog.engine.spark.session import local_session

    session = local_session(cores=2)
    yield session
    session.stop()
