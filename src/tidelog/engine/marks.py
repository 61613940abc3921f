"""Marks: small values that whoever feeds a database keeps with its state, such as which batch of a stream was the last.

A mark is set by a commit, in the same step as the epoch: after a crash both are there or neither is. So what was taken
is known exactly, however often it is delivered. A mark has a name and a JSON value; None takes it away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Marks = Mapping[str, Any]


def marked(old: Marks, new: Marks) -> dict[str, Any]:
    """Returns the marks after a commit that set some of them."""
    return {name: value for name, value in {**old, **new}.items() if value is not None}
