"""Variants → bytecode: the words that the join kernel interprets.

Variables and constants get registers. Joins become iterators; filters, assignments and antijoins become the tail of the
iterator before them. Variants with the same delta become one tree (`shared_prefixes`), so that their common prefix is
evaluated once. An expression that kernels cannot evaluate on words (text, wide integers, a division inside a condition
that guards it) cuts the variant into segments: the kernel writes the registers that later steps need to a buffer, the
expression is evaluated on whole columns, by other kernels (`column_step`) or by Python, once per distinct argument
(`python_step`), and the next segment continues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tidelog.check import typed
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.columns.step import ColumnStep, compile_condition, compile_pattern, compile_value
from tidelog.engine.local.execution.python_step import PythonStep
from tidelog.engine.local.execution.shared_prefixes import Block, Emit, Forest, Path, Slot, TriePart, chain
from tidelog.engine.local.execution.word_expressions import ExpressionCompiler, Instruction
from tidelog.engine.local.execution.zones import Bounded
from tidelog.engine.local.kernels import layout as k
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import ScalarFunction, compile_scalar
from tidelog.plan.plain import is_plain
from tidelog.plan.statistics import Order
from tidelog.plan.variant import Antijoin, DeltaKind, Filter, Join, Leap, Let, Part, Step, Take, Variant
from tidelog.rules.ir import Atom, Constant, Term, Variable, Wildcard
from tidelog.rules.lower.unfold import compile_unfold
from tidelog.types import Type

Probe = tuple[int, tuple[int, ...] | Order]  # an arrangement: a relation, and the columns of its key; or a trie


@dataclass(frozen=True, slots=True)
class Segment:
    """Code that the kernel runs without Python in between. The last segment emits heads, the others feed `after`."""

    code: Words
    constants: Words
    emits: int
    after: PythonStep | None


@dataclass(frozen=True, slots=True)
class Bytecode:
    """The bytecode of variants with the same delta. `probes` are the arrangements it needs: (relation, keys).

    A variant with Python steps is alone, in several segments; the others are one tree. `at` names, for each block of
    the tree, the variant that added it.
    """

    variants: tuple[Variant, ...]
    kind: int
    delta: int  # the delta's relation, or -1
    head: int  # of a variant with Python steps
    segments: tuple[Segment, ...]
    probes: tuple[Probe, ...]
    at: tuple[Variant, ...]
    cursors: int  # the iterators whose rows threads share out
    bounded: tuple[Bounded, ...] = ()  # the arrangements and scans below the stratum whose rows have bounds
    line: tuple[int, ...] = field(init=False)  # of the kernels' table of variants, not active

    def __post_init__(self) -> None:
        first = self.segments[0]
        code, constants = first.code.ctypes.data, first.constants.ctypes.data
        line = (code, constants, len(first.constants), self.kind, self.delta, 0, int(self.in_python))
        object.__setattr__(self, "line", line)

    @property
    def in_python(self) -> bool:
        return len(self.segments) > 1


class BytecodeCompiler:
    """Compiles variants for one engine, with the numbers of relations and arrangements, and the words of constants."""

    def __init__(
        self,
        relations: Mapping[str, int],
        arrangement: Callable[[int, tuple[int, ...] | Order], int],
        word: Callable[[Any, Type], int],
        functions: CompiledFunctions,
    ) -> None:
        self.relations = relations
        self.arrangement = arrangement
        self.word = word
        self.functions = functions

    def compile(
        self,
        variants: Sequence[Variant],
        inside: Sequence[str],
        lacks_rows: Callable[[Variant], bool],
        parts: Mapping[int, int] | None = None,
        first_tally: int = 0,
        first_cursor: int = 0,
    ) -> list[Bytecode]:
        """Compiles all variants of a stratum whose relations are `inside`; common prefixes are shared.

        `parts` numbers rules (by the `id` of the object) that must not be mixed with others. Tallies and cursors are
        numbered from the given ones on, behind those of other bytecode.
        Rules that are evaluated as a whole get a tree of their own if a relation they read is empty, because they may
        need arrangements that the others do not; so do recursive rules, because some waves run only the others.
        """
        slots = {name: slot for slot, name in enumerate(inside)}
        names = frozenset(inside)
        parts = parts or {}
        forests: dict[tuple[int, int, int, int], Forest] = {}
        probes: dict[int, list[Probe]] = {}
        bytecode: list[Bytecode] = []
        for tally, variant in enumerate(variants, first_tally):
            compiler = VariantCompiler(self, variant, names)
            path = compiler.run()
            probes[id(variant)] = compiler.probes
            if compiler.segments:
                bytecode.append(compiler.alone(path))
                continue
            emit = Emit(slots[variant.rule.head.relation], tally, path.emit)
            apart = 0
            if variant.delta.kind is DeltaKind.RULE:
                apart = 1 + lacks_rows(variant) + 2 * any(atom.relation in slots for atom in variant.rule.positives)
            part = parts.get(id(variant.rule), 0)
            forest = forests.setdefault((compiler.kind(), compiler.delta(), apart, part), Forest())
            forest.add(path, emit, variant)
        cursors = first_cursor
        for (kind, delta, _, _), forest in forests.items():
            for tree in forest.trees:
                code, blocks, split = tree.code(cursors)
                cursors += split
                needed = dict.fromkeys(probe for variant in tree.variants for probe in probes[id(variant)])
                segment = Segment(code, tree.constant_words(), 0, None)
                at = tuple(block.variant or tree.variants[0] for block in blocks)
                bytecode.append(
                    Bytecode(
                        tuple(tree.variants), kind, delta, -1, (segment,), tuple(needed), at, split, _bounded(blocks)
                    )
                )
        return bytecode

    def whole(self, variant: Variant, inside: Sequence[str]) -> Bytecode:
        """Returns the bytecode of a variant with Python steps that have all variables that are bound there."""
        compiler = VariantCompiler(self, variant, frozenset(inside), keeps_all=True)
        return compiler.alone(compiler.run())


class VariantCompiler(ExpressionCompiler):
    """Compiles one variant. With `keeps_all` its buffers have all variables, not only those that later steps read."""

    def __init__(
        self, compiler: BytecodeCompiler, variant: Variant, inside: frozenset[str], *, keeps_all: bool = False
    ) -> None:
        super().__init__(compiler.word)
        self.keeps_all = keeps_all
        self.compiler = compiler
        self.variant = variant
        self.inside = inside
        self.bound: list[str] = []
        self.types: dict[str, Type] = {}
        self.blocks: list[Block] = []
        self.segments: list[Segment] = []
        self.probes: list[Probe] = []
        self.slots: dict[int, Part] = {}  # position → the part of its last leapfrog join

    def run(self) -> Path:
        """Compiles the variant; returns the path behind the last cut, or the whole path if there is no cut."""
        delta = self.variant.delta
        if delta.atom is None:
            self.blocks.append(Block(k.ITERATE_UNIT))
        else:
            self._iterate(delta.atom, Block(k.ITERATE_BATCH), known=())
            # The batch is the delta itself: its rows need no check against the overlay.
            self.blocks[-1].check = k.CHECK_NONE
            if delta.kind is DeltaKind.NEGATIVE:
                self.blocks[-1].inside = 0
        for index, step in enumerate(self.variant.steps):
            self._step(step, self.variant.steps[index + 1 :])
        emit = tuple(self._term(term) for term in self.variant.rule.head.terms)
        return Path(self.blocks, emit, self.constants)

    def piece(self, known: Sequence[Variable], steps: Sequence[Step], found: Sequence[str]) -> Segment:
        """Compiles some steps of the variant: lines with the words of `known` → lines with those of `found`."""
        block = Block(k.ITERATE_INPUT)
        block.binds = [self._bind(variable.name, variable.type) for variable in known]
        self.blocks.append(block)
        for step in steps:
            self._step(step, ())
        self._close([self.registers[name] for name in found], None)
        (segment,) = self.segments
        return segment

    def alone(self, path: Path) -> Bytecode:
        """Returns the bytecode of a variant with Python steps, segment by segment."""
        self._close(list(path.emit), None)
        return Bytecode(
            (self.variant,),
            self.kind(),
            self.delta(),
            self.compiler.relations[self.variant.rule.head.relation],
            tuple(self.segments),
            tuple(dict.fromkeys(self.probes)),
            (self.variant,),
            0,
        )

    def delta(self) -> int:
        """Returns the number of the delta's relation, or -1."""
        atom = self.variant.delta.atom
        return -1 if atom is None else self.compiler.relations[atom.relation]

    def kind(self) -> int:
        """Returns the kind of the delta: one of layout.KIND_…"""
        delta = self.variant.delta
        if delta.kind is DeltaKind.RULE:
            return k.KIND_RULE
        if delta.kind is DeltaKind.NEGATIVE:
            return k.KIND_NEGATED
        assert delta.atom is not None
        return k.KIND_INSIDE if delta.atom.relation in self.inside else k.KIND_BELOW

    # Registers

    def _bind(self, name: str, type_: Type) -> int:
        if name not in self.types:
            self.bound.append(name)
            self.types[name] = type_
        return self._register(name)

    def _term(self, term: Term) -> int:
        match term:
            case Variable(name):
                return self.registers[name]
            case Constant(value, type_):
                return self._constant(self.compiler.word(value, type_))
            case Wildcard():
                raise AssertionError("a wildcard has no register")

    # Steps

    def _step(self, step: Step, rest: tuple[Step, ...]) -> None:
        match step:
            case Join():
                self._join(step)
            case Leap():
                self._leap(step)
            case Antijoin(atom, position):
                block = self.blocks[-1]
                before = 1 if position < self.variant.delta.position else 0
                block.absent_keys[len(block.tail)] = [self._term(term) for term in atom.terms]
                relation = self.compiler.relations[atom.relation]
                block.tail.append((k.T_ABSENT, relation, len(atom.terms), 0, before, 0))
            case Filter(expression):
                if self._is_plain(expression):
                    self._filter(expression)
                else:
                    function = self._scalar(expression)
                    native = compile_condition(expression, self.compiler.functions)
                    self._cut(expression, rest, (), lambda *values: [()] if function.call(*values) else [], native)
            case Let(variable, expression, compare):
                if self._is_plain(expression):
                    register = self._value(expression)
                    if compare:
                        equal = self._temporary()
                        self._tail(k.T_EQ, equal, register, self.registers[variable.name])
                        self._tail(k.T_FILTER, 0, equal)
                    else:
                        self._tail(k.T_MOVE, self._bind(variable.name, variable.type), register, 0, 64)
                else:
                    function = self._scalar(expression)
                    native = compile_value(expression, self.compiler.functions)
                    self._cut(expression, rest, (variable,), lambda *values: [(function.call(*values),)], native)
            case Take(unfold):
                call = compile_unfold(unfold, self.compiler.functions).call
                native = compile_pattern(unfold, self.compiler.functions)
                self._cut(unfold.expression, rest, unfold.variables, call, native)

    def _is_plain(self, expression: typed.Expression) -> bool:
        """True if kernels evaluate the expression; where all variables are kept, Python finds the row that fails."""
        return is_plain(expression) and not (self.keeps_all and typed.may_fail(expression))

    def _join(self, step: Join) -> None:
        relation = self.compiler.relations[step.atom.relation]
        terms = step.atom.terms
        if len(step.keys) == len(terms):
            block = Block(k.ITERATE_FIND, keys=[self._term(term) for term in terms])
        elif step.keys:
            block = Block(
                k.ITERATE_PROBE,
                target=self.compiler.arrangement(relation, step.keys),
                keys=[self._term(terms[i]) for i in step.keys],
            )
            self.probes.append((relation, step.keys))
        else:
            block = Block(k.ITERATE_SCAN)
        self._iterate(step.atom, block, known=step.keys)
        before = step.position < self.variant.delta.position
        block.check = k.CHECK_BEFORE if before else k.CHECK_AFTER

    def _leap(self, step: Leap) -> None:
        block = Block(k.ITERATE_LEAP)
        block.parts = [self._trie_part(block, part) for part in step.parts]
        block.without = [self._trie_part(block, part) for part in step.without]
        variable = step.variable
        block.binds = [0, self._temporary() if variable is None else self._bind(variable.name, variable.type)]
        self.blocks.append(block)

    def _trie_part(self, block: Block, part: Part) -> TriePart:
        """Compiles a part of a leapfrog join; the registers known above it are added to the keys of the block."""
        above = self.slots.get(part.position)
        opened = 0 if above is None else above.level + 1
        columns = part.order.columns[opened : part.level]
        relation = self.compiler.relations[part.atom.relation]
        before = part.position < self.variant.delta.position
        first_key = len(block.keys)
        block.keys += [self._term(part.atom.terms[column]) for column in columns]
        self.slots[part.position] = part
        self.probes.append((relation, part.order))
        return TriePart(
            self.compiler.arrangement(relation, part.order),
            part.level,
            Slot(self.variant, part.position, part.level),
            None if above is None else Slot(self.variant, part.position, above.level),
            relation,
            1 if part.atom.relation in self.inside else 0,
            k.CHECK_BEFORE if before else k.CHECK_AFTER,
            part.is_last,
            first_key,
            len(columns),
        )

    def _iterate(self, atom: Atom, block: Block, known: tuple[int, ...]) -> None:
        """Adds an iterator over rows of the atom's relation; columns not `known` bind variables or are compared."""
        block.relation = self.compiler.relations[atom.relation]
        block.inside = 1 if atom.relation in self.inside else 0
        for column, term in enumerate(atom.terms):
            if column in known or isinstance(term, Wildcard):
                continue
            if isinstance(term, Variable) and term.name not in self.types:
                block.binds += [column, self._bind(term.name, term.type)]
            else:
                block.equals += [column, self._term(term)]
        self.blocks.append(block)

    def _add(self, instruction: Instruction) -> None:
        self.blocks[-1].tail.append(instruction)

    # Segments

    def _scalar(self, expression: typed.Expression) -> ScalarFunction:
        return compile_scalar(expression, sorted(typed.variables(expression)), self.compiler.functions)

    def _cut(
        self,
        expression: typed.Expression,
        rest: tuple[Step, ...],
        variables: tuple[Variable, ...],
        call: Callable[..., Sequence[tuple[Any, ...]]],
        native: ColumnStep | str,
    ) -> None:
        """Ends the segment before an expression that is evaluated on columns, and starts the next one from its buffer.

        `variables` get the values of each alternative that `call` returns; one that is already bound is compared.
        """
        names = sorted(typed.variables(expression))
        needed = {*names, *_names_after(rest, self.variant), *(variable.name for variable in variables)}
        kept = [name for name in self.bound if self.keeps_all or name in needed]
        step = PythonStep(
            call,
            tuple((kept.index(name), self.types[name]) for name in names),
            tuple((each.type, kept.index(each.name) if each.name in kept else None) for each in variables),
            tuple(names),
            native if isinstance(native, ColumnStep) else None,
            tuple((name, column, self.types[name]) for column, name in enumerate(kept)),
        )
        self._close([self.registers[name] for name in kept], step)
        # Positions in tries are lost with the segment; tries are opened again through the known words.
        self.slots.clear()
        block = Block(k.ITERATE_INPUT)
        block.binds = [self.registers[name] for name in kept]
        block.binds += [self._bind(each.name, each.type) for each in variables if each.name not in kept]
        self.blocks = [block]

    def _close(self, emit: list[int], after: PythonStep | None) -> None:
        constants = np.zeros(max(len(self.registers), 1), dtype=np.int64)
        for register, word in self.constants.items():
            constants[register] = word
        self.segments.append(Segment(chain(self.blocks, tuple(emit)), constants, len(emit), after))


def _bounded(blocks: Sequence[Block]) -> tuple[Bounded, ...]:
    """Returns the arrangements and scans of relations of lower strata whose rows have bounds."""
    found = []
    for parent in blocks:
        for block in parent.children:
            if block.op in (k.ITERATE_PROBE, k.ITERATE_SCAN) and not block.inside and block.tail:
                columns = {bound.column: bound.signed for bound in block.split_tail().bounds}
                if columns:
                    before = -1 if parent.op == k.ITERATE_UNIT else parent.relation
                    arrangement = block.target if block.op == k.ITERATE_PROBE else -1
                    found.append(Bounded(arrangement, block.relation, before, columns))
    return tuple(found)


def _names_after(rest: tuple[Step, ...], variant: Variant) -> set[str]:
    """Returns the variables that later steps or the head read."""
    names = {term.name for term in variant.rule.head.terms if isinstance(term, Variable)}
    for step in rest:
        match step:
            case Join(atom) | Antijoin(atom):
                names |= {term.name for term in atom.terms if isinstance(term, Variable)}
            case Leap(_, parts, without):
                atoms = (part.atom for part in (*parts, *without))
                names |= {term.name for atom in atoms for term in atom.terms if isinstance(term, Variable)}
            case Let(variable, expression):
                names |= typed.variables(expression) | {variable.name}
            case Filter(expression):
                names |= typed.variables(expression)
            case Take(unfold):
                names |= typed.variables(unfold.expression) | {each.name for each in unfold.variables}
    return names
