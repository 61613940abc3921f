"""`program.relations` and `db.relations`: what is declared, and how many rows there are."""

from __future__ import annotations

import pytest

import tidelog

TEXT = """
input relation Host(id: u64, name: Option<string>) primary key (h) h.id
input multiset Seen(id: u64)
input stream Event(id: u64)
relation Named(id: u64)
output relation Both(id: u64)
Named(id) :- Host(id, Some{_}).
Both(id) :- Named(id), Seen(id), not Event(id).
"""


def test_a_program_lists_its_relations_with_columns_types_role_and_kind() -> None:
    relations = tidelog.compile(TEXT.replace(", not Event(id)", "")).relations
    assert list(relations) == ["Host", "Seen", "Event", "Named", "Both"]
    host = relations["Host"]
    assert (host.name, host.role, host.kind, host.key, host.rows) == ("Host", "input", "relation", "u64", None)
    assert dict(host.columns) == {"id": "u64", "name": "Option<string>"}
    assert [each.kind for each in relations.values()] == ["relation", "multiset", "stream", "relation", "relation"]
    assert [each.role for each in relations.values()] == ["input"] * 3 + ["internal", "output"]
    assert "input relation Host(id: u64, name: Option<string>)" in repr(relations)
    assert "<td>Host</td>" in relations._repr_html_()
    with pytest.raises(KeyError):
        relations["Hots"]


def test_a_database_lists_the_rows_of_the_last_commit() -> None:
    with tidelog.compile(TEXT.replace(", not Event(id)", "")).open() as db:
        with db.transaction() as tx:
            tx.insert("Host", [(1, "a"), (2, None)])
            tx.insert("Seen", [1, 1])
        before = db.relations
        assert {name: each.rows for name, each in before.items()} == {
            "Host": 2,
            "Seen": 1,
            "Event": 0,
            "Named": 1,
            "Both": 1,
        }
        with db.transaction() as tx:
            tx.add_rules("output relation Two(id: u64)\nTwo(id) :- Both(id).")
        assert db.relations["Two"].rows == 1
        assert "Two" not in before
        assert "output relation Two(id: u64)    1 row" in repr(db.relations)
