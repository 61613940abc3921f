"""What Spark says when a source or a sink does not work → an error that names the table of the pipeline file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, EvaluationError
from tidelog.engine.spark.failure import spark_errors

_NOTHING_SAID = re.compile(
    r"An error occurred while calling|An exception was thrown from the Python worker|Exception thrown in awaitResult"
    r"|Job aborted|\[FAILED_READ_FILE|at [\w$.]+\(|\.\.\. \d+ more"
)
_CAUSE = re.compile(r"(?:Caused by: )?(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ")

_RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)")
"""The end of a trace of Python."""


@contextmanager
def naming(table: str) -> Iterator[None]:
    """Turns what Spark raises in the block into a DataError about a table such as `changes.Edge`. An error of ours that
    a task has raised is raised again."""
    try:
        with spark_errors():
            yield
    except EvaluationError as error:
        cause = error.__cause__
        if error.code != Code.SPARK_JOB_FAILED or cause is None:
            raise
        raise DataError(f"`[{table}]`: Spark says: {said(cause)}", code=Code.SOURCE_FAILED) from cause


def said(error: BaseException) -> str:
    """What Spark says, on one line and without its stack: the first line that says something."""
    raised = _RAISED.search(_told(error))
    if raised is not None:
        return raised[1].strip()
    lines = [_CAUSE.sub("", line.strip().removeprefix(": ")).strip() for line in _told(error).splitlines()]
    return next((line for line in lines if line and not _NOTHING_SAID.match(line)), type(error).__name__)


def _told(error: BaseException) -> str:
    """The message, and those of the causes, which Java has beside it."""
    told = [str(error)]
    cause = getattr(error, "_cause", None)  # PySpark's: what is said of the cause of an exception in Java
    while cause is not None and len(told) < 9:
        told.append(str(cause))
        cause = getattr(cause, "_cause", None)
    return "\n".join(told)
