"""`Option` and `Result` in Python, for extern functions that may have no answer.

The classes are those of the types in `ddlog_std.dl`, which every program has.
"""

from __future__ import annotations

from typing import Any

from tidelog.values.structs import Shape, Struct, classes

_None, Some = classes(Shape("ddlog_std::Option", (("ddlog_std::None", ()), ("ddlog_std::Some", ("x",))), False))
Ok, Err = classes(Shape("ddlog_std::Result", (("ddlog_std::Ok", ("res",)), ("ddlog_std::Err", ("err",))), False))
NONE = _None()


def option(value: Any) -> Struct:
    """Returns `Some` of a value, `None` where there is none."""
    return NONE if value is None else Some(value)


def at(items: Any, index: int) -> Struct:
    """Returns the item at an index, if there is one; the index is not negative."""
    return Some(items[index]) if index < len(items) else NONE
