"""PySpark's functions of columns, each imported when it is first used: `column_functions.col` is PySpark's `col`.

The engine can be imported without PySpark, which only a session needs.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from pyspark.sql import functions

    return getattr(functions, name)
