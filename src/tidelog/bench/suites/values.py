"""Values: text in rules, structs built by recursion, records compared by blocks, strings interned from Arrow columns.

Results are compared with the same operations in Python, and with the number of walks that powers of the graph's matrix
give.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import Dataset, number_table
from tidelog.bench.inputs.records import clusters, in_lower_case, records
from tidelog.bench.measure import (
    Case,
    Outcome,
    Ratio,
    Subject,
    loads,
    memory_of_load,
    require_equal,
    take,
    touch_memory,
)
from tidelog.bench.references.peer_run import Results
from tidelog.bench.references.peers import beside

_STEPS = 11


def values(settings: Settings) -> Outcome:
    out = Outcome()
    _urls(settings, out, settings.pick(2_000, 50_000, 300_000))
    _walks(settings, out, settings.pick(2, 12, 54))
    _resolve(settings, out, settings.pick(500, 5_000, 50_000))
    _strings(settings, out, settings.pick(20_000, 1_000_000, 10_000_000))
    return out


def _urls(settings: Settings, out: Outcome, count: int) -> None:
    urls = [f"https://host{i % 977}.example.org/path/{i}/page{i % 13}.html?q={i * 7}" for i in range(count)]
    data = Dataset(f"{count:,} URLs", "generated", {"Url": pa.table({"u": urls})})
    expected = {
        "Short": {f"{url[8:24]}#{url[12:18]}" for url in urls},
        "Page": {url for url in urls if "page7" in url},
        "Named": {f"q:{url}" for url in urls if "host5" in url},
    }
    subject, load = _load(settings, out, "urls", data, sum(map(len, expected.values())))
    for name, texts in expected.items():
        found = subject.table(name).column(0).to_pylist()
        out.check(f"{data.name}: {name}", len(found), len(texts))
        out.check(f"{data.name}: text of {name}", set(found) == texts, True)
    more = pa.table({"u": [f"https://host5.x/page7/{i}/a-longer-path" for i in range(20)]})
    _single(out, data.name, subject, "Url", more)
    _beside(settings, out, "urls", data, load, {name: subject.table(name) for name in expected})
    subject.close()


def _walks(settings: Settings, out: Outcome, starts: int) -> None:
    nodes = 500
    edges = np.array([(a, (a * 7 + j * 13 + 1) % nodes) for a in range(nodes) for j in range(2)])
    reached = np.zeros(nodes, dtype=np.int64)
    reached[:starts] = 1
    expected = starts
    for _ in range(_STEPS):
        following = np.zeros(nodes, dtype=np.int64)
        np.add.at(following, edges[:, 1], reached[edges[:, 0]])
        reached = following
        expected += int(reached.sum())
    tables = {"Edge": number_table(edges, "a", "b"), "Start": number_table(np.arange(starts)[:, None], "a")}
    data = Dataset(f"walks from {starts} nodes", "generated", tables)
    subject, load = _load(settings, out, "walks", data, expected)
    out.check(f"{data.name}: Walks", subject.count("Walks"), expected)
    # Nodes without edges: a start is one walk more.
    _single(out, data.name, subject, "Start", number_table(np.arange(nodes, nodes + 20)[:, None], "a"))
    _beside(settings, out, "walks", data, load, {"Walks": expected})
    subject.close()


def _resolve(settings: Settings, out: Outcome, count: int) -> None:
    data = records(count)
    pairs, least = clusters(data)
    subject, load = _load(settings, out, "resolve", data, len(pairs) + len(least))
    _check_clusters(out, data, subject, pairs, least)
    chosen = np.random.default_rng(1).choice(count, 20, replace=False)
    _single(out, data.name, subject, "Record", take(data.tables["Record"], chosen), is_new=False)
    _check_clusters(out, data, subject, pairs, least)
    found = {name: subject.table(name) for name in ("Same", "Cluster")}
    _beside(settings, out, "resolve", data, load, found, in_lower_case(data))
    subject.close()


def _check_clusters(
    out: Outcome, data: Dataset, subject: Subject, pairs: set[tuple[int, int]], least: list[int]
) -> None:
    same, cluster = subject.table("Same"), subject.table("Cluster")
    out.check(f"{data.name}: pairs", same.num_rows, len(pairs))
    found = set(zip(same["one"].to_pylist(), same["other"].to_pylist()))
    out.check(f"{data.name}: the records of each pair", found == pairs, True)
    labels = dict(zip(cluster["id"].to_pylist(), cluster["label"].to_pylist()))
    out.check(f"{data.name}: clusters", labels == dict(enumerate(least)), True)


def _load(settings: Settings, out: Outcome, program: str, data: Dataset, rows: int) -> tuple[Subject, Case]:
    """Returns a loaded subject, and the case of its load; one load before it is not timed."""
    settings.say(data.name)
    out.inputs.append(data.describe())
    touch_memory(program, data.tables, settings.threads)
    subject, seconds = loads(program, data.tables, settings.repeat, settings.threads)
    return subject, out.case(data.name, "Bootstrap", seconds, rows=rows)


def _single(out: Outcome, group: str, subject: Subject, relation: str, rows: pa.Table, *, is_new: bool = True) -> None:
    """Times rows inserted and deleted one by one; deleted first if they are there."""
    seconds: list[float] = []
    for at in range(rows.num_rows):
        row = {relation: rows.slice(at, 1)}
        first, second = ({"inserts": row}, {"deletes": row})
        for change in (first, second) if is_new else (second, first):
            seconds.append(subject.change(**change))
    out.case(group, "one row", seconds, rows=1)


def _beside(
    settings: Settings,
    out: Outcome,
    program: str,
    data: Dataset,
    load: Case,
    results: Results,
    given: Dataset | None = None,
) -> None:
    """Measures the memory of the load, and runs the peers, on other facts if `given`."""
    settings.say(f"{data.name}: memory")
    peak = memory_of_load(out, f"{data.name}: {load.name}", program, data.tables, settings.threads)
    beside(settings, program, given or data, load, results, out, peak)


def _strings(settings: Settings, out: Outcome, count: int) -> None:
    from tidelog.engine.local.encoding.string_pool import StringPool

    group = f"{count:,} strings"
    settings.say(group)
    numbers = pa.array(np.random.default_rng(1).permutation(count)).cast(pa.string())
    column = pa.chunked_array([pc.binary_join_element_wise("https://example.org/item/", numbers, "")])
    out.inputs.append({"name": group, "source": "generated", "rows": count, "tables": {"String": count}})
    taken = []
    for _ in range(settings.repeat + 1):
        pool = StringPool()
        started = perf_counter()
        ids = pool.intern_arrow(column)
        taken.append(perf_counter() - started)
    out.checks.append(require_equal(f"{group}: ids", len(np.unique(ids)), count))
    out.checks.append(require_equal(f"{group}: text", pool.export(ids).equals(column.combine_chunks()), True))
    out.cases.append(Case(group, "intern", tuple(taken[1:]), rows=count))
    out.ratios.append(Ratio(group, "million distinct strings a second", count / out.cases[-1].median / 1e6))
    text = pc.sum(pc.binary_length(column)).as_py()
    out.ratios.append(Ratio(group, "bytes beside the text, a string", (pool.memory - text) / count))
