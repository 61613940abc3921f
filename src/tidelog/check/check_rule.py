"""One rule → its typed form: names, types and safety.

The body is read in its written order. A positive literal binds the variables that it mentions alone, `var` binds one to
a value; what such a literal computes needs its variables bound before. Conditions and negated literals only filter:
they may stand anywhere, and take effect as soon as their variables are bound. What is wrong is reported at its own
place; a variable or relation that was reported once stays silent for the rest of the rule.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.check import program
from tidelog.check.arrange import arrange
from tidelog.check.declare import Signature, resolve_type
from tidelog.check.drafts import BROKEN, Draft, settle
from tidelog.check.elaborate import elaborate
from tidelog.check.infer import Inference, Reason
from tidelog.check.remedy import binding_example, did_you_mean, reordered_example
from tidelog.check.types import BOOL, Type
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.diagnostics.suggest import suggest
from tidelog.syntax import ast
from tidelog.syntax.show import show_atom, show_expression

Filter = ast.Negative | ast.Condition
Arranged = list[ast.Expression | None]
Placed = tuple[ast.Expression, Draft, tuple[Reason, ...]]  # an argument, the type of its column, and why


def check_rule(rule: ast.Rule, signatures: Mapping[str, Signature], diagnostics: list[Diagnostic]) -> CheckedRule:
    """Reads the rule and reports what is wrong with it."""
    checked = CheckedRule(rule, signatures, diagnostics)
    checked.read()
    return checked


class CheckedRule:
    """A rule with all that was found out about it; `typed` is for programs in which nothing was reported."""

    def __init__(self, rule: ast.Rule, signatures: Mapping[str, Signature], diagnostics: list[Diagnostic]) -> None:
        self._rule = rule
        self._signatures = signatures
        self._diagnostics = diagnostics
        self._scope: dict[str, Draft] = {}
        self._bound_at: dict[str, Span] = {}
        self._inference = Inference(self._scope, diagnostics)
        self._arranged: dict[int, Arranged] = {}
        self._order: list[ast.Literal] = []
        self._binders = _binders(rule)

    def read(self) -> None:
        """Checks the whole rule; `_order` is then the body in the order of evaluation."""
        waiting: list[tuple[Filter, set[str]]] = []
        for literal in self._rule.body:
            if isinstance(literal, Filter):
                needed = {name for name in _variables(literal) if name not in self._scope and name in self._binders}
                if needed:
                    waiting.append((literal, needed))
                else:
                    self._filter(literal)
                continue
            bound = len(self._scope)
            self._bind(literal)
            if waiting and len(self._scope) > bound:
                ready = [each for each, needed in waiting if needed <= self._scope.keys()]
                waiting = [(each, needed) for each, needed in waiting if not needed <= self._scope.keys()]
                for each in ready:
                    self._filter(each)
        assert not waiting, "a filter waits only for what a literal of the body binds"
        for head in self._rule.heads:
            self._head(head)
        self._inference.finish()

    def typed(self) -> program.Rule:
        """The typed rule; only when nothing was reported."""
        heads = tuple(self._typed_atom(head) for head in self._rule.heads)
        return program.Rule(heads, tuple(self._typed_literal(literal) for literal in self._order), self._rule.span)

    # Reading

    def _filter(self, literal: Filter) -> None:
        self._order.append(literal)
        if isinstance(literal, ast.Condition):
            self._require(literal.expression)
            self._inference.expect(literal.expression, BOOL)
            return
        columns = self._columns(literal.atom, head=False)
        for value, wanted, why in columns:
            if isinstance(value, ast.Variable):
                self._require_negated(value, literal)
            else:
                self._require(value)
            self._inference.expect(value, wanted, *why)

    def _bind(self, literal: ast.Positive | ast.Assignment) -> None:
        self._order.append(literal)
        if isinstance(literal, ast.Assignment):
            self._assign(literal)
            return
        columns = self._columns(literal.atom, head=False)
        for value, wanted, why in columns:
            if isinstance(value, ast.Variable):
                if value.name not in self._scope:
                    self._declare(value.name, wanted, value.span)
                self._inference.expect(value, wanted, *why, *self._origin(value))
        for value, wanted, why in columns:
            if not isinstance(value, ast.Variable):
                self._require_before(value, literal)
                self._inference.expect(value, wanted, *why)

    def _assign(self, literal: ast.Assignment) -> None:
        self._require_before(literal.value, literal)
        draft = self._inference.infer(literal.value)
        name = literal.variable.text
        if literal.annotation is not None:
            wanted: Draft = resolve_type(literal.annotation, self._diagnostics) or BROKEN
            self._inference.agree(literal.value, draft, wanted, (literal.annotation.span, "because of this annotation"))
            draft = wanted
        if name in self._bound_at:
            self._report(
                Code.ALREADY_BOUND,
                f"variable `{name}` is already bound",
                literal.variable.span,
                "`var` needs a new name",
                related=[(self._bound_at[name], "bound here")],
                help=f"`{name} == {show_expression(literal.value)}` compares",
            )
        else:
            self._declare(name, draft, literal.variable.span)

    def _head(self, atom: ast.Atom) -> None:
        columns = self._columns(atom, head=True)
        self._require_in_head(columns)
        for value, wanted, why in columns:
            if isinstance(value, ast.Wildcard):
                message = "`_` stands in a head"
                self._report(Code.MISPLACED_WILDCARD, message, value.span, "a head needs a value for every column")
            else:
                self._inference.expect(value, wanted, *why)

    def _columns(self, atom: ast.Atom, *, head: bool) -> list[Placed]:
        """The arguments that are not wildcards (in a head: all) with the types of their columns.

        Where the relation is unknown or the arguments do not fit it, they are taken as they are, of any type.
        """
        signature = self._signatures.get(atom.relation.text)
        if signature is None:
            guess = suggest(atom.relation.text, self._signatures)
            self._report(
                Code.UNKNOWN_RELATION,
                f"unknown relation `{atom.relation.text}`",
                atom.relation.span,
                "not declared",
                help=f"did you mean `{guess}`?" if guess else None,
            )
        arranged = arrange(atom, signature, self._diagnostics, head=head) if signature else None
        if signature is None or arranged is None:
            return [(argument.value, BROKEN, ()) for argument in atom.arguments if not _is_wild(argument.value)]
        self._arranged[id(atom)] = arranged
        return [
            (value, column.type or BROKEN, (column.reason,))
            for value, column in zip(arranged, signature.columns)
            if value is not None and (head or not _is_wild(value))
        ]

    # Variables

    def _declare(self, name: str, draft: Draft, span: Span) -> None:
        self._scope[name] = draft
        self._bound_at.setdefault(name, span)

    def _origin(self, variable: ast.Variable) -> list[Reason]:
        bound = self._bound_at.get(variable.name)
        return [(bound, f"`{variable.name}` is bound here")] if bound and bound is not variable.span else []

    def _require_before(self, value: ast.Expression, literal: ast.Positive | ast.Assignment) -> None:
        """Reports the variables that a computed value needs and that no literal before it binds."""
        for node in _unbound(value, self._scope):
            later = self._binders.get(node.name)
            if later is not None:
                self._scope[node.name] = BROKEN
                example = reordered_example(self._rule, literal, later)
                self._report(
                    Code.USED_BEFORE_BOUND,
                    f"variable `{node.name}` is used before it is bound",
                    node.span,
                    "no literal before this one binds it",
                    related=[(later, "bound only here")],
                    help=f"`{example}`" if example else None,
                )
        self._require(value)

    def _require(self, value: ast.Expression) -> None:
        """Reports the variables of an expression that nothing binds."""
        for node in _unbound(value, self._scope):
            self._scope[node.name] = BROKEN
            self._report(
                Code.UNBOUND_VARIABLE,
                f"variable `{node.name}` is not bound by the body",
                node.span,
                f"no positive literal mentions `{node.name}`",
                help=did_you_mean(node.name, self._bound_at),
            )

    def _require_negated(self, variable: ast.Variable, literal: ast.Negative) -> None:
        if variable.name in self._scope:
            return
        self._scope[variable.name] = BROKEN
        atom = literal.atom
        blank = ast.Wildcard(span=variable.span)
        open_arguments = tuple(
            ast.Argument(each.name, blank if each.value == variable else each.value, span=each.span)
            for each in atom.arguments
        )
        wider = show_atom(ast.Atom(atom.relation, open_arguments, span=atom.span))
        self._report(
            Code.UNBOUND_NEGATED_VARIABLE,
            f"variable `{variable.name}` of a negated literal is not bound by the body",
            variable.span,
            f"no positive literal mentions `{variable.name}`",
            help=did_you_mean(variable.name, self._bound_at)
            or f"`not {wider}` holds while there is no such row at all",
        )

    def _require_in_head(self, columns: list[Placed]) -> None:
        missing: dict[str, tuple[ast.Variable, Type | None]] = {}
        for value, wanted, _ in columns:
            for node in _unbound(value, self._scope):
                missing.setdefault(node.name, (node, settle(wanted) if node is value else None))
        if not missing:
            return
        types = {name: type_ for name, (_, type_) in missing.items()}
        example = binding_example(self._rule, types, self._signatures)
        for name, (node, _) in missing.items():
            help = did_you_mean(name, self._bound_at)
            if help is None and example:
                help, example = f"bind it, for example `{example}`", None
            self._report(
                Code.UNBOUND_HEAD_VARIABLE,
                f"head variable `{name}` is not bound by the body",
                node.span,
                f"no positive literal mentions `{name}`" if self._rule.body else "a fact has no variables",
                help=help,
            )
        self._scope.update(dict.fromkeys(missing, BROKEN))

    # The typed form

    def _typed_literal(self, literal: ast.Literal) -> program.Literal:
        match literal:
            case ast.Positive(atom):
                return program.Positive(self._typed_atom(atom), literal.span)
            case ast.Negative(atom):
                return program.Negative(self._typed_atom(atom), literal.span)
            case ast.Condition(expression):
                return program.Condition(elaborate(expression, self._inference), literal.span)
            case ast.Assignment(variable, _, value):
                computed = elaborate(value, self._inference)
                return program.Assign(variable.text, computed.type, computed, literal.span)

    def _typed_atom(self, atom: ast.Atom) -> program.Atom:
        terms: list[program.Term] = []
        for value in self._arranged[id(atom)]:
            if value is None or isinstance(value, ast.Wildcard):
                terms.append(program.Wild(atom.span if value is None else value.span))
            else:
                terms.append(elaborate(value, self._inference))
        return program.Atom(atom.relation.text, tuple(terms), atom.span)

    def _report(
        self,
        code: Code,
        message: str,
        span: Span,
        label: str,
        *,
        related: list[Reason] | None = None,
        help: str | None = None,
    ) -> None:
        self._diagnostics.append(diagnostic(code, message, span, label, related=related or (), help=help))


def _binders(rule: ast.Rule) -> dict[str, Span]:
    """The first place of the body that binds each variable."""
    found: dict[str, Span] = {}
    for literal in rule.body:
        if isinstance(literal, ast.Positive):
            for argument in literal.atom.arguments:
                if isinstance(argument.value, ast.Variable):
                    found.setdefault(argument.value.name, argument.value.span)
        elif isinstance(literal, ast.Assignment):
            found.setdefault(literal.variable.text, literal.variable.span)
    return found


def _variables(literal: Filter) -> list[str]:
    if isinstance(literal, ast.Condition):
        roots = [literal.expression]
    else:
        roots = [argument.value for argument in literal.atom.arguments]
    return [node.name for root in roots for node in ast.walk(root) if isinstance(node, ast.Variable)]


def _unbound(value: ast.Expression, scope: Mapping[str, Draft]) -> list[ast.Variable]:
    """The variables of the expression that are not in scope, the first mention of each."""
    if isinstance(value, ast.Variable):
        return [] if value.name in scope else [value]
    found: dict[str, ast.Variable] = {}
    for node in ast.walk(value):
        if isinstance(node, ast.Variable) and node.name not in scope:
            found.setdefault(node.name, node)
    return list(found.values())


def _is_wild(value: ast.Expression) -> bool:
    return isinstance(value, ast.Wildcard)
