"""Small parts of sentences that messages are made of."""

from __future__ import annotations

from collections.abc import Iterable


def counted(count: int, noun: str) -> str:
    """`no columns`, `1 column`, `2 columns`."""
    return {0: f"no {noun}s", 1: f"1 {noun}"}.get(count, f"{count} {noun}s")


def listed(names: Iterable[str]) -> str:
    """Returns "`a`, `b`"; "none" without names."""
    return ", ".join(f"`{name}`" for name in names) or "none"
