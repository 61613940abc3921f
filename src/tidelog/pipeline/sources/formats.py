"""Formats of sources with positions: the module of each, its options, and how it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import MissingDependencyError
from tidelog.pipeline.settings import Feed, Place
from tidelog.pipeline.sources.source import Source
from tidelog.rules.ir import Relation


@dataclass(frozen=True, slots=True)
class SourceFormat:
    """`module` has the function `open_source(place, relation, feed)`, where `feed` is None for a starting table.

    `options` are those that a source may have (`catalog.*` is any that begins so), `writes` those of an output, and
    `needed` those that both must have, each with an example. `has_path` is set if the place needs a `path`.
    `gives_rows` is set if a feed without `op` and `envelope` gives changes of rows, which add up, and its first rows
    itself; then it takes no `key` and `order`. `package` is the import that the format needs, and `extra` the extra of
    Tidelog that installs it.
    `gives_operations` is set if the records of a feed state their operation and order themselves; then it takes no
    `op`, `order` and `envelope`. `whole_numbers` are options that are whole numbers above 0. `of_spark` is an option
    that only Spark's own source of the same name has: with it, the place is Spark's.
    """

    module: str
    options: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    needed: Mapping[str, str] = field(default_factory=dict)
    has_path: bool = False
    gives_rows: bool = False
    package: str = ""
    extra: str = ""
    gives_operations: bool = False
    whole_numbers: tuple[str, ...] = ()
    of_spark: str = ""

    def has_option(self, name: str, *, is_output: bool = False) -> bool:
        """True if a place may have the option."""
        known = self.writes if is_output else self.options
        return name in known or any(name.startswith(each[:-1]) for each in known if each.endswith("*"))


_HERE = "tidelog.pipeline.sources"

POSITIONED: dict[str, SourceFormat] = {
    "delta": SourceFormat(
        f"{_HERE}.delta",
        options=("maxVersionsPerTrigger",),
        writes=("partitionBy",),
        has_path=True,
        gives_rows=True,
        package="deltalake",
        extra="delta",
    ),
    "iceberg": SourceFormat(
        f"{_HERE}.iceberg",
        options=("table", "catalog.*", "maxSnapshotsPerTrigger"),
        writes=("table", "catalog.*"),
        needed={"table": 'options = {table = "db.edges", "catalog.type" = "rest", "catalog.uri" = "http://…"}'},
        gives_rows=True,
        package="pyiceberg",
        extra="iceberg",
    ),
    "kafka": SourceFormat(
        f"{_HERE}.kafka",
        options=(
            *("topic", "bootstrap.servers", "startingOffsets", "maxOffsetsPerTrigger", "isolation.level", "client.id"),
            *("security.*", "sasl.*", "ssl.*", "socket.*", "fetch.*", "broker.*", "reconnect.*"),
        ),
        needed={"topic": 'topic = "edges"', "bootstrap.servers": '"bootstrap.servers" = "localhost:9092"'},
        package="confluent_kafka",
        extra="kafka",
        whole_numbers=("maxOffsetsPerTrigger",),
        of_spark="kafka.bootstrap.servers",
    ),
    "postgres": SourceFormat(
        f"{_HERE}.postgres.source",
        options=("dsn", "table", "slot", "publication", "maxChangesPerTrigger"),
        needed={"table": 'table = "public.edge"', "slot": 'slot = "tidelog"'},
        package="psycopg2",
        extra="postgres",
        gives_operations=True,
        whole_numbers=("maxChangesPerTrigger",),
    ),
}


TABLE_FORMATS = ("delta", "iceberg")
"""The formats that an output can have, too."""


def is_positioned(place: Place) -> bool:
    """True if batches from a place are ranges of positions."""
    return has_positions(place.format, place.options)


def has_positions(name: str, options: object) -> bool:
    """True if a place with this format and these options has positions; Spark may have a source of the same name."""
    known = POSITIONED.get(name)
    return known is not None and not (known.of_spark and isinstance(options, Mapping) and known.of_spark in options)


def gives_rows(feed: Feed) -> bool:
    """True if a feed gives changes of rows instead of records with operations."""
    return is_positioned(feed.place) and POSITIONED[feed.place.format].gives_rows and not (feed.op or feed.is_envelope)


def gives_operations(feed: Feed) -> bool:
    """True if the records of a feed state their operation and their order themselves."""
    return is_positioned(feed.place) and POSITIONED[feed.place.format].gives_operations


def open_source(place: Place, relation: Relation, feed: Feed | None = None) -> Source:
    """Opens the source of a starting table or feed. Raises MissingDependencyError without its package."""
    format_ = POSITIONED[place.format]
    require(place.format)
    found: Source = import_module(format_.module).open_source(place, relation, feed)
    return found


def require(name: str) -> None:
    """Raises MissingDependencyError if the package of a format is not installed."""
    format_ = POSITIONED[name]
    if not format_.package:
        return
    try:
        import_module(format_.package)
    except ImportError as error:
        raise MissingDependencyError(
            f"the format `{name}` needs the package `{format_.package}`, which is not installed",
            code=Code.NO_SOURCE_PACKAGE,
            help=f'pip install "tidelog[{format_.extra}]"',
        ) from error
