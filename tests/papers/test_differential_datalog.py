"""Figures 1 to 6 of "Differential Datalog": its own programs, in today's spelling, with changes worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import tidelog

Row = tuple[Any, ...]
Writes = dict[str, Iterable[Any]]

FIGURE_2 = """
// A tagged union.
typedef IPAddress = IPv4Address{ipv4addr: bit<32>}
                  | IPv6Address{ipv6addr: bit<128>}
// A generic type: as the library's own Option, which has no other name for its field than x.
typedef Maybe<'A> = Nothing
                  | Just{value: 'A}
typedef OptionalIPAddress = Option<IPAddress>
"""

FIGURE_3 = """
typedef node_t = string
input relation Edge(from: node_t, to: node_t)
    primary key (e) e.from
input relation Exclude(node: node_t)
output relation Path(src: node_t, dst: node_t)
// The union of a base case ...
Path(x, y) :- Edge(x, y).
// ... and a recursive step: a join, then an antijoin.
Path(x, z) :- Path(x, w), Edge(w, z), not Exclude(z).
"""

FIGURE_4 = """
input relation Height(object_id: bigint, height: bigint)
input relation Width(object_id: bigint, width: bigint)
output relation Area(object_id: bigint, area: bigint)
Area(oid, area) :- Height(oid, h), Width(oid, w), var area = w * h.
"""

FIGURE_4_IMPERATIVE = """
input relation Height(object_id: bigint, height: bigint)
input relation Width(object_id: bigint, width: bigint)
output relation Area(object_id: bigint, area: bigint)
for (o in Height)
    for (o1 in Width if o1.object_id == o.object_id)
        Area(o.object_id, o1.width * o.height)
"""

FIGURE_5 = (
    FIGURE_2
    + """
function lastByte(a: OptionalIPAddress): bit<8> = {
    match (a) {
        None -> 0,
        Some{IPv4Address{.ipv4addr = addr}} -> addr[7:0],
        Some{IPv6Address{.ipv6addr = addr}} -> addr[7:0]
    }
}
input relation Host(address: OptionalIPAddress)
output relation IPv6Addr(addr: bit<128>)
output relation LastByte(address: OptionalIPAddress, byte: bit<8>)
IPv6Addr(addr) :- Host(.address = Some{IPv6Address{addr}}).
LastByte(a, lastByte(a)) :- Host(a).
"""
)

FIGURE_6 = """
extern function split_at(s: string, sep: string): Vec<string>
function concat(s: Vec<string>, sep: string): string = {
    var res = "";
    for (e in s) {
        res = (if (res != "") (res ++ sep) else res) ++ e
    };
    res // the last value is the value of the function
}
input relation Phrases(p: string)
output relation Words(w: string)
Words(w) :- Phrases(p), var w = FlatMap(split_at(p, " ")).

output relation Hyphenated(p: string)
Hyphenated(concat(split_at(p, " "), "-")) :- Phrases(p).

input relation Path(x: string, y: string, cost: u64)
output relation ShortestPath(x: string, y: string, cost: u64)
ShortestPath(x, y, min_cost) :- Path(x, y, cost), var min_cost = Aggregate((x, y), group_min(cost)).
"""


def commit(database: Any, inserted: Writes | None = None, deleted: Writes | None = None) -> dict[str, dict[Row, int]]:
    """One transaction; the changes, by relation and row."""
    with database.transaction() as tx:
        for name, rows in (deleted or {}).items():
            tx.delete(name, list(rows))
        for name, rows in (inserted or {}).items():
            tx.insert(name, list(rows))
    return {name: dict(delta) for name, delta in tx.changes.items()}


def test_figure_1_changes_in_changes_out() -> None:
    """Input changes give exactly the output changes, and those add up to what a computation from scratch gives."""
    program = tidelog.compile(FIGURE_3)
    history: list[tuple[set[Row], set[Row]]] = [
        ({("a", "b"), ("b", "c"), ("c", "d")}, set()),
        (set(), {("b", "c")}),
        ({("b", "d")}, {("c", "d")}),
        ({("d", "a")}, set()),
    ]
    edges: set[Row] = set()
    summed: set[Row] = set()
    with program.open() as database:
        for came, left in history:
            changes = commit(database, {"Edge": came}, {"Edge": left}).get("Path", {})
            assert all((weight > 0) != (row in summed) for row, weight in changes.items())
            edges = (edges - left) | came
            summed = (summed - {r for r, w in changes.items() if w < 0}) | {r for r, w in changes.items() if w > 0}
            with program.open() as fresh:
                commit(fresh, {"Edge": edges})
                assert set(fresh.relation("Path").rows()) == summed


def test_figure_2_types_have_constructors_and_generics() -> None:
    uses = """
    input relation Asked(a: Maybe<OptionalIPAddress>)
    output relation Answer(a: OptionalIPAddress)
    Answer(a) :- Asked(Just{a}).
    """
    program = tidelog.compile(FIGURE_2 + uses)
    types = program.types
    known = types.IPv6Address(2**127 + 1)
    with program.open() as database:
        changes = commit(database, {"Asked": [(types.Just(known),), (types.Just(None),), (types.Nothing(),)]})
        assert changes == {"Answer": {(known,): 1, (None,): 1}}
        assert commit(database, deleted={"Asked": [(types.Just(known),)]}) == {"Answer": {(known,): -1}}


def test_figure_3_paths_that_exclude_some_nodes() -> None:
    with tidelog.compile(FIGURE_3).open() as database:
        changes = commit(database, {"Edge": [("a", "b"), ("b", "c"), ("c", "d")], "Exclude": [("c",)]})
        assert set(changes["Path"]) == {("a", "b"), ("b", "c"), ("c", "d"), ("b", "d")}
        changes = commit(database, deleted={"Exclude": [("c",)]})
        assert changes == {"Path": {("a", "c"): 1, ("a", "d"): 1}}
        with database.transaction() as tx:
            tx.delete_key("Edge", "b")
        assert dict(tx.changes["Path"]) == {("b", "c"): -1, ("b", "d"): -1, ("a", "c"): -1, ("a", "d"): -1}


def test_figure_3_a_node_has_one_edge_out() -> None:
    with tidelog.compile(FIGURE_3).open() as database:
        commit(database, {"Edge": [("a", "b")]})
        with pytest.raises(tidelog.TransactionError):
            commit(database, {"Edge": [("a", "c")]})
        assert database.relation("Path").rows() == [("a", "b")]


@pytest.mark.parametrize("text", [FIGURE_4, FIGURE_4_IMPERATIVE], ids=["a rule", "for statements"])
def test_figure_4_areas(text: str) -> None:
    with tidelog.compile(text).open() as database:
        changes = commit(database, {"Height": [(1, 10), (2, 2**70)], "Width": [(1, 3), (2, 2), (3, 5)]})
        assert changes == {"Area": {(1, 30): 1, (2, 2**71): 1}}
        changes = commit(database, {"Width": [(1, 4)]}, {"Width": [(1, 3)], "Height": [(2, 2**70)]})
        assert changes == {"Area": {(1, 30): -1, (1, 40): 1, (2, 2**71): -1}}


def test_figure_5_patterns_in_a_function_and_in_a_rule() -> None:
    program = tidelog.compile(FIGURE_5)
    v4, v6 = program.types.IPv4Address, program.types.IPv6Address
    none, first, second = None, v4(0x7F000001), v6(0xFE80_0000_0000_0000_0000_0000_0000_12AB)
    with program.open() as database:
        changes = commit(database, {"Host": [(none,), (first,), (second,)]})
        assert changes["LastByte"] == {(none, 0): 1, (first, 1): 1, (second, 0xAB): 1}
        assert changes["IPv6Addr"] == {(0xFE80_0000_0000_0000_0000_0000_0000_12AB,): 1}
        changes = commit(database, deleted={"Host": [(second,)]})
        assert changes["IPv6Addr"] == {(0xFE80_0000_0000_0000_0000_0000_0000_12AB,): -1}


def test_figure_6_iteration_flattening_aggregation() -> None:
    externs = {"split_at": lambda text, separator: text.split(separator)}
    with tidelog.compile(FIGURE_6, externs=externs).open() as database:
        changes = commit(database, {"Phrases": [("to be or not to be",), ("not me",)]})
        assert changes["Words"] == {(word,): 1 for word in ("to", "be", "or", "not", "me")}
        assert changes["Hyphenated"] == {("to-be-or-not-to-be",): 1, ("not-me",): 1}
        changes = commit(database, deleted={"Phrases": [("to be or not to be",)]})
        assert changes["Words"] == {("to",): -1, ("be",): -1, ("or",): -1}

        paths = [("a", "b", 5), ("a", "b", 3), ("a", "c", 9), ("b", "a", 3)]
        changes = commit(database, {"Path": paths})
        assert changes == {"ShortestPath": {("a", "b", 3): 1, ("a", "c", 9): 1, ("b", "a", 3): 1}}
        changes = commit(database, {"Path": [("a", "c", 1)]}, {"Path": [("a", "b", 3), ("b", "a", 3)]})
        expected = {("a", "b", 3): -1, ("a", "b", 5): 1, ("a", "c", 9): -1, ("a", "c", 1): 1, ("b", "a", 3): -1}
        assert changes == {"ShortestPath": expected}
