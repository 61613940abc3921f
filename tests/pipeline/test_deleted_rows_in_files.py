"""Tables whose files have deleted rows beside them: deletion vectors of Delta; position deletes and deletion vectors of
Iceberg. Iceberg's equality deletes are refused.

The libraries read such tables but do not write them, so the tests write the logs and files themselves, as the
formats say.
"""

from __future__ import annotations

import json
import struct
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.folder import REACH_FROM_DELTA, Pipe, closure
from tidelog.diagnostics.errors import DataError

CHAIN = [(f"n{i}", f"n{i + 1}") for i in range(6)]


def edges(rows: Sequence[tuple[str, str]]) -> pa.Table:
    src, dst = zip(*rows, strict=True)
    return pa.table({"src": src, "dst": dst})


def deletion_vector(rows: Sequence[int]) -> dict[str, Any]:
    """An inline deletion vector: a roaring bitmap with one container of these row numbers, in Z85."""
    data = struct.pack("<IQI", 1681511377, 1, 0) + _bitmap(rows)
    padded = data + b"\0" * (-len(data) % 4)
    text = _z85(padded)
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": len(rows)}


def _bitmap(rows: Sequence[int]) -> bytes:
    """A roaring bitmap of 32 bits with one container, which lists its numbers."""
    header = struct.pack("<IIHH", 12346, 1, 0, len(rows) - 1)
    return header + struct.pack("<I", len(header) + 4) + struct.pack(f"<{len(rows)}H", *sorted(rows))


def _z85(data: bytes) -> str:
    letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    text = ""
    for (word,) in struct.iter_unpack(">I", data):
        text += "".join(letters[word // 85**place % 85] for place in (4, 3, 2, 1, 0))
    return text


class Vectors:
    """A Delta table of one file, whose versions have other deletion vectors."""

    def __init__(self, path: Path) -> None:
        self.path, self.version = path, 0
        self.last: dict[str, Any] | None = None
        schema = {
            "type": "struct",
            "fields": [{"name": name, "type": "string", "nullable": True, "metadata": {}} for name in ("src", "dst")],
        }
        (path / "_delta_log").mkdir(parents=True)
        pq.write_table(edges(CHAIN), path / "part-0.parquet")
        features = ["deletionVectors"]
        self.commit(
            {
                "protocol": {"minReaderVersion": 3, "minWriterVersion": 7}
                | {"readerFeatures": features, "writerFeatures": features}
            },
            {
                "metaData": {
                    "id": "5a0c2c58-5b3c-4d55-8ed9-7cf6e2b6a8a1",
                    "format": {"provider": "parquet", "options": {}},
                    "schemaString": json.dumps(schema),
                    "partitionColumns": [],
                    "configuration": {"delta.enableDeletionVectors": "true"},
                    "createdTime": 0,
                }
            },
            {"add": self._file()},
        )

    def delete(self, rows: Sequence[int]) -> None:
        """Makes these the deleted rows of the file."""
        removed = {**self._file(self.last), "deletionTimestamp": 0, "extendedFileMetadata": True}
        del removed["stats"], removed["modificationTime"]
        self.last = deletion_vector(rows) if rows else None
        self.commit({"remove": removed}, {"add": self._file(self.last)})

    def commit(self, *actions: dict[str, Any]) -> None:
        text = "\n".join(json.dumps(action) for action in actions)
        (self.path / "_delta_log" / f"{self.version:020}.json").write_text(text + "\n")
        self.version += 1

    def _file(self, vector: dict[str, Any] | None = None) -> dict[str, Any]:
        size = (self.path / "part-0.parquet").stat().st_size
        found: dict[str, Any] = {"path": "part-0.parquet", "partitionValues": {}, "size": size, "dataChange": True}
        found |= {"modificationTime": int(time.time() * 1000), "stats": json.dumps({"numRecords": len(CHAIN)})}
        return found | ({"deletionVector": vector} if vector else {})


@pytest.mark.parametrize("starts_with", [None, (1, 4)], ids=["whole", "with-deleted-rows"])
def test_deletion_vectors_delete_and_restore_rows(tmp_path: Path, starts_with: tuple[int, ...] | None) -> None:
    pytest.importorskip("deltalake")
    table, pipe = Vectors(tmp_path / "edges"), Pipe(tmp_path, file=REACH_FROM_DELTA)
    deleted: Sequence[int] = starts_with or ()
    if deleted:
        table.delete(deleted)
    pipe.run()
    assert pipe.summed("reach") == closure(_left(deleted))
    for deleted in ((1, 2), (2,), (0, 2, 5), (), (0, 1, 2, 3, 4, 5)):
        table.delete(deleted)
        (step,) = pipe.run()
        assert step.conflicts == 0
        assert pipe.summed("reach") == closure(_left(deleted))


def _left(deleted: Sequence[int]) -> list[tuple[str, str]]:
    return [row for place, row in enumerate(CHAIN) if place not in deleted]


@pytest.mark.parametrize("form", ["PARQUET", "PUFFIN"], ids=["position-deletes", "deletion-vectors"])
def test_deletes_of_iceberg_delete_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    pytest.importorskip("pyiceberg")
    from tests.pipeline.test_iceberg import edges as numbered
    from tests.pipeline.test_iceberg import expected, started

    pipe, table = started(tmp_path, *((place, *row) for place, row in enumerate(CHAIN)))
    pipe.run()
    file = next(iter(table.scan().plan_files())).file.file_path
    deleted: set[int] = set()
    for number, rows in enumerate(([1, 4], [0], [2, 5])):
        deleted |= set(rows)
        if form == "PUFFIN":  # a vector has all deleted rows of its file
            content = _puffin(file, sorted(deleted))
        else:
            content = _positions(file, rows)
        _commit_deletes(table, content, form, number, monkeypatch)
        (step,) = pipe.run()
        assert step.conflicts == 0
        assert pipe.summed("reach") == closure(_left(sorted(deleted))) == expected(table)
    table.append(numbered((9, "n4", "n9")))
    pipe.run()
    assert pipe.summed("reach") == closure([*_left(sorted(deleted)), ("n4", "n9")])


def test_equality_deletes_of_iceberg_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyiceberg")
    from tests.pipeline.test_iceberg import started

    pipe, table = started(tmp_path, *((place, *row) for place, row in enumerate(CHAIN)))
    pipe.run()
    _commit_deletes(table, _file_of(pa.table({"src": ["n1"]})), "PARQUET", 0, monkeypatch, content="EQUALITY_DELETES")
    with pytest.raises(DataError, match="the table has equality deletes, which are not supported") as caught:
        pipe.run()
    assert (caught.value.code, "rewrite_data_files" in str(caught.value)) == ("E871", True)
    assert pipe.summed("reach") == closure(CHAIN)


def _positions(file: str, rows: Sequence[int]) -> bytes:
    return _file_of(pa.table({"file_path": [file] * len(rows), "pos": pa.array(rows, pa.int64())}))


def _file_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def _puffin(file: str, rows: Sequence[int]) -> bytes:
    """A Puffin file with one blob, the deletion vector of a data file."""
    vector = bytes.fromhex("d1d33964") + struct.pack("<QI", 1, 0) + _bitmap(rows)
    blob = struct.pack(">I", len(vector)) + vector + struct.pack(">I", zlib.crc32(vector))
    fields = {"type": "deletion-vector-v1", "fields": [2147483546], "snapshot-id": -1, "sequence-number": -1}
    properties = {"referenced-data-file": file, "cardinality": str(len(rows))}
    about = {"blobs": [{**fields, "offset": 4, "length": len(blob), "properties": properties}]}
    footer, magic = json.dumps(about).encode(), b"PFA1"
    return magic + blob + magic + footer + struct.pack("<iI", len(footer), 0) + magic


def _commit_deletes(
    table: Any,
    deletes: bytes,
    form: str,
    number: int,
    monkeypatch: pytest.MonkeyPatch,
    *,
    content: str = "POSITION_DELETES",
) -> None:
    """Commits a snapshot with a file of deletes."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent, ManifestWriterV2
    from pyiceberg.typedef import Record

    table.refresh()
    path = Path(table.location().removeprefix("file://"), "data", f"deletes-{number}.{form.lower()}")
    path.write_bytes(deletes)
    file = DataFile.from_args(
        content=DataFileContent[content],
        file_path=f"file://{path}",
        file_format=FileFormat[form],
        partition=Record(),
        record_count=1,
        file_size_in_bytes=len(deletes),
        equality_ids=[2] if content == "EQUALITY_DELETES" else None,
    )
    file.spec_id = 0
    with monkeypatch.context() as patch:
        patch.setattr(ManifestWriterV2, "content", lambda writer: ManifestContent.DELETES)
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            append.append_data_file(file)
