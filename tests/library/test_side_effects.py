"""Messages, prints, events and numbers of interned text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.library.declare import context, externs_of, vec
from tidelog.library import debug, log
from tidelog.library import print as print_module
from tidelog.types import STRING, U8, U64
from tidelog.values.group import Group
from tidelog.values.vec import Vec


@pytest.fixture
def messages() -> Iterator[list[tuple[int, str]]]:
    found: list[tuple[int, str]] = []
    log.set_default_callback(lambda level, text: found.append((level, text)), 5)
    yield found
    log.set_default_callback(None, 0)
    log.set_callback(7, None, 0)


def test_messages_up_to_the_level_are_written(messages: list[tuple[int, str]]) -> None:
    assert log.log(1, 5, "yes") == ()
    log.log(1, 6, "no")
    assert messages == [(5, "yes")]


def test_a_module_may_have_its_own_level(messages: list[tuple[int, str]]) -> None:
    own: list[str] = []
    log.set_callback(7, lambda level, text: own.append(text), 9)
    log.log(7, 9, "own")
    log.log(7, 10, "too much")
    log.set_callback(7, None, 0)
    log.log(7, 1, "default")
    assert own == ["own"]
    assert messages == [(1, "default")]


def test_without_a_callback_messages_are_dropped() -> None:
    assert log.log(1, 0, "nobody hears") == ()


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_module.print("hello") == ()
    print_module.debug(context(), vec(STRING), Vec(["a"]))
    assert capsys.readouterr().out == 'hello\n["a"]\n'


def test_events_go_to_the_listener() -> None:
    lines: list[str] = []
    debug.on_event(lines.append)
    debug.debug_event(context(), U64, STRING, U8, (1, 2, 3), -1, 5, "Map", "a", 7)
    debug.debug_event_join(context(), U64, U8, U8, U8, (1, 2, 3), 1, 5, 1, 2, 3)
    debug.on_event(None)
    debug.debug_event(context(), U64, STRING, U8, (1, 2, 3), -1, 5, "Map", "a", 7)
    assert lines == ['(1,2,3), -1, 5, Map, "a", 7', "(1,2,3), 1, 5, Join, 1, 2, 3"]


def test_a_group_of_inputs_is_split() -> None:
    group = Group("k", [(("in1", 5), 1), (("in2", 5), 2)])
    assert debug.debug_split_group(group) == (Vec(["in1", "in2"]), Group("k", [(5, 1), (5, 2)]))


def test_interned_text_has_a_number_of_its_own() -> None:
    intern = externs_of("intern")
    first, second = intern.string_intern("unseen 1"), intern.string_intern("unseen 2")
    assert intern.istring_ord(second) == intern.istring_ord(first) + 1
    assert intern.istring_ord(intern.string_intern("unseen 1")) == intern.istring_ord(first)
    assert intern.istring_str(first) == "unseen 1"
