"""The terminal: history, completion, commands over several lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tidelog
from tidelog.shell.complete import completions
from tidelog.shell.rows import Rows

PROGRAM = """
typedef Color = Red | Rose{depth: u8}
input relation Edge(src: string, dst: string)
input relation Node(name: string, color: Color)
output relation Reach(src: string, dst: string)
index ByName(name: string) on Node(name, _)
Reach(x, y) :- Edge(x, y).
"""


@pytest.fixture(scope="module")
def rows() -> Rows:
    return Rows(tidelog.compile(PROGRAM))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ins", ["insert ", "insert_or_update "]),
        (("st", ["start", "stats"])),
        ("start; ro", ["rollback"]),
        ("insert ", ["Edge", "Node"]),
        ("insert E", ["Edge"]),
        ('insert Edge("a;", "b"), del', ["delete ", "delete_key "]),
        ("clear N", ["Node"]),
        ("dump R", ["Reach"]),
        ("commit d", ["dump_changes"]),
        ("why_not No", ["Node"]),
        ("query Node(x, _), No", ["Node"]),
        ("explain Node(1, 2) ", ["shortest"]),
        ("query_index ", ["ByName"]),
        ("dump_index B", ["ByName"]),
        ("profile c", ["cpu", "change"]),
        ("profile cpu o", ["on", "off"]),
        ("insert Node(.", ["name", "color"]),
        ('insert Node(.name = "x", .co', ["color"]),
        ("insert Node(\n  .na", ["name"]),
        ('insert Node("x", R', ["Red", "Rose"]),
        ("insert Node(t", ["true"]),
        ('insert Node("st', []),
        ("echo st", []),
        ("dump Reach ", []),
        ("$ st", []),
    ],
)
def test_words_complete_by_their_place(rows: Rows, text: str, words: list[str]) -> None:
    assert completions(text, rows) == words


def test_constructors_of_the_library_complete_with_their_module(rows: Rows) -> None:
    assert completions("insert Node(ddlog_std::So", rows) == ["ddlog_std::Some"]


Reader = Callable[[], str | None]


@pytest.fixture
def typing(rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Reader]]:
    """Opens a terminal on which a text is typed."""
    pytest.importorskip("prompt_toolkit")
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    from tidelog.shell.terminal import terminal_lines

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):

        def type_(text: str) -> Reader:
            keys.send_text(text)
            return terminal_lines(rows)

        yield type_


CONTROL_C, CONTROL_D = "\x03", "\x04"


def test_a_command_may_go_over_several_lines(typing: Callable[[str], Reader]) -> None:
    read = typing('insert Edge(\r"a",\r"b");\recho x;\r' + CONTROL_D)
    assert [read() for _ in range(5)] == ["insert Edge(\n", '"a",\n', '"b");\n', "echo x;\n", None]


def test_a_comma_ends_the_input_too(typing: Callable[[str], Reader]) -> None:
    read = typing('insert Edge("a", "b"),\r' + CONTROL_D)
    assert [read(), read()] == ['insert Edge("a", "b"),\n', None]


def test_control_c_drops_what_is_typed(typing: Callable[[str], Reader]) -> None:
    read = typing("echo wro" + CONTROL_C + "echo right;\r" + CONTROL_D)
    assert [read(), read()] == ["echo right;\n", None]


def test_what_was_typed_is_kept_for_the_next_session(typing: Callable[[str], Reader]) -> None:
    from tidelog.shell.terminal import kept_history

    assert typing("start;\r")() == "start;\n"
    read = typing("echo\r1;\r")
    assert [read(), read()] == ["echo\n", "1;\n"]
    assert list(kept_history().load_history_strings()) == ["echo\n1;", "start;"]


def test_tab_offers_the_words_for_the_unfinished_one(rows: Rows, typing: Callable[[str], Reader]) -> None:
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from tidelog.shell.terminal import prompt_session

    session = prompt_session(rows)
    buffer = session.default_buffer
    assert session.completer is not None
    for text, completed in (("dump Re", "dump Reach"), ("insert Node(ddlog_std::So", "insert Node(ddlog_std::Some")):
        buffer.reset(Document(text))
        (found,) = session.completer.get_completions(buffer.document, CompleteEvent())
        assert text[: len(text) + found.start_position] + found.text == completed


def test_a_history_that_cannot_be_kept_is_done_without(
    rows: Rows, typing: Callable[[str], Reader], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert typing("echo x;\r" + CONTROL_D)() == "echo x;\n"


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True),
        ("start;", True),
        ("insert R(1),", True),
        ("# only a comment", True),
        ("bogus", True),
        ("start; bogus(", True),
        ("start", False),
        ("start; insert R(", False),
        ('echo "', False),
        ('insert R("a', False),
    ],
)
def test_input_is_complete_where_nothing_could_follow(text: str, complete: bool) -> None:
    pytest.importorskip("prompt_toolkit")
    from tidelog.shell.terminal import is_complete

    assert is_complete(text) is complete
