"""The table of benchmarks that `tidelog bench list` prints; a new benchmark is a new entry."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.bench.benchmark import Benchmark, known_names
from tidelog.diagnostics.codes import Code

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
    ),
    Benchmark(
        "galen",
        "a medical ontology: six rules, non-linear and mutual recursion",
        "galen.zip, or a generated ontology",
        ("Bootstrap", "one row of `p` deleted, inserted (20 times)", "1% of `p`", "memory, compared with `counting`"),
    ),
    Benchmark(
        "crdt",
        "the merged text of concurrent edits: negation, and a recursion of thousands of rounds",
        "crdt.zip, or generated edits",
        ("Bootstrap", "one insertion and one removal, reverted and applied again (50 times)", "1% of the insertions"),
    ),
    Benchmark(
        "points-to",
        "Andersen's points-to analysis of a Java program: field-sensitive, with an on-the-fly call graph",
        "doop/*.facts.gz, or a generated program",
        ("Bootstrap", "10, 100 and 1,000 facts, five random sets each"),
    ),
    Benchmark(
        "elastic",
        "13 epochs of small and large changes (paper 001, figure 6): the switch, Update alone, Bootstrap alone",
        "a generated graph; crdt.zip, doop/*.facts.gz and galen.zip, or generated",
        ("the time of every epoch, the totals, the regret of the switch",),
    ),
    Benchmark(
        "lubm",
        "a university described by triples, with the rules of RDFS and of OWL 2 RL (paper 002)",
        "lubm/lubm1.nt.gz, or a generated university",
        ("99% of the triples", "the last 1% inserted, and deleted again", "a rule added, and removed"),
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
    ),
    Benchmark(
        "labels",
        "recursive `min`: components by their least node, shortest paths, and a component that is split",
        "generated",
        (
            "components of 200,000 nodes, and paths over 1,000,000 edges: loaded, with the memory",
            "an edge deleted, inserted (100 times)",
            "the only edge between two halves of a component deleted, inserted",
            "the same loads in Soufflé (`--peers souffle`)",
        ),
    ),
    Benchmark(
        "bill",
        "sums through recursion whose data has no cycle: the prices of a bill of materials, and shares in companies",
        "generated",
        (
            "100,000 parts and 300,000 uses loaded",
            "one price changed, one use deleted, inserted (20 times)",
            "1% of the uses deleted, inserted",
            "shares held through others, of type `double`: loaded, and one sold and bought back (20 times)",
        ),
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
    ),
    Benchmark(
        "groups",
        "sums, maxima and counts of many groups at once: 3,000 large ones and 816,000 small ones",
        "generated",
        (
            "1.5 million sales loaded, by shop and by shop and day, with the memory",
            "a row deleted, inserted (30 times)",
            "a thousandth of the rows deleted, inserted (5 times)",
            "the same loads in Soufflé and DuckDB (`--peers souffle,duckdb`)",
        ),
    ),
    Benchmark(
        "suite",
        "37 programs of every shape, none of them tuned for: loads on one and two threads, memory, updates",
        "generated; galen.zip, crdt.zip and doop/*.facts.gz for three of them",
        (
            "Bootstrap on one thread and on two, compared with a bare loop for five programs",
            "1 row, 100 rows and 1% of a relation deleted, inserted; a rule removed, added",
            "the same loads in Soufflé and DuckDB (`--peers souffle,duckdb`)",
        ),
    ),
    Benchmark(
        "dialects",
        "the programs of the suite in Soufflé's language and in Tidelog's, both loaded by Tidelog",
        "generated; galen.zip and crdt.zip for three of them",
        ("Bootstrap on one thread, in both languages in turns, and the ratio",),
    ),
    Benchmark(
        "spark",
        "the Spark engine: buckets and the usual DataFrame loop, frames and the local engine, a large table",
        "generated; graphs/soc-Epinions1.txt.gz, or random edges",
        (
            "the closure by the usual loop, and the first epoch",
            "a first load and a large batch, beside the local engine and plain Spark",
            "an epoch of 100 rows, and its number of Spark jobs",
            "reachability and same generation through frames, with the time of a round",
            "a table that is ingested, joined and written back, with the driver's memory",
        ),
    ),
    Benchmark(
        "values",
        "text in rules, structs built by recursion, records compared by blocks, strings interned from Arrow",
        "generated",
        (
            "substrings, concatenation and a search, and one row more",
            "walks as nested structs",
            "entity resolution: records that share a key are compared, and clustered",
            "the same loads, with their memory, in Soufflé and DuckDB (`--peers souffle,duckdb`)",
            "distinct strings",
        ),
    ),
    Benchmark(
        "load",
        "loading a CSV file with two columns of text, compared with pyarrow's own reader",
        "generated",
        ("reading alone", "loading, with few different texts and with many"),
    ),
    Benchmark(
        "sales",
        "loading a Parquet file with a timestamp, a decimal and two columns of text, compared with DuckDB",
        "generated",
        ("loading, with its memory", "DuckDB reading the same file into a table", "totals by shop, compared"),
    ),
    Benchmark(
        "readers",
        "eight readers beside 1,000 commits, one of them of seconds: the latency of reads, and their cost to commits",
        "generated",
        (
            "len, look-ups, small queries and explanations, 50 a second by each reader, and the slowest of each",
            "the small commits and the long one",
            "the small commits beside plain Python of equal processor time",
        ),
    ),
    Benchmark(
        "startup",
        "the startup time of a new process",
        "two edges",
        (
            "Python alone",
            "import tidelog",
            "from the start to the first commit, with the memory of the process",
            "the same on an installation without machine code, which compiles kernels",
        ),
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
    ),
)


def find(names: Sequence[str]) -> list[Benchmark]:
    """Returns the benchmarks of these names, each once. Raises UsageError for an unknown name."""
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    return [known[name] for name in known_names(names, known, "benchmark", Code.UNKNOWN_BENCHMARK)]
