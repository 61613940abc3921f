"""Clauses in Soufflé's language that are added to a program at run time, or removed from it → Tidelog's syntax tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Source, Span
from tidelog.souffle import terms, tree
from tidelog.souffle.check_rule import check_body, check_rule
from tidelog.souffle.front_end import SouffleProgram
from tidelog.souffle.kinds import Kinds
from tidelog.souffle.lattices import with_lattices
from tidelog.souffle.lower import RuleLowering
from tidelog.souffle.lower_terms import TermLowering
from tidelog.souffle.normal_form import Rule, conjunctions, rules_of
from tidelog.souffle.parse import in_order, parse, parse_body
from tidelog.souffle.plan_rule import plan_rule
from tidelog.souffle.scope import scoped
from tidelog.syntax import ast
from tidelog.syntax.parse_query import ParsedQuery

# A variable with this sign in its name is no column of an answer.
_HIDDEN = "?#"


@dataclass(frozen=True, slots=True)
class AddedRules:
    """Reads clauses with the declarations of a program. Relations of strata that are recomputed take none."""

    program: SouffleProgram

    def __call__(self, source: Source) -> ast.Program:
        """Returns the rules of a text. Raises ProgramError with all errors."""
        declared, bits = self.program.declared, self.program.bits
        diagnostics: list[Diagnostic] = []
        planned: list[terms.Planned] = []
        for item in parse(source, (), bits).program.items:
            if not isinstance(item, tree.Clause):
                message = "only clauses can be added to a program, or removed from it"
                diagnostics.append(diagnostic(Code.NOT_A_RULE_CHANGE, message, item.span, "this is a declaration"))
                continue
            for rule in rules_of(item):
                if not check_rule(rule, declared, diagnostics, bits):
                    continue
                for each in with_lattices(rule, declared, diagnostics):
                    found = plan_rule(scoped(each), Kinds(scoped(each), declared, diagnostics), bits, diagnostics)
                    if found is not None:
                        planned.append(found)
                        diagnostics += self._refused(found)
        if diagnostics:
            raise ProgramError(in_order(diagnostics, (source,)))
        lowering = RuleLowering(TermLowering(self.program.lowered.names), self.program.lowered.columns)
        heads = self.program.lowered.heads
        for each in planned:
            lowering.rule(replace(each, head=heads.get(each.head, each.head)))
        return ast.Program(tuple(lowering.items), span=Span(source, 0, len(source.text)))

    def query(self, source: Source) -> ParsedQuery:
        """Returns a query in the program's language. Raises ProgramError with all errors."""
        declared, bits = self.program.declared, self.program.bits
        diagnostics: list[Diagnostic] = []
        found = conjunctions(parse_body(source, bits))
        whole = Span(source, 0, len(source.text))
        if len(found) != 1 or any(
            isinstance(node, tree.Aggregate) for literal in found[0] for node in tree.walk(literal)
        ):
            message = "a query is one conjunction without aggregates"
            raise ProgramError((diagnostic(Code.BAD_QUERY, message, whole, "this is more"),))
        planned = None
        if check_body(found[0], declared, diagnostics, bits):
            rule = Rule(tree.Atom("", (), span=whole), found[0], whole)
            planned = plan_rule(rule, Kinds(rule, declared, diagnostics), bits, diagnostics, _HIDDEN)
        if planned is not None:
            diagnostics += self._restricted(planned.steps, Code.BAD_QUERY)
        if diagnostics or planned is None:
            raise ProgramError(in_order(diagnostics, (source,)))
        lowering = RuleLowering(TermLowering(self.program.lowered.names), self.program.lowered.columns)
        return ParsedQuery(ast.Rule((), lowering.body(planned.steps), span=whole), {})

    def _refused(self, rule: terms.Planned) -> list[Diagnostic]:
        why = self.program.recomputed.get(rule.head) or ("subsumption" if rule.better is not None else "")
        inline = rule.head in self.program.declared.inline()
        if why or inline:
            message = f"clauses of `{rule.head}` cannot change while the program runs: {why or 'inline'}"
            label = "of a relation that is recomputed as a whole" if why else "its bodies are inside other clauses"
            return [diagnostic(Code.NOT_A_RULE_CHANGE, message, rule.span, label)]
        return self._restricted([terms.Scan(rule.head, (), rule.span), *rule.steps], Code.NOT_A_RULE_CHANGE)

    def _restricted(self, steps: Sequence[terms.Step], code: Code) -> list[Diagnostic]:
        """Refuses relations that have only the rows that outputs ask for."""
        found = {name: step.span for step in steps for name in terms.reads(step) & self.program.restricted}
        return [
            diagnostic(
                code,
                f"`{name}` has only the rows that outputs ask for: the program wants magic sets",
                span,
                "some rows may be missing",
                help=f"`no_magic` behind the declaration of `{name}` derives all of its rows",
            )
            for name, span in found.items()
        ]
