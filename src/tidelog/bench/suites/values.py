"""Values: text in rules, structs built by recursion, and strings interned from Arrow columns.

Results are compared with the same text operations in Python, and with the number of walks that powers of the graph's
matrix give.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.bench.benchmark import Settings
from tidelog.bench.machine import peak_memory
from tidelog.bench.measure import Case, Outcome, Ratio, Subject, require_equal

_STEPS = 11


def values(settings: Settings) -> Outcome:
    out = Outcome()
    _urls(settings, out, settings.pick(2_000, 50_000, 300_000))
    _walks(settings, out, settings.pick(2, 12, 54))
    _strings(settings, out, settings.pick(20_000, 1_000_000, 10_000_000))
    return out


def _urls(settings: Settings, out: Outcome, count: int) -> None:
    group = f"{count:,} URLs"
    settings.say(group)
    urls = [f"https://host{i % 977}.example.org/path/{i}/page{i % 13}.html?q={i * 7}" for i in range(count)]
    table = pa.table({"u": urls})
    wanted = {
        "Short": len({f"{url[8:24]}#{url[12:18]}" for url in urls}),
        "Page": sum("page7" in url for url in urls),
        "Named": sum("host5" in url for url in urls),
    }
    out.inputs.append({"name": group, "source": "generated", "rows": count, "tables": {"Url": count}})
    with peak_memory(out.memory_mb, group):
        taken = []
        for _ in range(settings.repeat + 1):
            subject = Subject("urls", threads=settings.threads)
            taken.append(subject.change({"Url": table}))
    for name, rows in wanted.items():
        out.checks.append(require_equal(f"{group}: {name}", subject.count(name), rows))
    out.cases.append(Case(group, "Bootstrap", tuple(taken[1:]), rows=sum(wanted.values())))
    out.cases.append(
        Case(group, "one row", _single(subject, "Url", "u", [f"https://host5.x/page7/{i}" for i in range(20)]))
    )


def _single(subject: Subject, relation: str, column: str, rows: list[str]) -> tuple[float, ...]:
    return tuple(subject.change({relation: pa.table({column: [row]})}) for row in rows)


def _walks(settings: Settings, out: Outcome, starts: int) -> None:
    nodes = 500
    group = f"walks from {starts} nodes"
    settings.say(group)
    edges = np.array([(a, (a * 7 + j * 13 + 1) % nodes) for a in range(nodes) for j in range(2)])
    reached = np.zeros(nodes, dtype=np.int64)
    reached[:starts] = 1
    expected = starts
    for _ in range(_STEPS):
        following = np.zeros(nodes, dtype=np.int64)
        np.add.at(following, edges[:, 1], reached[edges[:, 0]])
        reached = following
        expected += int(reached.sum())
    tables = {
        "Edge": pa.table({"a": pa.array(edges[:, 0], pa.uint32()), "b": pa.array(edges[:, 1], pa.uint32())}),
        "Start": pa.table({"a": pa.array(np.arange(starts), pa.uint32())}),
    }
    out.inputs.append({"name": group, "source": "generated", "rows": len(edges), "tables": {"Edge": len(edges)}})
    with peak_memory(out.memory_mb, group):
        taken = []
        for _ in range(settings.repeat + 1):
            subject = Subject("walks", threads=settings.threads)
            taken.append(subject.change(tables))
    out.checks.append(require_equal(f"{group}: Walks", subject.count("Walks"), expected))
    out.cases.append(Case(group, "Bootstrap", tuple(taken[1:]), rows=expected))


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
