"""Values and their ids: equal values have equal ids, whatever way they come in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.io.declare import relation

import tidelog
from tidelog.engine.local.encoding.pool import ObjectPool, Pool
from tidelog.engine.local.encoding.string_pool import StringPool
from tidelog.engine.local.encoding.words import Values
from tidelog.types import STRING, U8, U128

PAIR = relation("Pair", left=STRING, n=U8, right=STRING, wide=U128)
TEXTS = st.lists(st.text(max_size=2), max_size=12)


@settings(deadline=None, max_examples=50)
@given(batches=st.lists(TEXTS, max_size=4), unused=st.sets(st.text(max_size=2)))
@pytest.mark.parametrize("make", [ObjectPool, StringPool])
def test_interning_many_at_once_is_interning_one_by_one(
    make: Callable[[], Pool], batches: Sequence[list[str]], unused: set[str]
) -> None:
    one_by_one, at_once = make(), make()
    for pool in (one_by_one, at_once):
        numbers = [pool.intern(text) for text in sorted(unused)]
        marked = pool.marks()
        marked[numbers[::2]] = True
        pool.prepare_sweep(marked)()  # so that ids are used again
    for texts in batches:
        found = at_once.intern_all(texts)
        assert found.tolist() == [one_by_one.intern(text) for text in texts]
        assert at_once.decode(found) == texts
        assert [at_once.find(text) for text in texts] == found.tolist()
    assert at_once.copy_values() == one_by_one.copy_values()
    assert len(at_once) == len(one_by_one)
    again = make()
    again.fill(at_once.copy_values())
    assert again.copy_values() == at_once.copy_values()
    for text in ("new", "newer"):
        assert again.intern(text) == at_once.intern(text)


def test_columns_of_one_type_share_their_ids() -> None:
    values = Values()
    rows = [("a", 1, "b", 5), ("b", 2, "b", 2**100), ("c", 3, "a", 5)]
    table = pa.table(
        {
            "left": pa.chunked_array([["a"], ["b", "c"]]),
            "n": pa.array([1, 2, 3], pa.uint8()),
            "right": ["b", "b", "a"],
            "wide": ["5", str(2**100), "5"],
        }
    )
    words = values.table_to_words(table, PAIR)
    assert words.tolist() == values.rows_to_words(rows, PAIR).tolist()
    assert words[0, 0] == words[2, 2] != words[1, 0] == words[0, 2]
    assert len(values.pool(STRING)) == 3
    assert values.words_to_rows(words, PAIR) == rows


def test_a_table_without_rows_has_no_words() -> None:
    table = pa.table({"left": [], "n": [], "right": [], "wide": []}).cast(
        pa.schema([("left", pa.string()), ("n", pa.uint8()), ("right", pa.string()), ("wide", pa.string())])
    )
    assert Values().table_to_words(table, PAIR).shape == (0, 4)


@pytest.mark.parametrize("sign", ["insert first", "delete first"])
def test_tables_and_rows_of_one_transaction_apply_in_call_order(sign: str) -> None:
    table = pa.table({"src": ["a", "b"], "dst": ["b", "c"]})
    text = "input relation Edge(src: string, dst: string)\noutput relation Out(x: string)\nOut(x) :- Edge(x, _)."
    with tidelog.compile(text).open() as db:
        with db.transaction() as tx:
            if sign == "insert first":
                tx.insert("Edge", table)
                tx.insert("Edge", [("z", "z")])
                tx.delete("Edge", table.slice(1))
            else:
                tx.delete("Edge", table)
                tx.insert("Edge", [("z", "z")])
                tx.insert("Edge", table.slice(0, 1))
        assert tx.changes["Out"].inserted == [("a",), ("z",)]
