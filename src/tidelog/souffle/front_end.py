"""Text in Soufflé's language → Tidelog's syntax tree, with what the tree does not say: files, formats, functors.

| step | effect |
| --- | --- |
| preprocess, parse | text → tree, with a span in every node |
| expand_components | components and instances → plain declarations and clauses |
| declare | types, relations, functors and directives by name |
| rules_of, inlined, with_lattices, scoped | clauses → rules: one head, one conjunction, no inline relation |
| check_rule, Kinds, plan_rule | names and types right; how values are held; an order in which a rule can run |
| number_values | ordinals → look-ups in tables of them |
| magic_sets | what outputs ask for, where the program wants that → rules that derive no more |
| strata | negation and aggregates below what reads them; strata that have to be recomputed |
| lower | rules → Tidelog's syntax tree |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic
from tidelog.diagnostics.spans import Source
from tidelog.souffle.check.check_rule import check_rule
from tidelog.souffle.check.declared import Declared, declare
from tidelog.souffle.check.expand_components import expand_components
from tidelog.souffle.check.inline import Inlining
from tidelog.souffle.check.kinds import Kinds
from tidelog.souffle.check.lattices import check_lattices, with_lattices
from tidelog.souffle.check.normal_form import Rule, rules_of
from tidelog.souffle.check.scope import scoped
from tidelog.souffle.lower.lower_program import Lowered, Transformer, lower_program
from tidelog.souffle.plan import terms
from tidelog.souffle.plan.magic_sets import magic_sets
from tidelog.souffle.plan.number_values import Numbering, number_values
from tidelog.souffle.plan.plan_rule import plan_rule
from tidelog.souffle.plan.strata import strata
from tidelog.souffle.text.parse import in_order, parse
from tidelog.souffle.text.preprocess import SearchPath
from tidelog.syntax import ast

WORD_BITS = 32


@dataclass(frozen=True, slots=True)
class SouffleProgram:
    """A program in Soufflé's language, checked.

    `tree` is what Tidelog's checker takes, `transformers` are the Python functions of strata that are recomputed, by
    name, and `recomputed` says why. `facts` is the input relation of each relation that is read. `inlining` has the
    clauses of inline relations, for clauses that are added, `ordinals` the tables of ordinals by kind. Relations that
    magic sets have `restricted` have only the rows that outputs ask for. `reads` are the relations that the clauses of
    a relation read.
    """

    tree: ast.Program
    declared: Declared
    sources: tuple[Source, ...]
    transformers: Mapping[str, Transformer]
    recomputed: Mapping[str, str]
    facts: Mapping[str, str]
    lowered: Lowered
    bits: int
    inlining: Inlining
    ordinals: Mapping[str, Numbering]
    restricted: frozenset[str] = frozenset()
    reads: Mapping[str, frozenset[str]] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = field(default=())


def read_souffle(
    source: Source,
    search_path: SearchPath = (),
    bits: int = WORD_BITS,
    macros: Mapping[str, str] | None = None,
    *,
    waits: bool = False,
) -> SouffleProgram:
    """Returns the program of a text. Raises ProgramError with all errors of the first step that finds any.

    With `waits`, facts of the text count when `LOADED` has its row, if that can make a difference.
    """
    parsed = parse(source, search_path, bits, macros)
    diagnostics: list[Diagnostic] = []
    program = expand_components(parsed.program, diagnostics)
    declared = declare(program, diagnostics)
    check_lattices(declared, diagnostics)
    rules, inlining = _rules(declared, diagnostics, bits)
    _stop(diagnostics, parsed.sources)
    planned: list[terms.Planned] = []
    for rule in rules:
        kinds = Kinds(rule, declared, diagnostics)
        found = plan_rule(rule, kinds, bits, diagnostics)
        if found is not None:
            planned.append(found)
    _stop(diagnostics, parsed.sources)
    strata(planned, declared, diagnostics)
    _stop(diagnostics, parsed.sources)
    numbered = number_values(planned, declared)
    declared.relations.update(numbered.relations)
    demand = magic_sets(numbered.rules, declared)
    declared.relations.update(demand.relations)
    ordered = strata(demand.rules, declared, diagnostics)
    _stop(diagnostics, parsed.sources)
    lowered = lower_program(ordered, declared, program.span, bits, numbered.tables, waits=waits)
    return SouffleProgram(
        lowered.tree,
        declared,
        parsed.sources,
        lowered.transformers,
        lowered.recomputed,
        lowered.facts,
        lowered,
        bits,
        inlining,
        numbered.tables,
        demand.restricted,
        _reads(numbered.rules),
    )


def _reads(rules: Sequence[terms.Planned]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for rule in rules:
        found.setdefault(rule.head, set()).update(name for step in rule.steps for name in terms.reads(step))
    return {name: frozenset(read) for name, read in found.items()}


def _rules(declared: Declared, diagnostics: list[Diagnostic], bits: int) -> tuple[list[Rule], Inlining]:
    """Returns the rules of all clauses, checked, without inline relations, and these."""
    written = [rule for clause in declared.clauses for rule in rules_of(clause)]
    right = [rule for rule in written if check_rule(rule, declared, diagnostics, bits)]
    inline = declared.inline()
    if not inline:
        return _scoped(right, declared, diagnostics), Inlining({}, {})
    bodies: dict[str, list[Rule]] = {name: [] for name in inline}
    for rule in right:
        if rule.head.name in inline:
            bodies[rule.head.name].append(rule)
    types = {name: [each.type for each in declared.relations[name].attributes] for name in inline}
    inlining = Inlining(bodies, types)
    if diagnostics:
        return [], inlining
    made = [each for rule in right if rule.head.name not in inline for each in inlining.inlined(rule)]
    done: set[str] = set()
    while inlining.kept - done:
        name = min(inlining.kept - done)
        done.add(name)
        made += [each for rule in bodies[name] for each in inlining.inlined(rule)]
    return _scoped(made, declared, diagnostics), inlining


def _scoped(rules: Sequence[Rule], declared: Declared, diagnostics: list[Diagnostic]) -> list[Rule]:
    return [scoped(each) for rule in rules for each in with_lattices(rule, declared, diagnostics)]


def _stop(diagnostics: list[Diagnostic], sources: Sequence[Source]) -> None:
    errors = [each for each in diagnostics if not each.code.is_warning]
    if errors:
        raise ProgramError(in_order(errors, sources))
