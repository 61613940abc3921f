"""The message of a failed Spark job: the cause in the worker, and the remedy."""

from __future__ import annotations

import pytest
from pyspark.errors import PythonException

import tidelog
from tidelog.engine.spark.task_errors import spark_errors

WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/opt/spark/python/pyspark/worker.py", line 1, in main
ModuleNotFoundError: No module named 'tidelog'
"""


def test_workers_with_another_python_are_named_with_the_remedy() -> None:
    with pytest.raises(tidelog.EvaluationError) as caught, spark_errors():
        raise PythonException(WORKER)
    assert "ModuleNotFoundError: No module named 'tidelog'" in caught.value.message
    assert "PYSPARK_PYTHON" in str(caught.value.help)


def test_another_error_of_a_worker_is_quoted_without_that_remedy() -> None:
    with pytest.raises(tidelog.EvaluationError) as caught, spark_errors():
        raise PythonException(WORKER.replace("ModuleNotFoundError: No module named 'tidelog'", "ValueError: oh"))
    assert "ValueError: oh" in caught.value.message
    assert caught.value.help is None
