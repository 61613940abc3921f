"""The oracle on weights, groups, streams and delays, with answers that anyone can check."""

from __future__ import annotations

from tests.oracle import vocabulary as words
from tests.oracle.evaluate import weigh
from tests.oracle.history import Transaction, Write, is_an_epoch, weigh_facts
from tests.oracle.program import Apart, Assign, Atom, Call, GroupBy, Positive, Program, Relation, Rule, Unpack, Var
from tests.oracle.types import Function, Type, Weights
from tests.oracle.vocabulary import U64, N
from tests.oracle.write import write

X, Y, G, T = Var("x", N), Var("y", N), Var("g", words.group_of(N)), Var("t", U64)
PAIRS = Relation("E", (N, N), "input")


def after(program: Program, *transactions: Transaction) -> list[Weights]:
    """What opening and each transaction come to."""
    facts: Weights = {}
    past = [weigh(program, facts, ())]
    for transaction in transactions:
        facts = weigh_facts(program, facts, transaction)
        past.append(weigh(program, facts, past))
    return past


def named(template: str, *parameters: Type) -> Function:
    """A function of the vocabulary."""
    everything = [*words.SHRINKING, *words.GROWING, *words.GROUPED]
    (found,) = [each for each in everything if (each.template, each.parameters) == (template, parameters)]
    return found


def inserted(name: str, *rows: tuple[int, ...]) -> Transaction:
    return Transaction((Write(+1, name, rows),))


def test_weights_add_up_over_instances_multiply_over_bodies_and_stop_at_outputs() -> None:
    program = Program(
        (
            PAIRS,
            Relation("Hidden", (N,), "internal"),
            Relation("Shown", (N,), "output"),
            Relation("Squared", (N,), "output", "multiset"),
            Relation("FromShown", (N,), "output", "multiset"),
        ),
        (
            Rule(Atom("Hidden", (X,)), (Positive(Atom("E", (X, Y))),)),
            Rule(Atom("Shown", (X,)), (Positive(Atom("E", (X, Y))),)),
            Rule(Atom("Squared", (X,)), (Positive(Atom("Hidden", (X,))), Positive(Atom("Hidden", (X,))))),
            Rule(Atom("FromShown", (X,)), (Positive(Atom("Shown", (X,))),)),
        ),
    )
    found = after(program, inserted("E", (1, 1), (1, 2), (1, 3), (2, 2)))[-1]
    assert found["Squared"] == {(1,): 9, (2,): 1}
    assert found["FromShown"] == {(1,): 1, (2,): 1}


def test_a_group_has_each_value_once_with_its_weight() -> None:
    body = (
        Positive(Atom("V", (words_of_vec := Var("v", words.VEC),))),
        Unpack(X, words_of_vec, each=True),
        GroupBy(G, X, ()),
        Assign(T, Call(words.WEIGHED, (G,))),
    )
    counted = Call(named("{0}.count_distinct()", words.group_of(N)), (G,))
    program = Program(
        (Relation("V", (words.VEC,), "input"), Relation("Total", (U64, U64), "output")),
        (Rule(Atom("Total", (T, counted)), body),),
    )
    found = after(program, Transaction((Write(+1, "V", (((3, 3, 5),), ((5,),))),)))[-1]
    assert found["Total"] == {(3 + 3 + 5 + 5, 2): 1}
    assert "var g = (x).group_by(())" in write(program)


def test_a_group_in_a_recursion_is_made_anew_in_every_round() -> None:
    """R(min(max of R + 1, 3)): the group of a round is made of the round before, and 1 and 2 are gone in the end."""
    next_ = Call(named("({0} + {1})", N, N), (Call(named("{0}.max()", words.group_of(N)), (G,)), Var("one", N)))
    cut = Call(named("min({0}, {1})", N, N), (next_, Var("top", N)))
    program = Program(
        (Relation("Start", (N, N, N), "input"), Relation("R", (N,), "output")),
        (
            Rule(Atom("R", (X,)), (Positive(Atom("Start", (X, Y, Var("z", N)))),)),
            Rule(
                Atom("R", (cut,)),
                (
                    Positive(Atom("R", (X,))),
                    Positive(Atom("Start", (Y, Var("one", N), Var("top", N)))),
                    GroupBy(G, X, (Var("one", N), Var("top", N))),
                ),
            ),
        ),
    )
    assert after(program, inserted("Start", (0, 1, 3)))[-1]["R"] == {(0,): 1, (3,): 1}


def test_a_stream_lives_for_an_epoch_its_prime_is_a_relation_and_delays_look_back() -> None:
    program = Program(
        (
            Relation("S", (N,), "input", "stream"),
            Relation("Now", (N,), "output", "stream"),
            Relation("Latest", (N,), "output"),
            Relation("Before", (N,), "output"),
        ),
        (
            Rule(Atom("Now", (X,)), (Positive(Atom("S", (X,))),)),
            Rule(Atom("Latest", (X,)), (Positive(Atom("S", (X,), "'")),)),
            Rule(Atom("Before", (X,)), (Positive(Atom("Latest", (X,), "-2")),)),
        ),
    )
    history = after(program, inserted("S", (1,), (1,)), inserted("S", (2,)), inserted("S", (3,)), inserted("S", (4,)))
    assert [epoch["Now"] for epoch in history] == [{}, {(1,): 2}, {(2,): 1}, {(3,): 1}, {(4,): 1}]
    assert [set(epoch["Latest"]) for epoch in history] == [set(), {(1,)}, {(2,)}, {(3,)}, {(4,)}]
    assert [set(epoch["Before"]) for epoch in history] == [set(), set(), set(), {(1,)}, {(2,)}]


def test_patterns_take_values_apart() -> None:
    (circle,) = [shape for shape in words.SHAPES if "Circle" in shape.template]
    program = Program(
        (Relation("F", (words.FIGURE,), "input"), Relation("Radius", (N,), "output")),
        (Rule(Atom("Radius", (X,)), (Positive(Atom("F", (Apart(circle, (X,)),))),)),),
    )
    figures = [(figure,) for figure in words.SAMPLES[words.FIGURE]]
    assert after(program, Transaction((Write(+1, "F", tuple(figures)),)))[-1]["Radius"] == {(0,): 1, (3,): 1}


def test_writes_that_come_to_nothing_are_no_epoch_unless_they_go_to_a_stream() -> None:
    stream = Relation("S", (N,), "input", "stream")
    bag = Relation("M", (N,), "input", "multiset")
    program = Program((PAIRS, stream, bag), ())
    present = weigh_facts(program, {}, inserted("E", (1, 1)))
    assert not is_an_epoch(program, present, weigh_facts(program, present, inserted("E", (1, 1))))
    assert is_an_epoch(program, present, weigh_facts(program, present, inserted("S", (1,))))
    doubled = weigh_facts(program, weigh_facts(program, present, inserted("M", (1,))), inserted("M", (1,)))
    assert doubled["M"] == {(1,): 2}
    assert not is_an_epoch(program, {**present, "S": {(1,): 1}}, {**present, "S": {}})
