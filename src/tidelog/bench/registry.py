"""All benchmarks. `tidelog bench list` prints this; a new one is one more entry."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.bench.benchmark import Benchmark, Settings
from tidelog.bench.measure import Outcome
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.suggest import suggest


def _closure(settings: Settings) -> Outcome:
    from tidelog.bench.suites.closure import closure

    return closure(settings)


def _galen(settings: Settings) -> Outcome:
    from tidelog.bench.suites.galen import galen

    return galen(settings)


def _crdt(settings: Settings) -> Outcome:
    from tidelog.bench.suites.crdt import crdt

    return crdt(settings)


def _points_to(settings: Settings) -> Outcome:
    from tidelog.bench.suites.points_to import points_to

    return points_to(settings)


def _startup(settings: Settings) -> Outcome:
    from tidelog.bench.suites.startup import startup

    return startup(settings)


def _load(settings: Settings) -> Outcome:
    from tidelog.bench.suites.load import load

    return load(settings)


def _elastic(settings: Settings) -> Outcome:
    from tidelog.bench.suites.elastic import elastic

    return elastic(settings)


def _durable(settings: Settings) -> Outcome:
    from tidelog.bench.suites.durable import durable

    return durable(settings)


def _circuit(settings: Settings) -> Outcome:
    from tidelog.bench.suites.circuit import circuit

    return circuit(settings)


def _circuit_spark(settings: Settings) -> Outcome:
    from tidelog.bench.suites.circuit_spark import circuit_spark

    return circuit_spark(settings)


def _lubm(settings: Settings) -> Outcome:
    from tidelog.bench.suites.lubm import lubm

    return lubm(settings)


def _rules(settings: Settings) -> Outcome:
    from tidelog.bench.suites.rules import rules

    return rules(settings)


def _paths(settings: Settings) -> Outcome:
    from tidelog.bench.suites.paths import paths

    return paths(settings)


def _triangles(settings: Settings) -> Outcome:
    from tidelog.bench.suites.triangles import triangles

    return triangles(settings)


def _aggregates(settings: Settings) -> Outcome:
    from tidelog.bench.suites.aggregates import aggregates

    return aggregates(settings)


def _spark(settings: Settings) -> Outcome:
    from tidelog.bench.suites.spark import spark

    return spark(settings)


BENCHMARKS = (
    Benchmark(
        "closure",
        "transitive closure of random, R-MAT and chain graphs",
        "generated",
        (
            "Bootstrap, beside a bare compiled loop",
            "one edge deleted, inserted (50 times)",
            "1% of the edges",
            "the middle edge of a chain, and a shortcut in it",
            "a row that nothing derived reads",
            "65 million rows (full scale only)",
        ),
        _closure,
    ),
    Benchmark(
        "galen",
        "a medical ontology: six rules, non-linear and mutual recursion",
        "galen.zip, or a generated ontology",
        ("Bootstrap", "one row of `p` deleted, inserted (20 times)", "1% of `p`", "memory beside `counting`"),
        _galen,
    ),
    Benchmark(
        "crdt",
        "the text that concurrent edits make: negation, and recursion thousands of rounds deep",
        "crdt.zip, or generated edits",
        ("Bootstrap", "one insert and one removal, undone and done (50 times)", "1% of the inserts"),
        _crdt,
    ),
    Benchmark(
        "points-to",
        "Andersen's points-to analysis of a Java program, by fields, with the call graph found on the way",
        "doop/*.facts.gz, or a generated program",
        ("Bootstrap", "10, 100 and 1,000 facts, five random sets each"),
        _points_to,
    ),
    Benchmark(
        "elastic",
        "13 epochs of small and large changes (paper 001, figure 6): the switch, Update alone, Bootstrap alone",
        "a generated graph; crdt.zip, doop/*.facts.gz and galen.zip, or generated",
        ("the time of every epoch, the totals, the regret of the switch",),
        _elastic,
    ),
    Benchmark(
        "lubm",
        "a university described by triples, with the rules of RDFS and of OWL 2 RL (paper 002)",
        "lubm/lubm1.nt.gz, or a generated university",
        ("99% of the triples", "the last 1% added, and removed again", "a rule comes, the rule goes"),
        _lubm,
    ),
    Benchmark(
        "circuit",
        "rules as rows: closure by the circuit of paper 002, beside `elastic` and `counting` (figures 4 to 6)",
        "generated",
        (
            "99% and 50% of the edges, the rest added, and removed again",
            "the memory of the state",
            "the paper's circuits, with and without index, on a graph of a few nodes",
        ),
        _circuit,
    ),
    Benchmark(
        "circuit-spark",
        "rules as rows on Spark: what a round costs with 5 rules and with 100, beside a union of joins",
        "generated",
        (
            "a round of the first epoch, and a wave of a small one",
            "a rule that comes, and goes",
            "a round of 100 rules as a union of joins (not at tiny scale)",
        ),
        _circuit_spark,
    ),
    Benchmark(
        "triangles",
        "triangles and 4-cliques: leapfrog joins beside binary ones, and single edges with traces (paper 003)",
        "graphs/Oregon-1.txt.gz and graphs/soc-Epinions1.txt.gz, or generated; a star with a ring",
        (
            "a star with a ring in four sizes, and the exponent of the time",
            "triangles and 4-cliques, by leapfrog and by binary joins",
            "one edge deleted, inserted (25 times), with `elastic` and with `trace`",
        ),
        _triangles,
    ),
    Benchmark(
        "paths",
        "shortest paths from one node, `min` through recursion: edges of their tree deleted, beside deriving all anew",
        "generated",
        (
            "10,000 nodes loaded",
            "an edge of the tree deleted, inserted (20 times), repaired",
            "the same, with everything derived from nothing",
        ),
        _paths,
    ),
    Benchmark(
        "aggregates",
        "aggregates of one large group, in four sizes: a change costs the logarithm of the group (paper 003)",
        "generated",
        (
            "min and max in the kernel alone: a value put in, and one taken out (2,000 times)",
            "a row deleted, inserted (20 times): min, max, count and sum; arg_min and arg_max; floats; texts",
            "the same beside a function that goes through the group",
        ),
        _aggregates,
    ),
    Benchmark(
        "spark",
        "the Spark engine: buckets beside the usual DataFrame loop, frames beside the local engine, a large table",
        "generated; graphs/soc-Epinions1.txt.gz, or random edges",
        (
            "the closure by the usual loop, and the first epoch",
            "an epoch of 100 rows, with the Spark jobs that it takes",
            "reachability and same generation through frames, with the time of a round",
            "a table that is ingested, joined and written back, with the driver's memory",
        ),
        _spark,
    ),
    Benchmark(
        "load",
        "a CSV file with two columns of text into an input relation, beside pyarrow's own reader",
        "generated",
        ("reading alone", "loading, with few different texts and with many"),
        _load,
    ),
    Benchmark(
        "startup",
        "what a new process pays before it has done anything",
        "two edges",
        ("Python alone", "import tidelog", "from the start to the first commit, kernels cached"),
        _startup,
    ),
    Benchmark(
        "durable",
        "a database on disk beside one in memory: what commits, loading and opening cost",
        "generated",
        (
            "commits of one row: in memory, and with either durability",
            "a CSV file, beside Arrow's reader alone",
            "opening up to the first look-up, and the first change after it",
        ),
        _durable,
    ),
    Benchmark(
        "rules",
        "one rule of a hundred comes and goes, beside deriving everything anew",
        "a generated ontology",
        (
            "as one relation of triples, and with a relation for each class",
            "everything derived anew",
            "a rule comes, the rule goes",
            "from the text of a fresh program to its first result",
        ),
        _rules,
    ),
)


def find(names: Sequence[str]) -> list[Benchmark]:
    """The benchmarks of these names, each once. Raises UsageError for a name that there is not."""
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
