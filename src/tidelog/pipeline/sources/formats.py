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
    """

    module: str
    options: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    needed: Mapping[str, str] = field(default_factory=dict)
    has_path: bool = False
    gives_rows: bool = False
    package: str = ""
    extra: str = ""

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
}


TABLE_FORMATS = ("delta", "iceberg")
"""The formats that an output can have, too."""


def is_positioned(place: Place) -> bool:
    """True if batches from a place are ranges of positions."""
    return place.format in POSITIONED


def gives_rows(feed: Feed) -> bool:
    """True if a feed gives changes of rows instead of records with operations."""
    return is_positioned(feed.place) and POSITIONED[feed.place.format].gives_rows and not (feed.op or feed.is_envelope)


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
