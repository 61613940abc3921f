"""Sizes and a seed → facts of the suite's programs over tables: wide, skewed, compared, of text, of triples."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidelog.bench.inputs.dataset import distinct, number_table
from tidelog.bench.inputs.shapes.graphs import Array, Facts


def _skewed(rng: np.random.Generator, limit: int, count: int, power: float = 3.0) -> Array:
    """Returns numbers below a limit, of which the small ones are much more frequent."""
    return (limit * rng.random(count) ** power).astype(np.int64)


def deliveries(orders: int, parts: int, seed: int) -> Facts:
    """Returns orders, and deliveries of about so many parts each."""
    rng = np.random.default_rng(seed)
    limits = (orders // 8, 5_000, 365, 100, 10_000, 50, 500)
    order = np.column_stack([np.arange(orders), *(rng.integers(0, limit, orders) for limit in limits)])
    count = orders * parts
    of = rng.integers(0, orders, count)
    rest = [rng.integers(0, limit, count) for limit in (40, 1_000, 3_000, 900, 7)]
    delivery = np.column_stack([of, np.arange(count), order[of, 3] + rng.integers(0, 30, count), *rest])
    return {
        "Order": number_table(order, "id", "customer", "product", "day", "amount", "price", "shop", "clerk"),
        "Delivery": number_table(delivery, "order", "part", "day", "carrier", "weight", "place", "costs", "state"),
    }


def purchases(people: int, things: int, count: int, cities: int, seed: int) -> Facts:
    """Returns who bought what, where a few things and people have most purchases, and where people live."""
    rng = np.random.default_rng(seed)
    bought = distinct(np.column_stack([_skewed(rng, people, count, 1.5), _skewed(rng, things, count)]))
    lives = np.stack([np.arange(people), _skewed(rng, cities, people)], axis=1)
    return {"Bought": number_table(bought, "person", "thing"), "Lives": number_table(lives, "person", "city")}


def bookings(count: int, rooms: int, days: int, seed: int) -> Facts:
    """Returns bookings of rooms for a few days each."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, days, count)
    rows = np.column_stack([np.arange(count), rng.integers(0, rooms, count), start, start + rng.integers(1, 60, count)])
    return {"Booking": number_table(rows, "id", "room", "start", "end")}


def invoices(items: int, products: int, customers: int, seed: int) -> Facts:
    """Returns items of orders, prices, and the customers of the orders."""
    rng = np.random.default_rng(seed)
    orders = max(items // 5, 1)
    item = np.column_stack(
        [np.arange(items), rng.integers(0, orders, items), _skewed(rng, products, items), rng.integers(1, 20, items)]
    )
    price = np.stack([np.arange(products), rng.integers(1, 9_000, products)], axis=1)
    order = np.stack([np.arange(orders), _skewed(rng, customers, orders, 1.5)], axis=1)
    return {
        "Item": number_table(item, "id", "order", "product", "amount"),
        "Price": number_table(price, "product", "price"),
        "Order": number_table(order, "order", "customer"),
    }


def steps(owners: int, kinds: int, each: int, seed: int) -> Facts:
    """Returns a start value for each owner, and the steps that values of a kind may take."""
    rng = np.random.default_rng(seed)
    kind = np.repeat(np.arange(kinds), each)
    step = np.column_stack([kind, rng.integers(2, 50, len(kind)), rng.integers(1, 10_000, len(kind))])
    start = np.stack([np.arange(owners), rng.integers(0, 20_011, owners)], axis=1)
    return {
        "Step": number_table(distinct(step), "kind", "factor", "summand"),
        "Start": number_table(start, "owner", "value"),
    }


def triples(items: int, classes: int, predicates: int, links: int, seed: int) -> Facts:
    """Returns triples: 0 is the type, 1 subclass, 2 subproperty, 3 domain, 4 range, and 10 a transitive role."""
    rng = np.random.default_rng(seed)
    first_class, first_item = 1_000, 1_000 + classes
    roles = 20 + np.arange(predicates)

    def of(predicate: Array | int, subject: Array, target: Array) -> Array:
        return np.column_stack([subject, np.broadcast_to(predicate, subject.shape), target])

    tree = np.arange(1, classes)
    above = first_class + (tree * rng.random(classes - 1)).astype(np.int64)
    parts = [
        of(1, first_class + tree, above),
        of(2, roles[1:], roles[(np.arange(1, predicates) * rng.random(predicates - 1)).astype(np.int64)]),
        of(3, roles[::2], first_class + rng.integers(0, classes, len(roles[::2]))),
        of(4, roles[1::2], first_class + rng.integers(0, classes, len(roles[1::2]))),
        of(0, first_item + np.arange(items), first_class + rng.integers(0, classes, items)),
        of(
            roles[_skewed(rng, predicates, links, 1.5)],
            first_item + rng.integers(0, items, links),
            first_item + _skewed(rng, items, links),
        ),
    ]
    part = np.arange(items)
    inner = part[part % 40 != 0]
    parts.append(of(10, first_item + inner, first_item + inner - 1))
    return {"Fact": number_table(distinct(np.concatenate(parts)), "subject", "predicate", "object")}


def classes(items: int, count: int, roles: int, links: int, seed: int) -> Facts:
    """Returns items with a class each, and links of several roles between them."""
    rng = np.random.default_rng(seed)
    typed = np.stack([np.arange(items), rng.integers(0, count, items)], axis=1)
    link = np.column_stack(
        [rng.integers(0, items, links), rng.integers(0, roles, links), rng.integers(0, items, links)]
    )
    return {
        "Typed": number_table(typed, "item", "class"),
        "Linked": number_table(distinct(link), "from", "role", "to"),
    }


def folders(count: int, files: int, owners: int, seed: int) -> Facts:
    """Returns folders in folders, named by their paths, and files with names that repeat."""
    rng = np.random.default_rng(seed)
    above = (np.arange(count) ** 0.97 * rng.random(count)).astype(np.int64)
    above[1:] = np.minimum(above[1:], np.arange(count)[1:] - 1)
    paths = ["/srv"]
    for number in range(1, count):
        paths.append(f"{paths[above[number]][-60:]}/folder{number}")
    names = [f"report-{number}.txt" for number in _skewed(rng, files // 3 + 1, files, 1.2)]
    place = rng.integers(0, count, files)
    file = {
        "path": pa.array(paths).take(pa.array(place)),
        "name": pa.array(names),
        "owner": pa.array([f"user{number:04}" for number in rng.integers(0, owners, files)]),
    }
    folder = pa.table({"path": paths[1:], "parent": [paths[number] for number in above[1:]]})
    table = pa.table(file)
    return {"Folder": folder, "File": table.group_by(table.column_names).aggregate([])}
