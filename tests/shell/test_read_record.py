"""Text → records."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shell.scripts import record, scanner
from tidelog.diagnostics.errors import DataError
from tidelog.shell.place import IncompleteError, Place
from tidelog.shell.read_record import read_record
from tidelog.shell.records import ArrayRecord, Scalar, Serialized, StructRecord, TupleRecord


def scalar(text: str) -> object:
    found = record(text)
    assert isinstance(found, Scalar)
    return found.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false ", False),
        ("0", 0),
        ("007", 7),
        ("1_000_000_", 1_000_000),
        ("-5", -5),
        ("- 5", -5),
        ("0xabCD", 0xABCD),
        ("0Xff", 255),
        ("-0x10", -16),
        ("0xc3226515_018c_48e6_957d_afee358a8a10", 0xC3226515018C48E6957DAFEE358A8A10),
        ("1.5", 1.5),
        ("-0.32", -0.32),
        ("+2.", 2.0),
        (".567", 0.567),
        ("32E-2", 0.32),
        ("32.0e+2", 3200.0),
        ('""', ""),
        ('"foo"', "foo"),
        (r'"\\ \" \' \n \a \b \f \r \t \v \?"', "\\ \" ' \n \a \b \f \r \t \v ?"),
        (r'"\u{7} \0 \u{1F600}"', "\a \0 \U0001f600"),
        ('"two\nlines"', "two\nlines"),
        ('"three\n\nlines" ', "three\n\nlines"),
        ('"# no comment; (1)"', "# no comment; (1)"),
    ],
)
def test_a_scalar_reads_as_its_value(text: str, value: object) -> None:
    found = scalar(text)
    assert found == value
    assert type(found) is type(value)


def test_integers_have_any_number_of_digits() -> None:
    assert scalar("1" + "0" * 10_000) == 10**10_000


def test_a_string_after_percent_is_the_content_of_that_file(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text('a "b"\nü', encoding="utf-8")
    assert scalar(f'%"{path}"') == 'a "b"\nü'
    found = record(f'@json%"{path}"')
    assert isinstance(found, Serialized)
    assert found.text == 'a "b"\nü'


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"<stdin>:1:2: cannot read the file .*none\.txt: No such file"):
        record(f'%"{tmp_path}/none.txt"')
    (tmp_path / "latin").write_bytes(b"\xff")
    with pytest.raises(DataError, match="it is not UTF-8 text"):
        record(f'%"{tmp_path}/latin"')


def test_compound_records_hold_their_parts() -> None:
    def at(column: int) -> Place:
        return Place("<stdin>", 1, column)

    assert record("( true, 1)") == TupleRecord((Scalar(True, at(3)), Scalar(1, at(9))), at(1))
    assert record("()") == TupleRecord((), at(1))
    assert record("[ 1,2, ]") == ArrayRecord((Scalar(1, at(3)), Scalar(2, at(5))), at(1))
    assert record("a::C") == StructRecord("a::C", (), None, at(1))
    assert record("_C { 1 }") == StructRecord("_C", (Scalar(1, at(6)),), None, at(1))
    assert record("C{}") == StructRecord("C", (), None, at(1))
    assert record("C{.f1 = 1, .g=2}") == StructRecord("C", (Scalar(1, at(9)), Scalar(2, at(15))), ("f1", "g"), at(1))
    assert record('@json"[1]"') == Serialized("json", "[1]", at(1))


def test_names_may_begin_like_the_booleans() -> None:
    assert isinstance(record("trueish"), StructRecord)


def test_places_count_lines_and_columns_even_behind_a_string_of_several_lines() -> None:
    found = record('(\n  1, "a\nb", 2)')
    assert isinstance(found, TupleRecord)
    assert [(each.place.line, each.place.column) for each in found.items] == [(2, 3), (2, 6), (3, 5)]


def test_comments_separate() -> None:
    assert record("[1, # one\n2]").items[1].value == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("8'd1", r"<stdin>:1:2: a command cannot have the character \"'\" here"),
        (r'"\x41"', r"<stdin>:1:1: the string has an unknown escape '\\\\x'"),
        (r'"\u{d800}"', "unknown escape"),
        ("[1 2]", r"<stdin>:1:4: `,` or `]` was expected here, not `2`"),
        ("C{.f 1}", r"<stdin>:1:6: `=` behind the field `f` was expected here, not `1`"),
        ("C{.f = 1, 2}", r"`\.` and the name of a field was expected here, not `2`"),
        ("C{.f = 1, .f = 2}", r"<stdin>:1:12: the field `f` is given twice"),
        (";", "a value was expected here, not `;`"),
        ("@json 5", "a string behind `@json` was expected here, not `5`"),
        ("%5", "the name of a file in quotes was expected here"),
        ('C{"a" "b"}', "`,` or `}` was expected here, not a string"),
    ],
)
def test_what_is_no_record_is_refused_at_its_place(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        record(text)


@pytest.mark.parametrize("text", ["", "(1", "[", "C{", "C{.", "C{.x", "C{.x =", '"abc', '"ab\nc', '"a\\', "@json", "%"])
def test_an_input_that_ends_too_early_says_so(text: str) -> None:
    with pytest.raises(IncompleteError):
        read_record(scanner(text))


def test_errors_show_records_cut_short() -> None:
    assert str(record("C{1, D{2}, [3]}")) == "C{1, ..., ...}"
    assert str(record("C{.a = 1, .b = 2}")) == "C{.a = 1, ...}"
    assert str(record(f'"{"a" * 100}"')) == '"' + "a" * 56 + "..."
    assert len(str(record(f"[{', '.join('12345678' for _ in range(100))}]"))) < 100
    assert str(record('(true, "a\\"b", 1.50, C)')) == '(true, "a\\"b", 1.5, ...)'
