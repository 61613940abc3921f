"""The second public surface: its names, and the examples in its docstrings."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from tidelog import dbsp
from tidelog.dbsp import ZSet, datalog, operators, stream, zset

NAMES = {
    "INTEGERS",
    "NESTED",
    "ZSETS",
    "Group",
    "Stream",
    "Trace",
    "ZSet",
    "delay",
    "differentiate",
    "distinct_changes",
    "eliminate",
    "feedback",
    "incremental",
    "integrate",
    "introduce",
    "join_changes",
    "lift",
    "nested_distinct_changes",
    "nested_join_changes",
    "streams_of",
}
MEMBERS = {
    "Group": {"add", "is_zero", "negate", "zero"},
    "Stream": {"at", "first", "group", "of"},
    "Trace": {"add", "batches", "bytes", "empty", "everything", "fanout", "find", "width", "without"},
    "ZSet": {
        "distinct",
        "flat_map",
        "from_words",
        "is_set",
        "items",
        "join",
        "map",
        "of",
        "project",
        "signs",
        "weights",
        "where",
        "words",
    },
}


def test_the_module_exports_exactly_these_names() -> None:
    assert set(dbsp.__all__) == NAMES
    assert len(dbsp.__all__) == len(NAMES)


@pytest.mark.parametrize("name", MEMBERS)
def test_each_class_has_exactly_these_public_members(name: str) -> None:
    assert {member for member in dir(getattr(dbsp, name)) if not member.startswith("_")} == MEMBERS[name]


def test_every_public_name_says_what_it_is() -> None:
    for name in dbsp.__all__:
        value = getattr(dbsp, name)
        assert value.__doc__ or name.isupper(), name
        for member in MEMBERS.get(name, ()):
            of = getattr(value, member)
            assert not callable(of) or of.__doc__, f"{name}.{member}"


@pytest.mark.parametrize("module", [dbsp, zset, stream, operators, datalog])
def test_the_examples_run_as_printed(module: ModuleType) -> None:
    names = {name: getattr(dbsp, name) for name in dbsp.__all__}
    result = doctest.testmod(module, extraglobs=names)
    assert result.attempted > 2
    assert result.failed == 0


def test_a_z_set_of_rows_of_different_lengths_is_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        ZSet.of((1,), (1, 2))
    with pytest.raises(ValueError, match="1 and of 2 columns"):
        ZSet.of((1,)) + ZSet.of((1, 2))
