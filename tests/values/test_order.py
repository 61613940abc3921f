"""Values of one type are equal, ordered and hashed as the language says."""

from __future__ import annotations

import copy
import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.values.typed_values import plain, types, values


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_order_of_values_is_that_of_their_parts(data: st.DataObject) -> None:
    type_ = data.draw(types)
    left, right = data.draw(values(type_)), data.draw(values(type_))
    first, second = plain(left, type_), plain(right, type_)
    assert (left < right) == (first < second)
    assert (left <= right) == (first <= second)
    assert (left > right) == (first > second)
    assert (left >= right) == (first >= second)
    assert (left == right) == (first == second)
    assert (left != right) == (first != second)
    if first == second:
        assert hash(left) == hash(right)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_values_survive_pickling_and_copying(data: st.DataObject) -> None:
    type_ = data.draw(types)
    value = data.draw(values(type_))
    for again in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)):
        assert again == value
        assert type(again) is type(value)
        assert plain(again, type_) == plain(value, type_)
