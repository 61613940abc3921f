"""Spark's exceptions of a source or a sink → an error that names the table of the pipeline file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, EvaluationError
from tidelog.engine.spark.task_errors import spark_errors

_NOTHING_SAID = re.compile(
    r"An error occurred while calling|An exception was thrown from the Python worker|Exception thrown in awaitResult"
    r"|Job aborted|Error while reading file|JVM stacktrace|at \S+\(|\.\.\. \d+ more|$"
)
_CLASS = re.compile(r"(?:Caused by: )?(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ")
_RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)")
"""The last line of a Python traceback."""
_READING = "[FAILED_READ_FILE"


@contextmanager
def naming(table: str) -> Iterator[None]:
    """Turns Spark's exceptions in the block into a DataError about a table such as `changes.Edge`; Tidelog's own errors
    of a task are raised again."""
    try:
        with spark_errors():
            yield
    except EvaluationError as error:
        cause = error.__cause__
        if error.code != Code.SPARK_JOB_FAILED or cause is None:
            raise
        raise DataError(f"`[{table}]`: Spark says: {said(cause)}", code=Code.SOURCE_FAILED) from cause


def said(error: BaseException) -> str:
    """Returns Spark's first meaningful message on one line; for an unreadable file also the cause."""
    raised = _RAISED.search(str(error))
    if raised is not None:
        return raised[1].strip()
    lines = [each for each in _messages(error) if not _NOTHING_SAID.match(each)]
    if not lines:
        return type(error).__name__
    why = next((each for each in lines if not each.startswith(_READING)), "")
    return f"{lines[0]} {why}".strip() if lines[0].startswith(_READING) else lines[0]


def _messages(error: BaseException) -> list[str]:
    """Returns a line for an exception and each of its causes, from Java's trace or from PySpark's objects."""
    first, *rest = [line.strip().removeprefix(": ") for line in str(error).strip().splitlines()] or [""]
    found = [first, *(rest[:1] if _NOTHING_SAID.match(first) else ())]
    found += [line for line in rest if line.startswith("Caused by: ")]
    cause = getattr(error, "_cause", None)
    return [_CLASS.sub("", each).strip() for each in found] + (_messages(cause) if cause is not None else [])
