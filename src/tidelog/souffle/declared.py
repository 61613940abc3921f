"""The declarations of a program whose components are gone: types, relations, functors, directives; by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.diagnostics.suggest import suggest
from tidelog.souffle import tree
from tidelog.souffle.habits import TYPES
from tidelog.souffle.type_table import PRIMITIVES, TypeTable, read_types


@dataclass(slots=True)
class Declared:
    """What names mean. `clauses` are those of relations that exist."""

    types: TypeTable
    relations: dict[str, tree.RelationDeclaration] = field(default_factory=dict)
    functors: dict[str, tree.FunctorDeclaration] = field(default_factory=dict)
    directives: list[tree.Directive] = field(default_factory=list)
    pragmas: dict[str, str] = field(default_factory=dict)
    clauses: list[tree.Clause] = field(default_factory=list)
    lattices: dict[str, tree.Lattice] = field(default_factory=dict)

    def kinds(self, name: str) -> tuple[str, ...]:
        """Returns the kinds of a relation's columns."""
        return tuple(self.types.kinds.get(each.type, "number") for each in self.relations[name].attributes)

    def inline(self) -> set[str]:
        """Returns the relations that are inlined: `no_inline` and `.pragma "inline-exclude"` keep one as it is."""
        excluded = self.pragmas.get("inline-exclude", "").replace(" ", "").split(",")
        return {
            name
            for name, each in self.relations.items()
            if "inline" in each.qualifiers and "no_inline" not in each.qualifiers and name not in excluded
        }

    def given(self, kind: str, name: str) -> list[tree.Directive]:
        """Returns the directives of a kind for a relation."""
        return [each for each in self.directives if each.kind == kind and each.name == name]


def declare(program: tree.Program, diagnostics: list[Diagnostic]) -> Declared:
    """Returns the declarations of a program; reports what is wrong with them."""
    made = Declared(read_types(program.items, diagnostics))
    checking = _Declaring(made, diagnostics)
    for item in program.items:
        match item:
            case tree.RelationDeclaration():
                checking.relation(item)
            case tree.FunctorDeclaration():
                checking.functor(item)
            case tree.Directive():
                made.directives.append(item)
            case tree.Pragma(key, value):
                made.pragmas[key] = value
            case tree.Clause():
                made.clauses.append(item)
            case tree.Lattice():
                made.lattices[item.name] = item
            case _:
                pass
    checking.deltas()
    for directive in made.directives:
        checking.directive(directive)
    return made


class _Declaring:
    def __init__(self, made: Declared, diagnostics: list[Diagnostic]) -> None:
        self._made, self._diagnostics = made, diagnostics

    def relation(self, item: tree.RelationDeclaration) -> None:
        earlier = self._made.relations.setdefault(item.name, item)
        if earlier is not item:
            self._report(
                Code.DUPLICATE_RELATION,
                f"relation `{item.name}` is declared twice",
                item.span,
                "declared again",
                related=[(earlier.span, "declared first")],
            )
            return
        seen: dict[str, Span] = {}
        for attribute in item.attributes:
            self._known(attribute)
            if attribute.name in seen:
                self._report(
                    Code.DUPLICATE_COLUMN,
                    f"relation `{item.name}` has two attributes `{attribute.name}`",
                    attribute.span,
                    "here again",
                    related=[(seen[attribute.name], "first here")],
                )
            seen.setdefault(attribute.name, attribute.span)
        for names, span in item.dependencies:
            for name in names:
                if name not in seen:
                    self._report(
                        Code.UNKNOWN_COLUMN,
                        f"relation `{item.name}` has no attribute `{name}`",
                        span,
                        "in this choice",
                        help=_meant(name, seen),
                    )
        if "eqrel" in item.qualifiers:
            self._equivalence(item)
        if item.dependencies and "inline" in item.qualifiers:
            self._report(
                Code.BAD_ATTRIBUTE,
                f"the inline relation `{item.name}` has a choice",
                item.span,
                "an inline relation has no rows to choose from",
            )

    def _equivalence(self, item: tree.RelationDeclaration) -> None:
        if len(item.attributes) != 2:
            self._report(
                Code.BAD_ATTRIBUTE,
                f"the equivalence relation `{item.name}` has {len(item.attributes)} attributes",
                item.span,
                "an equivalence relation has two",
            )
            return
        first, second = item.attributes
        types = self._made.types
        if types.alias(first.type) != types.alias(second.type):
            self._report(
                Code.TYPE_MISMATCH,
                f"the equivalence relation `{item.name}` is of `{first.type}` and `{second.type}`",
                item.span,
                "its two attributes have one type",
            )

    def deltas(self) -> None:
        """Gives relations of `debug_delta` the attributes of the relation that they are about."""
        for name, item in [*self._made.relations.items()]:
            if not item.delta_of:
                continue
            source = self._made.relations.get(item.delta_of)
            if source is None:
                self.unknown(item.delta_of, item.span)
                continue
            self._made.relations[name] = tree.RelationDeclaration(
                name, source.attributes, item.qualifiers, (), item.delta_of, span=item.span
            )

    def functor(self, item: tree.FunctorDeclaration) -> None:
        earlier = self._made.functors.setdefault(item.name, item)
        if earlier is not item:
            self._report(
                Code.DUPLICATE_FUNCTION,
                f"functor `{item.name}` is declared twice",
                item.span,
                "declared again",
                related=[(earlier.span, "declared first")],
            )
        for each in item.parameters:
            self._known(each)
        if item.result not in self._made.types.kinds:
            self._unknown_type(item.result, item.span)

    def directive(self, item: tree.Directive) -> None:
        if item.name not in self._made.relations:
            self.unknown(item.name, item.span)
            return
        inline = "inline" in self._made.relations[item.name].qualifiers
        if inline and item.kind in ("input", "output", "printsize"):
            self._report(
                Code.BAD_ATTRIBUTE,
                f"the inline relation `{item.name}` is in `.{item.kind}`",
                item.span,
                "an inline relation has no rows",
            )
        parameters = dict(item.parameters)
        if item.kind == "limitsize":
            number = parameters.get("n", "")
            if not number.isdigit():
                self._report(Code.BAD_NUMBER, "`.limitsize` has no number", item.span, "`n` is expected: `(n=100)`")
        if item.kind == "printsize":
            first = self._made.given("printsize", item.name)[0]
            if first is not item:
                self._report(
                    Code.REPEATED_NAME,
                    f"the size of `{item.name}` is printed twice",
                    item.span,
                    "`.printsize` again",
                    related=[(first.span, "`.printsize` first")],
                )
        if item.kind == "input":
            others = [each for each in self._made.given("input", item.name) if each is not item]
            if others and self._made.directives.index(item) > self._made.directives.index(others[0]):
                same = {tuple(sorted(each.parameters)) for each in (item, *others)}
                if len(same) == 1:
                    self._report(
                        Code.REPEATED_NAME, f"relation `{item.name}` is read twice", item.span, "`.input` again"
                    )

    def unknown(self, name: str, span: Span) -> None:
        self._report(
            Code.UNKNOWN_RELATION,
            f"relation `{name}` is not declared",
            span,
            "not known",
            help=_meant(name, self._made.relations),
        )

    def _known(self, attribute: tree.Attribute) -> None:
        if attribute.type not in self._made.types.kinds and attribute.type not in self._made.types.declarations:
            self._unknown_type(attribute.type, attribute.span)

    def _unknown_type(self, name: str, span: Span) -> None:
        known = [*self._made.types.declarations, *PRIMITIVES]
        meant = f"`{TYPES[name]}` is the type for it" if name in TYPES else _meant(name, known)
        self._report(Code.UNKNOWN_TYPE, f"type `{name}` is not declared", span, "not known", help=meant)

    def _report(
        self,
        code: Code,
        message: str,
        span: Span,
        label: str,
        *,
        related: Iterable[tuple[Span, str]] = (),
        help: str | None = None,
    ) -> None:
        self._diagnostics.append(diagnostic(code, message, span, label, related=related, help=help))


def _meant(name: str, known: Iterable[str]) -> str | None:
    found = suggest(name, [*known])
    return f"did you mean `{found}`?" if found else None
