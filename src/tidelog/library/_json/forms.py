"""A declared type → the form of its values in JSON: names and attributes.

Attributes are written `#[rust = "serde(…)"]`, on types, constructors and fields: `rename`, `rename_all`, `alias`,
`tag`, `flatten`, `default`, `with`, `skip_serializing_if`; others are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tidelog.check.program import Attribute
from tidelog.library._runtime.extern import ExternContext
from tidelog.types import NamedType, Type
from tidelog.values.structs import Struct

_SETTING = re.compile(r'([a-z_]+)\s*(?:=\s*"((?:[^"\\]|\\.)*)")?')


@dataclass(frozen=True, slots=True)
class FieldForm:
    """A field. `key` names the function from an item to its key, for a map that is an array of its values."""

    name: str
    type: Type
    aliases: tuple[str, ...] = ()
    flatten: bool = False
    has_default: bool = False
    as_string: bool = False
    skip_empty: bool = False
    key: str | None = None


@dataclass(frozen=True, slots=True)
class VariantForm:
    name: str
    cls: type[Struct]
    fields: tuple[FieldForm, ...]


@dataclass(frozen=True, slots=True)
class TypeForm:
    """A struct (one variant) or a tagged union; `tag` is the field that holds the constructor, if there is one."""

    name: str
    variants: tuple[VariantForm, ...]
    tag: str | None

    @property
    def is_struct(self) -> bool:
        return len(self.variants) == 1


def form(context: ExternContext, type_: NamedType) -> TypeForm:
    """Returns the form of a struct or union, made once for each type."""
    found = context.kept.get((form, type_))
    if not isinstance(found, TypeForm):
        found = context.kept[form, type_] = _form(context, type_)
    return found


def _form(context: ExternContext, type_: NamedType) -> TypeForm:
    definition = context.types[type_.name]
    own = _settings(definition.attributes)
    constructors = definition.constructors or ()
    is_struct = len(constructors) == 1
    restyle = _styles.get(own.get("rename_all", ""), str)
    module = type_.name.rpartition("::")[0]
    variants = []
    for constructor, variant in zip(constructors, context.definitions.variants(type_)):
        settings = _settings(constructor.attributes)
        name = settings.get("rename") or restyle(_last(constructor.name))
        inner = restyle if is_struct else _styles.get(settings.get("rename_all", ""), str)
        fields = tuple(
            _field(field.name, field.attributes, type_of_field, inner, "default" in own, module)
            for field, (_, type_of_field) in zip(constructor.fields, variant.fields)
        )
        variants.append(VariantForm(name, variant.cls, fields))
    return TypeForm(_last(type_.name), tuple(variants), None if is_struct else own.get("tag"))


def _field(
    name: str, attributes: Iterable[Attribute], type_: Type, restyle: Callable[[str], str], default: bool, module: str
) -> FieldForm:
    settings = _settings(attributes)
    key = next((str(each.value) for each in attributes if each.name == "deserialize_from_array"), None)
    return FieldForm(
        name=settings.get("rename") or restyle(name),
        aliases=tuple(filter(None, [settings.get("alias")])),
        type=type_,
        flatten="flatten" in settings,
        has_default=default or "default" in settings,
        as_string=_last(settings.get("with", "")) == "serde_string",
        skip_empty="skip_serializing_if" in settings,
        key=key if key is None or "::" in key or not module else f"{module}::{key}",
    )


def _settings(attributes: Iterable[Attribute]) -> dict[str, str]:
    """Returns the settings in `serde(…)` by name; a setting without a value has an empty one."""
    texts = (str(each.value).strip() for each in attributes if each.name == "rust")
    return {
        name: value.replace('\\"', '"').replace("\\\\", "\\")
        for text in texts
        if text.startswith("serde(") and text.endswith(")")
        for name, value in _SETTING.findall(text[len("serde(") : -1])
    }


def _last(name: str) -> str:
    return name.rpartition("::")[2]


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]*[^A-Z_]+|[A-Z]+", name)]


def _capitals(name: str) -> str:
    return "".join(word.capitalize() for word in _words(name))


_styles: dict[str, Callable[[str], str]] = {
    "lowercase": str.lower,
    "UPPERCASE": str.upper,
    "PascalCase": _capitals,
    "camelCase": lambda name: _capitals(name)[:1].lower() + _capitals(name)[1:],
    "snake_case": lambda name: "_".join(_words(name)),
    "SCREAMING_SNAKE_CASE": lambda name: "_".join(_words(name)).upper(),
    "kebab-case": lambda name: "-".join(_words(name)),
    "SCREAMING-KEBAB-CASE": lambda name: "-".join(_words(name)).upper(),
}
