"""Aggregates over rows against SQL: random tables and queries, the same in DuckDB, under histories with deletes.

A query has one or two tables, some conditions, a key of columns or of an expression, and up to three aggregates. The
tables have integers of several widths, doubles that are sums of few powers of two (so that SQL's sums are exact, too),
and columns that may be null. One case is one query over one state of the tables.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from typing import Any

import pytest

import tidelog

duckdb = pytest.importorskip("duckdb", reason="DuckDB is the reference, and is not installed: pip install duckdb")

# Column, type, SQL type, and values.
COLUMNS: list[tuple[str, str, str, list[Any]]] = [
    ("k", "string", "VARCHAR", ["a", "b", "c"]),
    ("d", "u32", "UINTEGER", list(range(15))),
    ("p", "u32", "UINTEGER", [0, 1, 10, 10, 10, 250, 2**32 - 1]),
    ("s", "s64", "BIGINT", [-(2**62), -5, 0, 5, 7, 2**62]),
    ("x", "double", "DOUBLE", [0.5, -1.25, 4.0, 1024.0]),
    ("o", "Option<s32>", "INTEGER", [None, None, -7, 0, 3, 3]),
]
NAMES = [name for name, *_ in COLUMNS]
QUERIES = 12
STATES = 5


@dataclass(frozen=True)
class Query:
    """A rule body with its head, and the SELECT that means the same."""

    columns: tuple[str, ...]
    rule: str
    sql: str


def _declaration(name: str) -> str:
    columns = ", ".join(f"{column}: {type_}" for column, type_, _, _ in COLUMNS)
    return f"input relation {name}(id: u32, {columns})\n"


def _atom(name: str, used: dict[str, str]) -> str:
    return f"{name}(_, {', '.join(used.get(column, '_') for column in NAMES)})"


AGGREGATES = [
    # The call, its SQL, and the type of the result.
    ("count()", "count(*)", "u64"),
    ("count(o)", "count(r.o)", "u64"),
    ("sum(p)", "coalesce(sum(r.p), 0)", "u64"),
    ("sum(s)", "coalesce(sum(r.s), 0)", "bigint"),
    ("sum(x)", "coalesce(sum(r.x), 0)", "double"),
    ("sum(o)", "coalesce(sum(r.o), 0)", "s64"),
    ("sum((p as u64) * 3)", "coalesce(sum(r.p::BIGINT * 3), 0)", "u64"),
    ("avg(p)", "sum(r.p)::DOUBLE / count(r.p)", "double"),
    ("avg(s)", "sum(r.s)::DOUBLE / count(r.s)", "double"),
    ("avg(o)", "sum(r.o)::DOUBLE / nullif(count(r.o), 0)", "Option<double>"),
    ("min(p)", "min(r.p)", "u32"),
    ("max(s)", "max(r.s)", "s64"),
    ("min(o)", "min(r.o)", "Option<s32>"),
    ("max(o)", "max(r.o)", "Option<s32>"),
    ("max(k)", "max(r.k)", "string"),
    ("min(x)", "min(r.x)", "double"),
]
KEYS = [
    ("k", "r.k", "string", ""),
    ("d", "r.d", "u32", ""),
    ("w", "r.d // 7", "u32", "d / 7"),
    ("o", "r.o", "Option<s32>", ""),
]


def random_query(rng: random.Random, number: int) -> tuple[str, Query]:
    """The declaration and the rule of a query, and the query."""
    asked = rng.sample(AGGREGATES, rng.choice((1, 1, 2, 3)))
    keys = rng.sample(KEYS, rng.choice((0, 1, 1, 2)))
    body = [_atom("R", {column: column for column in NAMES})]
    tables, where = "R AS r", []
    if rng.random() < 0.4:
        body.append(_atom("S", {"k": "k"}))
        tables, where = "R AS r, S AS t", ["r.k = t.k"]
    if rng.random() < 0.4:
        body.append("d < 9")
        where.append("r.d < 9")
    names = [f"a{place}" for place in range(len(asked))]
    calls = ", ".join(call for call, _, _ in asked)
    targets = ", ".join(f"var {name}: {type_}" for name, (_, _, type_) in zip(names, asked))
    by = ", ".join(f"{name} = {value}" if value else name for name, _, _, value in keys)
    body.append(f"{targets} = {calls} by ({by})" if len(asked) == 1 else f"({targets}) = ({calls}) by ({by})")
    selected = ", ".join([*(sql for _, sql, _, _ in keys), *(sql for _, sql, _ in asked)])
    sql = f"SELECT {selected} FROM {tables}"
    sql += f" WHERE {' AND '.join(where)}" if where else ""
    sql += f" GROUP BY {', '.join(each for _, each, _, _ in keys)}" if keys else ""
    # Without a key SQL has a row for nothing, with nulls; here only counts and sums have one.
    is_sum = all(call.startswith(("count", "sum")) for call, _, _ in asked)
    sql += "" if keys or is_sum else " HAVING count(*) > 0"
    head = [*(name for name, *_ in keys), *names]
    types = [*(type_ for _, _, type_, _ in keys), *(type_ for _, _, type_ in asked)]
    declared = ", ".join(f"c{place}: {type_}" for place, type_ in enumerate(types))
    rule = f"Q{number}({', '.join(head)}) :- {', '.join(body)}."
    return f"output relation Q{number}({declared})\n{rule}\n", Query(tuple(types), rule, sql)


def _row(rng: random.Random, id_: int) -> tuple[Any, ...]:
    return (id_, *(rng.choice(values) for _, _, _, values in COLUMNS))


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row with `None` for null, whatever an Option looks like."""
    return tuple(_plain_value(value) for value in row)


def _plain_value(value: Any) -> Any:
    name = type(value).__name__
    return None if name.endswith("None") or value is None else value.x if name.endswith("Some") else value


def check_queries(seed: int) -> int:
    """Runs some queries over some states of two tables; returns the number of cases."""
    rng = random.Random(seed)
    made = [random_query(rng, number) for number in range(QUERIES)]
    text = _declaration("R") + _declaration("S") + "".join(declared for declared, _ in made)
    tables: dict[str, dict[int, tuple[Any, ...]]] = {"R": {}, "S": {}}
    sql = duckdb.connect()
    for name in tables:
        sql.execute(f"CREATE TABLE {name} (id UINTEGER, {', '.join(f'{c} {t}' for c, _, t, _ in COLUMNS)})")
    with tidelog.compile(text).open() as db:
        for state in range(STATES):
            with db.transaction() as tx:
                for name, rows in tables.items():
                    gone = [] if state == 0 else rng.sample(sorted(rows), len(rows) * (state == 3) or len(rows) // 4)
                    new = [_row(rng, 100 * state + i) for i in range(0 if state == 3 else rng.choice((0, 3, 20)))]
                    tx.delete(name, [rows.pop(id_) for id_ in gone])
                    tx.insert(name, new)
                    rows.update((row[0], row) for row in new)
                    sql.executemany(f"DELETE FROM {name} WHERE id = ?", [(id_,) for id_ in gone] or [(-1 % 2**32,)])
                    for row in new:
                        sql.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
            for number, (_, query) in enumerate(made):
                found = sorted(map(_plain, db.relation(f"Q{number}").rows()), key=repr)
                expected = sorted(map(tuple, sql.execute(query.sql).fetchall()), key=repr)
                assert found == [_typed(row, query) for row in expected], (seed, state, query)
    return QUERIES * STATES


def _typed(row: tuple[Any, ...], query: Query) -> tuple[Any, ...]:
    """A row of SQL with the Python types of ours: sums are decimals or integers there."""
    return tuple(
        value if value is None or type_ == "string" else float(value) if "double" in type_ else int(value)
        for value, type_ in zip(row, query.columns, strict=True)
    )


def test_row_aggregates_agree_with_sql() -> None:
    assert sum(check_queries(seed) for seed in range(5)) >= 300


@pytest.mark.slow
def test_row_aggregates_agree_with_sql_in_ten_thousand_cases() -> None:
    """`TIDELOG_CASES` sets another number of cases."""
    wanted, done, seed = int(os.environ.get("TIDELOG_CASES", "10000")), 0, 1000
    while done < wanted:
        done += check_queries(seed)
        seed += 1
