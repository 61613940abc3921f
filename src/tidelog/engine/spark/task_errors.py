"""A Tidelog error in a task → the same error in the driver.

A task that maintains buckets returns its error as its result: the job succeeds, so Spark neither tries the same
failing rule again nor prints a trace. A task of a DataFrame plan can return only rows, so there an error is raised with
its description in the message, and found again in PySpark's exception.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import (
    DataError,
    EvaluationError,
    InternalError,
    TidelogError,
    TransactionError,
    UsageError,
)
from tidelog.functions.runtime_errors import without_result

_KINDS = {kind.__name__: kind for kind in (DataError, EvaluationError, InternalError, TransactionError, UsageError)}
_RAISED = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Interrupt|Exit)\b: ?")
_CARRIED = re.compile(r"tidelog-error(\{.*?\})tidelog-error", re.DOTALL)


class CarriedError(Exception):
    """Raised in a task of a DataFrame plan; its message holds the description of a Tidelog error."""

    def __init__(self, error: TidelogError) -> None:
        super().__init__(f"tidelog-error{describe(error)}tidelog-error")


def describe(error: TidelogError) -> str:
    """Returns the error as JSON text."""
    kind = next((name for name, kind in _KINDS.items() if isinstance(error, kind)), "InternalError")
    return json.dumps({"kind": kind, "message": error.message, "code": error.code, "help": error.help})


def revive(description: str) -> TidelogError:
    """Returns the error that `describe` described."""
    value = json.loads(description)
    return _KINDS[value["kind"]](value["message"], code=value["code"], help=value["help"])


def division_by_zero(rule: str, place: str, stratum: str, error: ZeroDivisionError | None = None) -> EvaluationError:
    """Returns the error of a rule with an expression that has no result, in the words of the local engine."""
    return without_result(f"in the rule `{rule}` at {place} (stratum {stratum}); the last commit is intact", error)


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turns the exception of a failed Spark job into the Tidelog error it carries, or into one with Spark's message."""
    try:
        yield
    except _failures() as error:
        carried = _CARRIED.search(str(error))
        if carried is not None:
            raise revive(carried[1]) from None
        raise EvaluationError(
            f"a Spark job failed, and the last commit is intact: {_reason(error)}",
            code=Code.SPARK_JOB_FAILED,
            help=_remedy(str(error)),
        ) from error
    except UnboundLocalError as error:
        # PySpark hides an interrupt while it opens the socket of a result: it closes a socket that is not there yet.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise error.__context__ from None
        raise


def _failures() -> tuple[type[Exception], ...]:
    """Returns the exceptions of a failed job: not all errors of Java become exceptions of PySpark. A client of Spark
    Connect may have no bridge to Java."""
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JError
    except ImportError:
        return (PySparkException,)
    return (PySparkException, Py4JError)


def _reason(error: Exception) -> str:
    """Returns Spark's message on one line; Python's bridge to Java puts its own in front."""
    lines = [line.strip(" :") for line in str(error).splitlines() if line.strip(" :")]
    said = [line for line in lines if not line.startswith("An error occurred while calling")]
    if not said:
        return type(error).__name__
    raised = [line for line in said if _RAISED.match(line)]
    if "Python worker" in said[0] and raised:
        return f"a Python worker of Spark raised {raised[-1]}"
    return said[0]


def _remedy(text: str) -> str | None:
    """Returns a help for workers that run another Python than the driver."""
    other = re.search(r"No module named '(\w+)|PYTHON_VERSION_MISMATCH", text)
    if other is None or (other[1] is not None and find_spec(other[1]) is None):
        return None
    return (
        "Spark's workers run another Python than this process: before the session is made, set"
        f" `os.environ['PYSPARK_PYTHON'] = {sys.executable!r}`, or activate the environment"
    )
