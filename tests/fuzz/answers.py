"""One input through the front end: what must hold whatever it is.

`tidelog check` answers with one of its exit codes and readable text: never with a traceback, never with "our bug", and
soon. What parses is formatted without loss: formatting it again changes nothing, and the same is wrong with it then.
What checks can be shown.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from click.testing import CliRunner

from tidelog.check.show import show_types
from tidelog.cli.check import check
from tidelog.compile_program import check_source
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError, TidelogError
from tidelog.diagnostics.spans import Source
from tidelog.syntax.format import format_program
from tidelog.syntax.parse import parse
from tidelog.syntax.show import show

SECONDS = 10.0
_KNOWN_EXITS = (0, 1, 2)


class TooLongError(BaseException):
    """The time is over. Not an Exception: nothing on the way may take it for an error of the input."""


class WrongAnswerError(AssertionError):
    """The command answered with what is not an answer."""


def answer(data: bytes, folder: Path, seconds: float = SECONDS) -> str:
    """What became of the input, in a word: `unreadable`, `syntax`, `wrong` or `right`. Raises what went wrong."""
    path = folder / "input.dl"
    path.write_bytes(data)
    with limited(seconds):
        result = CliRunner().invoke(check, [str(path)])
    if result.exception is not None and not isinstance(result.exception, SystemExit | TidelogError):
        raise result.exception
    code = result.exception.exit_code if isinstance(result.exception, TidelogError) else result.exit_code
    if code not in _KNOWN_EXITS or "Traceback" in result.output:
        raise WrongAnswerError(f"exit code {code}: {result.output[-500:]}")
    if code == 2:
        return "unreadable"
    text = path.read_text(encoding="utf-8-sig")
    with limited(seconds):
        return "right" if code == 0 and _shown(Source("input.dl", text)) else _formatted(Source("input.dl", text))


def _formatted(source: Source) -> str:
    try:
        tree = parse(source)
    except ProgramError:
        return "syntax"
    try:
        if parse(Source("shown.dl", show(tree))) != tree:
            raise WrongAnswerError("what is shown of the tree is not the tree")
        once = format_program(source)
        if format_program(Source("formatted.dl", once)) != once:
            raise WrongAnswerError("formatting twice gives something else than formatting once")
        if found(once) != found(source.text):
            raise WrongAnswerError("something else is wrong with the formatted text")
    except ProgramError as error:
        # A text as deep as is allowed may be written with parentheses that it had not.
        if error.code != Code.NESTED_TOO_DEEPLY:
            raise
    return "wrong"


def found(text: str) -> list[str]:
    """What is wrong with a text, without the places."""
    try:
        check_source(Source("input.dl", text))
    except ProgramError as error:
        return sorted(f"{each.code} {each.message}" for each in error.diagnostics)
    return []


def _shown(source: Source) -> bool:
    _formatted(source)
    return bool(show_types(check_source(source)) or True)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises TooLongError after so many seconds of this process's own time."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLongError(f"no answer after {seconds} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
