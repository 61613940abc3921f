"""Records → values of the wanted type."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from tests.shell.scripts import record
from tests.values.typed_values import DEFINITIONS, types, values
from tidelog.diagnostics.errors import DataError
from tidelog.rules.ir import Role
from tidelog.shell.from_record import MisfitError, ValueReader
from tidelog.shell.place import Place
from tidelog.shell.records import Record, Scalar, TupleRecord
from tidelog.shell.rows import Rows
from tidelog.values import record_text

PROGRAM = """
import hashset
import json
import tinyset
import uuid
import net::ipv4
import regex
import url

typedef Shape = Circle{r: u8} | Square{a: u8, b: string} | Nothing
typedef Point = Point{x: s16, y: s16}
typedef Chain = End | Link{head: u8, tail: Ref<Chain>}
typedef Pair<'A, 'B> = Pair{first: 'A, second: 'B}
#[rust="serde(tag = \\"@type\\")"]
typedef Tagged = #[rust="serde(rename = \\"t.V1\\")"] V1{b: bool} | #[rust="serde(rename = \\"t.V2\\")"] V2{u: u64}

input relation B(x: bool)
input relation U8(x: u8)
input relation U12(x: bit<12>)
input relation U200(x: bit<200>)
input relation S8(x: signed<8>)
input relation Big(x: bigint)
input relation F(x: float)
input relation D(x: double)
input relation S(x: string)
input relation I(x: istring)
input relation R(x: Ref<Point>)
input relation T(x: (u8, string))
input relation E(x: ())
input relation V(x: Vec<u8>)
input relation Z(x: Set<u8>)
input relation H(x: hashset::HashSet<u8>)
input relation Z64(x: tinyset::Set64<u8>)
input relation M(x: Map<u8, string>)
input relation O(x: Option<u8>)
input relation OO(x: Option<Vec<u8>>)
input relation Sh(x: Shape)
input relation P(x: Point)
input relation C(x: Chain)
input relation G(x: Pair<u8, Vec<string>>)
input relation J(x: Tagged)
input relation Uu(x: uuid::Uuid)
input relation Ip(x: net::ipv4::Ipv4Addr)
input relation Re(x: regex::Regex)
input relation Ur(x: url::Url)
input relation Fn(x: function(u8): u8)
input relation Any_(x: Any)
input relation Two(a: u8, b: string)
input relation Whole[Point]
input relation Number[u8]
input relation Nullary()
input relation Keyed(a: u8, b: string) primary key (r) (r.a, r.b)
input relation &Shared(a: u8)
output relation Out(x: u8)
relation Middle(x: u8)
index ByBoth(a: u8, b: string) on Two(a, b)
index ByA(a: u8) on Two(a, _)
index ByTuple(t: (u8, string)) on T(t)
Out(x) :- Middle(x).
Middle(x) :- U8(x).
"""

HERE = Place("<stdin>", 1, 1)


@pytest.fixture(scope="module")
def rows() -> Rows:
    return Rows(tidelog.compile(PROGRAM))


def read_back(rows: Rows, relation: str, text: str) -> str:
    """The row that the text stands for in a relation of one column, printed."""
    found = rows.relations[relation]
    printed = rows.text(found, rows.row(found, record(f"{relation}{{{text}}}")))
    return printed.removeprefix(f"{relation}{{.x = ").removesuffix("}")


@pytest.mark.parametrize(
    ("relation", "text", "printed"),
    [
        ("B", "true", "true"),
        ("U8", "255", "255"),
        ("U8", "0xff", "255"),
        ("U8", "(7)", "7"),
        ("U12", "4095", "4095"),
        ("U200", str(2**200 - 1), str(2**200 - 1)),
        ("S8", "-128", "-128"),
        ("Big", "-1_000_000_000_000_000_000_000", "-1000000000000000000000"),
        ("F", "1.1", "1.1"),
        ("F", "16777217", "16777216"),
        ("D", "-0.0", "0"),
        ("D", "5", "5"),
        ("D", str(10**400), "inf"),
        ("D", "inf", "inf"),
        ("F", "-inf", "-inf"),
        ("F", "NaN", "NaN"),
        ("S", r'"a\"\n"', r'"a\"\n"'),
        ("I", '"a"', '"a"'),
        ("R", "Point{1, 2}", "Point{.x = 1, .y = 2}"),
        ("T", '(1, "a")', '(1, "a")'),
        ("E", "()", "()"),
        ("V", "[2, 1, 2]", "[2, 1, 2]"),
        ("V", "5", "[5]"),
        ("Z", "[2, 1, 2]", "[1, 2]"),
        ("Z", "5", "[5]"),
        ("H", "[2, 1, 2]", "[1, 2]"),
        ("Z64", "[2, 1, 2]", "[1, 2]"),
        ("M", '[(2, "b"), (1, "a"), (2, "c")]', '[(1, "a"), (2, "c")]'),
        ("M", '(1, "a")', '[(1, "a")]'),
        ("M", "[]", "[]"),
        ("O", "ddlog_std::None", "ddlog_std::None{}"),
        ("O", "ddlog_std::Some{1}", "ddlog_std::Some{.x = 1}"),
        ("O", "ddlog_std::Some{.x = 1}", "ddlog_std::Some{.x = 1}"),
        ("O", "[]", "ddlog_std::None{}"),
        ("O", "[1]", "ddlog_std::Some{.x = 1}"),
        ("O", "1", "ddlog_std::Some{.x = 1}"),
        ("OO", "[[1, 2]]", "ddlog_std::Some{.x = [1, 2]}"),
        ("Sh", "Circle{1}", "Circle{.r = 1}"),
        ("Sh", 'Square{.b = "x", .a = 2}', 'Square{.a = 2, .b = "x"}'),
        ("Sh", "Square{.a = 2}", 'Square{.a = 2, .b = ""}'),
        ("Sh", "Nothing", "Nothing{}"),
        ("Sh", "Nothing{}", "Nothing{}"),
        ("P", "Point{.y = 1, .color = 5}", "Point{.x = 0, .y = 1}"),
        ("C", "Link{1, Link{2, End}}", "Link{.head = 1, .tail = Link{.head = 2, .tail = End{}}}"),
        ("G", 'Pair{1, ["a"]}', 'Pair{.first = 1, .second = ["a"]}'),
        ("J", r'@json"{\"@type\": \"t.V1\", \"b\": true}"', "V1{.b = true}"),
        ("M", r'@json"{\"1\": \"a\"}"', '[(1, "a")]'),
        ("V", '@json"[1, 2]"', "[1, 2]"),
        ("Uu", "0xff", "255"),
        ("Ip", "0x7f000001", "2130706433"),
        ("Re", '"a+"', '"a+"'),
        ("Ur", '"HTTP://a.b"', '"http://a.b/"'),
    ],
)
def test_a_record_becomes_a_value_of_the_wanted_type(rows: Rows, relation: str, text: str, printed: str) -> None:
    assert read_back(rows, relation, text) == printed


@pytest.mark.parametrize(
    ("relation", "text", "message"),
    [
        ("B", "1", "bool is wanted, not 1"),
        ("U8", "256", "u8 is wanted, not 256"),
        ("U8", "-1", "u8 is wanted, not -1"),
        ("U8", "1.0", "u8 is wanted, not 1"),
        ("U8", "true", "u8 is wanted, not true"),
        ("U12", "4096", "bit<12> is wanted, not 4096"),
        ("S8", "128", "s8 is wanted, not 128"),
        ("Big", '"1"', 'bigint is wanted, not "1"'),
        ("F", '"1"', 'float is wanted, not "1"'),
        ("D", "true", "double is wanted, not true"),
        ("D", "nan", "double is wanted, not nan"),
        ("S", "a", "string is wanted, not a"),
        ("T", "(1)", "(u8, string) is wanted, not (1)"),
        ("T", "(1, 2)", "string is wanted, not 2"),
        ("E", "1", "() is wanted, not 1"),
        ("V", '["a"]', 'u8 is wanted, not "a"'),
        ("M", "[1]", "(u8, string) is wanted, not 1"),
        ("O", "[1, 2]", "ddlog_std::Option<u8> is wanted, not [1, 2]"),
        ("O", "Some{1}", "ddlog_std::Option<u8> is wanted, and `Some` is no constructor of it"),
        ("Sh", "Circle{1, 2}", "Circle has 1 field, not 2, in Shape"),
        ("Sh", "Oval{1}", "Shape is wanted, and `Oval` is no constructor of it"),
        ("Sh", "5", "Shape is wanted, not 5"),
        ("J", '@json"5"', 'Tagged is wanted, not @json"5": '),
        ("J", '@xml"5"', "there is no format `xml`"),
        ("Re", '"("', 'regex::Regex is wanted, not "(": '),
        ("Ur", '"x"', "url::Url is wanted, not"),
        ("Fn", "f", "function(u8): u8 is wanted, not f"),
        ("Any_", "1", "is wanted"),
    ],
)
def test_a_record_that_does_not_fit_names_place_relation_column_and_type(
    rows: Rows, relation: str, text: str, message: str
) -> None:
    with pytest.raises(DataError) as error:
        read_back(rows, relation, text)
    assert message in error.value.message
    assert error.value.message.startswith("<stdin>:1:")
    assert f"relation `{relation}`, column `x" in error.value.message
    assert error.value.code == "E504"


def test_the_place_is_that_of_the_part_that_does_not_fit(rows: Rows) -> None:
    with pytest.raises(DataError) as error:
        read_back(rows, "C", 'Link{1, Link{\n "a", End}}')
    assert error.value.message == '<stdin>:2:2: relation `C`, column `x.tail.head`: u8 is wanted, not "a"'


def test_a_constructor_without_its_module_gets_a_hint(rows: Rows) -> None:
    with pytest.raises(DataError) as error:
        read_back(rows, "O", "Some{1}")
    assert error.value.help == "did you mean `ddlog_std::Some`?"
    with pytest.raises(DataError) as error:
        read_back(rows, "Sh", "Oval")
    assert error.value.help == "its constructors are `Circle`, `Square`, `Nothing`"


def test_a_row_has_one_value_for_each_column(rows: Rows) -> None:
    two = rows.relations["Two"]
    assert rows.row(two, record('Two{1, "a"}')) == (1, "a")
    assert rows.row(two, record('Two{.b = "a"}')) == (0, "a")
    assert rows.row(two, record(r'@json"{\"a\": 1, \"b\": \"c\"}"')) == (1, "c")
    assert rows.row(rows.relations["Nullary"], record("Nullary{}")) == ()
    with pytest.raises(DataError) as error:
        rows.row(two, record("Two{1}"))
    assert error.value.message == "<stdin>:1:1: relation `Two` has 2 columns, not 1"
    assert error.value.help == "its columns are `a: u8`, `b: string`"
    assert error.value.code == "E502"


def test_a_relation_of_values_takes_them_as_they_are(rows: Rows) -> None:
    whole, number = rows.relations["Whole"], rows.relations["Number"]
    assert rows.text(whole, rows.row(whole, record("Point{1, 2}"))) == "Point{.x = 1, .y = 2}"
    assert rows.row(number, record("5")) == (5,)
    with pytest.raises(DataError) as error:
        rows.row(whole, record('Point{1, "a"}'))
    assert error.value.message == '<stdin>:1:10: relation `Whole`, field `y`: s16 is wanted, not "a"'
    with pytest.raises(DataError) as error:
        rows.row(number, record("300"))
    assert error.value.message == "<stdin>:1:1: relation `Number`: u8 is wanted, not 300"
    with pytest.raises(DataError, match="`Whole` is no constructor of it"):
        rows.row(whole, record("Whole{1, 2}"))


def test_the_rows_of_a_shared_relation_are_written_plainly(rows: Rows) -> None:
    shared = rows.relations["Shared"]
    assert rows.text(shared, rows.row(shared, record("Shared{1}"))) == "Shared{.a = 1}"


def test_keys_have_the_type_of_the_key_expression(rows: Rows) -> None:
    keyed = rows.relations["Keyed"]
    assert rows.key(keyed, record('(1, "a")')) == (1, "a")
    with pytest.raises(DataError) as error:
        rows.key(keyed, record("1"))
    assert error.value.message == "<stdin>:1:1: relation `Keyed`, primary key: (u8, string) is wanted, not 1"


def test_index_arguments_come_one_by_one_or_as_one_tuple(rows: Rows) -> None:
    both, single, pair = rows.indexes["ByBoth"], rows.indexes["ByA"], rows.indexes["ByTuple"]
    assert rows.index_key(both, (record("1"), record('"a"')), HERE) == (1, "a")
    assert rows.index_key(both, (record('(1, "a")'),), HERE) == (1, "a")
    assert rows.index_key(single, (record("1"),), HERE) == (1,)
    assert rows.index_key(pair, (record('(1, "a")'),), HERE) == ((1, "a"),)
    with pytest.raises(DataError, match="<stdin>:1:1: index `ByBoth` has 2 columns, not 1"):
        rows.index_key(both, (record("1"),), HERE)
    with pytest.raises(DataError, match="index `ByA`, column `a`: u8 is wanted, not 300"):
        rows.index_key(single, (record("300"),), HERE)


def test_names_come_in_the_order_of_ascii(rows: Rows) -> None:
    assert rows.names(Role.OUTPUT) == ["Out"]
    assert rows.names(Role.INPUT)[:4] == ["Any_", "B", "Big", "C"]


def test_a_long_chain_fits(rows: Rows) -> None:
    assert read_back(rows, "C", "Link{1, " * 500 + "End" + "}" * 500).count("Link") == 500


def test_a_record_nested_too_deeply_is_refused_wherever_it_stands(rows: Rows) -> None:
    place = Place("<stdin>", 1, 1)
    deep: Record = Scalar(1, place)
    for _ in range(30_000):
        deep = TupleRecord((deep,), place)
    with pytest.raises(DataError, match="relation `Number`: the record is nested too deeply"):
        rows.row(rows.relations["Number"], deep)
    with pytest.raises(DataError, match="index `ByA`, column `a`: the record is nested too deeply"):
        rows.index_key(rows.indexes["ByA"], (deep,), place)


def test_floats_are_canonical(rows: Rows) -> None:
    (value,) = rows.row(rows.relations["D"], record("D{-0.0}"))
    assert math.copysign(1, value) == 1


@settings(deadline=None)
@given(st.data())
def test_what_is_printed_reads_as_the_same_value(data: st.DataObject) -> None:
    type_ = data.draw(types)
    value = data.draw(values(type_))
    reader = ValueReader(DEFINITIONS, lambda: pytest.fail("no JSON here"))
    assert reader.value(record(record_text(value, type_, DEFINITIONS)), type_) == value


@settings(deadline=None)
@given(st.data())
def test_a_value_of_one_type_fits_another_or_is_refused(data: st.DataObject) -> None:
    written, wanted = data.draw(types), data.draw(types)
    text = record_text(data.draw(values(written)), written, DEFINITIONS)
    reader = ValueReader(DEFINITIONS, lambda: pytest.fail("no JSON here"))
    try:
        value = reader.value(record(text), wanted)
    except MisfitError:
        return
    # What comes out is a value of the wanted type: it can be printed as such, and read again.
    assert reader.value(record(record_text(value, wanted, DEFINITIONS)), wanted) == value
