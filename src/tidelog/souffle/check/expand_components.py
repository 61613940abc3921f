"""A program with components → one without: every `.init` has become declarations and clauses with dots in their names.

    .comp Graph<T> { .decl edge(a: T, b: T) }          .decl g.edge(a: symbol, b: symbol)
    .init g = Graph<symbol>

A name inside a component means what the component declares, else what stands around it. Clauses of a base whose
relation is overridden are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.suggest import suggest
from tidelog.souffle.check.rename import renamed
from tidelog.souffle.text import tree

_DEEPEST = 100


def expand_components(program: tree.Program, diagnostics: list[Diagnostic]) -> tree.Program:
    """Returns the program without components; what is wrong with them is reported."""
    expanding = _Expanding(diagnostics)
    scope = _Scope({}, None, {})
    scope.components = expanding.declared(program.items, scope)
    items: list[tree.Item] = [item for item in program.items if not isinstance(item, tree.Component | tree.Instance)]
    _report_repeated(program.items, diagnostics)
    _report_clashes(program.items, diagnostics)
    for item in program.items:
        if isinstance(item, tree.Instance):
            items += expanding.instance(item, scope, 0)
        elif isinstance(item, tree.Component):
            expanding.check(item, scope)
    return replace(program, items=tuple(items))


@dataclass(slots=True)
class _Scope:
    """The components that can be named, from the inside outwards; `bound` are the parameters of the component."""

    components: Mapping[str, _Found]
    outer: _Scope | None
    bound: Mapping[str, str]

    def find(self, name: str) -> _Found | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.bound:
                name = scope.bound[name]
                scope = scope.outer
                continue
            if name in scope.components:
                return scope.components[name]
            scope = scope.outer
        return None

    def names(self) -> Iterable[str]:
        scope: _Scope | None = self
        while scope is not None:
            yield from scope.components
            scope = scope.outer


@dataclass(frozen=True, slots=True)
class _Found:
    """A component, and the scope that it stands in."""

    component: tree.Component
    scope: _Scope


@dataclass(slots=True)
class _Content:
    items: list[tree.Item]
    instances: list[tuple[tree.Instance, _Scope]]


class _Expanding:
    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self._diagnostics = diagnostics

    def declared(self, items: Iterable[tree.Item], scope: _Scope) -> dict[str, _Found]:
        found: dict[str, _Found] = {}
        for item in items:
            if isinstance(item, tree.Component):
                if item.type.name in found:
                    self._report(
                        Code.DUPLICATE_TYPE,
                        f"component `{item.type.name}` is declared twice",
                        item.type,
                        "declared again",
                        related=found[item.type.name].component.type,
                    )
                found.setdefault(item.type.name, _Found(item, scope))
        return found

    def check(self, component: tree.Component, scope: _Scope) -> None:
        """Reports bases and instances that do not exist, in components that nobody may use."""
        parameters = set(component.type.parameters)
        own = _Scope({}, scope, {})
        own.components = {
            item.type.name: _Found(item, own) for item in component.items if isinstance(item, tree.Component)
        }
        inherited: list[tree.Component] = []
        waiting = [*component.bases]
        seen: set[str] = set()
        while waiting:
            base = waiting.pop()
            if base.name in parameters or base.name in seen:
                continue
            seen.add(base.name)
            found = own.find(base.name)
            if found is None:
                if base in component.bases:
                    self._unknown(base, own)
                continue
            self._check_parameters(base, found.component)
            inherited.append(found.component)
            waiting += found.component.bases
            if found.component is component:
                self._report(
                    Code.RECURSIVE_ALIAS, f"component `{component.type.name}` is its own base", base, "leads back to it"
                )
                return
        nested = {item.type.name for base in inherited for item in base.items if isinstance(item, tree.Component)}
        _report_repeated(component.items, self._diagnostics)
        _report_clashes(component.items, self._diagnostics)
        opaque = any(base.name in parameters for base in component.bases)
        if not opaque:
            self._check_overrides(component, inherited)
        for item in component.items:
            if isinstance(item, tree.Instance):
                name = item.type.name
                found = own.find(name)
                if found is None and name not in parameters and name not in nested and not opaque:
                    self._unknown(item.type, own)
                elif found is not None:
                    self._check_parameters(item.type, found.component)
            elif isinstance(item, tree.Component):
                self.check(item, own)

    def _check_overrides(self, component: tree.Component, inherited: list[tree.Component]) -> None:
        declared = {
            item.name: "overridable" in item.qualifiers
            for base in inherited
            for item in base.items
            if isinstance(item, tree.RelationDeclaration)
        }
        for item in component.items:
            if not isinstance(item, tree.Override):
                continue
            if item.name not in declared:
                self._report(
                    Code.UNKNOWN_RELATION,
                    f"no base declares the relation `{item.name}`",
                    item,
                    "overridden here",
                    help=None,
                )
            elif not declared[item.name]:
                self._report(
                    Code.BAD_ATTRIBUTE,
                    f"the relation `{item.name}` cannot be overridden",
                    item,
                    "overridden here",
                    help="the base declares it with the qualifier `overridable`",
                )

    def instance(self, item: tree.Instance, scope: _Scope, depth: int) -> list[tree.Item]:
        """Returns what an instance stands for."""
        found = scope.find(item.type.name)
        if found is None:
            self._unknown(item.type, scope)
            return []
        if depth > _DEEPEST:
            self._report(Code.NESTED_TOO_DEEPLY, "components make instances of each other", item, "without end")
            return []
        if not self._check_parameters(item.type, found.component):
            return []
        content = self._content(found, item.type.parameters, [], depth, set())
        made = content.items
        for inner, inside in content.instances:
            made += self.instance(inner, inside, depth + 1)
        names = {name for each in made for name in _declared_names(each)}
        prefix = item.name

        def local(name: str, what: str) -> str:
            return f"{prefix}.{name}" if (name, what) in names else name

        return [renamed(each, local) for each in made]

    def _content(
        self, found: _Found, arguments: tuple[str, ...], overridden: list[str], depth: int, seen: set[int]
    ) -> _Content:
        """Returns the items of a component and its bases, with arguments in the place of parameters."""
        component = found.component
        if id(component) in seen:
            self._report(
                Code.RECURSIVE_ALIAS,
                f"component `{component.type.name}` is its own base",
                component.type,
                "in a circle",
            )
            return _Content([], [])
        bound = dict(zip(component.type.parameters, arguments, strict=False))
        scope = _Scope({}, found.scope, bound)
        scope.components = self.declared(component.items, scope)
        made = _Content([], [])
        overrides = [item for item in component.items if isinstance(item, tree.Override)]
        below = [*overridden, *(item.name for item in overrides)]
        nested: dict[str, _Found] = {}
        for base in component.bases:
            other = scope.find(base.name)
            if other is None:
                self._unknown(base, scope)
                continue
            if not self._check_parameters(base, other.component):
                continue
            given = tuple(bound.get(each, each) for each in base.parameters)
            inherited = self._content(other, given, below, depth, seen | {id(component)})
            made.items += inherited.items
            made.instances += inherited.instances
            inner = _Scope({}, other.scope, dict(zip(other.component.type.parameters, given, strict=False)))
            nested |= {
                item.type.name: _Found(item, inner)
                for item in other.component.items
                if isinstance(item, tree.Component)
            }
        scope.components = {**nested, **scope.components}
        for item in component.items:
            match item:
                case tree.Component() | tree.Override():
                    continue
                case tree.Instance():
                    made.instances.append((_bound_instance(item, bound), scope))
                    continue
                case tree.Clause(heads=heads) if any(head.name in overridden for head in heads):
                    kept = tuple(head for head in heads if head.name not in overridden)
                    if not kept:
                        continue
                    item = replace(item, heads=kept)
            made.items.append(renamed(item, lambda name, _: bound.get(name, name)) if bound else item)
        return made

    def _check_parameters(self, type_: tree.ComponentType, component: tree.Component) -> bool:
        if len(type_.parameters) == len(component.type.parameters):
            return True
        self._report(
            Code.WRONG_TYPE_ARGUMENTS,
            f"component `{type_.name}` takes {len(component.type.parameters)} parameters,"
            f" and has {len(type_.parameters)}",
            type_,
            "used here",
            related=component.type,
        )
        return False

    def _unknown(self, type_: tree.ComponentType, scope: _Scope) -> None:
        meant = suggest(type_.name, [*scope.names()])
        self._report(
            Code.UNKNOWN_TYPE,
            f"component `{type_.name}` is not declared",
            type_,
            "not known here",
            help=f"did you mean `{meant}`?" if meant else None,
        )

    def _report(
        self,
        code: Code,
        message: str,
        node: tree.Node,
        label: str,
        *,
        related: tree.Node | None = None,
        help: str | None = None,
    ) -> None:
        others = [] if related is None else [(related.span, "declared here")]
        self._diagnostics.append(diagnostic(code, message, node.span, label, related=others, help=help))


def _bound_instance(item: tree.Instance, bound: Mapping[str, str]) -> tree.Instance:
    parameters = tuple(bound.get(each, each) for each in item.type.parameters)
    return replace(item, type=replace(item.type, parameters=parameters))


def _declared_names(item: tree.Item) -> Iterable[tuple[str, str]]:
    match item:
        case tree.TypeDeclaration(name=name, branches=branches):
            yield name, "type"
            yield from ((branch.name, "branch") for branch in branches)
        case tree.RelationDeclaration(name=name):
            yield name, "relation"


def _report_repeated(items: Iterable[tree.Item], diagnostics: list[Diagnostic]) -> None:
    """Reports instances with the same name."""
    seen: dict[str, tree.Node] = {}
    for item in items:
        if isinstance(item, tree.Instance):
            if item.name in seen:
                diagnostics.append(
                    diagnostic(
                        Code.REPEATED_NAME,
                        f"the instance `{item.name}` is made twice",
                        item.span,
                        "made again",
                        related=[(seen[item.name].span, "made first")],
                    )
                )
            seen.setdefault(item.name, item)


def _report_clashes(items: Iterable[tree.Item], diagnostics: list[Diagnostic]) -> None:
    """Reports a name that two different things have: types, relations, components and instances share their names."""
    seen: dict[str, tuple[str, tree.Node]] = {}
    for item in items:
        match item:
            case tree.TypeDeclaration(name=name):
                what = "type"
            case tree.RelationDeclaration(name=name):
                what = "relation"
            case tree.Component(type=type_):
                what, name = "component", type_.name
            case tree.Instance(name=name):
                what = "instance"
            case _:
                continue
        earlier = seen.setdefault(name, (what, item))
        if earlier[0] != what:
            diagnostics.append(
                diagnostic(
                    Code.REPEATED_NAME,
                    f"`{name}` is the name of a {earlier[0]} and of a {what}",
                    item.type.span if isinstance(item, tree.Component) else item.span,
                    f"a {what} here",
                    related=[(earlier[1].span, f"a {earlier[0]} here")],
                )
            )
