"""The declared types of a program: what each is made of, and which is a part of which.

The kind of a type says how its values are held: `number`, `unsigned`, `float`, `symbol`, or a record or tagged union by
the name of the declaration that it comes from. Subset and union types are of the kind of their members.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.diagnostics.suggest import suggest
from tidelog.souffle.text import tree

PRIMITIVES = ("number", "unsigned", "float", "symbol")
NUMERIC = ("number", "unsigned", "float")


@dataclass(frozen=True, slots=True)
class BranchInfo:
    """A branch of a tagged union; `types` are those of its fields."""

    type: str
    name: str
    fields: tuple[tree.Attribute, ...]


@dataclass(slots=True)
class TypeTable:
    """`kinds` has every type that is right; `records`, `unions` and `branches` what values are made of."""

    declarations: dict[str, tree.TypeDeclaration] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    records: dict[str, tuple[tree.Attribute, ...]] = field(default_factory=dict)
    unions: dict[str, tuple[BranchInfo, ...]] = field(default_factory=dict)
    branches: dict[str, BranchInfo] = field(default_factory=dict)
    above: dict[str, frozenset[str]] = field(default_factory=dict)

    def kind(self, name: str) -> str | None:
        """Returns how values of a type are held; None for a type that is not declared."""
        return self.kinds.get(name)

    def is_part(self, name: str, of: str) -> bool:
        """Returns whether every value of a type is one of another."""
        name, of = self.alias(name), self.alias(of)
        if name == of:
            return True
        members = self._members(of)
        own = self._members(name)
        if own and not own <= {name}:
            return all(self.is_part(each, of) for each in own)
        ups = self._ups(name)
        return of in ups or any(member != of and (member == name or member in ups) for member in members)

    def _members(self, name: str) -> frozenset[str]:
        """Returns the types that a union is made of; none for other types."""
        seen: set[str] = set()
        waiting = [self.alias(name)]
        found: set[str] = set()
        while waiting:
            each = waiting.pop()
            declaration = self.declarations.get(each)
            if declaration is not None and declaration.form == "union" and each not in seen:
                seen.add(each)
                waiting += [self.alias(member) for member, _ in declaration.types]
            elif each not in seen:
                found.add(each)
        return frozenset(found) if seen else frozenset()

    def _ups(self, name: str) -> frozenset[str]:
        """Returns the types that a subset type is part of, and the type itself."""
        if name not in self.above:
            found: list[str] = []
            each: str | None = name
            while each is not None and each not in found:
                found.append(each)
                declaration = self.declarations.get(each)
                each = None
                if declaration is not None and declaration.form in ("subset", "alias"):
                    each = self.alias(declaration.types[0][0])
            self.above[name] = frozenset(found)
        return self.above[name]

    def alias(self, name: str) -> str:
        """Returns the type that a name stands for."""
        seen: set[str] = set()
        while name not in seen:
            seen.add(name)
            declaration = self.declarations.get(name)
            if declaration is None or declaration.form != "alias":
                return name
            name = declaration.types[0][0]
        return name

    def common(self, first: str, second: str) -> bool:
        """Returns whether some type is part of both."""
        if self.is_part(first, second) or self.is_part(second, first):
            return True
        ones, others = self._members(first) or {first}, self._members(second) or {second}
        return any(self.is_part(a, b) or self.is_part(b, a) for a in ones for b in others)


def read_types(items: Iterable[tree.Item], diagnostics: list[Diagnostic]) -> TypeTable:
    """Returns the types that a program declares; reports what is wrong with them."""
    table = TypeTable()
    table.kinds |= {name: name for name in PRIMITIVES}
    for item in items:
        if not isinstance(item, tree.TypeDeclaration):
            continue
        if item.name in PRIMITIVES:
            _say(
                diagnostics,
                Code.DUPLICATE_TYPE,
                f"`{item.name}` is a type of the language",
                item.span,
                "declared again",
            )
        elif item.name in table.declarations:
            first = table.declarations[item.name]
            diagnostics.append(
                diagnostic(
                    Code.DUPLICATE_TYPE,
                    f"type `{item.name}` is declared twice",
                    item.span,
                    "declared again",
                    related=[(first.span, "declared first")],
                )
            )
        else:
            table.declarations[item.name] = item
    for declaration in table.declarations.values():
        _read(declaration, table, diagnostics)
    for declaration in table.declarations.values():
        _kind(declaration, table, diagnostics)
    return table


def _read(item: tree.TypeDeclaration, table: TypeTable, diagnostics: list[Diagnostic]) -> None:
    def known(name: str, span: Span) -> None:
        if name not in table.declarations and name not in PRIMITIVES:
            meant = suggest(name, [*table.declarations, *PRIMITIVES])
            help = f"did you mean `{meant}`?" if meant else None
            _say(diagnostics, Code.UNKNOWN_TYPE, f"type `{name}` is not declared", span, "not known", help)

    for name, span in item.types:
        known(name, span)
    for attribute in item.attributes:
        known(attribute.type, attribute.span)
    _report_repeated(item.attributes, f"record `{item.name}`", diagnostics)
    if item.form == "record":
        table.records[item.name] = item.attributes
        table.kinds[item.name] = item.name
    if item.form == "branches":
        made = tuple(BranchInfo(item.name, branch.name, branch.attributes) for branch in item.branches)
        table.unions[item.name] = made
        table.kinds[item.name] = item.name
        for branch, info in zip(item.branches, made, strict=True):
            for attribute in branch.attributes:
                known(attribute.type, attribute.span)
            _report_repeated(branch.attributes, f"branch `{branch.name}`", diagnostics)
            if branch.name in table.branches:
                message = f"branch `{branch.name}` is declared twice"
                _say(diagnostics, Code.DUPLICATE_CONSTRUCTOR, message, branch.span, "declared again")
            table.branches.setdefault(branch.name, info)


def _report_repeated(attributes: tuple[tree.Attribute, ...], owner: str, diagnostics: list[Diagnostic]) -> None:
    seen: set[str] = set()
    for attribute in attributes:
        if attribute.name in seen:
            message = f"{owner} has two fields `{attribute.name}`"
            _say(diagnostics, Code.REPEATED_NAME, message, attribute.span, "here again")
        seen.add(attribute.name)


def _kind(item: tree.TypeDeclaration, table: TypeTable, diagnostics: list[Diagnostic]) -> None:
    """Notes the kind of a subset, alias or union type; reports one that leads back to itself, or mixes kinds."""
    if item.form in ("record", "branches"):
        return
    found: dict[str, Span] = {}
    waiting = [(name, span) for name, span in item.types]
    seen: set[str] = {item.name}
    circular = False
    while waiting:
        name, span = waiting.pop()
        declaration = table.declarations.get(name)
        if name in PRIMITIVES or (declaration is not None and declaration.form in ("record", "branches")):
            found.setdefault(name, span)
            if item.form == "subset" and name in table.records:
                message = f"subset type `{item.name}` is of the record type `{name}`"
                _say(diagnostics, Code.TYPE_MISMATCH, message, span, "a record type has no subset types")
            if item.form == "union" and name not in PRIMITIVES:
                message = f"union `{item.name}` has `{name}`, which is no number or symbol"
                _say(diagnostics, Code.TYPE_MISMATCH, message, span, "records and tagged unions have no unions")
        elif declaration is None:
            continue
        elif name in seen:
            circular = circular or name == item.name
        else:
            seen.add(name)
            waiting += declaration.types
    if circular:
        _say(
            diagnostics,
            Code.RECURSIVE_ALIAS,
            f"type `{item.name}` is declared by itself",
            item.span,
            "leads back to it",
        )
    elif len(found) > 1:
        kinds = " and ".join(f"`{name}`" for name in sorted(found))
        _say(diagnostics, Code.TYPE_MISMATCH, f"type `{item.name}` mixes {kinds}", item.span, "of several kinds")
    elif found:
        table.kinds[item.name] = next(iter(found))


def _say(
    diagnostics: list[Diagnostic], code: Code, message: str, span: Span, label: str, help: str | None = None
) -> None:
    diagnostics.append(diagnostic(code, message, span, label, help=help))
