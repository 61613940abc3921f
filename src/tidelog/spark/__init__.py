"""A Spark data source: relations of durable databases as DataFrames.

    import tidelog.spark
    tidelog.spark.register(spark)
    spark.read.format("tidelog").option("path", "reach-db").option("relation", "Reach").load()

The rows are read where Spark's tasks run: by PyArrow from the files of a database of the Spark engine, or by a reader
of a database of the local engine, which the tasks must reach. None passes through the driver.
"""

from __future__ import annotations

from typing import Any

__all__ = ["register"]

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: Any) -> None:
    """Makes the format `tidelog` known to a session, and lets Spark push filters down to Python sources.

    Raises MissingDependencyError without PySpark.
    """
    from tidelog.engine.spark.session import require_pyspark

    require_pyspark()
    from tidelog.spark.source import TidelogSource

    spark.conf.set(_PUSHDOWN, "true")
    spark.dataSource.register(TidelogSource)
