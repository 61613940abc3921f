"""A Python object with named fields → its values by name: dataclasses, named tuples, and similar classes.

Fields are those that the class declares (dataclasses, named tuples, attrs, pydantic, msgspec; none of them needs to be
installed); of any other object, its public attributes. Methods, class attributes and properties are no fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def record_fields(value: Any) -> Mapping[str, Any] | None:
    """Returns the fields by name; None for an object without fields, such as a number, a text or a class."""
    if isinstance(value, type):
        return None
    names = _declared(type(value))
    if names is None:
        names = [name for name in getattr(value, "__dict__", ()) if not name.startswith("_")]
    # A field that was deleted, or never set, is missing.
    return {name: getattr(value, name) for name in names if hasattr(value, name)} or None


def named_tuple_fields(value: tuple[Any, ...]) -> Mapping[str, Any] | None:
    """Returns the items of a named tuple by name; None for any other tuple."""
    names = getattr(value, "_fields", None)
    return dict(zip(names, value)) if names else None


def _declared(kind: type) -> list[str] | None:
    """Returns the fields that a class declares, in order; None where it declares none."""
    if hasattr(kind, "__dataclass_fields__"):
        from dataclasses import fields

        return [field.name for field in fields(kind)]
    if hasattr(kind, "__attrs_attrs__"):
        return [attribute.name for attribute in kind.__attrs_attrs__]
    for names in ("__struct_fields__", "model_fields"):  # msgspec, pydantic
        if hasattr(kind, names):
            return list(getattr(kind, names))
    return None
