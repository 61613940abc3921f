"""Random inputs for the front end, each made from a seed and a number alone: bytes, and mutated programs.

Programs are mutations of what lies in the repository: the library, the programs and the wrong programs of the tests,
the examples; and of any other folder that is named.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from tests.fuzz.mutate import ITEMS, WORDS, mutate
from tests.syntax.programs import EVERYTHING
from tidelog.bench.front_end import KINDS, program
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.syntax.parse import parse

ROOT = Path(__file__).parent.parent.parent
FOLDERS = tuple(ROOT / name for name in ("src/tidelog/library", "tests/errors", "tests/programs", "examples"))
_MOST_ITEMS = 15  # of a program that are taken at once

Programs = tuple[str, ...]


@cache
def programs(folders: tuple[Path, ...] = FOLDERS) -> Programs:
    """The texts of all programs below the folders, and some more."""
    files = sorted(path for folder in folders for path in folder.rglob("*.dl"))
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    return (EVERYTHING, "\n".join(ITEMS), *(program(blocks, 120) for blocks in KINDS.values()), *texts)


def random_bytes(rng: random.Random, seeds: Programs) -> bytes:
    """Bytes of any kind: plain noise, printable noise, words of the language, bytes of a program with noise in it."""
    length = rng.choice((0, 1, 3, 20, 100, 400, 2_000))
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(length)
    if kind == 1:
        return bytes(rng.choice(b" \n\t{}()[]<>\"'/*:-.,;_aZ09#@&|?\\$=i") for _ in range(length))
    if kind == 2:
        return " ".join(rng.choices(WORDS, k=length // 4)).encode()
    data = bytearray(_part(rng, seeds).encode())
    for _ in range(rng.choice((1, 2, 8, 40)) if data else 0):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def mutated_program(rng: random.Random, seeds: Programs) -> bytes:
    """A program, or parts of several, with mistakes."""
    parts = [_part(rng, seeds) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    return mutate(rng, "\n".join(parts), seeds).encode("utf-8", errors="surrogateescape")


KINDS_OF_INPUT: dict[str, Callable[[random.Random, Programs], bytes]] = {
    "bytes": random_bytes,
    "programs": mutated_program,
}


def make(kind: str, seed: int, number: int, seeds: Sequence[str]) -> bytes:
    """Input number `number` of a run."""
    return KINDS_OF_INPUT[kind](random.Random(f"{seed}/{kind}/{number}"), tuple(seeds))


def _part(rng: random.Random, seeds: Programs) -> str:
    """Some declarations and rules of a program that stand together."""
    found = _items(rng.choice(seeds))
    start = rng.randrange(max(1, len(found) - _MOST_ITEMS + 1))
    return "\n".join(found[start : start + _MOST_ITEMS])


@cache
def _items(text: str) -> tuple[str, ...]:
    """A program cut where its items end; one that does not parse, where its lines do."""
    try:
        items = parse(Source("seed.dl", text)).items
    except ProgramError:
        return tuple(text.split("\n"))
    ends = [item.span.end for item in items]
    return tuple(text[start:end].strip() for start, end in zip([0, *ends], ends))
