"""Recursive programs without a pivot, and random histories of the relations that they read."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Row = tuple[Any, ...]
Changes = list[tuple[int, str, Sequence[Row]]]

SAME_GENERATION = """
input relation Up(x: u32, y: u32)
output relation Same(x: u32, y: u32)
Same(x, y) :- Up(x, p), Up(y, p).
Same(x, y) :- Up(x, a), Same(a, b), Up(y, b).
"""

CLOSURE = """
input relation Up(x: u32, y: u32)
output relation Reach(x: u32, y: u32)
Reach(x, y) :- Up(x, y).
Reach(x, z) :- Reach(x, y), Reach(y, z).
"""

MUTUAL = """
input relation Up(x: u32, y: u32)
input relation Block(x: u32)
output relation Odd(x: u32, y: u32)
output relation Even(y: u32, x: u32)
Odd(x, y) :- Up(x, y), not Block(y).
Even(z, x) :- Odd(x, y), Up(y, z), not Block(z).
Odd(x, z) :- Even(y, x), Up(y, z), x != z.
Odd(x, x) :- Even(x, 3), Up(x, _).
"""

ANDERSEN = """
input relation New(v: string, o: string)
input relation Assign(v: string, w: string)
input relation Load(v: string, w: string)
input relation Store(v: string, w: string)
output relation Points(v: string, o: string)
output relation Alias(v: string, w: string)
Points(v, o) :- New(v, o).
Points(v, o) :- Assign(v, w), Points(w, o).
Alias(v, w) :- Points(v, o), Points(w, o).
Points(v, o) :- Load(v, w), Alias(w, u), Points(u, o), Store(u, _).
Points(v, o) :- Alias(w, v), Points(w, o), Store(v, w).
Points(o, v) :- Load(v, w), Alias(w, u), Points(w, o), Alias(v, w), not Assign(v, u).
"""

NUMBERS = """
input relation Up(x: signed<64>, y: signed<64>)
input relation Deep(x: signed<64>)
input relation Name(x: signed<64>, name: string, flag: bool)
output relation Step(x: signed<64>, name: string, flag: bool)
Step(0, "zero", true).
Step(7, name, flag) :- Name(_, name, flag).
Step(x + y, name ++ "+", not flag) :- Step(x, name, flag), Up(x, y), y > 0, x + y < 16, not Deep(x + y).
Step(y, name, flag) :- Up(x, y), Step(x, name, _), Step(x, _, flag), Name(x, _, flag), y > x, not Deep(y).
"""

PROGRAMS = {
    "same generation": SAME_GENERATION,
    "closure": CLOSURE,
    "mutual": MUTUAL,
    "numbers": NUMBERS,
    "andersen": ANDERSEN,
}


def random_row(dice: random.Random, types: Sequence[str], size: int) -> Row:
    makers: dict[str, Callable[[], Any]] = {
        "u32": lambda: dice.randrange(size),
        "s64": lambda: dice.randrange(-2, size),
        "string": lambda: f"v{dice.randrange(size)}",
        "bool": lambda: dice.random() < 0.5,
    }
    return tuple(makers[type_]() for type_ in types)


def random_history(
    dice: random.Random, inputs: Mapping[str, Sequence[str]], size: int, first: int, steps: int
) -> Iterator[Changes]:
    """Yields a first load, then changes of a few rows in a mix of inserts and deletes."""
    rows: dict[str, set[Row]] = {}
    for number in range(steps + 1):
        changes: Changes = []
        for name, types in inputs.items():
            known = rows.setdefault(name, set())
            few = first if number == 0 else dice.choice((0, 1, 1, 3))
            deleted = set(dice.sample(sorted(known), min(len(known), dice.choice((0, 1, 2)) if number else 0)))
            if number and dice.random() < 0.05:
                deleted = set(known)
            inserted = {random_row(dice, types, size) for _ in range(few)} - (known - deleted)
            changes += [(-1, name, sorted(deleted - inserted)), (+1, name, sorted(inserted - deleted))]
            rows[name] = (known - deleted) | inserted
        yield changes
