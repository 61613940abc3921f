"""The kinds of a rule's arguments: how each value is held, found by making the arguments that must agree equal.

A constant without a suffix is of the kind that its surroundings want, `number` if they want none; so are the results of
arithmetic and aggregates. A record is of the type that its surroundings want.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.souffle.check.normal_form import Literal, Rule
from tidelog.souffle.check.type_table import NUMERIC, PRIMITIVES, TypeTable
from tidelog.souffle.text import tree

ARITHMETIC = frozenset(
    (
        "+",
        "-",
        "*",
        "/",
        "%",
        "^",
        "band",
        "bor",
        "bxor",
        "bshl",
        "bshr",
        "bshru",
        "land",
        "lor",
        "lxor",
        "neg",
        "bnot",
        "lnot",
        "range",
    )
)
INTEGERS_ONLY = frozenset(("%", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor", "bnot", "lnot"))
# The kinds of parameters (an empty one takes anything), and the kind of the result.
FIXED: dict[str, tuple[tuple[str, ...], str]] = {
    "strlen": (("symbol",), "number"),
    "substr": (("symbol", "number", "number"), "symbol"),
    "to_float": (("",), "float"),
    "to_number": (("",), "number"),
    "to_unsigned": (("",), "unsigned"),
    "to_string": (("",), "symbol"),
    "ord": (("",), "number"),
}


class Declarations(Protocol):
    """What a rule's names mean."""

    @property
    def types(self) -> TypeTable: ...

    @property
    def relations(self) -> Mapping[str, tree.RelationDeclaration]: ...

    @property
    def functors(self) -> Mapping[str, tree.FunctorDeclaration]: ...


class Kinds:
    """The kinds of one rule: `of` an argument, and `variables` by name."""

    def __init__(self, rule: Rule, declared: Declarations, diagnostics: list[Diagnostic]) -> None:
        self._declared, self._diagnostics = declared, diagnostics
        self._parent: dict[object, object] = {}
        self._kind: dict[object, str] = {}
        self._where: dict[object, tree.Node] = {}
        self._shape: dict[object, tree.Record] = {}
        self._open: list[tree.Record] = []
        self._records: list[tree.Record | tree.Nil] = []
        self._numeric: list[tuple[tree.Functor, tree.Node]] = []
        self._numbers: list[tree.Number] = []
        self._broken = False
        for literal in rule.body:
            self._literal(literal)
        self._atom(rule.head)
        if rule.better is not None:
            self._atom(rule.better)
        self._settle()
        self._check_numeric()
        self._check_records()

    def of(self, argument: tree.Argument) -> str:
        """Returns the kind of an argument."""
        return self._kind.get(self._find(self._key(argument)), "number")

    def columns(self, relation: str) -> tuple[str, ...]:
        """Returns the kinds of a relation's columns."""
        attributes = self._declared.relations[relation].attributes
        return tuple(self._declared.types.kind(each.type) or "number" for each in attributes)

    def is_known(self, argument: tree.Argument) -> bool:
        return self._find(self._key(argument)) in self._kind

    @property
    def variables(self) -> dict[str, str]:
        return {key[1]: self._kind.get(self._find(key), "number") for key in [*self._parent] if isinstance(key, tuple)}

    # Slots

    def _key(self, argument: tree.Node) -> object:
        return ("v", argument.name) if isinstance(argument, tree.Variable) else id(argument)

    def _find(self, key: object) -> object:
        parent = self._parent.setdefault(key, key)
        while parent != key:
            self._parent[key] = self._parent.setdefault(parent, parent)
            key, parent = parent, self._parent.setdefault(parent, parent)
        return key

    def _equal(self, first: tree.Argument, second: tree.Argument, where: tree.Node) -> None:
        a, b = self._find(self._key(first)), self._find(self._key(second))
        if a == b:
            return
        kind, other = self._kind.get(a), self._kind.get(b)
        if kind is not None and other is not None and kind != other:
            self._mismatch(where, kind, other)
            return
        self._parent[a] = b
        if kind is not None:
            self._kind[b] = kind
        record = self._shape.get(a)
        if record is not None:
            self._shaped(b, record, where)

    def _shaped(self, key: object, record: tree.Record, where: tree.Node) -> None:
        """Makes the fields of a record equal to those of another record that is the same value."""
        known = self._shape.setdefault(key, record)
        if known is not record and len(known.arguments) == len(record.arguments):
            for one, other in zip(known.arguments, record.arguments, strict=True):
                if not isinstance(one, tree.Unnamed) and not isinstance(other, tree.Unnamed):
                    self._equal(one, other, where)

    def _is(self, argument: tree.Argument, kind: str | None, where: tree.Node | None = None) -> None:
        if kind is None or isinstance(argument, tree.Unnamed):
            return
        key = self._find(self._key(argument))
        known = self._kind.setdefault(key, kind)
        if known != kind:
            self._mismatch(where or argument, known, kind)

    def _mismatch(self, where: tree.Node, found: str, wanted: str) -> None:
        self._broken = True
        self._diagnostics.append(
            diagnostic(
                Code.TYPE_MISMATCH,
                f"a value is both `{found}` and `{wanted}`",
                where.span,
                f"`{wanted}` is wanted here",
                help=_conversion(found, wanted),
            )
        )

    # Reading

    def _literal(self, literal: Literal) -> None:
        match literal:
            case tree.Atom():
                self._atom(literal)
            case tree.Negation(tree.Atom() as atom):
                self._atom(atom)
            case tree.Constraint(operator, left, right):
                self._argument(left)
                self._argument(right)
                if operator.removeprefix("!") in ("match", "contains") and operator != "!=":
                    self._is(left, "symbol")
                    self._is(right, "symbol")
                elif not isinstance(left, tree.Unnamed) and not isinstance(right, tree.Unnamed):
                    self._equal(left, right, literal)
            case _:
                pass

    def _atom(self, atom: tree.Atom) -> None:
        declaration = self._declared.relations.get(atom.name)
        columns = declaration.attributes if declaration is not None else ()
        for place, each in enumerate(atom.arguments):
            self._argument(each)
            if place < len(columns):
                self._is(each, self._declared.types.kind(columns[place].type))

    def _argument(self, found: tree.Argument) -> None:
        match found:
            case tree.Text():
                self._is(found, "symbol")
            case tree.Number(_, kind):
                if kind:
                    self._is(found, kind)
                else:
                    self._numbers.append(found)
            case tree.Counter() | tree.IterationCounter():
                self._is(found, "number" if isinstance(found, tree.Counter) else "unsigned")
            case tree.Record(arguments):
                for each in arguments:
                    self._argument(each)
                self._open.append(found)
                self._records.append(found)
                self._shaped(self._find(self._key(found)), found, found)
            case tree.Nil():
                self._records.append(found)
            case tree.Branch(name, arguments):
                for each in arguments:
                    self._argument(each)
                info = self._declared.types.branches.get(name)
                if info is not None:
                    self._is(found, info.type)
                    for each, field in zip(arguments, info.fields, strict=False):
                        self._is(each, self._declared.types.kind(field.type))
            case tree.Cast(inside, type_):
                self._argument(inside)
                wanted = self._declared.types.kind(type_)
                self._is(found, wanted)
                # A constant is written in the type that it is cast to: `as(1, float)` is 1.0.
                is_real = isinstance(inside, tree.Number) and not inside.kind and wanted == "float"
                if is_real or isinstance(inside, tree.Record | tree.Nil):
                    self._is(inside, wanted)
            case tree.Functor():
                self._functor(found)
            case tree.UserFunctor(name, arguments):
                declared = self._declared.functors.get(name)
                for place, each in enumerate(arguments):
                    self._argument(each)
                    if declared is not None and place < len(declared.parameters):
                        self._is(each, self._declared.types.kind(declared.parameters[place].type))
                if declared is not None:
                    self._is(found, self._declared.types.kind(declared.result))
            case tree.Aggregate():
                self._aggregate(found)
            case _:
                pass

    def _functor(self, found: tree.Functor) -> None:
        for each in found.arguments:
            self._argument(each)
        if found.name == "cat":
            for each in found.arguments:
                self._is(each, "symbol")
            self._is(found, "symbol")
        elif found.name in FIXED:
            parameters, result = FIXED[found.name]
            for each, kind in zip(found.arguments, parameters, strict=False):
                if kind:
                    self._is(each, kind)
            self._is(found, result)
        else:
            for each in found.arguments:
                if not isinstance(each, tree.Unnamed):
                    self._equal(found, each, found)
            self._numeric.append((found, found))

    def _aggregate(self, found: tree.Aggregate) -> None:
        body = found.body.parts if isinstance(found.body, tree.Conjunction) else (found.body,)
        for literal in body:
            self._literal(literal)  # type: ignore[arg-type]
        if found.target is not None:
            self._argument(found.target)
        if found.first is not None:
            self._argument(found.first)
        if found.function == "mean":
            self._is(found, "float")
        elif found.function.startswith("@@"):
            declared = self._declared.functors.get(found.function[2:])
            if declared is not None:
                self._is(found, self._declared.types.kind(declared.result))
        elif found.target is not None:
            self._equal(found, found.target, found)

    def _settle(self) -> None:
        """Gives records the types that their surroundings want, and their fields those of the record."""
        open_, found = self._open, True
        while found:
            found, rest = False, []
            for record in open_:
                kind = self._kind.get(self._find(self._key(record)))
                fields = self._declared.types.records.get(kind or "")
                if kind is None:
                    rest.append(record)
                    continue
                found = True
                if fields is None:
                    continue
                for each, field in zip(record.arguments, fields, strict=False):
                    self._is(each, self._declared.types.kind(field.type))
            open_ = rest
        for record in open_:
            if not self.is_known(record):
                self._is(record, self._unnamed(record))

    def _unnamed(self, record: tree.Record, outside: tuple[tree.Record, ...] = ()) -> str:
        """Returns a record type for a record that nothing names: one for each list of kinds."""
        for each in record.arguments:
            inside = self._shape.get(self._find(self._key(each)))
            if inside is not None and inside not in (record, *outside) and not self.is_known(each):
                self._is(each, self._unnamed(inside, (record, *outside)))
        kinds = [self.of(each) for each in record.arguments]
        name = f"[{', '.join(kinds)}]"
        types = self._declared.types
        if name not in types.kinds:
            span = record.span
            fields = tuple(tree.Attribute(f"f{place}", kind, span=span) for place, kind in enumerate(kinds))
            types.declarations[name] = tree.TypeDeclaration(name, "record", attributes=fields, span=span)
            types.records[name] = fields
            types.kinds[name] = name
        return name

    def _check_records(self) -> None:
        """Reports records that are wanted as something else, have other fields, or have no type at all."""
        for node in self._records:
            kind = self._kind.get(self._find(self._key(node)))
            what = "`nil`" if isinstance(node, tree.Nil) else "a record"
            if kind is None:
                self._say(Code.UNKNOWN_TYPE_HERE, f"nothing says which type {what} has", node, "of any record type")
            elif kind not in self._declared.types.records:
                if not self._broken:
                    self._say(Code.TYPE_MISMATCH, f"{what} is no `{kind}`", node, f"`{kind}` is wanted here")
            elif isinstance(node, tree.Record) and len(node.arguments) != len(self._declared.types.records[kind]):
                count = len(self._declared.types.records[kind])
                message = f"a record of type `{kind}` has {count} fields, and not {len(node.arguments)}"
                self._say(Code.WRONG_ARGUMENT_COUNT, message, node, f"{count} expected")

    def _say(self, code: Code, message: str, node: tree.Node, label: str) -> None:
        self._diagnostics.append(diagnostic(code, message, node.span, label))

    def _check_numeric(self) -> None:
        if self._broken:
            return
        for number in self._numbers:
            wanted = self.of(number)
            if wanted not in NUMERIC:
                self._mismatch(number, "number", wanted)
        for functor, where in self._numeric:
            kind = self._kind.get(self._find(self._key(functor)))
            if kind is None:
                continue
            allowed: tuple[str, ...] = NUMERIC
            if functor.name in INTEGERS_ONLY:
                allowed = ("number", "unsigned")
            elif functor.name in ("min", "max", "+"):
                allowed = PRIMITIVES
            if kind not in allowed:
                self._diagnostics.append(
                    diagnostic(
                        Code.WRONG_OPERAND,
                        f"`{'-' if functor.name == 'neg' else functor.name}` takes no `{kind}`",
                        where.span,
                        f"of the kind `{kind}`",
                    )
                )


def _conversion(found: str, wanted: str) -> str | None:
    names = {"number": "to_number", "unsigned": "to_unsigned", "float": "to_float", "symbol": "to_string"}
    if found in PRIMITIVES and wanted in PRIMITIVES:
        return f"`{names[wanted]}(x)` makes a `{wanted}` of a `{found}`"
    return None
