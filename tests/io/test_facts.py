from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.diagnostics.errors import DataError
from tidelog.io.facts import find_fact_files


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()


def test_each_file_belongs_to_the_relation_of_its_name(tmp_path: Path) -> None:
    touch(tmp_path, "B.tsv.gz", "A.csv", "C.parquet", "D.facts")
    found = find_fact_files(tmp_path, ["D", "C", "B", "A", "Absent"])
    assert {name: path.name for name, path in found.files.items()} == {
        "D": "D.facts",
        "C": "C.parquet",
        "B": "B.tsv.gz",
        "A": "A.csv",
    }
    assert found.strangers == ()


def test_data_files_of_no_relation_are_strangers_and_other_files_are_nothing(tmp_path: Path) -> None:
    touch(tmp_path, "Egde.csv", "notes.txt", "README", ".hidden.csv", "A.parquet.gz", "edge.csv")
    found = find_fact_files(tmp_path, ["Edge", "A"])
    assert found.files == {}
    assert [path.name for path in found.strangers] == ["Egde.csv", "edge.csv"]


def test_two_files_for_one_relation_are_refused(tmp_path: Path) -> None:
    touch(tmp_path, "Edge.csv", "Edge.tsv")
    with pytest.raises(DataError, match=r"both `Edge\.csv` and `Edge\.tsv` hold rows of `Edge`"):
        find_fact_files(tmp_path, ["Edge"])
