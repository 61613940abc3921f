"""Records of the suite as the tables of `docs/benchmarks.md`."""

from __future__ import annotations

from tidelog.bench.benchmark import Scale
from tidelog.bench.run import run_benchmarks
from tidelog.bench.tabulate import tabulate


def test_a_record_becomes_a_table_of_loads_and_one_of_updates() -> None:
    record = run_benchmarks(["suite"], repeat=1, scale=Scale.TINY, programs=["andersen", "wide-join"])
    lines = tabulate([record]).splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    andersen, wide = (row for row in rows[2:4])
    assert andersen[:3] == ["andersen", "990", "6,582"]
    assert wide[:3] == ["wide-join", "240", "240"]
    assert all(len(row) == len(rows[0]) for row in rows[:4])
    changes = [row[1] for row in rows[6:] if row[0] == "wide-join"]
    assert changes[0] == "1 row of Delivery deleted"
    assert changes[-1] == "a rule added"


def test_peers_and_bare_loops_become_ratios() -> None:
    record = run_benchmarks(["suite"], repeat=1, scale=Scale.TINY, programs=["andersen"])
    (found,) = record["benchmarks"]
    for threads, seconds in (("1 thread", 4.0), ("2 threads", 2.0)):
        (own,) = (case for case in found["cases"] if case["name"] == f"Bootstrap, {threads}")
        for ending, less in (("", 0.0), (", without reading", 1.0)):
            theirs = {
                "who": "souffle",
                "name": f"Bootstrap, {threads}{ending}",
                "median": (seconds - less) * own["median"],
            }
            found["cases"].append(own | theirs)
    text = tabulate([record])
    row = [cell.strip() for cell in text.splitlines()[2].split("|")]
    assert row[9:11] == ["3.00", "1.00"]
    assert "Soufflé / Tidelog, 1 thread: geometric mean 3.00; below 1 in 0 of 1." in text


def test_updates_of_pathway_become_a_third_table() -> None:
    record = run_benchmarks(["suite"], repeat=1, scale=Scale.TINY, programs=["reach"])
    (found,) = record["benchmarks"]
    assert "Pathway" not in tabulate([record])
    (own,) = (case for case in found["cases"] if case["name"] == "1 row of Edge deleted")
    found["cases"].append(own | {"who": "pathway", "median": 5 * own["median"]})
    last = tabulate([record]).splitlines()[-1]
    assert last.startswith("| reach | 1 row of Edge deleted | 1 |")
    assert last.endswith("| 5.00 |")
