"""Small parts of sentences that messages are made of."""

from __future__ import annotations

from collections.abc import Iterable


def counted(count: int, noun: str, nouns: str | None = None) -> str:
    """`no columns`, `1 column`, `2 columns`."""
    nouns = nouns or f"{noun}s"
    return {0: f"no {nouns}", 1: f"1 {noun}"}.get(count, f"{count} {nouns}")


def listed(names: Iterable[str]) -> str:
    """Returns "`a`, `b`"; "none" without names."""
    return ", ".join(f"`{name}`" for name in names) or "none"
