"""The benchmarks' data: the same every time, of the sizes asked for; and their oracles, against slower ones."""

from __future__ import annotations

import gzip
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from tidelog.bench.benchmark import Scale, Settings
from tidelog.bench.inputs import crdt, doop, galen
from tidelog.bench.inputs.dataset import Numbers
from tidelog.bench.inputs.graphs import chain_graph, closure_size, random_graph, rmat_graph
from tidelog.bench.inputs.records import clusters, in_lower_case, records
from tidelog.bench.measure import Subject


def settings(data: Path, scale: Scale) -> Settings:
    return Settings(scale, data, (), 1, lambda _: None)


def plain_closure(edges: Numbers) -> int:
    found = {(int(a), int(b)) for a, b in edges}
    while True:
        more = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not more:
            return len(found)
        found |= more


@pytest.mark.parametrize("seed", range(12))
def test_the_size_of_a_closure_is_that_of_the_pairs(seed: int) -> None:
    edges = random_graph(9, 4 + 2 * seed, seed)
    assert closure_size(edges) == plain_closure(edges)


def test_a_chain_connects_every_node_with_every_later_one() -> None:
    assert closure_size(chain_graph(50)) == 50 * 51 // 2


def test_graphs_are_the_same_every_time_and_have_distinct_edges() -> None:
    for make in (random_graph, rmat_graph):
        edges = make(100, 400)
        assert np.array_equal(edges, make(100, 400))
        assert len(np.unique(edges, axis=0)) == len(edges)
        assert edges.max() < 100
    assert len(rmat_graph(100, 400)) == 400


def test_few_nodes_of_an_rmat_graph_have_most_edges() -> None:
    degrees = np.sort(np.bincount(rmat_graph(1_000, 10_000)[:, 0], minlength=1_000))[::-1]
    assert degrees[:100].sum() > 4_000


@pytest.mark.parametrize("module", [crdt, doop, galen])
def test_generated_facts_are_the_same_every_time(module: object) -> None:
    first, second = module.generated(40), module.generated(40)  # type: ignore[attr-defined]
    assert first.tables == second.tables


def test_the_text_is_found_by_walking_youngest_children_first() -> None:
    # 1 and 2 are children of the root; 2 is younger, so the text is 2 3 1; 3 is removed.
    inserts = np.array([[1, 0, 0, 0], [2, 0, 0, 0], [3, 0, 2, 0]], dtype=np.uint32)
    removes = np.array([[3, 0]], dtype=np.uint32)
    data = crdt._dataset("three", "here", inserts, removes)
    assert crdt.text_size(data) == 1
    subject = Subject("crdt")
    subject.change(inserts=data.tables)
    assert subject.table("Text").to_pylist() == [{"ctr": 2, "node": 0, "next_ctr": 1, "next_node": 0}]


def test_edits_are_read_from_the_archive_and_cut_at_a_smaller_scale(tmp_path: Path) -> None:
    lines = [f"{i} 0 {i - 1} 0" for i in range(1, 301)]
    with ZipFile(tmp_path / "crdt.zip", "w") as archive:
        archive.writestr("input/insert.txt", "\n".join(lines))
        archive.writestr("input/remove.txt", "5 0\n299 0\n")
    full = crdt.crdt(settings(tmp_path, Scale.FULL))
    assert {name: table.num_rows for name, table in full.tables.items()} == {"Insert": 300, "Remove": 2}
    assert full.known == {"Text": 104_851}
    tiny = crdt.crdt(settings(tmp_path, Scale.TINY))
    assert {name: table.num_rows for name, table in tiny.tables.items()} == {"Insert": 201, "Remove": 1}
    assert tiny.known == {}


def test_the_ontology_is_read_from_the_archive(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "galen.zip", "w") as archive:
        for name, line in {"p": "1,2", "q": "1,2,3", "r": "1,2,3", "c": "1,2,3", "u": "1,2,3", "s": "1,2"}.items():
            archive.writestr(f"{name}.txt", line + "\n")
    data = galen.galen(settings(tmp_path, Scale.FULL))
    assert data.rows == 6
    assert data.tables["ToldHas"].to_pylist() == [{"sub": 1, "role": 2, "what": 3}]
    assert data.known == {"IsA": 7_560_179, "Has": 16_595_494}


def test_facts_are_read_once_each_with_what_the_analysis_takes_for_granted(tmp_path: Path) -> None:
    main, start = "<Main: void main(java.lang.String[])>", "<Main: void <clinit>()>"
    lines = {name: [["x"] * width] for name, width, _ in doop.FILES.values()}
    lines |= {
        "Method": [
            [main, "main", "(java.lang.String[])", "Main", "void", "([Ljava/lang/String;)V", "1"],
            [start, "<clinit>", "()", "Main", "void", "()V", "0"],
            ["<Node: void accept()>", "accept", "()", "Node", "void", "()V", "0"],
        ]
        * 2,
        "Method-Modifier": [["abstract", "<Node: void accept()>"]],
        "FormalParam": [["0", main, "args"], ["1", "x", "other"]],
        "ActualParam": [["0", "call", "x"]],
        "AssignHeapAllocation": [
            ["i", "1", "new Node", "v", main, "9"],
            ["i", "2", "text", "w", main, "9"],
            ["i", "3", "<class Node>", "u", main, "9"],
        ],
        "NormalHeap": [["new Node", "Node"]],
        "StringConstant": [["text"]],
        "LoadStaticField": [["i", "1", "v", "<Main: Node one>", main]],
        "Field": [["<Main: Node one>", "Main", "one", "Node"], ["<Main: Node two>", "Main", "two", "Node"]],
        "ComponentType": [["Node[]", "Node"]] * 3,
        "MainClass": [["Main"]],
        "HeapAllocation_Type_Prefill": [["array", "java.lang.String[]"]],
        "MainMethodArgArray": [["array"]],
        "MainMethodArgArrayContent": [["content"]],
    }
    (tmp_path / "doop").mkdir()
    for name, rows in lines.items():
        with gzip.open(tmp_path / "doop" / f"{name}.facts.gz", "wt") as file:
            file.writelines("\t".join(row) + "\n" for row in rows)
    data = doop.doop(settings(tmp_path, Scale.FULL))

    def found(relation: str) -> list[tuple[object, ...]]:
        return sorted(zip(*(column.to_pylist() for column in data.tables[relation].columns)))

    assert len(found("Method")) == 3
    assert found("Concrete") == [(start,), (main,)]
    assert found("Initialiser") == [("Main", start)]
    assert found("Entry") == [(main,)]
    assert found("StaticField") == [("<Main: Node one>", "Main")]
    assert found("HeapType") == [
        ("<class Node>", "java.lang.Class"),
        ("array", "java.lang.String[]"),
        ("new Node", "Node"),
        ("text", "java.lang.String"),
    ]
    assert found("Component") == [("Node[]", "Node")]
    assert ("Node[]", "java.lang.Object") in found("Extends")
    assert {("Node[]", "java.lang.Cloneable"), ("Node[]", "java.io.Serializable")} <= set(found("Implements"))
    assert {("args", "array", main), (f"{main}/content", "content", main)} <= set(found("New"))
    assert (f"{main}/content", "args") in found("StoreElement")
    half = doop.doop(settings(tmp_path, Scale.TINY))
    assert half.tables["New"].num_rows == 2


def test_clusters_of_records_are_those_of_all_pairs_that_share_a_key() -> None:
    data = records(60)
    lines = [tuple(line.values()) for line in in_lower_case(data).tables["Record"].to_pylist()]
    assert [line[1] for line in lines] != data.tables["Record"]["text"].to_pylist()
    linked = {
        (a, b)
        for a, text, city, phone in lines
        for b, other, town, number in lines
        if (text[:5] + city[:3] == other[:5] + town[:3] or phone[:6] == number[:6]) and (text in other or other in text)
    }
    pairs, least = clusters(data)
    assert pairs == {(a, b) for a, b in linked if a < b}
    assert pairs
    reach = dict.fromkeys(linked)
    while more := {(a, d) for a, b in reach for c, d in linked if b == c} - reach.keys():
        reach |= dict.fromkeys(more)
    assert least == [min(b for a, b in reach if a == line[0]) for line in lines]
