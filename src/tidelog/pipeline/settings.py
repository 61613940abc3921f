"""The content of a pipeline file as values: the sources of rows, the outputs, and the place of the state.

`read_settings` makes them from the text, `check_settings` compares them with the program. Paths are absolute here;
`written` is a path as it stands in the file, for state and messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.pipeline.addresses import on_this_machine

FILE_FORMATS = ("csv", "json", "jsonl", "parquet", "tsv", "facts")
"""The formats of the local engine; `json` is JSON Lines there, as it is on Spark."""

FILES_PER_BATCH = "maxFilesPerTrigger"
NULL_OPTION = "nullValue"
"""The cell of a text file that is null in a column of an `Option`; Spark's name for it."""

LOCAL_OPTIONS = ("header", "sep", NULL_OPTION, FILES_PER_BATCH)
"""The options of files on the local engine."""


@dataclass(frozen=True, slots=True)
class Place:
    """A source or target of rows: a format, usually a path, and options for the reader or writer."""

    format: str
    path: str | None = None
    written: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The place in messages: its path, or the table or topic in its options."""
        return self.written or self.options.get("table") or self.options.get("topic") or self.format

    @property
    def folder(self) -> Path:
        """The path, for a place that is on this machine."""
        found = None if self.path is None else on_this_machine(self.path)
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class Table:
    """A starting table: the first rows of an input relation."""

    relation: str
    place: Place


@dataclass(frozen=True, slots=True)
class Feed:
    """The changes of an input relation.

    `op` is the column with the operation (without it every record is an insert), `order` the one that says which of
    two operations is the later, `key` the columns by which a row is replaced or deleted. With `is_envelope` a record
    has the row before and after, as Debezium writes it.
    """

    relation: str
    place: Place
    op: str | None = None
    order: str | None = None
    key: tuple[str, ...] = ()
    is_envelope: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """The target of an output relation: the changes of each epoch, or the whole relation after each.

    `change_columns` is the style of the columns of changes (`sinks.CHANGE_COLUMNS`).
    """

    relation: str
    place: Place
    is_snapshot: bool = False
    change_columns: str = "tidelog"


@dataclass(frozen=True, slots=True)
class Settings:
    """A whole pipeline file; `tables`, `feeds` and `outputs` are in its order."""

    file: Path
    program: Path
    engine: str
    state: str
    tables: tuple[Table, ...] = ()
    feeds: tuple[Feed, ...] = ()
    outputs: tuple[Output, ...] = ()
    quarantine: Place | None = None
    overflow: str = "wrap"
