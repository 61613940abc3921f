"""Names, arguments and safety: what is right and what is wrong. The wording of errors is fixed in tests/errors."""

from __future__ import annotations

import pytest

from tests.check.programs import checked, wrong
from tidelog.check.program import Assign, Atom, Condition, Negative, Positive, Wild
from tidelog.check.typed import Var


def shape(rules: str) -> list[str]:
    (rule,) = checked(rules).rules
    return [type(literal).__name__ for literal in rule.body]


def head_and_body(rules: str) -> tuple[Atom, ...]:
    (rule,) = checked(rules).rules
    return (*rule.heads, *(each.atom for each in rule.body if isinstance(each, Positive | Negative)))


def test_declarations_may_stand_behind_their_use() -> None:
    assert len(checked("Late(x) :- Edge(x, _).\nrelation Late(x: string)").rules) == 1


def test_named_arguments_go_to_their_columns_and_the_rest_is_open() -> None:
    _, atom = head_and_body("Out(1, y) :- Edge(.dst = y).")
    assert isinstance(atom.terms[0], Wild)
    assert isinstance(atom.terms[1], Var)


def test_an_atom_without_arguments_leaves_all_columns_open() -> None:
    _, atom = head_and_body('Out(1, "") :- Edge().')
    assert [type(term) for term in atom.terms] == [Wild, Wild]


def test_a_relation_without_columns_is_a_flag() -> None:
    assert shape("Any(true) :- Flag(), not Flag().") == ["Positive", "Negative"]


def test_an_input_relation_may_have_rules() -> None:
    checked('Edge(y, x) :- Edge(x, y).\nEdge("a", "b").')


def test_a_variable_may_stand_twice_in_one_literal() -> None:
    checked("Out(1, x) :- Edge(x, x).")


def test_braces_around_a_pattern_change_nothing() -> None:
    text = "input relation Boxes(a: Option<u8>, b: u8)\n"
    plain = checked(text + 'Out(x, "") :- Boxes(Some{x}, y), y > 1, Boxes[r], Some{var z} = r.a, z == x.').rules[0]
    braced = checked(
        text + 'Out({x}, "") :- Boxes({Some{{x}}}, {y}), {y > 1}, Boxes[{r}], {Some{var z}} = r.a, {z == x}.'
    ).rules[0]
    assert [type(each) for each in plain.body] == [type(each) for each in braced.body]


@pytest.mark.parametrize(
    "rule",
    [
        "Ports[p] :- Ports[p].",
        "Ports[p] :- &Ports[Port{.n = 1}], p in Ports[_].",
        "Out(p.n, name) :- &Ports[p@Port{.name = name}], is_port(p).",
        "Out(n, name) :- Ports[&Port{n, name}].",
        "&Shared[s] :- &Shared[s], is_shared(s).",
        'Out(s.n, "") :- s in Shared[_], is_shared(s.deref()).',
        'Out(s.n, "") :- Shared[s], is_shared(s.deref()).',
    ],
)
def test_a_reference_before_an_atom_is_one_around_its_row(rule: str) -> None:
    declarations = """
    typedef Port = Port{n: u8, name: string}
    relation Ports[Intern<Port>]
    relation &Shared(n: u8)
    function is_port(p: Port): bool { true }
    function is_shared(s: Shared): bool { true }
    """
    assert len(checked(declarations + rule).rules) == 1


def test_filters_wait_until_their_variables_are_bound() -> None:
    assert shape("Out(1, x) :- x != y, not Edge(y, x), Flag(), Edge(x, _), Edge(_, y).") == [
        "Positive",
        "Positive",
        "Positive",
        "Condition",
        "Negative",
    ]


def test_filters_keep_their_place_when_their_variables_are_bound() -> None:
    assert shape("Out(1, x) :- Edge(x, y), x != y, var z = x, z != y, Edge(z, _), not Edge(y, z).") == [
        "Positive",
        "Condition",
        "Assign",
        "Condition",
        "Positive",
        "Negative",
    ]


def test_a_literal_may_compute_with_its_own_variables() -> None:
    checked('Out(a, "") :- Num(a, b, _), Num(c, b, _), Num(c, b + 1, _), Num(d, _, d as bit<12>).')


def test_a_condition_needs_no_variables() -> None:
    (rule,) = checked("Any(true) :- 1 < 2.").rules
    assert isinstance(rule.body[0], Condition)


def test_a_rule_may_have_several_heads() -> None:
    (rule,) = checked("Out(1, x), Edge(x, x) :- Edge(x, _).").rules
    assert [head.relation for head in rule.heads] == ["Out", "Edge"]


@pytest.mark.parametrize(
    ("rules", "codes"),
    [
        ("Out(1, z) :- Edge(x, y).", ["E302"]),
        ("Out(a + 1, z ++ w) :- Edge(z, _).", ["E302", "E302"]),
        ("Out(1, x) :- Edge(x, _), not Edge(x, y).", ["E303"]),
        ("Out(1, x) :- Edge(x, _), not Edge(x, y ++ x).", ["E301"]),
        ("Out(1, x) :- Edge(x, _), y == x.", ["E301"]),
        ("Out(1, x) :- Edge(x, y), var y = x.", ["E304"]),
        ("Out(1, x) :- var x = y, Edge(y, _).", ["E306"]),
        ("Out(1, x) :- var x = x.", ["E306"]),
        ("Out(1, x) :- Edge(y ++ x, x), Edge(y, _).", ["E306"]),
        ("Out(1, _) :- Edge(_, _).", ["E305"]),
        ('Out(1, "") :- var y = _.', ["E305"]),
        ("Out(1, x).", ["E302"]),
        ("Nope(1, x) :- Edge(x, _).", ["E201"]),
        ("Out(1, x) :- Nope(x).", ["E201"]),
        ("Out(1, x) :- not Nope(x).", ["E201", "E303"]),
    ],
)
def test_unsafe_rules_are_refused(rules: str, codes: list[str]) -> None:
    assert [message[:4] for message in wrong(rules)] == codes


def test_one_mistake_is_one_error() -> None:
    assert len(wrong('Out(z, z ++ "") :- Edge(x, _), z > 1, z + 1 == 2, not Num(z, z, z), var q = z, q > 1.')) == 1
    assert len(wrong("Out(1, x) :- Nope(x, y), x > 1, y == 2, var z = y ++ x, z.")) == 1
    assert len(wrong("Out(1, x) :- Edge(x), x + 1 == 3, x.")) == 1
    assert len(wrong('Out(1, "") :- Num(a, _, _), var x = a + "s", x > 1, x == "a", not x.')) == 1


@pytest.mark.parametrize(
    "rules",
    [
        'relation Late(x: Nope)\nLate[r] :- Late[r].\nOut(1, "") :- Holds(r), Late[r].\nrelation Holds(r: Late)',
        "relation Late[Nope]\nLate(1).\nLate(x) :- Late(x), Late[x].",
        "relation &Late(x: Nope)\nLate[r] :- r in Late(x), &Late(x).",
    ],
)
def test_a_type_that_does_not_exist_is_one_error_wherever_its_relation_stands(rules: str) -> None:
    assert wrong(rules) == ["E204 unknown type `Nope`"]


def test_an_overloaded_call_on_a_value_without_a_type_is_no_error_of_its_own() -> None:
    assert wrong("function f(v: Nope<>): Vec<u8> { v.map(|x| 2) }") == ["E204 unknown type `Nope`"]


def test_a_column_or_field_that_stands_twice_is_one_error_wherever_it_is_named() -> None:
    assert wrong('relation Twice(x: u8, y: u8, x: u8)\nOut(y, "") :- Twice(.x = x, .y = y).') == [
        "E203 relation `Twice` has two columns `x`"
    ]
    assert wrong("typedef T = T{x: u8, y: u8, x: u8}\nfunction f(t: T): u8 { match (t) { T{.x = x} -> x } }") == [
        "E222 constructor `T` has two fields `x`"
    ]


def test_all_mistakes_of_the_program_are_reported_in_the_order_of_the_text() -> None:
    rules = "Out(1, z) :- Edge(x, y), x > 1.\nrelation Out()\nNope() :- Edge(.foo = 1).\n"
    assert [message[:4] for message in wrong(rules)] == ["E302", "E210", "E202", "E201", "E206"]


def test_assigned_variables_can_be_joined_afterwards() -> None:
    (rule,) = checked('Out(1, z) :- Edge(x, _), var y = x ++ "!", Edge(y, z).').rules
    assign = rule.body[1]
    assert isinstance(assign, Assign)
    assert assign.variable == "y"
