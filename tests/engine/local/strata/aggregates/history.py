"""Transactions at random over one input relation, some of which fail: what a database must hold after each of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import tidelog

Row = TypeVar("Row", bound=tuple[Any, ...])


def change_at_random(
    db: tidelog.Database,
    relation: str,
    held: set[Row],
    rng: random.Random,
    make: Callable[[random.Random], Row],
    counts: Sequence[int],
    *,
    fails: bool,
) -> set[Row]:
    """Inserts rows that are not held and deletes ones that are, in one transaction; the rows that are held then."""
    after = set(held)
    try:
        with db.transaction() as tx:
            for _ in range(rng.choice(counts)):
                row = rng.choice(sorted(after)) if after and rng.random() < 0.5 else make(rng)
                (tx.delete if row in after else tx.insert)(relation, [row])
                after ^= {row}
            if fails:
                raise KeyError(relation)
    except KeyError:
        return held
    return after
