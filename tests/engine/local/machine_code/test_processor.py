"""The levels of a processor are read before any code is."""

from __future__ import annotations

import sys

import pytest

from tidelog.engine.local.machine_code import processor
from tidelog.engine.local.machine_code.processor import FEATURES, levels_of

ALL = frozenset[str]().union(*FEATURES.values())


def test_a_processor_has_a_level_if_it_has_all_features_of_it_and_below() -> None:
    assert levels_of(ALL) == ("x86-64-v3", "x86-64-v2", "x86-64")
    assert levels_of(ALL - {"avx2"}) == ("x86-64-v2", "x86-64")
    assert levels_of(ALL - {"ssse3"}) == ("x86-64",)
    assert levels_of(FEATURES["x86-64"]) == ("x86-64",)
    assert levels_of(frozenset()) == ()


@pytest.mark.parametrize(("name", "value"), [("platform", "darwin"), ("abiflags", "t")])
def test_other_systems_have_no_level(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.undo()  # of the machine of these tests, which has some
    monkeypatch.setattr(sys, name, value)
    processor.levels.cache_clear()
    try:
        assert processor.levels() == ()
    finally:
        processor.levels.cache_clear()
