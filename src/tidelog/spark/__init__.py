"""A Spark data source: relations of durable databases as DataFrames.

    import tidelog.spark
    tidelog.spark.register(spark)
    spark.read.format("tidelog").option("relation", "Reach").load("reach-db")
    spark.readStream.format("tidelog").option("relation", "Reach").option("changes", "true").load("reach-db")
    rows.writeStream.format("tidelog").option("relation", "Edge").option("checkpointLocation", "c").start("reach-db")
    tidelog.spark.take(db)            # in the process that owns the database: commits what the last line has staged

The rows are read where Spark's tasks run: by PyArrow from the files of a database of the Spark engine, or by a reader
of a database of the local engine, which the tasks must reach. None passes through the driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.database.database import Database

__all__ = ["register", "take"]

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: Any) -> None:
    """Makes the format `tidelog` known to a session, and lets Spark push filters down to Python sources.

    In the definitions of a declarative pipeline, which may not change settings, the format alone is made known: the
    file of the pipeline has to set `spark.sql.python.filterPushdown.enabled`. Raises MissingDependencyError without
    PySpark.
    """
    from tidelog.engine.spark.session import require_pyspark

    require_pyspark()
    from pyspark.errors import PySparkException

    from tidelog.spark.source import TidelogSource

    try:
        spark.conf.set(_PUSHDOWN, "true")
    except PySparkException as error:
        if not (error.getCondition() or "").startswith("SESSION_MUTATION_IN_DECLARATIVE_PIPELINE"):
            raise
    spark.dataSource.register(TidelogSource)


def take(database: Database) -> int:
    """Commits the batches that streaming queries have staged in the directory of a durable database, each as one
    transaction and once; returns their number.

    Raises the errors of `Transaction.insert` for a batch whose rows do not fit. That batch and the later ones of its
    query stay staged.
    """
    from tidelog.spark.staging import take

    return take(database)
