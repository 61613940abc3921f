"""The programs of the suite, as data: a new program is an entry, a file for each system, and a generator of facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tidelog.bench.benchmark import Scale, Settings
from tidelog.bench.inputs import crdt, doop, galen
from tidelog.bench.inputs.dataset import SEED, Dataset
from tidelog.bench.inputs.shapes import analyses, graphs, machine_code, tables

if TYPE_CHECKING:
    import pyarrow as pa

Facts = Mapping[str, "pa.Table"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One program of the suite.

    `facts` is called with the sizes of the scale and the seed. `changed`: the input relation whose rows the update
    table deletes and inserts. `rule`: the rule that it removes and adds. `real`: reads real data, if there are some.
    """

    name: str
    shape: str
    program: str
    results: tuple[str, ...]
    facts: Callable[..., Facts]
    tiny: tuple[int, ...]
    small: tuple[int, ...]
    full: tuple[int, ...]
    changed: str
    rule: str
    real: Callable[[Settings], Dataset] | None = None
    seed: int = SEED

    def dataset(self, settings: Settings) -> Dataset:
        """Returns the facts for the settings' scale, or real data if there are some."""
        if self.real is not None and settings.data is not None:
            found = self.real(settings)
            if found.source != "generated":
                return Dataset(self.name, found.source, found.tables, known=found.known)
        sizes = {Scale.TINY: self.tiny, Scale.SMALL: self.small, Scale.FULL: self.full}[settings.scale]
        return Dataset(self.name, "generated", dict(self.facts(*sizes, self.seed)), self.seed)


def _tables(generated: Callable[[int], Dataset], size: int, _seed: int) -> Facts:
    """Returns the facts of a generator that has a seed of its own."""
    return generated(size).tables


def _entry(
    name: str,
    shape: str,
    results: str,
    facts: Callable[..., Facts],
    sizes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
    changed: str,
    rule: str,
    **others: Any,
) -> Entry:
    others.setdefault("program", f"suite/{name}")
    tiny, small, full = sizes
    return Entry(name, shape, results=tuple(results.split()), facts=facts, tiny=tiny, small=small, full=full,
                 changed=changed, rule=rule, **others)  # fmt: skip


ENTRIES = (
    _entry(
        "closure", "linear recursion, random graph", "Reach", graphs.edges,
        ((60, 90), (1_000, 1_500), (3_500, 7_000)), "Edge", "Reach(x, z) :- Reach(x, y), Edge(y, z).",
        program="closure",
    ),
    _entry(
        "nonlinear", "non-linear recursion", "Reach", graphs.edges,
        ((60, 90), (400, 600), (1_200, 2_000)), "Edge", "Reach(x, z) :- Reach(x, y), Reach(y, z).",
    ),
    _entry(
        "reach", "one column, hubs, shallow", "Reach", graphs.sourced,
        ((100, 200, 3), (20_000, 100_000, 10), (1_000_000, 4_000_000, 50)), "Edge", "Reach(y) :- Reach(x), Edge(x, y).",
    ),
    _entry(
        "bipartite", "mutual recursion, one column", "Even Odd Clash", graphs.sourced,
        ((100, 200, 3), (20_000, 100_000, 2), (700_000, 2_500_000, 2)), "Edge", "Odd(x) :- Even(y), Edge(x, y).",
    ),
    _entry(
        "same-generation", "two sides grow at once, many rows", "Same", graphs.generations,
        ((60, 2, 4), (2_000, 2, 8), (22_000, 2, 12)), "Up", "Same(x, y) :- Up(x, a), Same(a, b), Up(y, b).",
    ),
    _entry(
        "andersen", "points-to, four rules, two three-way joins", "Points", analyses.pointers,
        ((60, 60, 60, 10, 10), (1_000, 625, 900, 75, 75), (4_000, 2_500, 3_600, 300, 300)), "Copy",
        "Points(y, x) :- Copy(y, z), Points(z, x).", seed=3,
    ),
    _entry(
        "alias", "context-sensitive points-to, ten rules, mutual and non-linear", "Value Memory Alias", analyses.values,
        ((60, 60, 30), (1_000, 600, 350), (1_500, 900, 500)), "Assign",
        "Value(x, y) :- Assign(x, z), Memory(z, y).",
    ),
    _entry(
        "fields", "points-to with fields, mutual recursion", "Points Alias Assign", analyses.fields,
        ((80, 20, 80, 20, 5), (3_000, 800, 2_000, 600, 40), (1_800, 480, 2_400, 360, 40)), "Copy",
        "Assign(u, v) :- Store(u, b, f), Alias(b, c), Load(c, v, f).",
    ),
    _entry(
        "doop", "points-to of a Java program, 26 inputs of text", "Reachable Calls VarPointsTo FieldPointsTo",
        partial(_tables, doop.generated), ((20,), (200,), (500,)), "Move",
        "VarPointsTo(v, h) :- VarPointsTo(u, h), Move(u, v).",
        program="points-to", real=doop.doop,
    ),
    _entry(
        "null-flow", "linear recursion, thousands of rounds", "Null", graphs.layered,
        ((60, 5, 4), (5_000, 10, 20), (60_000, 60, 60)), "Flow", "Null(o, y) :- Null(o, x), Flow(x, y).",
    ),
    _entry(
        "brackets", "constants, non-linear and three-way recursion", "Matched", graphs.bracketed,
        ((40, 90), (600, 1_500), (1_000, 3_000)), "Edge", "Matched(x, y) :- Matched(x, z), Matched(z, y).",
    ),
    _entry(
        "galen", "an ontology, two and three columns, non-linear", "IsA Has", partial(_tables, galen.generated),
        ((40,), (400,), (2_500,)), "ToldIsA", "Has(x, s, z) :- Has(x, r, z), SubRole(r, s).",
        program="galen", real=galen.galen,
    ),
    _entry(
        "crdt", "four columns, negation, thousands of rounds", "Text", partial(_tables, crdt.generated),
        ((200,), (10_000,), (500_000,)), "Insert", "Text(c, n, d, m) :- Shown(c, n), Skip(c, n, d, m).",
        program="crdt", real=crdt.crdt,
    ),
    _entry(
        "crdt-skips", "the same with a larger recursion and arithmetic", "Onward Skip Text",
        partial(_tables, crdt.generated), ((200,), (10_000,), (300_000,)), "Insert",
        "Text(c, n, d, m) :- Shown(c, n), Skip(c, n, d, m), Shown(d, m).",
    ),
    _entry(
        "borrow", "35 rules, 12 strata, three columns, negation", "Subset Contains Live Error MoveError SubsetError",
        analyses.borrows, ((2, 60, 10), (10, 200, 30), (40, 300, 40)), "Told",
        "Subset(a, b, m) :- Subset(a, b, n), Next(n, m), Live(a, m), Live(b, m).",
    ),
    _entry(
        "borrow-text", "the same with names of text", "Subset Contains Live Error MoveError SubsetError",
        analyses.named_borrows, ((2, 60, 10), (10, 200, 30), (40, 300, 40)), "Told",
        "Subset(a, b, m) :- Subset(a, b, n), Next(n, m), Live(a, m), Live(b, m).",
    ),
    _entry(
        "def-use", "machine code, three to eight columns, negation, 64 bits",
        "DefUse ReturnUse LiveUse LiveAtEnd LiveAtUse Address Operation StackLive StackDefUse Jump", machine_code.code,
        ((2, 12, 12, 64), (10, 100, 40, 64), (40, 160, 60, 64)), "UseIn",
        "LiveAtEnd(a, c, r) :- LiveAtEnd(b, c, r), Successor(a, _, b), not ReferredIn(b, r).",
    ),
    _entry(
        "def-use-32", "the same with few large functions, 32 bits",
        "DefUse ReturnUse LiveUse LiveAtEnd LiveAtUse Address Operation StackLive StackDefUse Jump", machine_code.code,
        ((1, 20, 20, 32), (4, 200, 60, 32), (8, 500, 120, 32)), "UseIn",
        "LiveAtEnd(a, c, r) :- LiveAtEnd(b, c, r), Successor(a, _, b), not ReferredIn(b, r).",
    ),
    _entry(
        "layers", "five layers of negation", "First Second Third Fourth Fifth", graphs.edges,
        ((60, 120), (5_000, 20_000), (100_000, 400_000)), "Edge", "Fourth(x, y) :- First(x, y), not Third(x, y).",
    ),
    _entry(
        "triangles", "cyclic join, hubs", "Triangle", graphs.hubs,
        ((40, 200, 3), (10_000, 50_000, 20), (100_000, 1_500_000, 300)), "Edge",
        "Triangle(a, b, c) :- Edge(a, b), Edge(b, c), Edge(a, c).",
    ),
    _entry(
        "wide-join", "one join of eight columns with eight", "Report", tables.deliveries,
        ((80, 3), (20_000, 3), (900_000, 3)), "Delivery",
        "Report(i, n, c, p, e - d, r, l, s) :- Order(i, c, p, d, _, _, _, _), Delivery(i, n, e, r, _, l, _, s).",
    ),
    _entry(
        "arithmetic", "arithmetic in recursion", "Value", tables.steps,
        ((3, 3, 1), (20, 3, 2), (200, 3, 3)), "Start", "Value(o, v) :- Start(o, v).",
    ),
    _entry(
        "labelled", "three columns, uniform", "Way", graphs.labelled,
        ((40, 120, 4), (500, 4_000, 6), (1_300, 16_000, 8)), "Edge", "Way(x, m, y) :- Way(x, l, y), Below(l, m).",
    ),
    _entry(
        "calls", "calls and returns, mutual recursion", "Within Summary", analyses.procedures,
        ((6, 20), (300, 60), (30_000, 60)), "Flow", "Within(e, y) :- Within(e, s), Summary(s, y).",
    ),
    _entry(
        "pairs", "four columns, two joins, a comparison", "Both", graphs.machines,
        ((12, 3, 3), (60, 3, 3), (400, 4, 6)), "Left",
        "Both(r, q, d + 1, t) :- Both(p, q, d, t), Left(p, 0, r), d < 3.",
    ),
    _entry(
        "multiway", "five-way join, three parts recursive", "Link", graphs.kinds,
        ((40, 60, 3), (300, 500, 6), (350, 800, 4)), "Edge",
        "Link(x, w) :- Link(x, y), Link(y, z), Link(z, w), Kind(x, k), Kind(w, l), Allowed(k, l).",
    ),
    _entry(
        "skewed", "joins of skewed keys, few results", "Together Popular", tables.purchases,
        ((40, 20, 120, 5), (5_000, 800, 30_000, 50), (100_000, 5_000, 1_200_000, 300)), "Bought",
        "Popular(c, t) :- Lives(p, c), Bought(p, t).",
    ),
    _entry(
        "chain", "one column, a million rounds", "Passed Seen", graphs.chain,
        ((60,), (5_000,), (1_000_000,)), "Side", "Passed(y) :- Seen(y, x), Next(x, _).",
    ),
    _entry(
        "grid", "hundreds of rounds of equal size", "Covered", graphs.grid,
        ((8, 3), (60, 20), (250, 80)), "Right", "Covered(c, y) :- Covered(c, x), Down(x, y).",
    ),
    _entry(
        "small-rules", "208 rules, a relation for each class", "Found", tables.classes,
        ((40, 60, 10, 80), (5_000, 60, 10, 12_000), (300_000, 60, 10, 900_000)), "Typed", "Class0(x) :- Class1(x).",
    ),
    _entry(
        "strata", "47 strata, negation between recursions", "Mark22 Mark23", graphs.seeds,
        ((40, 60, 24, 2), (2_000, 3_500, 24, 10), (40_000, 72_000, 24, 30)), "Edge", "Mark23(x, x) :- Seed(23, x).",
    ),
    _entry(
        "intervals", "comparisons", "Overlap Inside Later", tables.bookings,
        ((60, 3, 100), (4_000, 10, 1_000), (80_000, 100, 3_000)), "Booking",
        "Inside(a, b) :- Booking(a, r, s, e), Booking(b, r, t, f), a != b, s >= t, e <= f.",
    ),
    _entry(
        "triples", "one relation, constants, non-linear", "Triple", tables.triples,
        ((60, 10, 8, 80), (3_000, 50, 20, 8_000), (40_000, 300, 60, 150_000)), "Fact",
        "Triple(s, q, o) :- Triple(s, p, o), Triple(p, 2, q).",
    ),
    _entry(
        "names", "text: concatenation, comparison, recursion", "Above Full Shared Owned", tables.folders,
        ((20, 60, 5), (1_500, 6_000, 60), (60_000, 250_000, 300)), "File",
        'Full(p ++ "/" ++ n, o) :- File(p, n, o).',
    ),
    _entry(
        "totals", "joins below aggregates, rules above", "Total Dearest Better", tables.invoices,
        ((100, 10, 8), (20_000, 300, 300), (1_500_000, 3_000, 4_000)), "Item",
        "Better(c, d) :- Total(c, s, n), Total(d, t, n), s > t + 300000.",
    ),
    _entry(
        "shallow", "few rounds, many rows, three columns", "Ancestor Cousin", graphs.forest,
        ((60, 2, 3), (8_000, 2, 30), (200_000, 3, 1_000)), "Parent",
        "Cousin(x, y) :- Ancestor(x, a, 2), Ancestor(y, a, 2), House(x, h), House(y, h), x < y.",
    ),
    _entry(
        "turns", "mutual recursion of three relations, self-join, negation", "Reached Yours Won", graphs.game,
        ((40, 90, 4, 3), (2_000, 5_000, 30, 10), (40_000, 100_000, 300, 60)), "Move",
        "Reached(x, p) :- Mine(x), Move(x, y), Won(y, p).",
    ),
)  # fmt: skip
