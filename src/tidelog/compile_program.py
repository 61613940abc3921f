"""Source text → the flat, stratified rules that engines run: the passes of the compiler, in their order.

| pass | effect |
| --- | --- |
| parse | text → syntax tree |
| check | names resolved, types inferred, rules safe; all errors at once |
| lower_program | flat rules: no expression inside an atom, a `group_by` is a rule of its own |
| aggregates | groups that only aggregates read → those aggregates |
| dropped_duplicates | warns of sums and counts of groups that drop equal values of different rows |
| shared_groups | groups with the same members → one group |
| split_values | grouped tuples → a column for each part |
| stratify | rules → strata, in the order in which they run |
| weights | marks the relations whose rows need a weight |
| group_warnings | drops the warnings about groups whose recursion turned out to be monotone |

A text in Soufflé's language takes another first pass, `souffle.front_end`: text → syntax tree, and Python functions for
strata that have no incremental form.

Each module shows its pass on an example. `tidelog show --stage` prints the program after parse (`ast`), after check
(`types`) and after the last pass (`rules`, `strata`). Engines plan joins (`plan`) at run time, from statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidelog.check.check import check
from tidelog.check.names.modules import SearchPath
from tidelog.check.program import TypedProgram
from tidelog.diagnostics.spans import Source
from tidelog.functions.callees import missing_externs
from tidelog.pause_gc import collector_paused
from tidelog.rules.analysis.aggregates import aggregates
from tidelog.rules.analysis.dropped_duplicates import dropped_duplicates
from tidelog.rules.analysis.group_warnings import group_warnings, warnings_of_typed
from tidelog.rules.analysis.shared_groups import shared_groups
from tidelog.rules.analysis.split_values import split_values
from tidelog.rules.analysis.weights import weights
from tidelog.rules.ir import RuleProgram
from tidelog.rules.lower.program import Options, lower_program
from tidelog.rules.stratify import stratify
from tidelog.souffle.dialect import SOUFFLE, dialect_of
from tidelog.syntax import ast
from tidelog.syntax.parse import parse

if TYPE_CHECKING:
    from tidelog.souffle.front_end import SouffleProgram


@dataclass(frozen=True, slots=True)
class Pass:
    """`function` makes the form `writes` of the program from the forms `reads`."""

    function: Callable[..., Any]
    reads: tuple[str, ...]
    writes: str

    @property
    def name(self) -> str:
        return self.function.__name__


PASSES = (
    Pass(parse, ("source",), "ast"),
    Pass(check, ("ast", "search_path"), "typed"),
    Pass(lower_program, ("typed", "options"), "rules"),
    Pass(aggregates, ("rules", "options"), "rules"),
    Pass(dropped_duplicates, ("typed", "rules"), "typed"),
    Pass(shared_groups, ("rules",), "rules"),
    Pass(split_values, ("rules", "options"), "rules"),
    Pass(stratify, ("rules",), "rules"),
    Pass(weights, ("rules",), "rules"),
    Pass(group_warnings, ("typed", "rules"), "typed"),
)


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """A program without errors: its syntax tree, its typed form and its flat rules.

    `souffle` is what a text in Soufflé's language says beyond them: files and their formats.
    """

    ast: ast.Program
    typed: TypedProgram
    rules: RuleProgram
    souffle: SouffleProgram | None = None


def check_source(source: Source, search_path: SearchPath = (), options: Options | None = None) -> TypedProgram:
    """Returns the typed program, whether an engine can run it or not. Raises ProgramError with all errors of a pass.

    Modules are looked for beside the source, then on the search path, then in the library.
    """
    options = options or Options()
    with collector_paused():
        if language_of(source, options) == SOUFFLE:
            return warnings_of_typed(_typed_souffle(_read_souffle(source, search_path, options), search_path))
        return warnings_of_typed(check(parse(source), search_path))


def language_of(source: Source, options: Options) -> str:
    """Returns the dialect that a text is read in."""
    return options.dialect or dialect_of(source.text)


def compile_typed(typed: TypedProgram, options: Options) -> RuleProgram:
    """Runs the passes that follow `check`. Raises like `compile_program`."""
    rules: RuleProgram = _run(PASSES[2:], typed=typed, options=options)["rules"]
    return rules


def compile_program(source: Source, search_path: SearchPath = (), options: Options | None = None) -> CompiledProgram:
    """Runs all passes. Raises ProgramError with all errors of the first pass that has any, UsageError when an extern
    function that a rule needs has no Python function."""
    options = options or Options()
    with collector_paused():
        if language_of(source, options) == SOUFFLE:
            return _compile_souffle(source, search_path, options)
        forms = _run(PASSES, source=source, search_path=search_path, options=options)
    return CompiledProgram(forms["ast"], forms["typed"], forms["rules"])


def _compile_souffle(source: Source, search_path: SearchPath, options: Options) -> CompiledProgram:
    from tidelog.souffle.evaluate.evaluate_stratum import RecomputedStratum

    program = _read_souffle(source, search_path, options)
    for transformer in program.transformers.values():
        if isinstance(transformer, RecomputedStratum):
            missing = transformer.called() - options.externs.keys()
            if missing:
                raise missing_externs(missing)
            transformer.functors.update(options.externs)
    options = replace(options, externs={**options.externs, **program.transformers})
    typed = _typed_souffle(program, search_path)
    forms = _run(PASSES[2:], typed=typed, options=options)
    return CompiledProgram(program.tree, forms["typed"], forms["rules"], program)


def _read_souffle(source: Source, search_path: SearchPath, options: Options) -> SouffleProgram:
    from tidelog.souffle.front_end import read_souffle

    return read_souffle(source, search_path, options.word_bits, options.macros, waits=options.waits_for_facts)


def _typed_souffle(program: SouffleProgram, search_path: SearchPath) -> TypedProgram:
    """Returns the typed program, with the included files among its sources."""
    typed = check(program.tree, () if isinstance(search_path, Mapping) else search_path)
    included = {f"include:{source.name}": source for source in program.sources[1:]}
    return replace(typed, sources={**typed.sources, **included})


def _run(passes: Sequence[Pass], **forms: Any) -> dict[str, Any]:
    for each in passes:
        forms[each.writes] = each.function(*(forms[name] for name in each.reads))
    return forms
