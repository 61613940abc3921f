"""The tables of the pipeline: files → `edges` → Tidelog, and Tidelog → `reach` → `hubs`."""

from __future__ import annotations

from typing import Any

from pyspark import pipelines as dp
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import tidelog.spark

spark = SparkSession.active()
tidelog.spark.register(spark)
FOLDER = spark.conf.get("spark.network.folder")
DATABASE = f"{FOLDER}/database"


@dp.table
def edges() -> Any:
    """The changes of links, as they come; `_op` is `+` or `-`."""
    return spark.readStream.schema("src string, dst string, _op string").json(f"{FOLDER}/in")


dp.create_sink("network_database", "tidelog", {"path": DATABASE, "relation": "Edge"})


@dp.append_flow(target="network_database")
def to_tidelog() -> Any:
    """Stages each batch of changes for the owner of the database, which takes it once."""
    return spark.readStream.table("edges")


@dp.materialized_view
def reach() -> Any:
    """The relation, as of the last commit."""
    return spark.read.format("tidelog").option("relation", "Reach").load(DATABASE)


@dp.materialized_view
def hubs() -> Any:
    """A table of the pipeline that reads another one, as ever."""
    return spark.read.table("reach").groupBy("src").agg(f.count("*").alias("reached"))
