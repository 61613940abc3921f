"""Typed program → flat rules."""

from __future__ import annotations

import pickle

import pytest

from tests.check.programs import DECLARATIONS
from tidelog.compile_program import CompiledProgram, compile_program
from tidelog.diagnostics.errors import ProgramError, UsageError
from tidelog.diagnostics.spans import Source
from tidelog.rules.ir import Assign, Constant, Negative, Positive, Role, Rule, Variable, Wildcard
from tidelog.rules.lower.program import Options
from tidelog.rules.show import show_rule
from tidelog.types import S16, U8


def compiled(rules: str) -> CompiledProgram:
    return compile_program(Source("p.dl", DECLARATIONS + rules))


def flat(rules: str) -> list[str]:
    return [show_rule(rule) for rule in compiled(rules).rules.rules]


def only(rules: str) -> Rule:
    (rule,) = compiled(rules).rules.rules
    return rule


def test_a_plain_rule_stays_as_it_is() -> None:
    assert flat("Edge(x, z) :- Edge(x, y), Edge(y, z).") == ["Edge(x, z) :- Edge(x, y), Edge(y, z)."]


def test_ids_and_texts_are_those_of_the_program() -> None:
    rules = compiled('Edge("a", "b").\nEdge(x,   z) :-\n  Edge(x, z).').rules.rules
    assert [rule.id for rule in rules] == [0, 1]
    assert [rule.text for rule in rules] == ['Edge("a", "b").', "Edge(x,   z) :-\n  Edge(x, z)."]
    assert str(rules[1].span) == "p.dl:8:1"


def test_a_fact_is_a_rule_without_a_body() -> None:
    fact = only('Out(1 + 2, "a" ++ 1).')
    assert fact.body == ()
    assert [term.value for term in fact.head.terms if isinstance(term, Constant)] == [3, "a1"]


def test_constant_expressions_become_constants() -> None:
    rule = only('Out(255 + 2, "") :- Num(1 + 2, -5, _).')
    (positive,) = rule.positives
    assert positive.terms == (Constant(3, U8), Constant(-5, S16), Wildcard())
    assert rule.head.terms[0] == Constant(1, U8)


def test_an_expression_in_a_literal_is_computed_before_it() -> None:
    assert flat('Out(a, "") :- Num(a, b, _), Num(a, b + 1, _).') == [
        'Out(a, "") :- Num(a, b, _), var e#0 = b + (1: s16), Num(a, e#0, _).'
    ]


def test_an_expression_over_variables_of_its_own_literal_is_compared_after_it() -> None:
    assert flat('Out(a, "") :- Num(a, _, a as bit<12>).') == ['Out(a, "") :- Num(a, _, e#0), e#0 == (a as bit<12>).']


def test_an_expression_in_a_head_is_computed_last() -> None:
    assert flat("Out(a + 1, s) :- Edge(s, _), Num(a, _, _).") == [
        "Out(e#0, s) :- Edge(s, _), Num(a, _, _), var e#0 = a + (1: u8)."
    ]


def test_a_condition_in_front_of_a_division_stays_in_front_of_it() -> None:
    assert flat('Out(10 / a, "") :- Num(a, _, _), a != 0, Num(20 / a, _, _).') == [
        'Out(e#1, "") :- Num(a, _, _), a != (0: u8), var e#0 = (20: u8) / a, Num(e#0, _, _), var e#1 = (10: u8) / a.'
    ]


def test_a_constant_that_cannot_be_computed_is_left_to_fail_when_it_runs() -> None:
    rule = only('Out(1 / 0, "").')
    assert [type(literal) for literal in rule.body] == [Assign]


def test_negated_literals_with_wildcards_share_a_hidden_projection() -> None:
    program = compiled(
        "Out(1, x) :- Edge(x, _), not Edge(_, x).\n"
        "Out(2, x) :- Edge(x, _), not Edge(.dst = x).\n"
        "Out(3, x) :- Edge(x, _), not Num(1, _, 2).\n"
    ).rules
    assert [show_rule(rule) for rule in program.rules] == [
        "Out(1, x) :- Edge(x, _), not Edge#1(x).",
        "Out(2, x) :- Edge(x, _), not Edge#1(x).",
        "Out(3, x) :- Edge(x, _), not Num#0_2(1, 2).",
        "Edge#1(dst) :- Edge(_, dst).",
        "Num#0_2(a, c) :- Num(a, _, c).",
    ]
    hidden = [relation for relation in program.relations.values() if relation.role is Role.HIDDEN]
    assert [(relation.name, [column.name for column in relation.columns]) for relation in hidden] == [
        ("Edge#1", ["dst"]),
        ("Num#0_2", ["a", "c"]),
    ]


def test_a_negated_literal_of_wildcards_only_asks_whether_there_is_any_row() -> None:
    assert flat("Any(true) :- not Edge(_, _), not Flag().") == [
        "Any(true) :- not Edge#(), not Flag().",
        "Edge#() :- Edge(_, _).",
    ]


def test_a_negated_literal_holds_no_wildcard_and_no_unbound_variable() -> None:
    rule = compiled("Any(true) :- not Num(a + 1, _, c), Num(a, _, c), not Num(a, 1, c).").rules.rules[0]
    bound: set[str] = set()
    for literal in rule.body:
        if isinstance(literal, Positive):
            bound |= {term.name for term in literal.atom.terms if isinstance(term, Variable)}
        elif isinstance(literal, Assign):
            bound.add(literal.variable.name)
        elif isinstance(literal, Negative):
            assert all(
                isinstance(term, Constant) or (isinstance(term, Variable) and term.name in bound)
                for term in literal.atom.terms
            )
    assert len(rule.negatives) == 2


def test_a_negated_literal_with_patterns_looks_into_a_hidden_relation_of_what_they_compare() -> None:
    rules = """
        typedef Pair = Pair{a: u8, b: u8}
        input relation P(p: Pair, c: u8)
        input relation N(n: u8)
        output relation Absent(n: u8)
        Absent(n) :- N(n), not P(Pair{n, _}, n + 1)."""
    assert [show_rule(rule) for rule in compile_program(Source("p.dl", rules)).rules.rules] == [
        "Absent(n) :- N(n), var e#0 = n + (1: u8), not P#not0(n, e#0).",
        "P#not0(c#0, c#1) :- P(e#0, c#1), Pair{var c#0, _} = e#0.",
    ]


SHARED = """
    typedef Pair = Pair{a: u8, b: u8}
    input relation P(p: Ref<Pair>, q: Ref<u8>, r: u8)
    output relation A(a: u8, q: u8)
"""


def shared(rule: str) -> Rule:
    return compile_program(Source("p.dl", SHARED + rule)).rules.rules[0]


def test_what_is_taken_apart_has_the_type_of_its_column() -> None:
    rule = shared("A(a, q) :- P(&Pair{a, _}, &q, _).")
    assert show_rule(rule) == "A(a, q) :- P(e#0, e#1, _), Pair{var a, _} = e#0, var q = e#1."
    assert [str(term.type) for term in rule.positives[0].terms if isinstance(term, Variable)] == [
        "ddlog_std::Ref<Pair>",
        "ddlog_std::Ref<u8>",
    ]
    assert [str(term.type) for term in rule.head.terms if isinstance(term, Variable)] == ["u8", "u8"]


def test_a_variable_inside_a_shared_column_is_compared_where_it_is_bound() -> None:
    assert show_rule(shared("A(q, q) :- P(_, &q, q).")) == "A(q, q) :- P(_, e#0, q), var p#1_0 = e#0, p#1_0 == q."
    assert (
        show_rule(shared("A(x, x) :- P(_, _, x), not P(_, &x, _)."))
        == "A(x, x) :- P(_, _, x), var e#0 = &x, not P#1(e#0)."
    )


def test_each_head_of_a_rule_is_a_rule() -> None:
    assert flat('Out(1, x), Edge(x, x ++ "!") :- Edge(x, _).') == [
        "Out(1, x) :- Edge(x, _).",
        'Edge(x, e#0) :- Edge(x, _), var e#0 = x ++ "!".',
    ]


def test_roles_are_those_of_the_declarations() -> None:
    relations = compile_program(Source("p.dl", "input relation A() output relation B() relation C()")).rules.relations
    assert [relation.role for relation in relations.values()] == [Role.INPUT, Role.OUTPUT, Role.INTERNAL]


def test_compiled_rules_can_be_sent_to_another_process() -> None:
    program = compiled("Out(a + 1, s) :- Edge(s, _), Num(a, _, _).")
    copy = pickle.loads(pickle.dumps(program))
    assert copy.rules == program.rules
    assert copy.rules.rules[0].span.text == program.rules.rules[0].span.text


def test_every_inspect_of_a_rule_is_given_the_weight_and_the_time() -> None:
    text = """
        input relation P(item: string, price: u64)
        output relation Least(item: string, price: u64)
        extern function show(text: string): ()
        Least(item, least) :- P(item, price), Inspect show("${price} ${ddlog_weight}"),
            var least = price.group_by(item).min(), Inspect show("${ddlog_timestamp} ${ddlog_weight} ${least}")."""
    shown: list[str] = []
    program = compile_program(Source("p.dl", text), options=Options({"show": shown.append}))
    first, second = program.rules.inspections
    first.function.call("a", 5, +1)
    second.function.call("a", 5, +1, 7)
    assert shown == ["5 1", "7 1 5"]


def test_the_singleton_of_the_library_has_its_row() -> None:
    text = "output relation Out(x: u8)\nrelation Middle(x: u8)\nMiddle(1).\n"
    plain = compile_program(Source("p.dl", text)).rules
    assert list(plain.relations) == ["Out", "Middle"]
    reading = compile_program(Source("p.dl", text + "Out(1) :- ddlog_std::Singleton().")).rules
    assert show_rule(reading.rules[-1]) == "ddlog_std::Singleton()."
    shown = compile_program(Source("p.dl", text), options=Options(output_internal=True)).rules
    assert {name for name, each in shown.relations.items() if each.role is Role.OUTPUT} == {
        "Out",
        "Middle",
        "ddlog_std::Singleton",
    }


def test_an_extern_function_that_a_rule_needs_is_missed_at_once() -> None:
    text = """
        extern function used(x: u8): u8
        extern function unused(x: u8): u8
        function through(x: u8): u8 { used(x) }
        input relation In(x: u8)
        output relation Out(x: u8)
        Out(through(x)) :- In(x)."""
    with pytest.raises(UsageError, match="extern function `used` has no Python function"):
        compile_program(Source("p.dl", text))
    assert compile_program(Source("p.dl", text), options=Options({"used": abs})).rules.rules


def test_a_head_for_another_place_is_refused_and_not_kept_here() -> None:
    text = """
        input relation R(x: u32, at: D3logLocationId)
        output relation S(x: u32)
        S(x) @at :- R(x, at)."""
    with pytest.raises(ProgramError, match="`@` in a head cannot be run yet"):
        compile_program(Source("p.dl", text))


def test_an_input_multiset_that_depends_on_itself_is_refused() -> None:
    text = "input multiset M(x: u32)\nM(x + 1) :- M(x), x < 5."
    with pytest.raises(ProgramError, match="`M` is an input multiset that depends on itself"):
        compile_program(Source("p.dl", text))
