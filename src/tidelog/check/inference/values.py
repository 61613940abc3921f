"""Compound values: tuples, structs, vectors, maps, references, closures; and the way to their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tidelog.check.declarations.declare_names import report_repeated
from tidelog.check.inference.arguments import arrange_fields
from tidelog.check.inference.calls import report_relation
from tidelog.check.inference.drafts import (
    BROKEN,
    FUNCTION,
    TUPLE,
    Draft,
    Flag,
    Shape,
    Unknown,
    current,
    describe,
    function_of,
    instantiate,
    named,
    shape,
    short_name,
    tuple_of,
)
from tidelog.check.inference.state import Frame, Inference, Reasons
from tidelog.check.names.scope import ConstructorEntry
from tidelog.check.program import Constructor
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.spans import Span
from tidelog.diagnostics.suggest import suggest
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression
from tidelog.types import UNIT

_Find = Callable[[Draft], Draft]

VEC, MAP, REF = "ddlog_std::Vec", "ddlog_std::Map", "ddlog_std::Ref"


def tuple_(at: Inference, node: ast.Tuple, wanted: Draft | None, reasons: Reasons) -> Draft:
    whole = shape(wanted)
    if not node.items:
        return UNIT
    if whole is not None and whole.head is TUPLE and len(whole.parts) == len(node.items):
        for item, part in zip(node.items, whole.parts):
            at.expect(item, part, *reasons)
        return tuple_of(whole.parts)
    return tuple_of(tuple(at.infer(item) for item in node.items))


def vector(at: Inference, node: ast.Vector, wanted: Draft | None, reasons: Reasons) -> Draft:
    first = _argument(wanted, VEC, 0)
    item = Unknown() if first is None else first
    for each in node.items:
        at.expect(each, item, *_beside(node.items, each))
    return library_type(at, VEC, node.span, item)


def map_literal(at: Inference, node: ast.MapLiteral, wanted: Draft | None, reasons: Reasons) -> Draft:
    key = _argument(wanted, MAP, 0) or Unknown()
    value = _argument(wanted, MAP, 1) or Unknown()
    keys, values = [entry.key for entry in node.entries], [entry.value for entry in node.entries]
    for entry in node.entries:
        at.expect(entry.key, key, *_beside(keys, entry.key))
        at.expect(entry.value, value, *_beside(values, entry.value))
    return library_type(at, MAP, node.span, key, value)


def reference(at: Inference, node: ast.Reference, wanted: Draft | None, reasons: Reasons) -> Draft:
    operand = at.infer(node.operand, _argument(wanted, REF, 0))
    return library_type(at, REF, node.span, operand)


def library_type(at: Inference, name: str, span: Span, *arguments: Draft) -> Draft:
    """Returns a type of the library, which must exist."""
    if at.environment.knows_type(name):
        return named(name, *arguments)
    return at.report(Code.UNKNOWN_TYPE, f"unknown type `{name}`", span, "the library is not there")


def _argument(wanted: Draft | None, name: str, place: int) -> Draft | None:
    """Returns an argument of the type that is wanted, if it has that name."""
    whole = shape(wanted)
    return whole.parts[place] if whole is not None and whole.head == name else None


def _beside(items: tuple[ast.Expression, ...] | list[ast.Expression], item: ast.Expression) -> Reasons:
    return () if item is items[0] else ((items[0].span, "the first one"),)


# Structs


def struct(at: Inference, node: ast.Struct, wanted: Draft | None, reasons: Reasons) -> Draft:
    if node.bare and at.module.find_relations(node.constructor.text):
        constructors = at.module.find_constructors(node.constructor.text)
        if not constructors or constructors[0].fields:
            return report_relation(at, node.constructor.text, node.span)
    entry = find_constructor(at, node)
    if entry is None:
        for argument in node.arguments:
            at.infer(argument.value)
        return BROKEN
    draft, fields = open_constructor(entry)
    whole = shape(wanted)
    if wanted is not None and whole is not None and whole.head == entry.type.name:
        at.solver.unify(draft, wanted)
    values = arrange_fields(at, node, entry, needs_all=True)
    if values is None:
        for argument in node.arguments:
            at.infer(argument.value)
        return draft
    for value, field, (name, _) in zip(values, fields, entry.fields):
        if value is not None:
            at.expect(value, field, *field_reason(entry, name))
    at.choices[id(node)] = (entry, values)
    return draft


def find_constructor(at: Inference, node: ast.Struct) -> ConstructorEntry | None:
    """Returns the constructor of a struct; reports one that does not exist."""
    return at.names.constructor(node.constructor.text, node.constructor.span, is_bare=node.bare)


def open_constructor(entry: ConstructorEntry) -> tuple[Draft, list[Draft]]:
    """Returns the type that a constructor makes, with fresh arguments, and the types of its fields."""
    meaning: dict[str, Draft] = {name: Unknown() for name in entry.type.parameters}
    fields = [BROKEN if type_ is None else instantiate(type_, meaning) for _, type_ in entry.fields]
    return instantiate(entry.type.type, meaning), fields


def field_reason(entry: ConstructorEntry, name: str) -> Reasons:
    """Returns the place where the field is declared, unless that is in the library."""
    if entry.type.module.is_library:
        return ()
    declaration = entry.type.declaration
    if isinstance(declaration, ast.RelationDeclaration):
        column = next(each for each in declaration.columns if each.name.text == name)
        return ((column.span, f"column `{name}` is declared here"),)
    assert isinstance(declaration.definition, ast.Constructors)
    last = entry.name.rpartition("::")[2]
    constructor = next(each for each in declaration.definition.constructors if each.name.text == last)
    field = next(each for each in constructor.fields if each.name.text == name)
    return ((field.span, f"field `{name}` is declared here"),)


# Parts


def is_reference(at: Inference, name: str) -> bool:
    """True if values of the type are seen through: `Ref`, `Intern`, and what else is a `shared_ref`."""
    definition = at.environment.definition(name)
    return definition is not None and any(each.name == "shared_ref" for each in definition.attributes)


def behind(at: Inference, draft: Draft) -> tuple[Draft, int]:
    """Returns the draft behind all references, and the number of references."""
    count = 0
    draft = current(draft)
    while True:
        whole = shape(draft)
        if whole is None or whole.head in (TUPLE, FUNCTION) or not is_reference(at, whole.head):
            return draft, count
        draft, count = current(whole.parts[0]), count + 1


def field_access(at: Inference, node: ast.FieldAccess, wanted: Draft | None, reasons: Reasons) -> Draft:
    return _part(at, node, lambda found: _field(at, node, found))


def tuple_field(at: Inference, node: ast.TupleField, wanted: Draft | None, reasons: Reasons) -> Draft:
    return _part(at, node, lambda found: _item(at, node, found))


def _part(at: Inference, node: ast.FieldAccess | ast.TupleField, find: _Find) -> Draft:
    """Returns the draft of a part of a value, once the value's type is known."""
    operand = at.infer(node.operand)
    found, count = behind(at, operand)
    if not isinstance(found, Unknown):
        at.choices[id(node)] = count
        return find(found)
    result = Unknown()

    def attempt() -> bool:
        found, count = behind(at, operand)
        if isinstance(found, Unknown):
            return False
        at.choices[id(node)] = count
        at.agree(node, find(found), result)
        return True

    example = "(u64, string)" if isinstance(node, ast.TupleField) else "T"
    unknown = partial(at.report_unknown, "a value whose part is wanted", node.operand, example)
    at.defer(attempt, lambda: [operand], unknown)
    return result


def _field(at: Inference, node: ast.FieldAccess, found: Draft) -> Draft:
    if found is BROKEN:
        return BROKEN
    name, span = node.field.text, node.field.span
    whole = shape(found)
    definition = None
    if whole is not None and whole.head not in (TUPLE, FUNCTION):
        definition = at.environment.definition(whole.head)
        if definition is None:
            return BROKEN
    constructors = definition.constructors or () if definition else ()
    having = [field for each in constructors for field in each.fields if field.name == name]
    if whole is None or definition is None or not having:
        guess = suggest(name, {field.name for each in constructors for field in each.fields})
        help = f"did you mean `.{guess}`?" if guess else None
        if help is None and at.module.find_functions(name):
            help = f"`.{name}()` calls the function"
        if help is None and name in ("dt", "str"):
            help = "functions are called on the value itself: `d.year()`, `s.len()`"
        return at.report(
            Code.UNKNOWN_FIELD, f"{describe(found)} has no field `{name}`", span, "no such field", help=help
        )
    if len(having) < len(constructors):
        without = next(each for each in constructors if all(field.name != name for field in each.fields))
        return at.report(
            Code.GUARDED_FIELD,
            f"not every {describe(found)} has a field `{name}`",
            span,
            f"`{short_name(without.name)}` has none",
            help=f"`match ({show_expression(node.operand)}) {{ {_having(constructors, name)} -> …, _ -> … }}`",
        )
    return instantiate(having[0].type, dict(zip(definition.parameters, whole.parts)))


def _having(constructors: Sequence[Constructor], name: str) -> str:
    """Returns a pattern for the first constructor with that field."""
    found = next(each for each in constructors if any(field.name == name for field in each.fields))
    return f"{short_name(found.name)}{{.{name} = {name}}}"


def _item(at: Inference, node: ast.TupleField, found: Draft) -> Draft:
    whole = shape(found)
    if found is BROKEN:
        return BROKEN
    if whole is None or whole.head is not TUPLE:
        message = f"{describe(found)} is not a tuple"
        return at.report(Code.UNKNOWN_FIELD, message, node.span, f"it has no part `{node.index}`")
    if node.index >= len(whole.parts):
        message = f"{describe(found)} has no part `{node.index}`"
        return at.report(Code.UNKNOWN_FIELD, message, node.span, f"it has {len(whole.parts)}, counted from 0")
    return whole.parts[node.index]


# Closures


def closure(at: Inference, node: ast.Closure, wanted: Draft | None, reasons: Reasons) -> Draft:
    whole = shape(wanted)
    count = len(node.parameters)
    if whole is None or whole.head is not FUNCTION or len(whole.parts) != count + 1:
        whole = function_of(count)
    names = [(each.name.text, each.span) for each in node.parameters]
    report_repeated(names, "a closure", "parameters", at.diagnostics)
    parts: list[Draft] = []
    flags: list[bool | Flag] = []
    at.depth += 1
    outer = at.frame
    with at.scope():
        for parameter, part, flag in zip(node.parameters, whole.parts, whole.flags):
            if parameter.type is not None:
                written = at.resolve(parameter.type.type)
                why = (parameter.type.span, "because of this annotation")
                if not at.solver.unify(part, written):
                    at.mismatch(parameter, written, part, (why,))
                part, flag = written, parameter.type.mutable
            local = at.declare(parameter.name.text, part, parameter.name.span, "parameter")
            local.flag = flag
            at.locals[id(parameter)] = local
            parts.append(part)
            flags.append(flag)
        result: Draft = whole.parts[-1]
        why_result: Reasons = ()
        if node.result is not None:
            result = at.resolve(node.result)
            why_result = ((node.result.span, "because of this annotation"),)
        at.frame = Frame(result, why_result[0] if why_result else None)
        at.expect(node.body, result, *why_result)
    at.frame = outer
    at.depth -= 1
    return Shape(FUNCTION, (*parts, result), tuple(flags))
