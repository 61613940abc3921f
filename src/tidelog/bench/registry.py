"""The table of benchmarks that `tidelog bench list` prints; a new benchmark is a new entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from tidelog.bench.benchmark import Benchmark, Settings
from tidelog.bench.measure import Outcome
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.suggest import suggest


def _suite(name: str) -> Callable[[Settings], Outcome]:
    """Returns the function of a suite's module; the module is imported when the benchmark runs."""

    def run(settings: Settings) -> Outcome:
        outcome: Outcome = getattr(import_module(f"tidelog.bench.suites.{name}"), name)(settings)
        return outcome

    return run


BENCHMARKS = (
    Benchmark(
        "closure",
        "transitive closure of random, R-MAT and chain graphs",
        "generated",
        (
            "Bootstrap, compared with a bare compiled loop",
            "one edge deleted, inserted (50 times)",
            "1% of the edges",
            "the middle edge of a chain, and a shortcut in it",
            "a row that no derived relation reads",
            "65 million rows (full scale only)",
        ),
        _suite("closure"),
    ),
    Benchmark(
        "galen",
        "a medical ontology: six rules, non-linear and mutual recursion",
        "galen.zip, or a generated ontology",
        ("Bootstrap", "one row of `p` deleted, inserted (20 times)", "1% of `p`", "memory, compared with `counting`"),
        _suite("galen"),
    ),
    Benchmark(
        "crdt",
        "the merged text of concurrent edits: negation, and a recursion of thousands of rounds",
        "crdt.zip, or generated edits",
        ("Bootstrap", "one insertion and one removal, reverted and applied again (50 times)", "1% of the insertions"),
        _suite("crdt"),
    ),
    Benchmark(
        "points-to",
        "Andersen's points-to analysis of a Java program: field-sensitive, with an on-the-fly call graph",
        "doop/*.facts.gz, or a generated program",
        ("Bootstrap", "10, 100 and 1,000 facts, five random sets each"),
        _suite("points_to"),
    ),
    Benchmark(
        "elastic",
        "13 epochs of small and large changes (paper 001, figure 6): the switch, Update alone, Bootstrap alone",
        "a generated graph; crdt.zip, doop/*.facts.gz and galen.zip, or generated",
        ("the time of every epoch, the totals, the regret of the switch",),
        _suite("elastic"),
    ),
    Benchmark(
        "lubm",
        "a university described by triples, with the rules of RDFS and of OWL 2 RL (paper 002)",
        "lubm/lubm1.nt.gz, or a generated university",
        ("99% of the triples", "the last 1% inserted, and deleted again", "a rule added, and removed"),
        _suite("lubm"),
    ),
    Benchmark(
        "circuit",
        "rules as rows: closure by the circuit of paper 002, compared with `elastic` and `counting` (figures 4 to 6)",
        "generated",
        (
            "99% and 50% of the edges, the rest inserted, and deleted again",
            "the memory of the state",
            "the paper's circuits, with and without index, on a graph of a few nodes",
        ),
        _suite("circuit"),
    ),
    Benchmark(
        "circuit-spark",
        "rules as rows on Spark: the cost of a round with 5 rules and with 100, compared with a union of joins",
        "generated",
        (
            "a round of the first epoch, and a wave of a small one",
            "a rule added, and removed",
            "a round of 100 rules as a union of joins (not at tiny scale)",
        ),
        _suite("circuit_spark"),
    ),
    Benchmark(
        "triangles",
        "triangles and 4-cliques: leapfrog and binary joins, and single edges with traces (paper 003)",
        "graphs/Oregon-1.txt.gz and graphs/soc-Epinions1.txt.gz, or generated; a star with a ring",
        (
            "a star with a ring in four sizes, and the exponent of the time",
            "triangles and 4-cliques, by leapfrog and by binary joins",
            "one edge deleted, inserted (25 times), with `elastic` and with `trace`",
        ),
        _suite("triangles"),
    ),
    Benchmark(
        "paths",
        "shortest paths from one node, `min` through recursion: updates of the tree, compared with full recomputes",
        "generated",
        (
            "10,000 nodes loaded",
            "an edge of the tree deleted, inserted (20 times): incremental update",
            "the same: full recompute",
        ),
        _suite("paths"),
    ),
    Benchmark(
        "aggregates",
        "aggregates of one large group, in four sizes: a change costs the logarithm of the group (paper 003)",
        "generated",
        (
            "min and max in the kernel alone: a value inserted, and one deleted (2,000 times)",
            "a row deleted, inserted (20 times): min, max, count and sum; arg_min and arg_max; floats; texts",
            "the same, compared with a function that reads the whole group",
        ),
        _suite("aggregates"),
    ),
    Benchmark(
        "spark",
        "the Spark engine: buckets and the usual DataFrame loop, frames and the local engine, a large table",
        "generated; graphs/soc-Epinions1.txt.gz, or random edges",
        (
            "the closure by the usual loop, and the first epoch",
            "an epoch of 100 rows, and its number of Spark jobs",
            "reachability and same generation through frames, with the time of a round",
            "a table that is ingested, joined and written back, with the driver's memory",
        ),
        _suite("spark"),
    ),
    Benchmark(
        "values",
        "text in rules, structs built by recursion, strings interned from Arrow",
        "generated",
        ("substrings, concatenation and a search, and one row more", "walks as nested structs", "distinct strings"),
        _suite("values"),
    ),
    Benchmark(
        "load",
        "loading a CSV file with two columns of text, compared with pyarrow's own reader",
        "generated",
        ("reading alone", "loading, with few different texts and with many"),
        _suite("load"),
    ),
    Benchmark(
        "startup",
        "the startup time of a new process",
        "two edges",
        ("Python alone", "import tidelog", "from the start to the first commit, kernels cached"),
        _suite("startup"),
    ),
    Benchmark(
        "durable",
        "a database on disk compared with one in memory: commits, loading and opening",
        "generated",
        (
            "commits of one row: in memory, and with either durability",
            "a CSV file, compared with Arrow's reader alone",
            "opening, up to the first lookup, and the first change after it",
        ),
        _suite("durable"),
    ),
    Benchmark(
        "rules",
        "one rule of a hundred added and removed, compared with a full recompute",
        "a generated ontology",
        (
            "with one relation of triples, and with a relation for each class",
            "full recompute",
            "a rule added, and removed",
            "from the text of a fresh program to its first result",
        ),
        _suite("rules"),
    ),
)


def find(names: Sequence[str]) -> list[Benchmark]:
    """Returns the benchmarks of these names, each once. Raises UsageError for an unknown name."""
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    for name in names:
        if name not in known:
            meant = suggest(name, known)
            raise UsageError(
                f"there is no benchmark `{name}`",
                code=Code.UNKNOWN_BENCHMARK,
                help=f"did you mean `{meant}`?" if meant else f"the benchmarks are {', '.join(known)}",
            )
    return [known[name] for name in dict.fromkeys(names)]
