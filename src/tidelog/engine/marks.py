"""Marks: small values that a writer stores with the state, such as the number of a stream's last batch.

A mark is set by a commit, in the same step as the epoch: after a crash both are there or neither is. So a batch is
applied once, however often it is delivered. A mark has a name and a JSON value; None removes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Marks = Mapping[str, Any]


def marked(old: Marks, new: Marks) -> dict[str, Any]:
    """Returns the marks after a commit that set some of them."""
    return {name: value for name, value in {**old, **new}.items() if value is not None}
