"""`#[name = value]` as written → attributes with plain values; refuses those that do not exist where they stand.

#[rust = "…"]             the text
#[size = 8]               the number
#[iterate_by_ref = iter: 'A]         the type, as written
#[deserialize_from_array = key()]    the function, as written
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.check.program import Attribute
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.suggest import suggest
from tidelog.syntax import ast

_PLACES = {
    "type": (
        "size",
        "rust",
        "custom_serde",
        "custom_from_record",
        "shared_ref",
        "dyn_alloc",
        "alias",
        "iterate_by_ref",
        "iterate_by_val",
    ),
    "constructor": ("rust",),
    "field": ("rust", "deserialize_from_array"),
    "function": ("has_side_effects", "return_by_ref", "overflow"),
    "parameter": ("by_val",),
    "relation": ("original", "functional"),
    "rule": ("maintain", "join", "cycle", "max_rounds", "overflow"),
}
_WANTED = {
    "size": "a number",
    "functional": "a number",
    "rust": "a text",
    "original": "a text",
    "maintain": '`"trace"`',
    "join": '`"leapfrog"` or `"hash"`',
    "cycle": '`"error"`',
    "overflow": '`"error"` or `"wrap"`',
    "max_rounds": "a number above 0",
    "iterate_by_ref": "`iter:` and a type",
    "iterate_by_val": "`iter:` and a type",
    "deserialize_from_array": "a function, as in `f()`",
}
_CHOICES = {"maintain": ("trace",), "join": ("leapfrog", "hash"), "cycle": ("error",), "overflow": ("error", "wrap")}
_EXAMPLES = {
    "size": "8",
    "functional": "1",
    "rust": '"…"',
    "original": '"Edge"',
    "maintain": '"trace"',
    "join": '"leapfrog"',
    "cycle": '"error"',
    "overflow": '"error"',
    "max_rounds": "20",
    "iterate_by_ref": "iter: 'A",
    "iterate_by_val": "iter: 'A",
    "deserialize_from_array": "key()",
}


def read_attributes(
    attributes: Sequence[ast.Attribute], place: str, diagnostics: list[Diagnostic]
) -> tuple[Attribute, ...]:
    """Returns the attributes of a declaration; `place` is the kind of declaration: `type`, `field`, `relation` and so
    on."""
    return tuple(found for each in attributes if (found := _read(each, place, diagnostics)) is not None)


def find_attribute(attributes: Sequence[Attribute], name: str) -> Attribute | None:
    return next((attribute for attribute in attributes if attribute.name == name), None)


def _read(attribute: ast.Attribute, place: str, diagnostics: list[Diagnostic]) -> Attribute | None:
    name = attribute.name.text
    if name not in _PLACES[place]:
        guess = suggest(name, _PLACES[place])
        diagnostics.append(
            diagnostic(
                Code.BAD_ATTRIBUTE,
                f"a {place} has no attribute `{name}`",
                attribute.name.span,
                "no such attribute here",
                notes=() if guess else (f"a {place} takes {', '.join(f'`{each}`' for each in _PLACES[place])}",),
                help=f"did you mean `#[{guess}]`?" if guess else None,
            )
        )
        return None
    wanted = _WANTED.get(name)
    value = _value(attribute.value)
    kinds = {"size": int, "functional": int, "max_rounds": int}
    fits = value is not None and isinstance(value, kinds.get(name, str)) if wanted else attribute.value is None
    fits = fits and value in _CHOICES.get(name, (value,)) and not (name == "max_rounds" and value == 0)
    if not fits:
        message = f"attribute `{name}` wants {wanted or 'no value'}"
        help = f"`#[{name} = {_EXAMPLES[name]}]`" if wanted else f"`#[{name}]`"
        label = "it has none" if attribute.value is None else "another value"
        diagnostics.append(diagnostic(Code.BAD_ATTRIBUTE, message, attribute.span, label, help=help))
        return None
    if name == "original" and "\0" in str(value):
        message = "the value of `original` holds a character 0"
        diagnostics.append(diagnostic(Code.BAD_ATTRIBUTE, message, attribute.span, "no name has one"))
        return None
    return Attribute(name, value, attribute.span)


def _value(syntax: ast.Expression | None) -> str | int | None:
    match syntax:
        case ast.String(text):
            return text
        case ast.Integer(number):
            return number
        case ast.Annotation(ast.Variable("iter"), type_):
            return type_.span.text
        case ast.Call(ast.Variable(name) | ast.FunctionName(name), ()):
            return name
        case _:
            return None
