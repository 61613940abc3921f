"""Clauses in Soufflé's language that are added to a program at run time, or removed from it → Tidelog's syntax tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Source, Span
from tidelog.souffle.check.check_rule import check_body, check_rule
from tidelog.souffle.check.kinds import Kinds
from tidelog.souffle.check.lattices import with_lattices
from tidelog.souffle.check.normal_form import Rule, conjunctions, rules_of
from tidelog.souffle.check.rename import with_variables
from tidelog.souffle.check.scope import scoped
from tidelog.souffle.front_end import SouffleProgram
from tidelog.souffle.lower.lower_outside import outside_rule
from tidelog.souffle.lower.lower_program import Clauses
from tidelog.souffle.lower.lower_rules import RuleLowering
from tidelog.souffle.lower.lower_terms import TermLowering
from tidelog.souffle.plan import terms
from tidelog.souffle.plan.clause_text import clause_row, clause_text
from tidelog.souffle.plan.number_values import unnumbered, with_ordinals
from tidelog.souffle.plan.plan_rule import plan_rule
from tidelog.souffle.text import tree
from tidelog.souffle.text.parse import in_order, parse, parse_body
from tidelog.syntax import ast
from tidelog.syntax.parse_query import ParsedQuery

# A variable with this sign in its name is no column of an answer.
_HIDDEN = "?#"


def _only_recomputed(rule: terms.Planned) -> str:
    """Returns what a clause has that only strata have that are recomputed as a whole, if anything."""
    if any(isinstance(each, terms.Count) for each in terms.all_terms(rule)):
        return "the number of a round"
    is_functor = any(isinstance(step, terms.Fold) and step.function.startswith("@@") for step in rule.steps)
    return "a functor as an aggregate" if is_functor else ""


def _hidden(variable: tree.Variable) -> tree.Variable:
    """Returns a variable under a name that is no column, if it is one that an inline relation has made."""
    return replace(variable, name=f"{_HIDDEN}{variable.name}") if "?" in variable.name else variable


@dataclass(frozen=True, slots=True)
class AddedRules:
    """Reads clauses with the declarations of a program.

    A clause of a stratum that is recomputed becomes a row of the relation of its clauses.
    """

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
                opened = self._inlined(rule, diagnostics, Code.NOT_A_RULE_CHANGE)
                for made in (each for one in opened for each in with_lattices(one, declared, diagnostics)):
                    # Kinds are known by node: both have to be given the same ones.
                    apart = scoped(made)
                    found = plan_rule(apart, Kinds(apart, declared, diagnostics), bits, diagnostics)
                    if found is not None:
                        planned.append(with_ordinals(found, self.program.ordinals))
                        diagnostics += self._refused(found)
        if diagnostics:
            raise ProgramError(in_order(diagnostics, (source,)))
        lowering = RuleLowering(TermLowering(self.program.lowered.names), self.program.lowered.columns)
        heads, clauses = self.program.lowered.heads, self.program.lowered.clauses
        for each in planned:
            if each.head in clauses:
                self._add_clause(each, clauses[each.head], lowering)
            else:
                lowering.rule(replace(each, head=heads.get(each.head, each.head)))
        return ast.Program(tuple(lowering.items), span=Span(source, 0, len(source.text)))

    def is_made(self, relation: str) -> bool:
        """True for a relation that only the lowering of clauses declares: an aggregate, for example."""
        lowered = self.program.lowered
        return not (
            relation in self.program.declared.relations
            or relation in lowered.facts.values()
            or relation in lowered.heads.values()
            or relation.startswith((".clauses.", ".outside."))
        )

    def _add_clause(self, rule: terms.Planned, clauses: Clauses, lowering: RuleLowering) -> None:
        """Adds a clause of a stratum that is recomputed, and the rows that only this clause reads."""
        lowering.rule(clause_row(clauses.table, rule))
        read = {name for step in rule.steps for name in terms.reads(step)}
        for name in sorted(read - clauses.inputs - clauses.own):
            kinds = self.program.declared.kinds(name)
            columns = tuple(terms.Var(f"c{place}", kind) for place, kind in enumerate(kinds))
            scan = terms.Scan(name, columns, rule.span)
            lowering.items.append(outside_rule(lowering.terms, clauses.outside, clause_text(rule), scan))

    def query(self, source: Source) -> ParsedQuery:
        """Returns a query in the program's language. Raises ProgramError with all errors."""
        declared, bits = self.program.declared, self.program.bits
        diagnostics: list[Diagnostic] = []
        parsed, parameters = parse_body(source, bits)
        found = conjunctions(parsed)
        whole = Span(source, 0, len(source.text))
        for name, place in parameters.items():
            if name[1:] in declared.types.branches:
                message, help = f"`{name}` is a branch, and here a parameter", f"a branch has parentheses: `{name}()`"
                diagnostics.append(diagnostic(Code.BAD_QUERY, message, place, "has no parentheses", help=help))
        if len(found) != 1 or any(
            isinstance(node, tree.Aggregate) for literal in found[0] for node in tree.walk(literal)
        ):
            message = "a query is one conjunction without aggregates"
            raise ProgramError((diagnostic(Code.BAD_QUERY, message, whole, "this is more"),))
        planned = None
        opened: list[Rule] = []
        if check_body(found[0], declared, diagnostics, bits):
            opened = self._inlined(Rule(tree.Atom("", (), span=whole), found[0], whole), diagnostics, Code.BAD_QUERY)
        if len(opened) > 1:
            message = f"inline relations make {len(opened)} conjunctions of the query"
            diagnostics.append(diagnostic(Code.BAD_QUERY, message, whole, "a query is one"))
        for each in opened[:1]:
            rule = replace(each, body=tuple(with_variables(literal, _hidden) for literal in each.body))
            kinds = Kinds(rule, declared, diagnostics)
            planned = plan_rule(rule, kinds, bits, diagnostics, _HIDDEN, parameters)
        if planned is not None:
            diagnostics += self._restricted(planned.steps, Code.BAD_QUERY)
            diagnostics += self._unnumbered(planned, Code.BAD_QUERY)
            planned = with_ordinals(planned, self.program.ordinals)
        if diagnostics or planned is None:
            raise ProgramError(in_order(diagnostics, (source,)))
        lowering = RuleLowering(TermLowering(self.program.lowered.names), self.program.lowered.columns)
        return ParsedQuery(ast.Rule((), lowering.body(planned.steps), span=whole), parameters)

    def _inlined(self, rule: Rule, diagnostics: list[Diagnostic], code: Code) -> list[Rule]:
        """Returns the rules without inline relations."""
        inlining = self.program.inlining
        before = set(inlining.kept)
        made = inlining.inlined(rule)
        for name in sorted(inlining.kept - before):
            message = f"`{name}` is inline, and its negation here needs its rows"
            label = "in this query" if code is Code.BAD_QUERY else "in this clause"
            diagnostics.append(diagnostic(code, message, rule.span, label))
        inlining.kept &= before
        return made

    def _refused(self, rule: terms.Planned) -> list[Diagnostic]:
        clauses = self.program.lowered.clauses.get(rule.head)
        message = help = ""
        if rule.head in self.program.declared.inline():
            message = f"clauses of `{rule.head}` cannot change while the program runs: it is inline"
            label = "its bodies are inside other clauses"
        elif clauses is None and rule.better is not None:
            message = f"`{rule.head}` is not recomputed as a whole, so no clause of subsumption can be added or removed"
            label = "a clause of subsumption"
        elif terms.counts(rule) and (clauses is None or not clauses.counts):
            message = f"`{rule.head}` has no counters in the program's text, so no clause with one can be added"
            label = "a clause with a counter"
        elif clauses is None and (rounds := _only_recomputed(rule)):
            message = f"`{rule.head}` is not recomputed as a whole, so no clause with {rounds} can be added or removed"
            label = f"a clause with {rounds}"
        elif name := self._closing(rule):
            message = f"`{rule.head}` and `{name}` would need each other, as they do not in the program's text"
            if name == rule.head:
                message = f"`{name}` would need itself, as it does not in the program's text"
            label, help = f"reads `{name}`", "put it into the program, and open the database with `migrate=True`"
        if message:
            return [diagnostic(Code.NOT_A_RULE_CHANGE, message, rule.span, label, help=help or None)]
        found = self._restricted([terms.Scan(rule.head, (), rule.span), *rule.steps], Code.NOT_A_RULE_CHANGE)
        return found + self._unnumbered(rule, Code.NOT_A_RULE_CHANGE)

    def _closing(self, rule: terms.Planned) -> str:
        """Returns a relation with which a clause makes a recursion, if that would need another kind of stratum."""
        lowered = self.program.lowered
        own = lowered.clauses[rule.head].own if rule.head in lowered.clauses else frozenset()
        if not own and rule.head not in lowered.heads:
            return ""
        for name in sorted({name for step in rule.steps for name in terms.reads(step)} - own):
            seen, waiting = {name}, [name]
            while waiting:
                each = waiting.pop()
                if each == rule.head or each in own:
                    return name
                more = self.program.reads.get(each, frozenset()) - seen
                seen |= more
                waiting += more
        return ""

    def _unnumbered(self, rule: terms.Planned, code: Code) -> list[Diagnostic]:
        """Refuses ordinals of values that no clause of the program's text asks the ordinals of."""
        if not unnumbered(rule, self.program.ordinals):
            return []
        message = "ordinals of these values are not in the program's table: no clause of its text asks for them"
        help = "a clause of the text that has them numbered, for example `numbered(ord(x)) :- names(x).`"
        return [diagnostic(code, message, rule.span, "asks for an ordinal, or makes a value that needs one", help=help)]

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
