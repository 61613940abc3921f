"""The state of one inference: the drafts of all expressions of one function or one rule.

`infer` gives every node a draft; the rules for the kinds of nodes are in the other files of this package, one function
each. `expect` holds a node against the type that its place wants, and reports at the innermost expression that does not
fit. What cannot be decided yet (an overloaded call, the field of a value whose type is not known) is deferred and tried
again whenever something it waits for becomes known; `finish` lets guesses and defaults decide what is left, checks
literals, and reports what stayed open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

from tidelog.check.inference.drafts import (
    BROKEN,
    LARGEST,
    Draft,
    Flag,
    Kind,
    Solver,
    Unknown,
    current,
    describe,
    holds,
    unknowns,
)
from tidelog.check.inference.remedies import annotated, conversion
from tidelog.check.names.resolve_name import Names
from tidelog.check.names.resolve_type import TypeResolver
from tidelog.check.names.scope import Environment, Module
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.scaled_values import fits
from tidelog.syntax import ast
from tidelog.types import DecimalType, FloatType, IntegerType, Type, integer_range

Reason = tuple[Span, str]
Reasons = tuple[Reason, ...]


Entry = TypeVar("Entry")


class BrokenDraftError(Exception):
    """Something has no type, because what it depends on was reported; perhaps in another function or declaration."""


class Decisions(dict[int, Entry]):
    """What was decided about nodes. Nothing is decided about a node only when what it depends on was reported."""

    def __missing__(self, key: int) -> Entry:
        raise BrokenDraftError


@dataclass(slots=True, eq=False)
class Local:
    """A variable. `unique` is its name in the typed tree; `depth` counts the closures around its declaration.

    `origin` says what may be done with it: a `var` may be set, a `parameter` if its flag says so, a variable of a
    `match` if what is matched may; a `loop` or `rule` variable may not.
    """

    name: str
    unique: str
    draft: Draft
    span: Span
    origin: str
    depth: int = 0
    flag: bool | Flag = False


@dataclass(slots=True)
class Frame:
    """What `return` and `?` leave: a function, a closure, or (`result` is None) the expression of a rule."""

    result: Draft | None
    reason: Reason | None = None
    loops: int = 0


@dataclass(slots=True, eq=False)
class Pending:
    """Something that waits. `attempt` says whether it is done, `waits_for` what it needs; at the end `guess` may decide
    (it says whether it did), and `give_up` reports."""

    attempt: Callable[[], bool]
    waits_for: Callable[[], Sequence[Draft]]
    give_up: Callable[[], None]
    guess: Callable[[], bool] | None = None
    is_done: bool = False


@dataclass(slots=True, eq=False)
class _Literal:
    node: ast.Expression
    value: int | Decimal
    draft: Draft


Rule = Callable[["Inference", Any, "Draft | None", Reasons], Draft]


@dataclass(slots=True, eq=False)
class Inference:
    """`drafts` are by the identity of nodes; so are `locals` (what a name means), `choices` (what was decided) and
    `groups` (the `group_by` of a rule, which stands for a variable)."""

    environment: Environment
    module: Module
    diagnostics: list[Diagnostic]
    rules: ClassVar[dict[type, Rule]] = {}
    solver: Solver = field(default_factory=Solver)
    drafts: dict[int, Draft] = field(default_factory=dict)
    locals: Decisions[Local] = field(default_factory=Decisions)
    choices: Decisions[Any] = field(default_factory=Decisions)
    groups: dict[int, Local] = field(default_factory=dict)
    scopes: list[dict[str, Local]] = field(default_factory=lambda: [{}])
    frame: Frame = field(default_factory=lambda: Frame(None))
    depth: int = 0
    names: Names = field(init=False)
    types: TypeResolver = field(init=False)
    _literals: list[_Literal] = field(default_factory=list)
    _pending: list[Pending] = field(default_factory=list)
    _unique: dict[str, int] = field(default_factory=dict)
    _is_draining: bool = False
    _reported_before: int = field(init=False)

    def __post_init__(self) -> None:
        self._reported_before = len(self.diagnostics)
        self.names = Names(self.module, self.diagnostics)
        self.types = TypeResolver(self.names, self.diagnostics)

    @property
    def errors(self) -> int:
        """The number of errors since the inference began."""
        return len(self.diagnostics) - self._reported_before

    # Nodes

    def infer(self, node: ast.Expression, wanted: Draft | None = None, reasons: Reasons = ()) -> Draft:
        """Returns the draft of the node and of everything below it. A draft that is wanted is a hint, not a demand."""
        draft = self.rules[type(node)](self, node, wanted, reasons)
        self.drafts[id(node)] = draft
        return draft

    def expect(self, node: ast.Expression, wanted: Draft, *reasons: Reason) -> Draft:
        """Infers the node and holds it against what its place wants; `reasons` say why it wants that."""
        return self.agree(node, self.infer(node, wanted, reasons), wanted, *reasons)

    def agree(
        self, node: ast.Expression, found: Draft, wanted: Draft, *reasons: Reason, help: str | None = None
    ) -> Draft:
        """Unifies; where that fails, reports at the node. Returns the draft that is wanted, or BROKEN."""
        if found is not wanted and not self.solver.unify(found, wanted):
            self.mismatch(node, found, wanted, reasons, help or conversion(node, found, wanted))
            return BROKEN
        self.drain()
        return wanted

    def mismatch(
        self, node: ast.Node, found: Draft, wanted: Draft, reasons: Sequence[Reason], help: str | None = None
    ) -> None:
        """Reports a value of the wrong type."""
        shown, wish = describe(found), describe(wanted)
        self.report(
            Code.TYPE_MISMATCH,
            f"expected {wish}, found {shown}",
            node.span,
            f"this is {shown}",
            related=reasons,
            help=help,
        )

    def draft(self, node: ast.Expression) -> Draft:
        """Returns the draft of a node that was inferred."""
        return current(self.drafts[id(node)])

    def type(self, node: ast.Expression) -> Type:
        """Returns the type of a node, after `finish`. Raises BrokenDraftError where something is wrong, which was
        reported."""
        return self.solved(self.drafts[id(node)], node.span)

    def solved(self, draft: Draft, span: Span) -> Type:
        """Returns the type of a draft. Raises BrokenDraftError where something is wrong, which was reported, or is
        now."""
        type_ = self.solver.solve(draft)
        if type_ is None:
            if self.solver.is_too_large and not self.errors:
                message = f"the type of this has more than {LARGEST} parts"
                self.report(Code.TOO_WIDE, message, span, "too large a type")
            raise BrokenDraftError
        return type_

    def resolve(self, syntax: ast.Type) -> Draft:
        """Returns the type that is written, or BROKEN where there is none."""
        type_ = self.types.resolve(syntax)
        return BROKEN if type_ is None else type_

    # Variables

    def declare(self, name: str, draft: Draft, span: Span, origin: str) -> Local:
        """Returns a new variable in the innermost scope; it may hide another one."""
        count = self._unique.get(name, 0)
        self._unique[name] = count + 1
        local = Local(name, f"{name}#{count}" if count else name, draft, span, origin, self.depth)
        self.scopes[-1][name] = local
        return local

    def local(self, name: str) -> Local | None:
        """Returns the variable of that name that is visible now."""
        for scope in reversed(self.scopes):
            found = scope.get(name)
            if found is not None:
                return found
        return None

    def visible(self) -> list[str]:
        """Returns the names of all variables that are visible now."""
        return [name for scope in self.scopes for name in scope]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Opens a scope; variables declared in the block end with it."""
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()

    # Literals

    def literal(self, node: ast.Expression, value: int) -> Draft:
        """Returns the draft of an integer literal without a width."""
        draft = Unknown(Kind.NUMBER, value)
        self._literals.append(_Literal(node, value, draft))
        return draft

    def fraction(self, node: ast.Expression, value: Decimal) -> Draft:
        """Returns the draft of a literal with a point and without a width."""
        draft = Unknown(Kind.FRACTION)
        self._literals.append(_Literal(node, value, draft))
        return draft

    # What waits

    def defer(
        self,
        attempt: Callable[[], bool],
        waits_for: Callable[[], Sequence[Draft]],
        give_up: Callable[[], None],
        guess: Callable[[], bool] | None = None,
    ) -> None:
        """Tries now, and again whenever one of the drafts that it waits for becomes known."""
        if attempt():
            self.drain()
            return
        pending = Pending(attempt, waits_for, give_up, guess)
        self._pending.append(pending)
        self._watch(pending)

    def drain(self) -> None:
        """Runs everything that waited for a draft that is now known."""
        if self._is_draining:
            return
        self._is_draining = True
        ready = self.solver.ready
        while ready:
            ready.popleft()()
        self._is_draining = False

    def _watch(self, pending: Pending) -> None:
        def retry() -> None:
            if not pending.is_done and not self._try(pending):
                self._watch(pending)

        seen: set[int] = set()
        for draft in pending.waits_for():
            for unknown in unknowns(draft):
                if id(unknown) not in seen:
                    seen.add(id(unknown))
                    unknown.waiting.append(retry)

    def _try(self, pending: Pending) -> bool:
        pending.is_done = pending.is_done or pending.attempt()
        return pending.is_done

    def finish(self) -> None:
        """Decides what is open, and reports what cannot be decided or does not fit."""
        self.drain()
        while any(not pending.is_done for pending in self._pending):
            self._pending = [pending for pending in self._pending if not pending.is_done]
            if not (self._guess() or self._default_numbers() or self._default_literals()):
                break
        for pending in self._pending:
            if not pending.is_done and not self.errors:
                pending.give_up()
        for literal in self._literals:
            self._finish_literal(literal)

    def _guess(self) -> bool:
        """Lets what waits decide for itself; False when nothing does."""
        has_guessed = False
        for pending in self._pending:
            if not pending.is_done and pending.guess is not None and pending.guess():
                has_guessed = True
                self._try(pending)
                self.drain()
        return has_guessed

    def _default_numbers(self) -> bool:
        """Gives numbers that something waits for their defaults; False when there are none."""
        has_settled = False
        for pending in self._pending:
            waits_for = () if pending.is_done else pending.waits_for()
            number = next((each for draft in waits_for for each in unknowns(draft) if each.kind is not Kind.ANY), None)
            if number is not None:
                has_settled = True
                self.solver.solve(number)
                self.drain()
        return has_settled

    def _default_literals(self) -> bool:
        """Gives the first open literal its default; False when there is none."""
        literal = next((each for each in self._literals if isinstance(current(each.draft), Unknown)), None)
        if literal is not None:
            self.solver.solve(literal.draft)
            self.drain()
        return literal is not None

    def _finish_literal(self, literal: _Literal) -> None:
        type_, value = self.solver.solve(literal.draft), literal.value
        if isinstance(type_, DecimalType):
            if not fits(Decimal(value), type_):
                label = f"{type_.precision} digits, {type_.scale} of them behind the point"
                message = f"`{cut(value)}` does not fit into `{type_}`"
                places = f"`{type_}` has {type_.scale} digits behind the point"
                self.report(Code.LITERAL_OUT_OF_RANGE, message, literal.node.span, label, help=places)
        elif isinstance(type_, IntegerType) and isinstance(value, int) and not holds(type_, value, value):
            low, high = integer_range(type_)
            label = f"`{type_}` holds {cut(low)} to {cut(high)}"
            message = f"`{cut(value)}` does not fit into `{type_}`"
            self.report(Code.LITERAL_OUT_OF_RANGE, message, literal.node.span, label)
        elif isinstance(type_, FloatType) and isinstance(value, int) and not is_finite(value):
            message = f"`{cut(value)}` does not fit into `{type_}`"
            self.report(Code.LITERAL_OUT_OF_RANGE, message, literal.node.span, "the largest is about 1.8e308")

    def report_unknown(
        self, what: str, node: ast.Expression, example: str = "u64", label: str = "its type is not known"
    ) -> None:
        """Reports a value whose type nothing says; `example` is a type that it could have."""
        message = f"the type of {what} is not known"
        self.report(Code.UNKNOWN_TYPE_HERE, message, node.span, label, help=annotated(node, example))

    def report(
        self,
        code: Code,
        message: str,
        span: Span,
        label: str,
        *,
        related: Sequence[Reason] = (),
        notes: Sequence[str] = (),
        help: str | None = None,
    ) -> Draft:
        """Reports, and gives the draft of what was reported."""
        self.diagnostics.append(diagnostic(code, message, span, label, related=related, notes=notes, help=help))
        return BROKEN


def is_finite(value: int) -> bool:
    """True if an integer, rounded to a `double`, is a number."""
    try:
        float(value)
    except OverflowError:
        return False
    return True


def cut(value: int | Decimal) -> str:
    """Returns a number, which may be hundreds of digits long, shortened for a message."""
    text = str(value)
    return text if len(text) <= 45 else f"{text[:20]}...{text[-5:]}"
