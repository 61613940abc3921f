"""An output whose format is a table of a lake → its sink, on either engine."""

from __future__ import annotations

from pathlib import Path

from tidelog.database.database import Database
from tidelog.pipeline.lake.delta_sink import DeltaSink
from tidelog.pipeline.lake.iceberg_sink import IcebergSink
from tidelog.pipeline.lake.lake_sink import LakeSink
from tidelog.pipeline.settings import Output
from tidelog.pipeline.sinks import Sink
from tidelog.rules.ir import Relation
from tidelog.values import Definitions


def table_sink(
    output: Output,
    relation: Relation,
    definitions: Definitions,
    database: Database,
    outbox: Path,
    *,
    in_tasks: bool = False,
) -> Sink:
    """Returns the sink. `outbox` is the folder for staged changes; with `in_tasks`, the tasks of Spark write them."""
    kind: type[LakeSink] = DeltaSink if output.place.format == "delta" else IcebergSink
    return kind(output, relation, definitions, database, outbox, in_tasks=in_tasks)
