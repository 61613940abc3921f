"""A small compressed file does not fill the memory: its bytes are bounded, by default and by a variable."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

import tidelog
from tests.io.declare import relation
from tidelog import decompress
from tidelog.decompress import open_compressed, open_compressed_text
from tidelog.io.read import read_batches
from tidelog.types import STRING, U32
from tidelog.values import Definitions


def bomb(path: Path, size: int) -> Path:
    with gzip.open(path, "wb") as file:
        for _ in range(size >> 20):
            file.write(b"a" * (1 << 20))
    return path


def test_a_file_that_grows_a_thousandfold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompress, "_AT_LEAST", 1 << 20)
    path = bomb(tmp_path / "Edge.csv.gz", 16 << 20)
    with (
        pytest.raises(tidelog.DataError, match="decompressed, it has more than") as caught,
        open_compressed_text(path, encoding="utf-8") as file,
    ):
        file.readline()
    assert caught.value.code == "E507"
    assert "TIDELOG_MAX_DECOMPRESSED" in str(caught.value)


def test_rows_of_such_a_file_are_refused_however_they_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompress, "_AT_LEAST", 1 << 20)
    path = tmp_path / "Edge.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a,1\n" * (4 << 20))
    edge = relation("Edge", src=STRING, dst=U32)
    with pytest.raises(tidelog.DataError, match="decompressed, it has more than"):
        list(read_batches(path, edge, Definitions()))


def test_the_variable_sets_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bomb(tmp_path / "Edge.csv.gz", 2 << 20)
    monkeypatch.setenv("TIDELOG_MAX_DECOMPRESSED", str(2 << 20))
    with open_compressed(path) as file:
        assert len(file.read()) == 2 << 20
    monkeypatch.setenv("TIDELOG_MAX_DECOMPRESSED", "1000")
    with pytest.raises(tidelog.DataError, match="more than 1,000 bytes"), open_compressed(path) as file:
        file.read()
    monkeypatch.setenv("TIDELOG_MAX_DECOMPRESSED", "much")
    with pytest.raises(tidelog.DataError, match="is 'much', which is not a number of bytes"):
        open_compressed(path)


def test_a_file_compressed_by_zstd_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompress, "_AT_LEAST", 1 << 20)
    path = tmp_path / "Edge.csv.zst"
    with pa.output_stream(str(path), compression="zstd") as file:
        file.write(b"a,1\n" * (4 << 20))
    edge = relation("Edge", src=STRING, dst=U32)
    with pytest.raises(tidelog.DataError, match="decompressed, it has more than"):
        list(read_batches(path, edge, Definitions()))
    monkeypatch.setenv("TIDELOG_MAX_DECOMPRESSED", str(64 << 20))
    assert sum(len(batch) for batch in read_batches(path, edge, Definitions())) == 4 << 20
