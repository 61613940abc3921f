"""What is known of a rule while it is read: its variables, and where they come from.

The body is read in its written order. A positive literal binds the variables in its patterns, `var` binds one to a
value; what such a literal computes needs its variables bound before. What is wrong is reported at its own place; a
variable or relation that was reported once stays silent for the rest of the rule.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidelog.check.functions.free_variables import called_names, free_variables, name_of, pattern_variables
from tidelog.check.inference import Inference, Local
from tidelog.check.inference.drafts import BROKEN, Draft, Kind, Unknown, current
from tidelog.check.names.scope import Environment, Module
from tidelog.check.rule.remedy import did_you_mean, reordered_example
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic
from tidelog.diagnostics.spans import Span
from tidelog.syntax import ast
from tidelog.syntax.show import show_expression
from tidelog.types import Type

_SEVERAL = "`(var n, var total) = (count(), sum(price)) by (shop)` are several at once; other keys need another rule"


class RuleState:
    """The variables of one rule. `at` infers its expressions; the rule's own scope is the outermost.

    `parameters` are variables that have values before the body is read; a `group_by` does not end them.
    """

    def __init__(
        self,
        rule: ast.Rule,
        module: Module,
        environment: Environment,
        diagnostics: list[Diagnostic],
        parameters: Mapping[str, Span] | None = None,
    ) -> None:
        self.rule = rule
        self.at = Inference(environment, module, diagnostics)
        self.at.types.where = "in a rule"
        self.bound_at: dict[str, Span] = {}
        self.binders = find_binders(rule)
        self.grouped_at: Span | None = None
        self._grouped_by = ""
        self._gone: set[str] = set()
        self._parameters = {
            name: self.at.declare(name, Unknown(), span, "rule") for name, span in (parameters or {}).items()
        }

    @property
    def scope(self) -> dict[str, Local]:
        """The variables that are bound by now."""
        return self.at.scopes[0]

    def bind(self, node: ast.Node, name: str, draft: Draft, span: Span) -> Local:
        """Binds a variable; the node is the one that says so."""
        local = self.at.declare(name, draft, span, "rule")
        self.at.locals[id(node)] = local
        self.bound_at.setdefault(name, span)
        return local

    def break_(self, name: str, span: Span) -> None:
        """Marks a variable as reported, so that it causes no further errors."""
        self.at.declare(name, BROKEN, span, "rule")

    def keep_only(self, names: Collection[str], span: Span, word: str = "group_by") -> None:
        """Ends the scope of all variables but these, as a `group_by` does; `word` is the one that stands there."""
        self.grouped_at = span
        self._grouped_by = word
        names = {*names, *self._parameters}
        self._gone |= self.scope.keys() - names
        kept = {name: local for name, local in self.scope.items() if name in names}
        self.at.scopes[0] = kept
        self.bound_at = {name: place for name, place in self.bound_at.items() if name in names}

    def report_unknown_parameters(self) -> None:
        """Reports the parameters whose types their places do not tell; called before open types get their defaults."""
        for name, local in self._parameters.items():
            draft = current(local.draft)
            if isinstance(draft, Unknown) and draft.kind is Kind.ANY and not self.at.errors:
                self.at.report(
                    Code.UNKNOWN_TYPE_HERE,
                    f"the type of the parameter `{name}` is not known",
                    local.span,
                    "nothing here tells its type",
                    help=f"`({name}: string)` gives it one",
                )

    def parameter_types(self) -> dict[str, Type]:
        """Returns the types of the parameters, once everything is read."""
        return {name: self.at.solved(local.draft, local.span) for name, local in self._parameters.items()}

    def origin(self, node: ast.Variable) -> list[tuple[Span, str]]:
        """Returns the place where a variable was bound, if that is not here."""
        bound = self.bound_at.get(node.name)
        return [(bound, f"`{node.name}` is bound here")] if bound and bound is not node.span else []

    def unbound(self, *values: ast.Expression) -> list[ast.Variable]:
        """Returns the variables of expressions that are not bound yet, the first mention of each."""
        found = [node for node in free_variables(*values) if node.name not in self.scope]
        if not found:
            return []
        called = called_names(*values)
        return [node for node in found if not self._is_function(node.name, called)]

    def _is_function(self, name: str, called: set[str]) -> bool:
        """True if a name that is not bound here means a function: one that is called does, if there is such a one."""
        if name in self.binders:
            return name in called and bool(self.at.module.find_functions(name))
        return name in called or bool(self.at.module.find_functions(name))

    def require_before(self, value: ast.Expression, literal: ast.Literal) -> None:
        """Reports the variables that a computed value needs and that no literal before it binds."""
        for node in self.unbound(value):
            later = self.binders.get(node.name)
            if later is not None and node.name not in self._gone:
                self.break_(node.name, node.span)
                example = reordered_example(self.rule, literal, later)
                self.at.report(
                    Code.USED_BEFORE_BOUND,
                    f"variable `{node.name}` is used before it is bound",
                    node.span,
                    "no literal before this one binds it",
                    related=[(later, "bound only here")],
                    help=f"`{example}`" if example else None,
                )
        self.require(value)

    def require(self, value: ast.Expression) -> None:
        """Reports the variables of an expression that nothing binds."""
        for node in self.unbound(value):
            self.break_(node.name, node.span)
            if self.report_gone(node, Code.UNBOUND_VARIABLE, "variable"):
                continue
            self.at.report(
                Code.UNBOUND_VARIABLE,
                f"variable `{node.name}` is not bound by the body",
                node.span,
                f"no positive literal mentions `{node.name}`",
                help=did_you_mean(node.name, self.bound_at),
            )

    def report_gone(self, node: ast.Variable, code: Code, what: str) -> bool:
        """Reports a variable that a `group_by` or a `by` has ended; False when none ended it."""
        if node.name not in self._gone or self.grouped_at is None:
            return False
        self.at.report(
            code,
            f"{what} `{node.name}` is not bound behind `{self._grouped_by}`",
            node.span,
            "only the variables of its key are",
            related=[(self.grouped_at, "grouped here")],
            help=_SEVERAL if self._grouped_by == "by" else None,
        )
        return True

    def already_bound(self, name: str, span: Span, value: ast.Expression | None = None) -> bool:
        """Reports a `var` whose name is taken; False when it is free."""
        if name not in self.bound_at:
            return False
        self.at.report(
            Code.ALREADY_BOUND,
            f"variable `{name}` is already bound",
            span,
            "`var` needs a new name",
            related=[(self.bound_at[name], "bound here")],
            help=f"`{name} == {show_expression(value)}` compares" if value is not None else None,
        )
        return True


def find_binders(rule: ast.Rule) -> dict[str, Span]:
    """Returns the first place of the body that binds each variable."""
    found: dict[str, Span] = {}
    for literal in rule.body:
        match literal:
            case ast.Positive(atom):
                if atom.binding is not None:
                    found.setdefault(atom.binding.text, atom.binding.span)
                patterns = [argument.value for argument in atom.arguments]
                for pattern in [*patterns, *([atom.value] if atom.value is not None else [])]:
                    for node in pattern_variables(pattern):
                        found.setdefault(name_of(node), node.span)
            case ast.Assignment(variable) | ast.Aggregate(variable):
                found.setdefault(variable.text, variable.span)
            case ast.Destructuring(pattern) | ast.FlatMap(pattern) | ast.RowAggregates(pattern):
                for node in pattern_variables(pattern):
                    if not isinstance(node, ast.Variable):
                        found.setdefault(name_of(node), node.span)
                for key in literal.keys if isinstance(literal, ast.RowAggregates) else ():
                    if isinstance(key, ast.Assign) and isinstance(key.target, ast.Variable):
                        found.setdefault(key.target.name, key.target.span)
            case _:
                pass
    return found


def variables_of(literal: ast.Negative | ast.Condition) -> set[str]:
    """Returns the names that a filter mentions."""
    if isinstance(literal, ast.Condition):
        return {node.name for node in free_variables(literal.expression)}
    atom = literal.atom
    values = [argument.value for argument in atom.arguments] + ([atom.value] if atom.value is not None else [])
    return {node.name for node in free_variables(*values)}
