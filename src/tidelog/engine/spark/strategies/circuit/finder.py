"""The strategy `circuit` on frames: rules are rows of a DataFrame, and one chain of joins finds the instances of all.

    facts    code side rank w0 w1 …       a row, as words (`words`), of a relation in a version of the state
    rules    (`rule_rows`)                directions, orders, signals
    rewrites prefix level s0 s1 …         how far a body has been walked, and the values of its variables

Per literal of the longest body: rewrites meet the directions that lead on from their prefix (*gatekeep*), facts meet
the orders that read them (*index*), and both meet by order and key (*product*); at the end rewrites meet signals
(*ground*). So a wave has as many joins as the longest body, whatever the number of rules, where `delta_joins.Joins` has
some for each rule. The instances are used in the same way: ranks, counts, totals, waves (`bootstrap`, `update`;
`docs/decisions/0024-the-circuit-on-spark.md`).

A literal is taken through a negation before it is joined, and rewrites that wait for longer bodies pass by a join with
one of `UNITS` rows, so that the plan is a chain: nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.engine.spark.plans.frames.cut_lineage import cut, release
from tidelog.engine.spark.plans.frames.delta_joins import SMALL_DELTA, Reading, positions_of
from tidelog.engine.spark.plans.frames.join_rule import LEVEL
from tidelog.engine.spark.plans.frames.packed_rows import MEMBER, PackedRows
from tidelog.engine.spark.plans.frames.relation_versions import RelationVersions
from tidelog.engine.spark.storage.scan import union
from tidelog.engine.spark.strategies.circuit.python_step import run_steps
from tidelog.engine.spark.strategies.circuit.rule_rows import UNIT, Kind, Row, RuleRows, Side, Walk, names_of
from tidelog.engine.spark.strategies.circuit.words import Words, facts_inside, facts_of, heads_inside, types_of
from tidelog.rules.ir import Relation, Rule, Stratum

UNITS = 64
"""The number of unit facts: enough to keep passing rewrites spread over all tasks."""

SMALL_FACTS = 50_000
"""Facts of at most this many rows, counted once for each order, are sent to every task."""


class Circuit:
    """A `Finder` that joins rules with facts. `rules` are all that may be requested."""

    def __init__(
        self, spark: Any, stratum: Stratum, packed: PackedRows, relations: Mapping[str, Relation], rules: Sequence[Rule]
    ) -> None:
        self._spark = spark
        self._stratum = stratum
        self._packed = packed
        self._relations = relations
        self._words = Words(types_of(stratum, rules, relations), packed.functions.definitions)
        read = (atom.relation for rule in rules for atom in rule.atoms)
        self._codes = {name: code for code, name in enumerate(dict.fromkeys([*stratum.relations, *read]))}
        self._known: dict[tuple[tuple[int, int | None, frozenset[str]], ...], tuple[RuleRows, Any]] = {}
        self._heads = heads_inside(packed, self._words)
        self._steady: dict[tuple[str, int], Any] = {}

    def met(self, reading: Reading, by_event: Sequence[Rule], entire: Sequence[Rule] = ()) -> Any:
        walks = [walk for rule in by_event for walk in self._walks(rule, reading)]
        walks += [Walk(rule, None) for rule in entire]
        if not walks:
            return self._packed.empty([LEVEL])
        rows, table = self._rows(walks)
        found = None
        for depth in range(rows.depth):
            found = self._taken_on(found, rows, table, depth, reading)
        return self._grounded(found, rows, table)

    def arrange(self, below: Mapping[str, RelationVersions]) -> Mapping[str, RelationVersions]:
        """Returns them as they are: the facts below are kept as words."""
        return below

    def release(self) -> None:
        release(*self._steady.values())
        self._steady.clear()

    # Rules

    def _walks(self, rule: Rule, reading: Reading) -> list[Walk]:
        inside, below = reading.inside_events(), reading.below
        split = {name for name in below if reading.steady is None and below[name].changed is not None}
        split |= {*self._stratum.relations} if inside is not None else set()
        return [
            Walk(rule, place, frozenset(split & {atom.relation for atom in rule.atoms}))
            for place, atom, negated in positions_of(rule)
            if (reading.events(atom.relation, negated) if atom.relation in below else inside) is not None
        ]

    def _rows(self, walks: Sequence[Walk]) -> tuple[RuleRows, Any]:
        """Returns the rows of some walks, and the same as a frame. Waves of a kind have the same walks."""
        key = tuple((id(walk.rule), walk.event, walk.split) for walk in walks)
        if key not in self._known:
            name = ", ".join(self._stratum.relations)
            rows = RuleRows(walks, self._codes, self._words, self._packed.functions, name)
            self._known[key] = rows, self._spark.createDataFrame(rows.table())
        return self._known[key]

    # A literal

    def _taken_on(self, rewrites: Any, rows: RuleRows, table: Any, depth: int, reading: Reading) -> Any:
        """Takes rewrites (None: the root) through one more literal."""
        keys, word = names_of("k", rows.keys), self._words.type
        slots = names_of("s", rows.slots)
        left = self._gatekept(rewrites, rows, table, depth)
        others = [name for name in left.columns if name not in ("number", *keys)]
        if rows.has(depth, Kind.ANTI):
            absent = self._indexed(rows, table, depth, Kind.ANTI, reading).select("number", *keys)
            left = left.join(self._sized(absent, rows, depth, reading), ["number", *keys], "left_anti")
            number = f"if(kind = {int(Kind.ANTI)}, {UNIT}, number) as number"
            left = left.selectExpr(number, *keys, *others)
        is_passed = rows.has(depth, Kind.PASS) or rows.has(depth, Kind.ANTI)
        if rows.has(depth, Kind.JOIN):
            facts = self._indexed(rows, table, depth, Kind.JOIN, reading)
            if is_passed:
                facts = facts.unionByName(self._units(rows))
                salt = f"cast(pmod(xxhash64({', '.join(slots)}), {UNITS}) as {word})"
                # A passing rewrite may have a key, from a negation.
                none = f"cast({self._words.filler!r} as {word})"
                passing = zip(keys, [salt, *(none for _ in keys[1:])], strict=True)
                own = [f"if(number = {UNIT}, {other}, {key}) as {key}" for key, other in passing]
                left = left.selectExpr("number", *own, *others)
            if depth == 0 or (depth == 1 and self._is_small(rows, reading)):
                left = left.hint("broadcast")
            else:
                facts = self._sized(facts, rows, depth, reading)
            joined = left.join(facts, ["number", *keys])
        else:
            joined = left.selectExpr("*", *self._no_fact(rows))
        fact = _array("w", rows.columns)
        bound = [f"coalesce(get({fact}, b{i}), {slot}) as {slot}" for i, slot in enumerate(slots)]
        after = joined.selectExpr("target as prefix", "greatest(level, rank) as level", *bound)
        steps = rows.steps.get(depth)
        if not steps:
            return after
        schema = ", ".join(["prefix int", "level long", *(f"{slot} {word}" for slot in slots)])
        return run_steps(after, steps, self._words, schema)

    def _gatekept(self, rewrites: Any, rows: RuleRows, table: Any, depth: int) -> Any:
        """Returns each rewrite with every direction that leads on from its prefix, and the key of its facts."""
        ways = table.filter(f"row = {int(Row.DIRECTION)} and depth = {depth}")
        slots = names_of("s", rows.slots)
        named = ["kind", "target", "number", *names_of("b", rows.slots)]
        if rewrites is None:
            nothing = [f"cast(null as {self._words.type}) as {slot}" for slot in slots]
            return ways.selectExpr(*named, *names_of("k", rows.keys), "0L as level", *nothing)
        met = rewrites.join(ways.withColumnRenamed("origin", "prefix").hint("broadcast"), "prefix")
        return met.selectExpr(*named, "level", *slots, *_picked(rows.slots, rows.keys, "k"))

    def _grounded(self, rewrites: Any, rows: RuleRows, table: Any) -> Any:
        """Returns the heads of rewrites that have come to the end of a body, in the common frame."""
        signals = table.filter(f"row = {int(Row.SIGNAL)}").withColumnRenamed("origin", "prefix")
        met = rewrites.join(signals.hint("broadcast"), "prefix")
        heads = _picked(rows.slots, rows.terms, "h")
        # The widest head may belong to none of these rules.
        width = max(len(places) for places in self._packed.places.values())
        heads += [f"cast(null as {self._words.type}) as h{i}" for i in range(rows.terms, width)]
        named = met.selectExpr(f"cast(target as long) as {MEMBER}", f"level as {LEVEL}", *heads)
        return self._packed.pack_columns(self._heads, named, [LEVEL])

    # Facts

    def _indexed(self, rows: RuleRows, table: Any, depth: int, kind: Kind, reading: Reading) -> Any:
        """Returns each fact under every order that reads it at a depth: order, key, rank and words."""
        fact, filler = _array("w", rows.columns), f"cast({self._words.filler!r} as {self._words.type})"
        orders = table.filter(f"row = {int(Row.ORDER)} and depth = {depth} and kind = {int(kind)}")
        wanted = [*names_of("y", rows.keys), *names_of("x", rows.pairs), *names_of("z", rows.pairs)]
        orders = orders.select("code", "number", "side", *wanted)
        facts = self._facts(rows, rows.reads(depth, kind), reading)
        equal = [f"coalesce(get({fact}, x{i}) = get({fact}, z{i}), true)" for i in range(rows.pairs)]
        met = facts.join(orders.hint("broadcast"), "code").filter(" and ".join(["sides & side != 0", *equal]))
        keys = [f"coalesce(get({fact}, y{i}), {filler}) as k{i}" for i in range(rows.keys)]
        return met.selectExpr("number", *keys, "rank", *names_of("w", rows.columns))

    def _facts(self, rows: RuleRows, reads: set[tuple[str, bool, Side]], reading: Reading) -> Any:
        """Returns the rows that are read, each with its code and the version that it is of."""
        own = self._packed.members
        parts = []
        sides = sorted({side for relation, _, side in reads if relation in own})
        for side in sides:
            frame = self._inside(reading, side)
            columns = facts_inside(self._packed, self._words, rows.columns)
            parts.append(frame.selectExpr(f"cast(2 * {MEMBER} as int) as code", f"{int(side)} as sides", *columns))
        below = sorted((each for each in reads if each[0] not in own), key=lambda each: (each[0], each[1:]))
        if below and reading.steady is not None:
            parts.append(self._kept(rows, reading, reading.steady))
        else:
            parts += [self._below(rows, reading, *each) for each in below]
        return union(parts)

    def _inside(self, reading: Reading, side: Side) -> Any:
        if side is not Side.EVENT:
            return reading.inside(is_front=side is Side.FRONT)
        events = reading.inside_events()
        assert events is not None
        return events.rows

    def _below(self, rows: RuleRows, reading: Reading, relation: str, negated: bool, side: Side) -> Any:
        """Returns rows of a relation below, as facts."""
        if side is Side.EVENT:
            events = reading.events(relation, negated)
            assert events is not None
            frame = events.rows
        else:
            frame = reading.rows(relation, negated, is_front=side is Side.FRONT)
        columns = facts_of(self._relations[relation], self._words, rows.columns)
        return frame.selectExpr(f"{rows.code(relation, negated)} as code", f"{int(side)} as sides", *columns)

    def _kept(self, rows: RuleRows, reading: Reading, name: str) -> Any:
        """Returns all facts below that any depth reads, made once for all waves that read the same."""
        key = (name, id(rows))
        if key not in self._steady:
            wanted = {
                each
                for depth in range(rows.depth)
                for kind in (Kind.JOIN, Kind.ANTI)
                for each in rows.reads(depth, kind)
                if each[0] not in self._packed.members
            }
            parts = [self._below(rows, reading, *each) for each in sorted(wanted)]
            self._steady[key] = cut(union(parts))
        return self._steady[key]

    def _units(self, rows: RuleRows) -> Any:
        """Returns the rows by which waiting rewrites pass."""
        filler = f"cast({self._words.filler!r} as {self._words.type})"
        keys = [f"cast(id as {self._words.type}) as k0", *(f"{filler} as k{i}" for i in range(1, rows.keys))]
        return self._spark.range(UNITS).selectExpr(f"{UNIT} as number", *keys, *self._no_fact(rows))

    def _no_fact(self, rows: RuleRows) -> list[str]:
        return ["0L as rank", *(f"cast(null as {self._words.type}) as {name}" for name in names_of("w", rows.columns))]

    # Sizes

    def _is_small(self, rows: RuleRows, reading: Reading) -> bool:
        """True if the events have met so few rows that these go to every task."""
        reads = rows.reads(0, Kind.JOIN)
        if any(side is not Side.EVENT for _, _, side in reads):
            return False
        found = [reading.events(name, negated) for name, negated, _ in reads if name in reading.below]
        found += [reading.inside_events()]
        return sum(events.count for events in found if events is not None) <= SMALL_DELTA

    def _sized(self, facts: Any, rows: RuleRows, depth: int, reading: Reading) -> Any:
        """Returns facts with a hint: broadcast if they are few; otherwise hash the smaller side in the tasks."""
        reads = [each for kind in (Kind.JOIN, Kind.ANTI) for each in rows.reads(depth, kind)]
        below = sum(
            max(reading.below[each].old_rows, reading.below[each].new_rows)
            for each, *_ in reads
            if each in reading.below
        )
        inside = reading.inside_rows if any(each in self._packed.members for each, *_ in reads) else 0
        is_few = (below + inside) * rows.order_count(depth) <= SMALL_FACTS
        return facts.hint("broadcast") if is_few else facts


def _array(letter: str, count: int) -> str:
    return f"array({', '.join(names_of(letter, count))})"


def _picked(slots: int, count: int, name: str) -> list[str]:
    """Returns the words that rows of rules name: of the rewrite, or constants."""
    return [f"coalesce(get({_array('s', slots)}, y{i}), k{i}) as {name}{i}" for i in range(count)]
