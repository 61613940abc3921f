"""What commands do beyond what scripts show: on a terminal, before the engine is loaded, with failures."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tidelog
from tests.clock import HeldClock
from tests.shell.scripts import commands
from tidelog.diagnostics.errors import DataError, InternalError, TidelogError
from tidelog.shell.run_commands import lines_of, run_script, run_terminal
from tidelog.shell.shell import Shell

PROGRAM = """
input relation R(x: u8)
output relation O(x: u8)
O(x) :- R(x).
"""


def lines(*texts: str) -> Callable[[], str | None]:
    source = iter(texts)
    return lambda: next(source, None)


def printed(program: str, script: str) -> str:
    out = io.StringIO()
    with Shell(tidelog.compile(program), out) as shell:
        for command in commands(script):
            shell.run(command)
    return out.getvalue()


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def shell(out: io.StringIO) -> Iterator[Shell]:
    with Shell(tidelog.compile(PROGRAM), out) as shell:
        yield shell


def test_on_a_terminal_an_error_ends_only_its_line(
    shell: Shell, out: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = lines(
        "start; insert R(1);\n",
        "insert R(2); insert R(300); insert R(3);\n",
        "bogus; insert R(4);\n",
        "insert R(5);\n",
        "commit dump_changes;\n",
        "dump Nothing;\n",
        "echo still here;\n",
    )
    assert run_terminal(shell, typed) == 0
    assert out.getvalue() == "O:\nO{.x = 1}: +1\nO{.x = 2}: +1\nO{.x = 5}: +1\nstill here\n"
    assert capsys.readouterr().err == (
        "Error: <stdin>:2:23: relation `R`, column `x`: u8 is wanted, not 300 [E504]\n"
        "Error: <stdin>:3:1: there is no command `bogus` [E509]\n"
        "  = help: `help;` lists the commands\n"
        "Error: <stdin>:6:1: unknown output relation Nothing [E804]\n"
    )


def test_a_row_that_does_not_fit_takes_those_that_wait_with_it(shell: Shell, out: io.StringIO) -> None:
    assert (
        run_terminal(shell, lines("start; insert R(1);\n", "insert R(2), insert R(300);\n", "commit dump_changes;\n"))
        == 0
    )
    assert out.getvalue() == "O:\nO{.x = 1}: +1\n"


def test_updates_before_one_that_the_database_refuses_stay(capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    keyed = "input relation K(k: u8, v: u8) primary key (r) r.k\noutput relation O(k: u8, v: u8)\nO(k, v) :- K(k, v).\n"
    with Shell(tidelog.compile(keyed), out) as shell:
        typed = lines(
            "start; insert K(1, 1), insert K(2, 2), insert K(1, 3), insert K(4, 4);\n", "commit dump_changes;\n"
        )
        assert run_terminal(shell, typed) == 0
    assert out.getvalue() == "O:\nO{.k = 1, .v = 1}: +1\nO{.k = 2, .v = 2}: +1\n"
    assert capsys.readouterr().err.startswith("Error: <stdin>:1:40: cannot insert (1, 3) into `K`")


def test_exit_and_the_end_of_the_input_end_a_terminal_session(shell: Shell) -> None:
    assert run_terminal(shell, lines("exit;\n", "bogus;\n")) == 0
    assert run_terminal(shell, lines("echo unfinished\n")) == 0


def test_an_interrupt_on_a_terminal_ends_only_the_command(
    shell: Shell, out: io.StringIO, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tidelog.shell.shell.sleep", interrupt)
    assert run_terminal(shell, lines("mssleep 1; echo dropped;\n", "echo next;\n")) == 0
    assert (out.getvalue(), capsys.readouterr().err) == ("next\n", "interrupted\n")


def test_a_bug_of_ours_is_not_reported_as_an_error_of_the_script(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: object) -> bool:
        raise InternalError("broken", code="E901")

    monkeypatch.setattr(shell, "run", fail)
    with pytest.raises(InternalError):
        run_terminal(shell, lines("dump;\n"))
    with pytest.raises(InternalError):
        run_script(shell, lines("dump;\n"), lambda: None)


def test_every_answer_of_a_script_is_handed_on_before_the_next_command_is_read(shell: Shell, out: io.StringIO) -> None:
    handed: list[str] = []
    script = iter(["echo one;\n", "echo two;\n"])
    seen: list[list[str]] = []

    def read() -> str | None:
        seen.append(list(handed))
        return next(script, None)

    assert run_script(shell, read, lambda: handed.append(out.getvalue())) == 0
    assert seen == [[], ["one\n"], ["one\n", "one\ntwo\n"]]


def test_a_failed_epoch_ends_the_transaction_and_leaves_the_last_commit() -> None:
    divide = "input relation R(x: u8)\noutput relation O(x: u8)\nO(10 / x) :- R(x).\n"
    out = io.StringIO()
    with Shell(tidelog.compile(divide), out) as shell:
        for command in commands("start; insert R(5); commit dump_changes; start; insert R(0);"):
            shell.run(command)
        with pytest.raises(TidelogError, match="<stdin>:1:1: division by zero"):
            shell.run(commands("commit;")[0])
        for command in commands("start; insert R(1); commit dump_changes; dump O;"):
            shell.run(command)
    assert out.getvalue() == "O:\nO{.x = 2}: +1\nO:\nO{.x = 10}: +1\nO{.x = 2}\nO{.x = 10}\n"


def test_timestamps_count_nanoseconds_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = HeldClock(step=1e-6)
    monkeypatch.setattr("tidelog.shell.shell.perf_counter_ns", clock.perf_counter_ns)
    monkeypatch.setattr("tidelog.shell.shell.sleep", clock.sleep)
    out = printed(PROGRAM, "timestamp; mssleep 2; timestamp;")
    assert out == "Timestamp: 1000\nTimestamp: 2002000\n"


def test_log_levels_let_messages_through_until_the_shell_ends() -> None:
    program = """
    import log
    input relation R(x: s32)
    output relation O(x: s32)
    O(x) :- R(x), { log(7, x, "level ${x}"); true }.
    """
    assert "LOG" not in printed(program, "start; insert R(1); commit;")
    out = printed(program, "log_level 2; start; insert R(1), insert R(2), insert R(3); commit; dump O;")
    assert sorted(re.findall(r"LOG .*", out)) == ["LOG (1): level 1", "LOG (2): level 2"]
    assert "LOG" not in printed(program, "start; insert R(1); commit;")


def test_the_first_command_needs_no_engine_and_no_terminal_library(tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text(PROGRAM)
    code = """
import sys
from tidelog.cli.main import main
main(["shell", "p.dl"])
print([name for name in ("numba", "pyarrow", "numpy", "pyspark", "prompt_toolkit", "rich") if name in sys.modules])
"""
    script = "start; rollback; start; commit dump_changes; echo hello; dump; dump O;"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, input=script, capture_output=True, text=True, check=True
    )
    assert found.stdout == "hello\n[]\n"


def test_facts_of_the_program_are_there_from_the_start() -> None:
    out = io.StringIO()
    with Shell(tidelog.compile(PROGRAM + "O(200).\n"), out) as shell:
        shell.show_initial()
        shell.run(commands("dump;")[0])
    assert out.getvalue() == "O:\nO{.x = 200}: +1\nO:\nO{.x = 200}\n\n"


def test_lines_of_a_stream_are_text_from_its_first_byte_on() -> None:
    read = lines_of(io.BytesIO("\ufeffstart;\r\nü".encode()))
    assert [read(), read(), read()] == ["start;\r\n", "ü", None]
    with pytest.raises(DataError, match="<stdin>:1:2: the line is not UTF-8 text"):
        lines_of(io.BytesIO(b"a\xff"))()


def test_profile_prints_costs_and_stats_prints_sizes() -> None:
    out = printed(PROGRAM, "start; insert R(1), insert R(2); commit; stats; echo ---; profile;")
    stats, _, profile = out.partition("---\n")
    assert re.fullmatch(r"relation  rows  bytes\n(O|R) +2 +[\d,]+\n(O|R) +2 +[\d,]+\n", stats)
    assert profile.startswith("epoch 1: ")
    assert re.search(r"^O +update|^O +bootstrap", profile, re.MULTILINE)
    assert re.search(r"^O\(x\) :- R\(x\)\. +<text>:4:1 +2 ", profile, re.MULTILINE)


def test_a_question_before_anything_is_written_opens_the_database() -> None:
    assert printed(PROGRAM, "query R(x); query O(1); why_not R(1); stats;") == (
        "false\nR(1) is not there: no transaction has inserted it\nno rows\n"
    )
