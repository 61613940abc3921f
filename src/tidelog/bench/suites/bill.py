"""A bill of materials, and shares held through other companies: sums through a recursion whose data has no cycle.

A change matters where others depend on it; the single ones are chosen so that under a hundred prices change. Every
answer is compared with that of a loop over the parts in their order, without Tidelog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import fsum

import numpy as np
import pyarrow as pa

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED, Dataset
from tidelog.bench.measure import Outcome, Subject, require_equal, take, warm

LEVELS = 8
FEW_OTHERS = 100
_WIDTH = 1 << 64


def bill(settings: Settings) -> Outcome:
    """Returns the times of the load, of single changes and of one percent, and those of shares."""
    out = Outcome()
    _parts(settings, out)
    _shares(settings, out)
    return out


# Parts


def _parts(settings: Settings, out: Outcome) -> None:
    data = parts_data(settings.pick(300, 10_000, 100_000))
    out.inputs.append(data.describe())
    bought, uses = _rows(data.tables["Bought"]), _rows(data.tables["Uses"])
    warm("bill", data.tables, ("elastic",))
    settings.say(f"{data.name}: loaded")
    loads = []
    for _ in range(settings.repeat):
        subject = Subject("bill", threads=settings.threads)
        loads.append(subject.change(inserts=data.tables))
        _require_costs("the prices", subject, bought, uses)
        subject.close()
    subject = Subject("bill", threads=settings.threads)
    subject.change(inserts=data.tables)
    out.case(data.name, "loaded", loads, rows=subject.count("Cost"))
    _change_prices(settings, out, data, subject)
    _change_uses(settings, out, data, subject)
    _change_many(settings, out, data, subject)
    out.check(f"{data.name}: prices", subject.count("Cost"), len(costs(bought, uses)))
    subject.close()


def _change_prices(settings: Settings, out: Outcome, data: Dataset, subject: Subject) -> None:
    """Times one price changed, and changed back."""
    settings.say(f"{data.name}: one price")
    bought, uses = _rows(data.tables["Bought"]), _rows(data.tables["Uses"])
    users = _users(uses)
    seconds = []
    for place in _chosen(settings, len(bought), lambda place: _above(users, bought[place][0])):
        row = take(data.tables["Bought"], [place])
        dearer = row.set_column(1, "price", pa.array([bought[place][1] + 7], pa.uint64()))
        seconds.append(subject.change({"Bought": dearer}, {"Bought": row}))
        changed = [*bought[:place], (bought[place][0], bought[place][1] + 7), *bought[place + 1 :]]
        _require_costs(f"the prices with part {bought[place][0]} dearer", subject, changed, uses)
        seconds.append(subject.change({"Bought": row}, {"Bought": dearer}))
    out.case(data.name, f"one price changed, of a part in under {FEW_OTHERS} others", seconds, rows=1)


def _change_uses(settings: Settings, out: Outcome, data: Dataset, subject: Subject) -> None:
    """Times one use deleted, and inserted again."""
    settings.say(f"{data.name}: one use")
    bought, uses = _rows(data.tables["Bought"]), _rows(data.tables["Uses"])
    users = _users(uses)
    deleted, inserted = [], []
    for place in _chosen(settings, len(uses), lambda place: _above(users, uses[place][0])):
        row = {"Uses": take(data.tables["Uses"], [place])}
        deleted.append(subject.change(deletes=row))
        _require_costs(f"the prices without {uses[place]}", subject, bought, [*uses[:place], *uses[place + 1 :]])
        inserted.append(subject.change(inserts=row))
    out.case(data.name, f"one use deleted, by a part in under {FEW_OTHERS} others", deleted, rows=1)
    out.case(data.name, f"one use inserted, by a part in under {FEW_OTHERS} others", inserted, rows=1)


def _change_many(settings: Settings, out: Outcome, data: Dataset, subject: Subject) -> None:
    """Times one percent of the uses deleted, and inserted again."""
    settings.say(f"{data.name}: 1% of the uses")
    bought, uses = _rows(data.tables["Bought"]), _rows(data.tables["Uses"])
    places = np.random.default_rng(SEED + 2).choice(len(uses), size=max(len(uses) // 100, 1), replace=False)
    rows, gone = {"Uses": take(data.tables["Uses"], places)}, {*places.tolist()}
    deleted, inserted = [], []
    for _ in range(max(settings.repeat, 3)):
        deleted.append(subject.change(deletes=rows))
        left = [use for place, use in enumerate(uses) if place not in gone]
        _require_costs("the prices without 1% of the uses", subject, bought, left)
        inserted.append(subject.change(inserts=rows))
    _require_costs("the prices after all changes", subject, bought, uses)
    out.case(data.name, "1% of the uses deleted", deleted, rows=len(gone))
    out.case(data.name, "1% of the uses inserted", inserted, rows=len(gone))


def parts_data(count: int) -> Dataset:
    """Returns parts in eight levels: the first are bought, the others use three or four parts of lower levels."""
    chance = np.random.default_rng(SEED)
    level = np.sort(chance.integers(0, LEVELS, count))
    level[0] = 0
    first = np.searchsorted(level, np.arange(LEVELS + 1))
    made = np.arange(first[1], count)
    part = np.repeat(made, chance.integers(3, 5, len(made)))
    # Of a level below its own first, so that all levels are used alike.
    below = (chance.random(len(part)) * level[part]).astype(np.int64)
    start, end = first[below], np.maximum(first[below + 1], first[below] + 1)
    component = start + (chance.random(len(part)) * (end - start)).astype(np.int64)
    pairs = np.unique(np.stack([part, np.minimum(component, first[level[part]] - 1)], axis=1), axis=0)
    uses = _table(part=pairs[:, 0], component=pairs[:, 1], times=chance.integers(1, 4, len(pairs)))
    bought = _table(part=np.arange(first[1]), price=chance.integers(1, 100, first[1]))
    return Dataset(f"{count:,} parts, {len(pairs):,} uses", "generated", {"Bought": bought, "Uses": uses}, SEED)


def costs(bought: Iterable[tuple[int, ...]], uses: Iterable[tuple[int, ...]]) -> dict[int, int]:
    """Returns the price of every part; parts are numbered so that components come before what they are used in."""
    found = {row[0]: row[1] for row in bought}
    components: dict[int, list[tuple[int, ...]]] = {}
    for use in uses:
        components.setdefault(use[0], []).append(use)
    for part in sorted(components):
        known = [times * found[component] for _, component, times in components[part] if component in found]
        if known:
            found[part] = sum(known) % _WIDTH
    return found


def _require_costs(
    what: str, subject: Subject, bought: Iterable[tuple[int, ...]], uses: Iterable[tuple[int, ...]]
) -> None:
    found = subject.table("Cost")
    same = dict(zip(found["part"].to_pylist(), found["price"].to_pylist())) == costs(bought, uses)
    require_equal(what, same, True)


def _users(uses: Iterable[tuple[int, ...]]) -> Mapping[int, list[int]]:
    found: dict[int, list[int]] = {}
    for part, component, _ in uses:
        found.setdefault(component, []).append(part)
    return found


def _above(users: Mapping[int, list[int]], part: int) -> int:
    """Returns how many parts contain a part, as far as that matters."""
    seen, waiting = {part}, [part]
    while waiting and len(seen) <= FEW_OTHERS:
        for user in users.get(waiting.pop(), ()):
            if user not in seen:
                seen.add(user)
                waiting.append(user)
    return len(seen) - 1


def _chosen(settings: Settings, count: int, others: Callable[[int], int]) -> list[int]:
    """Returns places of rows whose change reaches few others, but some."""
    wanted = settings.pick(3, 20, 20)
    found: list[int] = []
    for place in np.random.default_rng(SEED + 1).permutation(count).tolist():
        if len(found) < wanted and 0 < others(place) < FEW_OTHERS:
            found.append(place)
        if len(found) == wanted:
            break
    return found


# Shares


def _shares(settings: Settings, out: Outcome) -> None:
    """Times shares loaded, and one share sold and bought back; they are numbers of type `double`."""
    data = shares_data(settings.pick(100, 2_000, 20_000), settings.pick(3, 10, 20))
    out.inputs.append(data.describe())
    persons, holds = {row[0] for row in _rows(data.tables["Person"])}, _rows(data.tables["Holds"])
    warm("shares", data.tables, ("elastic",))
    settings.say(f"{data.name}: loaded, and one share sold")
    subject = Subject("shares", threads=settings.threads)
    loaded = subject.change(inserts=data.tables)
    _require_shares("the shares", subject, persons, holds)
    out.case(data.name, "loaded", (loaded,), rows=subject.count("Owns"))
    places = np.random.default_rng(SEED).choice(len(holds), size=settings.pick(3, 20, 20), replace=False).tolist()
    seconds = []
    for place in places:
        row = {"Holds": take(data.tables["Holds"], [place])}
        seconds.append(subject.change(deletes=row))
        left = [*holds[:place], *holds[place + 1 :]]
        _require_shares(f"the shares without {holds[place]}", subject, persons, left)
        seconds.append(subject.change(inserts=row))
    out.case(data.name, "one share sold, bought back", seconds, rows=1)
    out.checks.append(f"{data.name}: shares after each of {len(places)} sales: equal to those of a loop")
    subject.close()


def shares_data(companies: int, persons: int) -> Dataset:
    """Returns companies that hold shares of companies with greater numbers; the first are held by persons."""
    chance = np.random.default_rng(SEED)
    owner = np.repeat(np.arange(persons, persons + companies), 2)
    # Near ones, so that every company is held through some others.
    company = owner + 1 + (chance.random(len(owner)) * companies / 8).astype(np.int64)
    pairs = np.unique(np.stack([owner, company], axis=1)[company < persons + companies], axis=0)
    own = np.stack(
        [np.repeat(np.arange(persons), 2), persons + chance.integers(0, companies // 2, 2 * persons)], axis=1
    )
    pairs = np.unique(np.concatenate([pairs, own]), axis=0)
    share = pa.array(chance.integers(1, 40, len(pairs)) / 100.0, pa.float64())
    holds = _table(owner=pairs[:, 0], company=pairs[:, 1]).append_column("share", share)
    tables = {"Person": _table(person=np.arange(persons)), "Holds": holds}
    return Dataset(f"{persons} persons, {companies:,} companies", "generated", tables, SEED)


def shares(persons: set[int], holds: Iterable[tuple[int, ...]]) -> dict[tuple[int, int], float]:
    """Returns what each person owns of each company; companies are numbered so that owners come first."""
    held: dict[int, list[tuple[int, ...]]] = {}
    for each in holds:
        held.setdefault(each[0], []).append(each)
    found: dict[tuple[int, int], float] = {}
    for person in persons:
        parts: dict[int, list[float]] = {}
        for _, company, share in held.get(person, ()):
            parts.setdefault(company, []).append(share)
        for owner in sorted(held):
            if owner not in persons and owner in parts:
                whole = fsum(parts[owner])
                for _, company, share in held[owner]:
                    parts.setdefault(company, []).append(whole * share)
        found |= {(person, company): fsum(each) for company, each in parts.items()}
    return found


def _require_shares(what: str, subject: Subject, persons: set[int], holds: Iterable[tuple[int, ...]]) -> None:
    found = subject.table("Owns")
    names = zip(found["person"].to_pylist(), found["company"].to_pylist())
    same = dict(zip(names, found["share"].to_pylist())) == shares(persons, holds)
    require_equal(what, same, True)


def _table(**columns: np.ndarray) -> pa.Table:
    """Returns columns of numbers as a table: 32 bits for the names of things, 64 for amounts."""
    wide = ("price", "times")
    types = {name: pa.uint64() if name in wide else pa.uint32() for name in columns}
    return pa.table({name: pa.array(numbers, types[name]) for name, numbers in columns.items()})


def _rows(table: pa.Table) -> list[tuple[int, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns)))
