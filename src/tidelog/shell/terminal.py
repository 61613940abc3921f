"""A terminal → lines of commands, with history, completion and commands that span several lines.

Enter ends the input if a command is complete (or cannot become one); otherwise it begins another line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import DynamicCompleter, WordCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from tidelog.diagnostics.errors import TidelogError
from tidelog.shell.complete import completions
from tidelog.shell.place import IncompleteError
from tidelog.shell.read_command import read_command
from tidelog.shell.rows import Rows
from tidelog.shell.scan import Scanner

PROMPT = ">> "
CONTINUATION = ".. "

_WORD = re.compile(r"[A-Za-z0-9_:]+")


def terminal_lines(rows: Rows) -> Callable[[], str | None]:
    """Returns a function that reads the next typed line; None after ctrl-D."""
    session = prompt_session(rows)
    waiting: Iterator[str] = iter(())

    def read_line() -> str | None:
        nonlocal waiting
        while True:
            line = next(waiting, None)
            if line is not None:
                return line
            try:
                text = session.prompt(PROMPT)
            except EOFError:
                return None
            except KeyboardInterrupt:
                continue
            waiting = iter(f"{text}\n".splitlines(keepends=True))

    return read_line


def is_complete(text: str) -> bool:
    """True unless the text ends inside a command."""
    lines = iter(f"{text}\n".splitlines(keepends=True))
    scanner = Scanner(lambda: next(lines, None))
    try:
        while read_command(scanner) is not None:
            pass
    except IncompleteError:
        return False
    except TidelogError:
        return True
    return True


def prompt_session(rows: Rows) -> PromptSession[str]:
    """Returns a prompt with key bindings, completion and history."""

    def completer() -> WordCompleter:
        text = session.default_buffer.document.text_before_cursor
        return WordCompleter(completions(text, rows), pattern=_WORD)

    def next_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    bindings = KeyBindings()
    bindings.add("enter", filter=Condition(lambda: not is_complete(session.default_buffer.text)))(next_line)
    session: PromptSession[str] = PromptSession(
        history=kept_history(),
        completer=DynamicCompleter(completer),
        complete_while_typing=False,
        auto_suggest=AutoSuggestFromHistory(),
        key_bindings=bindings,
        prompt_continuation=lambda width, number, wrapped: CONTINUATION,
    )
    return session


def kept_history() -> History:
    """Returns the history of earlier calls, empty if the user's state directory cannot be written."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(base) / "tidelog"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "shell-history"
        path.touch()
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
