"""Random tables of every type, nulls in every place, through Python, Arrow, pandas, polars and files, and back."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import tidelog
from tests.database.random_tables import WAYS, check, random_table, send
from tests.sample import todays


@pytest.mark.parametrize("seed", todays(range(2_000), 6))
def test_rows_come_back_equal_by_every_way(seed: int, tmp_path: Path) -> None:
    check(random_table(Random(seed)), list(WAYS), tmp_path, {})


def test_nan_and_null_are_two_values_of_an_option_in_pandas(tmp_path: Path) -> None:
    program = tidelog.compile(
        "input relation A(n: u8, x: Option<double>, y: Option<float>)\noutput relation B(n: u8, x: Option<double>, "
        "y: Option<float>)\nB(n, x, y) :- A(n, x, y)."
    )
    with program.open() as db, program.open() as other:
        with db.transaction() as tx:
            tx.insert("A", [(1, float("nan"), None), (2, None, float("nan")), (3, 0.5, -0.5)])
        assert db.relation("A").to_pandas()["x"].tolist()[2] == 0.5
        assert str(db.relation("A").to_pandas()["y"].dtype) == "Float32"
        send(db, other, "pandas", tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("seed", todays(range(2_000), 2))
def test_spark_gives_the_rows_of_random_tables_back(seed: int, spark: Any, tmp_path: Path) -> None:
    table = random_table(Random(seed), columns=6, rows=6)
    program = tidelog.compile(table.text)
    with program.open() as local, program.open("spark", spark=spark) as db, program.open("spark", spark=spark) as other:
        for each in (local, db):
            with each.transaction() as tx:
                tx.insert("A", table.rows)
        assert db.relation("B").rows() == local.relation("B").rows() == local.relation("A").rows()
        with other.transaction() as tx:
            tx.insert("A", db.relation("A").to_spark())
        assert other.relation("B").rows() == local.relation("A").rows()
        with other.transaction() as tx:
            tx.delete("A", local.relation("A").to_arrow())
        assert len(other.relation("A")) == len(other.relation("B")) == 0
