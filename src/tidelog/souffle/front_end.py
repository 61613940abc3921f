"""Text in Soufflé's language → Tidelog's syntax tree, with what the tree does not say: files, formats, functors.

| step | effect |
| --- | --- |
| preprocess, parse | text → tree, with a span in every node |
| expand_components | components and instances → plain declarations and clauses |
| declare | types, relations, functors and directives by name |
| rules_of, inlined, with_lattices, scoped | clauses → rules: one head, one conjunction, no inline relation, aggregates apart |
| check_rule, Kinds, plan_rule | names and types right; how values are held; an order in which a rule can run |
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
from tidelog.library._runtime.equivalence_closure import EquivalenceClosure
from tidelog.souffle import terms
from tidelog.souffle.check_rule import check_rule
from tidelog.souffle.declared import Declared, declare
from tidelog.souffle.evaluate_stratum import RecomputedStratum
from tidelog.souffle.expand_components import expand_components
from tidelog.souffle.inline import Inlining
from tidelog.souffle.kinds import Kinds
from tidelog.souffle.lattices import check_lattices, with_lattices
from tidelog.souffle.lower_program import Lowered, lower_program
from tidelog.souffle.magic_sets import magic_sets
from tidelog.souffle.normal_form import Rule, rules_of
from tidelog.souffle.parse import in_order, parse
from tidelog.souffle.plan_rule import plan_rule
from tidelog.souffle.preprocess import SearchPath
from tidelog.souffle.scope import scoped
from tidelog.souffle.strata import strata
from tidelog.syntax import ast

WORD_BITS = 32


@dataclass(frozen=True, slots=True)
class SouffleProgram:
    """A program in Soufflé's language, checked.

    `tree` is what Tidelog's checker takes, `transformers` are the Python functions of strata that are recomputed, by
    name, and `recomputed` says why. `facts` is the input relation of each relation that is read. Relations that magic
    sets have `restricted` have only the rows that outputs ask for.
    """

    tree: ast.Program
    declared: Declared
    sources: tuple[Source, ...]
    transformers: Mapping[str, RecomputedStratum | EquivalenceClosure]
    recomputed: Mapping[str, str]
    facts: Mapping[str, str]
    lowered: Lowered
    bits: int
    restricted: frozenset[str] = frozenset()
    warnings: tuple[Diagnostic, ...] = field(default=())


def read_souffle(
    source: Source, search_path: SearchPath = (), bits: int = WORD_BITS, *, waits: bool = False
) -> SouffleProgram:
    """Returns the program of a text. Raises ProgramError with all errors of the first step that finds any.

    With `waits`, facts of the text count when `LOADED` has its row, if that can make a difference.
    """
    parsed = parse(source, search_path, bits)
    diagnostics: list[Diagnostic] = []
    program = expand_components(parsed.program, diagnostics)
    declared = declare(program, diagnostics)
    check_lattices(declared, diagnostics)
    rules = _rules(declared, diagnostics, bits)
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
    demand = magic_sets(planned, declared)
    declared.relations.update(demand.relations)
    ordered = strata(demand.rules, declared, diagnostics)
    _stop(diagnostics, parsed.sources)
    lowered = lower_program(ordered, declared, program.span, bits, waits=waits)
    return SouffleProgram(
        lowered.tree,
        declared,
        parsed.sources,
        lowered.transformers,
        lowered.recomputed,
        lowered.facts,
        lowered,
        bits,
        demand.restricted,
    )


def _rules(declared: Declared, diagnostics: list[Diagnostic], bits: int) -> list[Rule]:
    """Returns the rules of all clauses, checked, without inline relations."""
    written = [rule for clause in declared.clauses for rule in rules_of(clause)]
    right = [rule for rule in written if check_rule(rule, declared, diagnostics, bits)]
    inline = declared.inline()
    if not inline:
        return _scoped(right, declared, diagnostics)
    bodies: dict[str, list[Rule]] = {name: [] for name in inline}
    for rule in right:
        if rule.head.name in inline:
            bodies[rule.head.name].append(rule)
    types = {name: [each.type for each in declared.relations[name].attributes] for name in inline}
    inlining = Inlining(bodies, types)
    if diagnostics:
        return []
    made = [each for rule in right if rule.head.name not in inline for each in inlining.inlined(rule)]
    done: set[str] = set()
    while inlining.kept - done:
        name = min(inlining.kept - done)
        done.add(name)
        made += [each for rule in bodies[name] for each in inlining.inlined(rule)]
    return _scoped(made, declared, diagnostics)


def _scoped(rules: Sequence[Rule], declared: Declared, diagnostics: list[Diagnostic]) -> list[Rule]:
    return [scoped(each) for rule in rules for each in with_lattices(rule, declared, diagnostics)]


def _stop(diagnostics: list[Diagnostic], sources: Sequence[Source]) -> None:
    errors = [each for each in diagnostics if not each.code.is_warning]
    if errors:
        raise ProgramError(in_order(errors, sources))
