"""Values that are refused: the help leads to one that is taken."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tidelog
from tidelog.diagnostics.errors import DataError

PROGRAM = tidelog.compile("""
    typedef Level = Read | Write{deep: bool}
    input relation A(k: s64, level: Level)
    input relation B(k: s64, price: decimal<12, 2>)
    input relation C(k: s64, d: duration)
    input relation D(k: s64, at: timestamp)
""")
FRAME = pd.DataFrame({"k": [1], "price": [1.5]})
MOMENT = np.datetime64("2024-01-01T00:00:00.000000001")


def refused(relation: str, rows: Any) -> str:
    with PROGRAM.open() as db, pytest.raises(DataError) as caught, db.transaction() as tx:
        tx.insert(relation, rows)
    return caught.value.help or ""


def taken(relation: str, rows: Any) -> None:
    with PROGRAM.open() as db:
        with db.transaction() as tx:
            tx.insert(relation, rows)
        assert len(db.relation(relation)) == 1


@pytest.mark.parametrize(
    ("relation", "rows", "said", "instead"),
    [
        ("A", [(1, "Read")], "`program.types.Read()`", [(1, PROGRAM.types.Read())]),
        ("A", [(1, "Read")], '`{"tag": "Read"}`', [(1, {"tag": "Read"})]),
        ("A", [(1, "Write")], '`{"tag": "Write", "deep": …}`', [(1, {"tag": "Write", "deep": True})]),
        ("A", [(1, "Rad")], "the constructors are `Read`, `Write`", [(1, PROGRAM.types.Read())]),
        (
            "B",
            FRAME,
            '`[Decimal(f"{x:.2f}") for x in column]`',
            FRAME.assign(price=[Decimal(f"{x:.2f}") for x in FRAME.price]),
        ),
        ("B", list(FRAME.itertuples()), "`itertuples(index=False)`", [(1, Decimal("1.50"))]),
        ("C", [(1, 15)], "`timedelta(seconds=15)`", [(1, timedelta(seconds=15))]),
        (
            "C",
            pd.DataFrame({"k": [1], "d": [15]}),
            '`pd.to_timedelta(column, unit="s")`',
            pd.DataFrame({"k": [1], "d": pd.to_timedelta(pd.Series([15]), unit="s")}),
        ),
        (
            "C",
            pd.DataFrame({"k": [1], "d": [timedelta(1)]}).set_index("k"),
            "`frame.reset_index()`",
            pd.DataFrame({"k": [1], "d": [timedelta(1)]}).set_index("k").reset_index(),
        ),
        (
            "D",
            pd.DataFrame({"k": [1], "at": pd.period_range("2024-01", periods=1, freq="M")}),
            "`.dt.to_timestamp()`",
            pd.DataFrame({"k": [1], "at": pd.period_range("2024-01", periods=1, freq="M").to_timestamp()}),
        ),
        ("D", [(1, MOMENT)], "`.astype('datetime64[us]')`", [(1, MOMENT.astype("datetime64[us]"))]),
    ],
)
def test_the_help_leads_to_a_value_that_is_taken(relation: str, rows: Any, said: str, instead: Any) -> None:
    assert said in refused(relation, rows)
    taken(relation, instead)


def test_the_name_of_a_constructor_in_a_cell_has_the_same_help(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("k,level\n1,Read\n")
    with PROGRAM.open() as db:
        with pytest.raises(DataError) as caught, db.transaction() as tx:
            tx.load("A", path)
        assert '`{"tag": "Read"}`' in (caught.value.help or "")
        path.write_text('k,level\n1,"{""tag"": ""Read""}"\n')
        with db.transaction() as tx:
            tx.load("A", path)
        assert len(db.relation("A")) == 1
