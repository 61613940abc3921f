"""A large table through the Spark engine, in its own process: `python -m tidelog.bench.suites.spark_table ROWS`.

The table is a DataFrame; it is ingested, joined with a small one, and the result written as Parquet. Prints one line of
JSON: seconds, the rows that were written, and the peak memory of this Python process. Java has 1 GB.
"""

from __future__ import annotations

import json
import resource
import sys
from tempfile import TemporaryDirectory
from time import perf_counter

import tidelog
from tidelog.bench.measure import PROGRAMS

CUSTOMERS = 1_000


def main(rows: int) -> None:
    from pyspark.sql import functions as f

    from tidelog.engine.spark.session import local_session

    session = local_session(memory="1g")
    number = f.col("id")
    orders = session.range(rows).select(
        number, (number % CUSTOMERS).alias("customer"), (number % 97).cast("long").alias("amount")
    )
    customers = session.range(CUSTOMERS).select(number, (number % 7).alias("region"))
    with (
        TemporaryDirectory(prefix="tidelog-") as folder,
        tidelog.compile(PROGRAMS / "sales.dl").open(engine="spark", spark=session) as database,
    ):
        with database.transaction() as transaction:
            transaction.insert("Customer", customers)
        found: dict[str, float] = {"before_mb": _peak_mb()}
        started = perf_counter()
        with database.transaction() as transaction:
            transaction.insert("Order", orders)
        found["ingested and joined"] = perf_counter() - started
        started = perf_counter()
        database.relation("Sale").to_spark().write.parquet(f"{folder}/out")
        found["written back"] = perf_counter() - started
        written = session.read.parquet(f"{folder}/out")
        found["rows"] = written.filter(f.col("region") == f.col("id") % CUSTOMERS % 7).count()
        found["peak_mb"] = _peak_mb()
        print(json.dumps(found))
    session.stop()


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(int(sys.argv[1]))
