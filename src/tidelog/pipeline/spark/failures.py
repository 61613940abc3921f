"""What Spark says when a source or a sink does not work → an error that names the table of the pipeline file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError


@contextmanager
def naming(table: str) -> Iterator[None]:
    """Turns what Spark raises in the block into a DataError about a table such as `changes.Edge`."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise DataError(f"`[{table}]`: Spark says: {said(error)}", code=Code.SOURCE_FAILED) from error


def said(error: BaseException) -> str:
    """What Spark says, on one line and without its stack."""
    lines = [line.strip() for line in str(error).strip().splitlines()]
    if lines and lines[0].startswith("An error occurred while calling"):
        lines = [line.removeprefix(": ") for line in lines[1:]]
    return lines[0] if lines else type(error).__name__
