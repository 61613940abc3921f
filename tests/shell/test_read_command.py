"""Text → commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shell.scripts import commands, scanner
from tidelog.diagnostics.errors import DataError
from tidelog.shell import commands as c
from tidelog.shell.place import IncompleteError, Place
from tidelog.shell.read_command import KEYWORDS, read_command
from tidelog.shell.records import Scalar, StructRecord
from tidelog.shell.scan import Scanner

HERE = Place("<stdin>", 1, 1)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("start;", c.Plain(c.Word.START, HERE)),
        ("commit;", c.Commit(False, HERE)),
        ("commit dump_changes ;", c.Commit(True, HERE)),
        ("commitdump_changes;", c.Commit(True, HERE)),
        ("rollback;", c.Plain(c.Word.ROLLBACK, HERE)),
        ("timestamp;", c.Plain(c.Word.TIMESTAMP, HERE)),
        ("dump;", c.Dump(None, HERE)),
        ("dump m::R;", c.Dump("m::R", HERE)),
        ("dumpR;", c.Dump("R", HERE)),
        ("clear R;", c.Clear("R", HERE)),
        ("exit;", c.Plain(c.Word.EXIT, HERE)),
        ("help;", c.Plain(c.Word.HELP, HERE)),
        ("echo;", c.Echo("", HERE)),
        ("echo  a  # b ;", c.Echo("a  # b ", HERE)),
        ("echofoo;", c.Echo("foo", HERE)),
        ("echo\n\n one\n two\n;", c.Echo("one\n two\n", HERE)),
        ("log_level -100;", c.LogLevel(-100, HERE)),
        ("mssleep 10;", c.Sleep(10, HERE)),
        ("profile;", c.Profile(None, True, HERE)),
        ("profile cpu on;", c.Profile("cpu", True, HERE)),
        ("profile change off;", c.Profile("change", False, HERE)),
        ("profile timely on;", c.Profile("timely", True, HERE)),
        ("dump_index I;", c.DumpIndex("I", HERE)),
        ("query_index I();", c.QueryIndex("I", (), HERE)),
        ("query_index I(1);", c.QueryIndex("I", (Scalar(1, Place("<stdin>", 1, 15)),), HERE)),
    ],
)
def test_each_command_reads_as_itself(text: str, command: c.Command) -> None:
    assert commands(text) == [command]


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("insert R(true)", c.Verb.INSERT),
        ("insertR(true)", c.Verb.INSERT),
        ("insert_or_update R(true)", c.Verb.INSERT_OR_UPDATE),
        ("delete R(true)", c.Verb.DELETE),
    ],
)
@pytest.mark.parametrize("end", [",", ";"])
def test_an_update_has_a_row_and_ends_with_a_comma_or_a_semicolon(text: str, verb: c.Verb, end: str) -> None:
    (found,) = commands(text + end)
    assert isinstance(found, c.Update)
    assert (found.verb, found.relation, found.last) == (verb, "R", end == ";")
    assert isinstance(found.record, StructRecord)
    assert found.record.name == "R"


def test_a_row_can_be_given_as_one_value_or_by_name() -> None:
    value, named = commands("insert R[5], delete m::R(.x = 5);")
    assert isinstance(value, c.Update)
    assert isinstance(value.record, Scalar)
    assert isinstance(named, c.Update)
    assert isinstance(named.record, StructRecord)
    assert (named.record.name, named.record.names) == ("m::R", ("x",))


def test_keys_stand_behind_the_relation() -> None:
    delete, modify = commands('delete_key R ("a", 1);\nmodify R "a" <- R{.f = 5},')
    assert isinstance(delete, c.Update)
    assert isinstance(modify, c.Update)
    assert (delete.verb, modify.verb) == (c.Verb.DELETE_KEY, c.Verb.MODIFY)
    assert isinstance(modify.change, StructRecord)
    assert modify.change.names == ("f",)


def test_comments_and_blank_lines_are_nothing() -> None:
    start, end = Place("<stdin>", 3, 1), Place("<stdin>", 5, 1)
    found = commands("# one; two\n\nstart; # three\n\t#four\nexit;\n# end")
    assert found == [c.Plain(c.Word.START, start), c.Plain(c.Word.EXIT, end)]


def test_several_commands_stand_on_a_line_and_one_on_several() -> None:
    found = commands("start;insert R(1),insert\n R\n(2);commit\n;")
    assert [type(each) for each in found] == [c.Plain, c.Update, c.Update, c.Commit]
    assert [each.place.line for each in found] == [1, 1, 1, 3]


def test_nothing_behind_a_command_is_read_before_it_is_asked_for() -> None:
    read: list[str] = []

    def lines() -> Iterator[str]:
        for line in ("start;\n", "insert R(\n", "1);\n", "exit;\n"):
            read.append(line)
            yield line

    source = lines()
    scanner = Scanner(lambda: next(source, None))
    counts = []
    while read_command(scanner) is not None:
        counts.append(len(read))
    assert counts == [1, 3, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stop;", "<stdin>:1:1: there is no command `stop`"),
        ("starts;", "<stdin>:1:1: there is no command `starts`"),
        ("\n  commit all;", "<stdin>:2:10: `;` was expected here, not `all`"),
        ("5;", "<stdin>:1:1: a command was expected here, not `5`"),
        ("insert R{1};", r"<stdin>:1:9: `\(` or `\[` behind the relation `R` was expected here, not `{`"),
        ("insert R(1) delete R(2);", "<stdin>:1:13: `,` or `;` was expected here, not `delete`"),
        ("modify R 1 R{2};", "`<-` behind the key was expected here, not `R`"),
        ("mssleep -1;", "a number was expected here, not `-1`"),
        ("mssleep true;", "a number was expected here, not `true`"),
        ("log_level 1.5;", "a number was expected here"),
        ("profile gpu;", "`cpu`, `change`, `timely` or `;` was expected here, not `gpu`"),
        ("profile cpu;", "`on` or `off` was expected here, not `;`"),
        ("clear;", "the name of a relation was expected here, not `;`"),
        ("query_index I;", r"`\(` behind the index `I` was expected here, not `;`"),
        ("start$;", r"<stdin>:1:6: a command cannot have the character '\$' here"),
    ],
)
def test_what_is_no_command_is_refused_at_its_place(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        commands(text)


def test_a_misspelt_command_gets_a_hint() -> None:
    with pytest.raises(DataError) as error:
        commands("comit;")
    assert error.value.help == "did you mean `commit`?"


@pytest.mark.parametrize("text", ["start", "echo a", "insert R(1)", "insert", 'insert R("a', "dump\nR"])
def test_a_command_without_its_end_is_incomplete_from_its_first_word(text: str) -> None:
    with pytest.raises(IncompleteError, match=r"<stdin>:2:3: the input ends inside a command"):
        commands(f"start;\n  {text}")


def test_a_record_nested_too_deeply_is_refused_and_not_a_crash() -> None:
    assert len(commands(f"insert R({'(' * 1000}1{')' * 1000});")) == 1
    with pytest.raises(DataError, match="nested too deeply"):
        commands(f"insert R({'(' * 100_000}1{')' * 100_000});")


PIECES = st.sampled_from(
    [*KEYWORDS, *'(){}[],;.=@%"#<-\n \\', "R", "m::R", "true", "1", "-2.5", "0x", '"a"', "json", "é"]
)


def outcome(text: str) -> str:
    source = scanner(text)
    try:
        while read_command(source) is not None:
            pass
    except DataError as error:
        return str(error)
    return "commands"


@settings(deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_text_is_commands_or_an_error_with_a_place(text: str) -> None:
    assert re.match(r"commands$|error\[E50[79]\]: <stdin>:\d+:\d+: ", outcome(text))
