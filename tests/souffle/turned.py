"""A Soufflé program with facts in its text → the same program with those facts as rows of its inputs.

`.input` and `.output` are written again without parameters, so that Tidelog takes the rows from a transaction, and
Soufflé from files that are named like the relations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.souffle.published import Published
from tidelog.cli.run_souffle import text_of
from tidelog.diagnostics.spans import Source, Span
from tidelog.souffle.check.kinds import Kinds
from tidelog.souffle.check.normal_form import rules_of
from tidelog.souffle.evaluate.evaluate_terms import TermEvaluation
from tidelog.souffle.files.read_facts import read_facts
from tidelog.souffle.front_end import SouffleProgram, read_souffle
from tidelog.souffle.plan.plan_rule import plan_rule
from tidelog.souffle.text import tree
from tidelog.souffle.text.lex import lex
from tidelog.souffle.text.parse import parse
from tidelog.souffle.text.preprocess import SearchPath
from tidelog.souffle.text.tokens import Kind

Row = tuple[Any, ...]
_MOVED = (".input", ".output", ".printsize")


@dataclass(frozen=True, slots=True)
class Turned:
    """`text` is the program, `rows` what its inputs start with, `outputs` the relations to compare.

    `clauses` are the clauses of the text that can be taken out and put back: none of a component or a macro.
    The rows of `chosen` relations may depend on the history: a choice, a counter, a limit, or what reads one of these.
    """

    text: str
    rows: dict[str, set[Row]]
    outputs: tuple[str, ...]
    clauses: tuple[Span, ...]
    chosen: frozenset[str]

    def without(self, clauses: Sequence[Span]) -> str:
        return _cut(self.text, clauses)


def turned(case: Published, word_bits: int = 32, *, keeps_facts: bool = False) -> Turned:
    """Returns the program of a test with all of its facts as input. Raises ProgramError and DataError.

    With `keeps_facts` those of the text stay there, as clauses that can be taken out.
    """
    text = case.program.read_text(encoding="utf-8", errors="replace")
    source = Source(str(case.program), text)
    program = read_souffle(source, [case.folder], word_bits)
    declared = program.declared
    rows: dict[str, set[Row]] = {}
    texts = text_of(program)
    for directive in declared.directives:
        if directive.kind == "input":
            found = read_facts(directive, declared, texts, case.facts)
            rows.setdefault(directive.name, set()).update(found)
    cut = [*_moved_directives(source)]
    for name, span, found_row in () if keeps_facts else _facts(program, source):
        rows.setdefault(name, set()).add(found_row)
        cut.append(span)
    outputs = tuple(dict.fromkeys(each.name for each in declared.directives if each.kind in ("output", "printsize")))
    text = _cut(text, cut)
    text += "\n" + "".join(f".input {name}\n" for name in rows) + "".join(f".output {name}\n" for name in outputs)
    source = Source(str(case.program), text)
    again = read_souffle(source, [case.folder], word_bits)
    return Turned(text, rows, outputs, tuple(_clauses(again, source, [case.folder])), _chosen(again))


def write_facts(program: SouffleProgram, rows: dict[str, set[Row]], folder: Path) -> None:
    """Writes the rows of each input into a file, as Soufflé reads it."""
    texts = text_of(program)
    for name, some in rows.items():
        kinds = program.declared.kinds(name)
        cells = (
            "\t".join(texts.write(value, kind) for value, kind in zip(row, kinds, strict=True)) if kinds else "()"
            for row in some
        )
        (folder / f"{name}.facts").write_text("".join(f"{line}\n" for line in cells), encoding="utf-8")


def _chosen(program: SouffleProgram) -> frozenset[str]:
    declared = program.declared
    found = {
        name for name, each in declared.relations.items() if each.dependencies or declared.given("limitsize", name)
    }
    reads: dict[str, set[str]] = {}
    for clause in declared.clauses:
        nodes = [*tree.walk(clause)]
        names = {node.name for node in nodes if isinstance(node, tree.Atom)}
        for head in clause.heads:
            reads.setdefault(head.name, set()).update(names)
            if any(map(_counts, nodes)):
                found.add(head.name)
    while new := {name for name, names in reads.items() if names & found} - found:
        found |= new
    return frozenset(found)


def _counts(node: tree.Node) -> bool:
    """True for a counter, and for an ordinal: both depend on the history."""
    return isinstance(node, tree.Counter) or (isinstance(node, tree.Functor) and node.name == "ord")


def _facts(program: SouffleProgram, source: Source) -> Iterator[tuple[str, Span, Row]]:
    """Yields the facts of the text whose values are known without anything else, and where they stand."""
    declared, bits = program.declared, program.bits
    evaluation = TermEvaluation(program.lowered.shapes, bits, {}, lambda: 0)
    kept = _plain_text(source)
    found: dict[tuple[int, int], list[tuple[str, Span, Row]]] = {}
    refused: set[tuple[int, int]] = set()
    for clause in declared.clauses:
        span = clause.span
        if span.source is not source or clause.body is not None or not _is_whole(kept, span):
            continue
        place = (span.start, span.end)
        for rule in rules_of(clause):
            counts = any(_counts(node) or isinstance(node, tree.UserFunctor) for node in tree.walk(rule.head))
            planned = None if counts else plan_rule(rule, Kinds(rule, declared, []), bits, [])
            name = rule.head.name
            inline = "inline" in declared.relations[name].qualifiers
            if planned is None or planned.steps or inline:
                refused.add(place)
                continue
            row = tuple(evaluation.value(term, {}) for term in planned.terms)
            found.setdefault(place, []).append((name, span, row))
    for place, facts in found.items():
        if place not in refused:
            yield from facts


def _clauses(program: SouffleProgram, source: Source, search_path: SearchPath) -> Iterator[Span]:
    """Yields the clauses that `add_rules` and `remove_rules` take."""
    plain = _plain_text(source)
    for clause in parse(source, search_path, program.bits).program.items:
        if not isinstance(clause, tree.Clause) or not _is_whole(plain, clause.span):
            continue
        relations = program.declared.relations
        names = {head.name for head in clause.heads}
        if clause.better is not None and not names & program.recomputed.keys():
            continue
        read = {node.name for node in tree.walk(clause) if isinstance(node, tree.Atom)}
        fixed = any("inline" in relations[name].qualifiers for name in names)
        # Relations with only the rows that outputs ask for take no clauses (E841).
        fixed = fixed or bool(read & program.restricted)
        if clause.span.source is source and not fixed:
            yield clause.span


def _plain_text(source: Source) -> bool:
    """True where the text has no macros, so that spans are those of the text."""
    return "#define" not in source.text


def _is_whole(plain: bool, span: Span) -> bool:
    text = span.source.text[span.start : span.end]
    return plain and text.endswith(".")


def _moved_directives(source: Source) -> Iterator[Span]:
    tokens = lex(source)[0]
    for place, token in enumerate(tokens):
        if token.kind is not Kind.DIRECTIVE or token.text not in _MOVED:
            continue
        end, depth = place + 1, 0
        after_name = False
        while tokens[end].kind is not Kind.END:
            text = tokens[end].text
            depth += (text == "(") - (text == ")")
            is_name = tokens[end].kind in (Kind.WORD, Kind.KEYWORD)
            if depth == 0 and text != ")" and ((after_name and is_name) or not (is_name or text in (",", "."))):
                break
            after_name = is_name
            end += 1
            if depth == 0 and text == ")":
                break
        yield Span(source, token.span.start, tokens[end - 1].span.end)


def _cut(text: str, spans: Sequence[Span]) -> str:
    """Returns a text with blanks in the place of some parts."""
    made = [*text]
    for span in spans:
        for place in range(span.start, span.end):
            if made[place] != "\n":
                made[place] = " "
    return "".join(made)
