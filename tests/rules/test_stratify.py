"""Rules → strata."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.compile_program import compile_program
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.rules.ir import RuleProgram
from tidelog.strong_components import strong_components


def program(text: str) -> RuleProgram:
    return compile_program(Source("p.dl", text)).rules


def declared(*names: str) -> str:
    return "".join(f"relation {name}(x: u8)\n" for name in names)


def strata(text: str) -> list[tuple[str, ...]]:
    return [stratum.relations for stratum in program(text).strata]


def test_what_is_read_comes_first() -> None:
    assert strata(declared("A", "B", "C") + "A(x) :- B(x). B(x) :- C(x).") == [("C",), ("B",), ("A",)]


def test_relations_without_rules_are_strata_of_their_own_in_the_order_of_declaration() -> None:
    assert strata(declared("C", "A", "B")) == [("C",), ("A",), ("B",)]


def test_mutual_recursion_is_one_stratum() -> None:
    found = program(declared("A", "B", "C") + "A(x) :- B(x). B(x) :- A(x). B(x) :- C(x).").strata
    assert [(stratum.relations, stratum.recursive) for stratum in found] == [(("C",), False), (("A", "B"), True)]
    assert [rule.id for rule in found[1].rules] == [0, 1, 2]


def test_a_relation_that_reads_itself_is_recursive() -> None:
    assert [stratum.recursive for stratum in program(declared("A") + "A(x) :- A(x).").strata] == [True]
    assert [stratum.recursive for stratum in program(declared("A") + "A(1).").strata] == [False]


def test_every_rule_is_in_the_stratum_of_its_head() -> None:
    found = program(declared("A", "B") + "A(1). B(x) :- A(x), not A(2). A(x) :- A(x).")
    assert [[rule.id for rule in stratum.rules] for stratum in found.strata] == [[0, 2], [1]]


def test_negation_of_a_lower_stratum_is_fine() -> None:
    assert strata(declared("A", "B") + "A(x) :- B(x), not B(2). B(x) :- B(x).") == [("B",), ("A",)]


def labels(text: str) -> list[list[str]]:
    with pytest.raises(ProgramError) as caught:
        program(text)
    return [[label.text for label in found.labels] for found in caught.value.diagnostics]


def test_a_cycle_through_negation_is_walked_from_head_to_head() -> None:
    rules = "A(x) :- D(x), not B(x). B(x) :- D(x), C(x). C(x) :- not D(x), D(x), A(x)."
    assert labels(declared("A", "B", "C", "D") + rules) == [
        ["`A` depends on `not B` here", "`B` depends on `C` here", "`C` depends on `A` here"]
    ]


def test_the_shortest_way_round_is_shown() -> None:
    rules = "A(x) :- A(x), not B(x). B(x) :- C(x). C(x) :- A(x). B(x) :- B(x), A(x)."
    assert labels(declared("A", "B", "C") + rules) == [["`A` depends on `not B` here", "`B` depends on `A` here"]]


def test_every_negation_in_a_cycle_is_reported() -> None:
    rules = "A(x) :- C(x), not B(x). B(x) :- C(x), not A(x). C(1)."
    assert labels(declared("A", "B", "C") + rules) == [
        ["`A` depends on `not B` here", "`B` depends on `not A` here"],
        ["`B` depends on `not A` here", "`A` depends on `not B` here"],
    ]


def test_hidden_projections_are_not_mentioned() -> None:
    text = "relation A(x: u8, y: u8)\nA(x, y) :- A(y, x), not A(x, _)."
    assert labels(text) == [["`A` depends on `not A` here"]]


def test_a_chain_of_many_relations_does_not_overflow() -> None:
    count = 20_000
    graph = {f"R{i}": [f"R{i + 1}"] if i + 1 < count else [] for i in range(count)}
    assert [component[0] for component in strong_components(graph)] == [f"R{i}" for i in reversed(range(count))]
    graph[f"R{count - 1}"] = ["R0"]
    assert len(strong_components(graph)) == 1


def test_a_long_chain_of_rules_compiles() -> None:
    count = 1500
    rules = "".join(f"R{i}(x) :- R{i + 1}(x).\n" for i in range(count))
    assert len(strata(declared(*(f"R{i}" for i in range(count + 1))) + rules)) == count + 1


nodes = st.integers(0, 7)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(nodes, nodes), max_size=20))
def test_components_are_the_classes_of_mutual_reachability_in_dependency_order(edges: list[tuple[int, int]]) -> None:
    graph = {str(node): [str(to) for source, to in edges if source == node] for node in range(8)}
    reach = {(str(a), str(b)) for a, b in edges} | {(node, node) for node in graph}
    for middle in graph:
        reach |= {(a, b) for a in graph for b in graph if (a, middle) in reach and (middle, b) in reach}
    components = strong_components(graph)
    place = {node: number for number, component in enumerate(components) for node in component}
    assert sorted(place) == sorted(graph)
    for a in graph:
        for b in graph:
            assert (place[a] == place[b]) == ((a, b) in reach and (b, a) in reach)
            if (a, b) in reach:
                assert place[b] <= place[a]
