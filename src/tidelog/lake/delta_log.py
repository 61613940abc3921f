"""The log of a Delta table: its versions one by one, and the files of a whole version.

A version is a file with a JSON action per line (`add`, `remove`, `cdc`, `metaData`, `txn`, …). This module reads the
actions that make changes of rows; the `deltalake` package reads the state of the table at a version, which may be in
checkpoints.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, MissingDependencyError
from tidelog.lake.parquet_part import Constant, opened

_LOG = "_delta_log"
_FEATURE = re.compile(r"[Ff]eature '([\w-]+)' is not supported")
_MAPPING = "delta.columnMapping."
_READABLE = frozenset(
    (
        *("columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "typeWidening"),
        *("typeWidening-preview", "appendOnly", "invariants", "changeDataFeed", "domainMetadata", "clustering"),
    )
)
"""Features of readers that this module knows."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The columns of one version, by name: the name in files, and the type. `partitioned` has names in files."""

    table: str
    physical: Mapping[str, str]
    types: Mapping[str, pa.DataType]
    partitioned: frozenset[str]
    nested_mapping: frozenset[str] = frozenset()

    def columns(self, names: Sequence[str], partition: Mapping[str, str | None]) -> dict[str, str | Constant]:
        """Returns where a file with these partition values has the columns."""
        found: dict[str, str | Constant] = {}
        for name in names:
            if name in self.physical:
                physical = self.physical[name]
                if physical in self.partitioned:
                    found[name] = Constant(partition.get(physical) or None, self.types[name])
                else:
                    found[name] = physical
        return found


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of the table; `vector` identifies its deletion vector, if it has one. `size` is in bytes, if known."""

    path: str
    partition: Mapping[str, str | None]
    vector: str | None = None
    size: int | None = None


@dataclass(slots=True)
class Version:
    """The changes of rows of one version. If there are `changes`, they are all; else `added` and `removed` are."""

    number: int
    added: list[DataFile] = field(default_factory=list)
    removed: list[DataFile] = field(default_factory=list)
    changes: list[DataFile] = field(default_factory=list)
    metadata: Mapping[str, Any] | None = None
    protocol: Mapping[str, Any] | None = None


class DeltaLog:
    """The log of the table at a path or address. `options` are those of the store."""

    def __init__(self, address: str, shown: str, options: Mapping[str, str]) -> None:
        require_deltalake()
        self.address = "/" + address[5:].strip("/") if address.startswith("file:") else address.rstrip("/")
        self.shown = shown
        self._options = dict(options)

    def at(self, version: int | None = None) -> Any:
        """Returns deltalake's table. Raises DataError if there is none, or not at this version."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            return DeltaTable(self.address, version=version, storage_options=self._options or None)
        except TableNotFoundError as error:
            raise DataError(f"{self.shown}: there is no Delta table", code=Code.SOURCE_FAILED) from error
        except (DeltaError, OSError, ValueError) as error:
            feature = _FEATURE.search(str(error))
            if feature is not None:
                raise unsupported(self.shown, feature[1]) from error
            if version is not None:
                raise gone(self.shown, f"version {version} cannot be read: {first_line(error)}") from error
            raise DataError(
                f"{self.shown}: the Delta table cannot be read: {first_line(error)}", code=Code.SOURCE_FAILED
            ) from error

    def version(self, number: int) -> Version:
        """Returns the changes of one version. Raises DataError if its file no longer exists."""
        filesystem, path = opened(f"{self.address}/{_LOG}/{number:020}.json")
        try:
            with filesystem.open_input_stream(path) as file:
                text = bytes(file.read()).decode()
        except FileNotFoundError as error:
            raise gone(self.shown, f"the log of version {number} was deleted") from error
        found = Version(number)
        for line in text.splitlines():
            for kind, action in json.loads(line).items():
                if kind == "metaData":
                    found.metadata = action
                elif kind == "protocol":
                    found.protocol = action
                elif kind == "cdc":
                    found.changes.append(_file(action))
                elif kind == "add" and action["dataChange"]:
                    found.added.append(_file(action))
                elif kind == "remove" and action["dataChange"]:
                    found.removed.append(_file(action))
        return found

    def path_of(self, file: DataFile) -> str:
        """Returns the full path of a file."""
        return file.path if "://" in file.path or file.path.startswith("/") else f"{self.address}/{file.path}"

    def files_at(self, table: Any, schema: TableSchema) -> list[DataFile]:
        """Returns the files of a version that `at` has read."""
        logical = {physical: name for name, physical in schema.physical.items()}
        files = []
        for each in pa.table(table.get_add_actions(flatten=False)).to_pylist():
            values = {}
            for name, value in (each.get("partition") or {}).items():
                physical = name if name in schema.partitioned else schema.physical.get(name, name)
                values[physical] = _partition_text(value, schema.types.get(logical.get(physical, name)))
            files.append(DataFile(unquote(each["path"]), values, size=each.get("size_bytes")))
        return files

    def masks(self, table: Any) -> dict[str, pa.BooleanArray]:
        """Returns for each file with a deletion vector which of its rows count; by the end of its path."""
        found = {}
        for each in table.deletion_vectors():
            batch = pa.record_batch(each)
            for path, kept in zip(batch.column(0).to_pylist(), batch.column(1)):
                found[unquote(path)] = pa.array(kept.values) if hasattr(kept, "values") else kept
        return found


def require_deltalake() -> None:
    """Raises MissingDependencyError if deltalake is not installed."""
    try:
        import deltalake  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "Delta tables need the package `deltalake`, which is not installed",
            code=Code.NO_SOURCE_PACKAGE,
            help='pip install "tidelog[delta]"',
        ) from error


def schema_of(metadata: Mapping[str, Any]) -> TableSchema:
    """Returns the columns that a `metaData` action describes."""
    from deltalake import Schema

    document = json.loads(metadata["schemaString"])
    schema = pa.schema(Schema.from_json(metadata["schemaString"]))
    physical = {
        each["name"]: each["metadata"].get(f"{_MAPPING}physicalName", each["name"]) for each in document["fields"]
    }
    nested = frozenset(
        each["name"]
        for each in document["fields"]
        if not isinstance(each["type"], str) and f"{_MAPPING}physicalName" in json.dumps(each["type"])
    )
    return TableSchema(
        metadata["id"],
        physical,
        {each.name: each.type for each in schema},
        frozenset(physical.get(name, name) for name in metadata["partitionColumns"]),
        nested,
    )


def schema_at(table: Any) -> TableSchema:
    """Returns the columns of a version that `DeltaLog.at` has read."""
    found = table.metadata()
    document = {
        "id": str(found.id),
        "schemaString": table.schema().to_json(),
        "partitionColumns": found.partition_columns,
    }
    return schema_of(document)


def unknown_feature(protocol: Any) -> str | None:
    """Returns a feature of a table that readers must know and this module does not."""
    features = protocol.get("readerFeatures") if isinstance(protocol, Mapping) else protocol.reader_features
    return next((each for each in features or () if each not in _READABLE), None)


def unsupported(shown: str, feature: str) -> DataError:
    """Makes the error for a feature of a table."""
    return DataError(
        f"{shown}: the table uses the feature `{feature}`, which is not supported",
        code=Code.UNSUPPORTED_SOURCE,
        help=f"drop it, for example with `ALTER TABLE … DROP FEATURE {feature}`, or write a copy of the table",
    )


def gone(shown: str, what: str) -> DataError:
    """Makes the error for changes that no longer exist."""
    return DataError(f"{shown}: {what}, so its changes cannot be read", code=Code.POSITION_GONE, help=START_AGAIN)


START_AGAIN = (
    "give the pipeline a new `state`, which starts with the present rows; to keep changes longer, raise the table's"
    " `delta.logRetentionDuration` and `delta.deletedFileRetentionDuration`"
)


def first_line(error: BaseException) -> str:
    """Returns the message of an error of deltalake without the frames behind it."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _file(action: Mapping[str, Any]) -> DataFile:
    vector = action.get("deletionVector")
    known = None if not vector else f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset')}"
    return DataFile(unquote(action["path"]), action.get("partitionValues") or {}, known, action.get("size"))


def _partition_text(value: Any, type_: pa.DataType | None) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
