"""What names and expressions mean in the patterns of a rule.

In an atom a variable is bound, or compared when it was bound before; expressions are compared, and are read after all
patterns of the atom, so that they may use the variables that the atom binds. Negated atoms bind nothing. On the left of
a `=`, `var x` binds.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.check.inference import Inference, Reasons
from tidelog.check.inference.drafts import Draft
from tidelog.check.inference.patterns import Declaration
from tidelog.check.rule.remedy import did_you_mean
from tidelog.check.rule.state import RuleState
from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast
from tidelog.syntax.show import show_atom


class Matching:
    """The patterns of a positive literal."""

    def __init__(self, state: RuleState, literal: ast.Literal) -> None:
        self._state = state
        self._literal = literal
        self._computed: list[tuple[ast.Expression, Draft, Reasons]] = []

    def variable(self, at: Inference, node: ast.Variable, wanted: Draft, reasons: Reasons) -> None:
        local = self._state.scope.get(node.name)
        if local is None:
            self._unbound(at, node, wanted)
            return
        at.locals[id(node)] = local
        at.drafts[id(node)] = local.draft
        at.agree(node, local.draft, wanted, *reasons, *self._state.origin(node))

    def declaration(self, at: Inference, node: Declaration, wanted: Draft) -> None:
        name, span = node.name.text, node.name.span if isinstance(node, ast.Binding) else node.span
        if not self._state.already_bound(name, span):
            self._state.bind(node, name, wanted, span)

    def may_bind_row(self, at: Inference, atom: ast.Atom) -> bool:
        """Returns True if `r in R(…)` may name the row here; reports it otherwise."""
        return True

    def other(self, at: Inference, node: ast.Expression, wanted: Draft, reasons: Reasons) -> None:
        self._computed.append((node, wanted, reasons))

    def finish(self) -> None:
        """Reads what is computed, now that the patterns have bound their variables."""
        for node, wanted, reasons in self._computed:
            self._state.require_before(node, self._literal)
            self._state.at.expect(node, wanted, *reasons)

    def _unbound(self, at: Inference, node: ast.Variable, wanted: Draft) -> None:
        """Handles a variable that nothing before has bound."""
        self._state.bind(node, node.name, wanted, node.span)


class Declaring(Matching):
    """The left of a `=` or of a `FlatMap`: only `var x` binds."""

    def _unbound(self, at: Inference, node: ast.Variable, wanted: Draft) -> None:
        self._state.break_(node.name, node.span)
        at.report(
            Code.UNBOUND_VARIABLE,
            f"variable `{node.name}` is not bound by the body",
            node.span,
            "on the left of a `=` only `var` binds",
            help=f"`var {node.name}`",
        )


class Negating(Matching):
    """The patterns of a negated literal: they compare only."""

    def _unbound(self, at: Inference, node: ast.Variable, wanted: Draft) -> None:
        self._state.break_(node.name, node.span)
        if self._state.report_gone(node, Code.UNBOUND_NEGATED_VARIABLE, "variable"):
            return
        assert isinstance(self._literal, ast.Negative)
        at.report(
            Code.UNBOUND_NEGATED_VARIABLE,
            f"variable `{node.name}` of a negated literal is not bound by the body",
            node.span,
            f"no positive literal mentions `{node.name}`",
            help=did_you_mean(node.name, self._state.bound_at) or _wider(self._literal.atom, node),
        )

    def declaration(self, at: Inference, node: Declaration, wanted: Draft) -> None:
        name = node.name.text
        self._state.break_(name, node.span)
        message = f"variable `{name}` of a negated literal is not bound by the body"
        at.report(Code.UNBOUND_NEGATED_VARIABLE, message, node.span, "a negated literal binds nothing")

    def may_bind_row(self, at: Inference, atom: ast.Atom) -> bool:
        assert atom.binding is not None
        name, span = atom.binding.text, atom.binding.span
        if name not in self._state.scope:
            self._state.break_(name, span)
        at.report(
            Code.UNBOUND_NEGATED_VARIABLE,
            f"negated literal names its row `{name}`",
            atom.span,
            "there is no row to name: a negated literal binds nothing",
            help=f"`{show_atom(replace(atom, binding=None))}`",
        )
        return False

    def finish(self) -> None:
        for node, wanted, reasons in self._computed:
            self._state.require(node)
            self._state.at.expect(node, wanted, *reasons)


def _wider(atom: ast.Atom, variable: ast.Variable) -> str:
    blank = ast.Wildcard(span=variable.span)
    open_arguments = tuple(
        ast.Argument(each.name, blank if each.value == variable else each.value, span=each.span)
        for each in atom.arguments
    )
    wider = show_atom(ast.Atom(atom.relation, open_arguments, span=atom.span))
    return f"`not {wider}` holds while there is no such row at all"
