"""One rule → its typed form: names, types and safety.

Conditions and negated literals only filter: they may stand anywhere, and take effect as soon as their variables are
bound. Everything else is read in the written order (`state` says how).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tidelog.check import program
from tidelog.check.declarations.attributes import read_attributes
from tidelog.check.functions.elaborate import Elaborator
from tidelog.check.functions.free_variables import free_variables
from tidelog.check.inference.control import iterate, iterated
from tidelog.check.inference.drafts import BROKEN, Draft
from tidelog.check.inference.patterns import pattern
from tidelog.check.inference.values import library_type
from tidelog.check.names.scope import Environment, Module
from tidelog.check.rule.atoms import ReadAtom, more_rows, read_body_atom, read_head_atom, typed_atom
from tidelog.check.rule.binders import Declaring, Matching, Negating
from tidelog.check.rule.groups import find_groups, group, read_group, typed_group
from tidelog.check.rule.remedy import binding_example, did_you_mean
from tidelog.check.rule.row_aggregates import read_row_aggregates
from tidelog.check.rule.state import RuleState, variables_of
from tidelog.check.rule.streams import StreamFlow
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression
from tidelog.types import BOOL, S64, U64, UNIT, Type

Filter = ast.Negative | ast.Condition
Waiting = tuple[Filter, set[str]]  # a filter, and the variables for which it waits
Make = Callable[[Elaborator], list[program.Literal]]

NESTED_TIME = "ddlog_std::DDNestedTS"


def check_rule(
    rule: ast.Rule, module: Module, environment: Environment, diagnostics: list[Diagnostic], *, recursive: bool
) -> program.Rule | None:
    """Returns the typed rule, or None when something is wrong with it, which is reported.

    `recursive` says whether a head depends on itself: then `Inspect` sees rounds as well as epochs.
    """
    checking = _Checking(rule, module, environment, diagnostics, recursive, {})
    checking.read()
    return None if checking.state.at.errors else checking.typed()


def check_body(
    rule: ast.Rule,
    module: Module,
    environment: Environment,
    diagnostics: list[Diagnostic],
    parameters: Mapping[str, Span],
) -> tuple[program.Rule, dict[str, Type]] | None:
    """Returns the typed rule of a query and the types of its parameters; None when something is wrong, which is
    reported.
    """
    checking = _Checking(rule, module, environment, diagnostics, False, parameters)
    checking.read()
    typed = None if checking.state.at.errors else checking.typed()
    return None if typed is None else (typed, checking.state.parameter_types())


class _Checking:
    def __init__(
        self,
        rule: ast.Rule,
        module: Module,
        environment: Environment,
        diagnostics: list[Diagnostic],
        recursive: bool,
        parameters: Mapping[str, Span],
    ) -> None:
        self._attributes = read_attributes(rule.attributes, "rule", diagnostics)
        self.state = RuleState(rule, module, environment, diagnostics, parameters)
        self._rule = rule
        self._at = self.state.at
        self._flow = StreamFlow(self._at)
        self._recursive = recursive
        self._makers: list[Make] = []
        self._heads: list[tuple[ast.Atom, ReadAtom]] = []
        self._groups = 0

    def read(self) -> None:
        """Checks the whole rule; `_makers` then make the literals in the order of evaluation."""
        waiting: list[Waiting] = []
        for literal in self._rule.body:
            if isinstance(literal, Filter) and not self._groups_in(literal):
                waiting.append((literal, variables_of(literal) & self.state.binders.keys()))
            else:
                self._bind(literal)
            waiting = self._settle(waiting)
        for literal, _ in waiting:
            self._filter(literal)
        for head in self._rule.heads:
            self._head(head)
        self.state.report_unknown_parameters()
        self._at.finish()

    def typed(self) -> program.Rule | None:
        """Returns the typed rule; only when nothing was reported. None when something is, now that all types are
        known."""
        make = Elaborator(self._at)

        def whole() -> program.Rule:
            body = [literal for maker in self._makers for literal in maker(make)]
            heads = tuple(typed_atom(read, atom, make, body) for atom, read in self._heads)
            return program.Rule(heads, tuple(body), self._rule.span, self._attributes)

        return make.complete(whole)

    # Literals

    def _settle(self, waiting: list[Waiting]) -> list[Waiting]:
        """Reads the filters whose variables are bound; those that some literal will still bind go on waiting."""
        still = []
        for literal, names in waiting:
            if names <= self.state.scope.keys():
                self._filter(literal)
            else:
                still.append((literal, names))
        return still

    def _groups_in(self, literal: ast.Literal) -> bool:
        return isinstance(literal, ast.Condition) and bool(find_groups(literal.expression))

    def _filter(self, literal: Filter) -> None:
        if isinstance(literal, ast.Condition):
            self._condition(literal)
        else:
            self._atom(literal)

    def _bind(self, literal: ast.Literal) -> None:
        match literal:
            case ast.Positive():
                self._atom(literal)
            case ast.Condition():
                self._condition(literal)
            case ast.Assignment():
                self._assign(literal)
            case ast.Destructuring():
                self._destructure(literal)
            case ast.FlatMap():
                self._flat_map(literal)
            case ast.Aggregate():
                self._aggregate(literal)
            case ast.RowAggregates():
                self._makers += read_row_aggregates(self.state, literal, self._group_name())
            case ast.Inspect():
                self._inspect(literal)
            case _:
                raise AssertionError("filters wait")

    def _atom(self, literal: ast.Positive | ast.Negative) -> None:
        is_positive = isinstance(literal, ast.Positive)
        binder = Matching(self.state, literal) if is_positive else Negating(self.state, literal)
        read = read_body_atom(self.state, literal.atom, binder)
        check_flow = self._flow.positive if is_positive else self._flow.negative
        check_flow(literal.atom, read.entry)
        kind = program.Positive if is_positive else program.Negative

        def make(elaborator: Elaborator) -> list[program.Literal]:
            before: list[program.Literal] = []
            atom = typed_atom(read, literal.atom, elaborator, before)
            return [*before, kind(atom, literal.span), *more_rows(read, elaborator)]

        self._makers.append(make)

    def _condition(self, literal: ast.Condition) -> None:
        self._computed(literal.expression, literal)
        self._at.expect(literal.expression, BOOL)
        self._makers.append(lambda make: [program.Condition(make.expression(literal.expression), literal.span)])

    def _assign(self, literal: ast.Assignment) -> None:
        name, span = literal.variable.text, literal.variable.span
        groups = find_groups(literal.value)
        is_group = len(groups) == 1 and groups[0] is literal.value and not self._is_taken_after(groups[0], name)
        self._computed(literal.value, literal, name if is_group else None)
        if literal.annotation is not None:
            wanted = self._at.resolve(literal.annotation)
            why = (literal.annotation.span, "because of this annotation")
            draft = self._at.expect(literal.value, wanted, why)
            draft = wanted if draft is not BROKEN else draft
        else:
            draft = self._at.infer(literal.value)
        if is_group:
            self.state.bound_at.setdefault(name, span)
            return
        if self.state.already_bound(name, span, literal.value):
            return
        local = self.state.bind(literal, name, draft, span)

        def make(elaborator: Elaborator) -> list[program.Literal]:
            value = elaborator.expression(literal.value)
            return [program.Assign(local.unique, value.type, value, literal.span)]

        self._makers.append(make)

    def _is_taken_after(self, node: ast.Expression, name: str) -> bool:
        """True if a variable survives the `group_by`, because it is part of the key."""
        key = node.arguments[-1:] if isinstance(node, ast.Call | ast.MethodCall) else ()
        return any(variable.name == name for variable in free_variables(*key))

    def _destructure(self, literal: ast.Destructuring) -> None:
        self._computed(literal.value, literal)
        draft = self._at.infer(literal.value)
        self._declare(literal.pattern, draft, literal, literal.value)
        self._makers.append(
            lambda make: [
                program.Destructure(make.pattern(literal.pattern), make.expression(literal.value), literal.span)
            ]
        )

    def _flat_map(self, literal: ast.FlatMap) -> None:
        self._computed(literal.value, literal)
        iterable = self._at.infer(literal.value)
        item = iterate(self._at, literal.value, iterable)
        self._declare(literal.pattern, item, literal, literal.value)

        def make(elaborator: Elaborator) -> list[program.Literal]:
            value = elaborator.dereferenced(
                elaborator.expression(literal.value), self._at.choices[iterated(literal.value)]
            )
            found = elaborator.pattern(literal.pattern)
            elaborator.irrefutable(literal.pattern, found, "a `FlatMap`")
            return [program.FlatMap(found, value, literal.span)]

        self._makers.append(make)

    def _declare(self, node: ast.Expression, draft: Draft, literal: ast.Literal, value: ast.Expression) -> None:
        binder = Declaring(self.state, literal)
        pattern(self._at, node, draft, binder, ((value.span, "the value that is taken apart"),))
        binder.finish()

    def _inspect(self, literal: ast.Inspect) -> None:
        at, span = self._at, literal.span
        time: Draft = library_type(at, NESTED_TIME, span) if self._recursive else U64
        with at.scope():
            at.declare("ddlog_weight", S64, span, "rule")
            at.declare("ddlog_timestamp", time, span, "rule")
            special = ("ddlog_weight", "ddlog_timestamp")
            for node in self.state.unbound(literal.expression):
                if node.name not in special:
                    self.state.require_before(node, literal)
            at.expect(literal.expression, UNIT, (span, "an inspected expression gives `()`"))
        self._makers.append(lambda make: [program.Inspect(make.expression(literal.expression), span)])

    # Groups

    def _computed(self, value: ast.Expression, literal: ast.Literal, name: str | None = None) -> None:
        """Sees to it that the variables of a value are bound; groups first if there is a `group_by` in it."""
        groups = find_groups(value)
        if groups:
            if len(groups) > 1:
                self._at.report(
                    Code.BAD_GROUP,
                    "an expression groups twice",
                    groups[1].span,
                    "grouped again",
                    related=[(groups[0].span, "grouped first")],
                    help=f"a group can be used twice: `var group = {show_expression(groups[0])}`",
                )
            maker = read_group(self.state, groups[0], literal, name or self._group_name())
            if maker is not None:
                self._makers.append(maker)
            for node in groups[1:] if maker is not None else groups:
                self._at.groups[id(node)] = self._at.declare(self._group_name(), BROKEN, node.span, "rule")
            for variable in self.state.unbound(*_around(value, groups)):
                self.state.require(variable)
        else:
            self.state.require_before(value, literal)

    def _group_name(self) -> str:
        self._groups += 1
        return f"group#{self._groups - 1}"

    def _aggregate(self, literal: ast.Aggregate) -> None:
        """`var c = Aggregate((x, y), f(e))` is `var c = f(e.group_by((x, y)))`."""
        span, name = literal.span, literal.variable
        key: ast.Expression = ast.Tuple(literal.keys, span=span)
        if len(literal.keys) == 1:
            key = literal.keys[0]
        group_name = self._group_name()
        local = group(self.state, literal.value, key, span, literal, group_name)
        if local is None:
            self.state.break_(name.text, name.span)
            return
        self._makers.append(lambda make: [typed_group(make, local, literal.value, key, span)])
        function: ast.Expression = ast.Variable(literal.function.text, span=literal.function.span)
        if literal.function.module:
            function = ast.FunctionName(literal.function.text, span=literal.function.span)
        argument = ast.Variable(group_name, span=literal.function.span)
        call = ast.Call(function, (argument,), span=literal.function.span)
        draft = self._at.infer(call)
        if not self.state.already_bound(name.text, name.span):
            bound = self.state.bind(name, name.text, draft, name.span)

            def make(elaborator: Elaborator) -> list[program.Literal]:
                value = elaborator.expression(call)
                return [program.Assign(bound.unique, value.type, value, span)]

            self._makers.append(make)

    # Heads

    def _head(self, atom: ast.Atom) -> None:
        read = read_head_atom(self.state, atom)
        self._require_in_head(read)
        for value, wanted, why in read.columns:
            if isinstance(value, ast.Wildcard):
                message = "`_` stands in a head"
                self._at.report(Code.MISPLACED_WILDCARD, message, value.span, "a head needs a value for every column")
            elif value is not None:
                self._at.expect(value, wanted, *why)
        if atom.location is not None:
            self.state.require(atom.location)
            self._at.infer(atom.location)
        self._flow.head(atom, read.entry, has_body=bool(self._rule.body))
        self._heads.append((atom, read))

    def _require_in_head(self, read: ReadAtom) -> None:
        missing: dict[str, tuple[ast.Variable, Type | None]] = {}
        for value, wanted, _ in read.columns:
            for node in self.state.unbound(value) if value is not None else ():
                type_ = self._at.solver.solve(wanted) if node is value else None
                missing.setdefault(node.name, (node, type_))
        if not missing:
            return
        for name, (node, _) in missing.items():
            self.state.break_(name, node.span)
        gone = {name for name, (node, _) in missing.items() if self._is_gone(node)}
        types = {name: type_ for name, (_, type_) in missing.items() if name not in gone}
        example = self._example(types) if types else None
        for name, (node, _) in missing.items():
            if name in gone:
                continue
            help = did_you_mean(name, self.state.bound_at)
            if help is None and example:
                help, example = f"bind it, for example `{example}`", None
            self._at.report(
                Code.UNBOUND_HEAD_VARIABLE,
                f"head variable `{name}` is not bound by the body",
                node.span,
                f"no positive literal mentions `{name}`" if self._rule.body else "a fact has no variables",
                help=help,
            )

    def _is_gone(self, node: ast.Variable) -> bool:
        return self.state.report_gone(node, Code.UNBOUND_HEAD_VARIABLE, "head variable")

    def _example(self, missing: dict[str, Type | None]) -> str | None:
        for literal in self._rule.body:
            if isinstance(literal, ast.RowAggregates) and not all(
                isinstance(key, ast.Variable | ast.Assign) for key in literal.keys
            ):
                return None  # the error of that key says how it becomes a variable
        relations = self._at.module.relations
        known = {name: entry for name, entry in relations.items() if not entry.is_explicit}
        return binding_example(self._rule, missing, known)


def _around(value: ast.Expression, groups: Sequence[ast.Expression]) -> list[ast.Expression]:
    """Returns the parts of an expression outside of its `group_by`s."""
    inside = {id(node) for node in groups}
    found: list[ast.Expression] = []
    stack = [value]
    while stack:
        node = stack.pop()
        if id(node) in inside:
            continue
        if any(id(each) in inside for each in ast.walk(node)):
            stack.extend(ast.children(node))
        else:
            found.append(node)
    return found
