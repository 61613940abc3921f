"""Records of people as text, several for each person and none quite equal; their clusters, found without Tidelog."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.bench.inputs.dataset import SEED, Dataset

_SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
_SURNAMES, _CITIES, _PHONES = 300, 20, 5_000


def records(count: int) -> Dataset:
    """Returns records of two fifths as many people: text with other letter cases, cut short, or with another phone."""
    generator = np.random.default_rng(SEED)
    names = [
        "".join(_SYLLABLES[i] for i in line) for line in generator.integers(0, len(_SYLLABLES), (5_000, 3)).tolist()
    ]
    people = max(count * 2 // 5, 2)
    surnames, cities = generator.integers(0, _SURNAMES, people), generator.integers(0, _CITIES, people)
    firsts, streets = generator.integers(0, len(names), (2, people))
    houses, prefixes = generator.integers(1, 200, people), generator.integers(0, _PHONES, people)
    whose = generator.integers(0, people, count).tolist()
    cut, case, other = generator.integers(0, 7, count), generator.integers(0, 3, count), generator.random(count) < 0.2
    text, city, phone = [], [], []
    for at, person in enumerate(whose):
        whole = f"{names[surnames[person]]} {names[firsts[person]]} {houses[person]} {names[streets[person]]} street"
        written = whole[: len(whole) - int(cut[at])]
        text.append((written.title(), written.upper(), written)[case[at]])
        city.append(names[-1 - cities[person]].title())
        phone.append(f"{(prefixes[person] * (7 if other[at] else 1)) % _PHONES:06}{person % 10_000:04}")
    columns = {"id": pa.array(np.arange(count), pa.uint32()), "text": text, "city": city, "phone": phone}
    return Dataset(f"{count:,} records", "generated", {"Record": pa.table(columns)}, SEED)


def in_lower_case(data: Dataset) -> Dataset:
    """Returns the same records in lower case."""
    table = data.tables["Record"]
    for place, name in enumerate(("text", "city"), 1):
        table = table.set_column(place, name, pc.utf8_lower(table[name]))
    return Dataset(data.name, data.source, {"Record": table}, data.seed)


def clusters(data: Dataset) -> tuple[set[tuple[int, int]], list[int]]:
    """Returns the pairs of equal records, and the least record of the cluster of each, by blocks in dictionaries."""
    lines = [record.values() for record in in_lower_case(data).tables["Record"].to_pylist()]
    texts: list[str] = []
    blocks: dict[str, list[int]] = defaultdict(list)
    for number, text, city, phone in lines:
        texts.append(text)
        blocks[f"n{text[:5]}{city[:3]}"].append(number)
        blocks[f"p{phone[:6]}"].append(number)
    pairs = {
        (one, other)
        for block in blocks.values()
        for one, other in combinations(block, 2)
        if texts[one] in texts[other] or texts[other] in texts[one]
    }
    least = list(range(len(texts)))

    def root(number: int) -> int:
        while least[number] != number:
            number = least[number]
        return number

    for one, other in pairs:
        first, second = sorted((root(one), root(other)))
        least[second] = first
    return pairs, [root(number) for number in least]
