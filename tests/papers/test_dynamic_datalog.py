"""The examples of "Incremental Evaluation of Dynamic Datalog Programs", misprints corrected (`docs/papers.md`)."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable

import pytest

from tests.engine.local.run import Running
from tidelog.dbsp import (
    INTEGERS,
    NESTED,
    ZSETS,
    Stream,
    ZSet,
    delay,
    distinct_changes,
    eliminate,
    incremental,
    integrate,
    introduce,
    lift,
)
from tidelog.dbsp.datalog import (
    ROOT,
    Atom,
    Interpreter,
    NaiveInterpreter,
    Rule,
    Var,
    consequence,
    directions,
    ground_atom,
    join_orders,
    product,
    signals,
)

x, y, z = map(Var, "xyz")
COPY = Rule(Atom("R", (x, y)), (Atom("P", (x, y)),))
STEP = Rule(Atom("R", (x, z)), (Atom("R", (x, y)), Atom("P", (y, z))))
CIRCUITS: dict[str, Callable[[], NaiveInterpreter | Interpreter]] = {
    "figure 1": NaiveInterpreter,
    "figure 2": lambda: Interpreter(with_index=False),
    "figure 3": Interpreter,
}


def facts(**relations: str) -> ZSet:
    """`facts(P="ab bc")` is P("a", "b") and P("b", "c")."""
    return ZSet.of(*((name, tuple(row)) for name, rows in relations.items() for row in rows.split()))


def test_example_3_1_a_rewrite_grounds_an_atom() -> None:
    rewrite = (("x", "a"), ("y", "b"), ("z", "c"))
    assert ground_atom(rewrite, Atom("P", (x, y))) == ("P", ("a", "b"))  # the paper prints ("a", "c"): that is P(x, z)
    assert ground_atom(rewrite, Atom("P", (x, z))) == ("P", ("a", "c"))


def test_example_3_2_the_rewrite_product() -> None:
    atom = Atom("P", (x, y))
    candidates = ZSet.of(*((atom, (("x", value),), (atom,)) for value in "ab"))
    found = product(candidates, facts(P="ab bc cd"))
    assert found == ZSet.of(((atom,), (("x", "a"), ("y", "b"))), ((atom,), (("x", "b"), ("y", "c"))))


def test_example_4_1_delay_toset_and_todiff() -> None:
    ab, bc, cd = (facts(P=row) for row in ("ab", "bc", "cd"))
    assert lift(ZSet.distinct, ZSETS)(Stream.of([ab, bc * 2, cd], ZSETS)).first(3) == [ab, bc, cd]
    assert lift(ZSet.signs, ZSETS)(Stream.of([-ab, bc * 2, -cd], ZSETS)).first(3) == [-ab, bc, -cd]
    assert delay(Stream.of([ab, bc * 2], ZSETS)).first(3) == [ZSet(), ab, bc * 2]


def test_section_4_1_integration_begins_at_the_first_moment() -> None:
    assert integrate(Stream.of([5, 1], INTEGERS)).first(3) == [5, 6, 6]  # the paper's sum begins at -1


def test_section_4_1_distinct_compares_two_sets() -> None:
    """As printed, todiff(S - z⁻¹ I S), it would take back every row that a change does not mention."""
    changes = Stream.of([facts(P="ab"), facts(P="bc")], ZSETS)
    printed = lift(lambda new, old: (new - old).signs(), ZSETS)(changes, delay(integrate(changes)))
    assert printed[1] == facts(P="bc") - facts(P="ab")
    assert distinct_changes(changes)[1] == facts(P="bc")


@pytest.mark.parametrize("name", CIRCUITS)
def test_example_4_2_integration_and_interpretation(name: str) -> None:
    given = [facts(P=row) for row in ("ab", "bc", "cd")]
    sums = integrate(Stream.of(given, ZSETS))
    assert sums[1] == facts(P="ab bc")  # the paper prints the weight 2 for P("b", "c")
    assert sums[2] == facts(P="ab bc cd")
    circuit = CIRCUITS[name]()
    rules = [ZSet.of((COPY,)), ZSet.of((STEP,)), ZSet({(COPY,): -1})]
    changes = [circuit.step(rules=rule, facts=new) for rule, new in zip(rules, given, strict=True)]
    assert changes[0] == facts(P="ab", R="ab")
    assert changes[1] == facts(P="bc", R="bc ac")
    assert changes[2] == facts(P="cd") - facts(R="ab bc ac")


def test_example_4_3_the_consequence_is_not_bilinear() -> None:
    rules = Stream.of([ZSet.of((COPY,)), ZSet.of((STEP,))], ZSETS)
    given = Stream.of([facts(P="ab"), facts(P="bc", R="ab")], ZSETS)
    apply = lift(consequence, ZSETS)
    before = delay(integrate(rules)), delay(integrate(given))
    as_if = apply(rules, given) + apply(before[0], given) + apply(rules, before[1])
    exact = incremental(apply)(rules, given)
    assert as_if[0] == exact[0] == facts(R="ab")
    assert exact[1] == facts(R="bc ac")
    # What a rule needs from two moments at once is met by no term.
    late = Stream.of([facts(R="ab"), facts(P="bc")], ZSETS)
    early = Stream.of([ZSet.of((STEP,)), ZSet()], ZSETS)
    terms = apply(early, late) + apply(delay(integrate(early)), late) + apply(early, delay(integrate(late)))
    assert terms[1] == ZSet()
    assert incremental(apply)(early, late)[1] == facts(R="ac")


def test_example_4_4_the_grounding_kit() -> None:
    other = Rule(Atom("R", (x, z)), (Atom("P", (x, y)), Atom("R", (y, z))))
    program = ZSet.of((COPY,), (other,))
    first, both = (Atom("P", (x, y)),), other.body
    assert directions(program) == ZSet({(ROOT, first): 2, (first, both): 1})  # pairs, not single numbers
    assert signals(program) == ZSet({(first, COPY.head): 1, (both, other.head): 1})


def test_example_4_5_nested_streams() -> None:
    first, second = facts(P="ab"), facts(P="bc")
    changes = Stream.of([first, second], ZSETS)
    assert introduce(first, ZSETS).first(2) == [first, ZSet()]
    nested = lift(lambda value: introduce(value, ZSETS), NESTED)(changes)
    assert [each.first(2) for each in nested.first(2)] == [[first, ZSet()], [second, ZSet()]]
    assert eliminate(changes) == first + second
    assert lift(eliminate, ZSETS)(nested).first(2) == [first, second]
    assert integrate(nested)[1].first(2) == [first + second, ZSet()]


def test_example_4_7_the_join_order() -> None:
    rule = Rule(Atom("T", (x, z)), (Atom("E", (x, y)), Atom("T", (y, z))))  # its head, too, is printed as T(x, y)
    assert join_orders(ZSet.of((rule,))) == ZSet({("E", ()): 1, ("T", (0,)): 1})


def test_equation_7_transitive_closure() -> None:
    closure = ZSet.of(
        (Rule(Atom("T", (x, y)), (Atom("E", (x, y)),)),),
        (Rule(Atom("T", (x, z)), (Atom("E", (x, y)), Atom("T", (y, z)))),),  # the paper prints T(x, y)
    )
    for name, make in CIRCUITS.items():
        circuit = make()
        assert circuit.step(rules=closure, facts=facts(E="ab bc cd")) == facts(E="ab bc cd", T="ab bc cd ac bd ad"), (
            name
        )
        assert circuit.step(facts=-facts(E="bc")) == -facts(E="bc", T="bc ac bd ad"), name


# What the paper adds up


def test_bodies_with_the_same_atoms_in_another_order_have_other_provenances() -> None:
    one = (Atom("P", (x, y)), Atom("Q", (y, z)))
    other = one[::-1]

    def summed(prefix: tuple[Atom, ...]) -> int:
        return sum(map(hash, prefix))

    assert summed(one) == summed(other), "so the paper's provenances collide"
    rules = ZSet.of((Rule(Atom("A", (x, z)), one),), (Rule(Atom("B", (x, z)), other),))
    assert {row[1] for row in directions(rules)} == {one[:1], one, other[:1], other}


def test_reordered_bodies_are_counted_once_each_by_the_strategy() -> None:
    run = Running(
        """
        input relation P(x: u8, y: u8)
        input relation Q(x: u8, y: u8)
        output relation A(x: u8, y: u8)
        output relation B(x: u8, y: u8)
        A(x, z) :- P(x, y), Q(y, z).
        A(x, z) :- Q(y, z), P(x, y).
        B(x, z) :- Q(y, z), P(x, y), x < z.
        """,
        strategy="circuit",
    )
    run.commit({"P": [(1, 2)], "Q": [(2, 3)]})
    totals = {name: run.engine.state_table(name).column("_total").to_pylist() for name in "AB"}
    assert totals == {"A": [2], "B": [1]}


# The three circuits beside one another


def test_the_circuits_agree_while_rules_and_facts_change() -> None:
    rules = [
        COPY,
        STEP,
        Rule(Atom("R", (y, x)), (Atom("R", (x, y)), Atom("P", (x, x)))),
        Rule(Atom("S", (x, "a")), (Atom("R", (x, x)), Atom("P", ("a", x)))),
        Rule(Atom("P", (x, x)), (Atom("S", (x, y)),)),
    ]
    for seed in range(4):
        rng = random.Random(seed)
        circuits = [make() for make in CIRCUITS.values()]
        present: set[Hashable] = set()
        for _ in range(6):
            universe = [(rule,) for rule in rules] + [("P", (a, b)) for a in "abc" for b in "abc"]
            chosen = rng.sample(universe, 4)
            change = {row: -1 if row in present else 1 for row in chosen}
            present.symmetric_difference_update(chosen)
            new_rules = ZSet({row: weight for row, weight in change.items() if len(row) == 1})
            new_facts = ZSet({row: weight for row, weight in change.items() if len(row) == 2})
            naive, *others = [each.step(rules=new_rules, facts=new_facts) for each in circuits]
            assert others == [naive, naive]


def test_a_change_that_undoes_another_leaves_no_rewrites_behind() -> None:
    circuit = Interpreter()
    rules = ZSet.of((COPY,), (STEP,))
    circuit.step(rules=rules)
    assert circuit.step(facts=facts(P="ab bc ca")) == -circuit.step(facts=-facts(P="ab bc ca"))
    assert circuit.step(rules=-rules) == ZSet()
    assert circuit.work() > 0
