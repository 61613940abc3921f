"""One rule that is maintained by its trace: the plan as arrays, its sensitivity indices, and its update in an epoch.

    F(x, y) :- G(x, z), H(y, z), I(x, y, z), R(z).        in the order x, y, z

has an index for G at z (beside y), for H at y (beside x) and at z (beside x), and for R at z (beside x and y). G at x
and I need none: all variables before are their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.execution.bytecode import BytecodeCompiler, VariantCompiler
from tidelog.engine.local.execution.shared_prefixes import Path, TriePart
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.trie import Trie
from tidelog.engine.local.strategies.trace import evaluate, sensitivity, surgery
from tidelog.plan.variant import Leap, Part, Variant

Words = npt.NDArray[np.int64]
OUT_ROWS, RECORD_ROWS, REGION_ROWS = 4096, 1 << 16, 1024
PAUSE_OPERATIONS = 1 << 17  # so many from one look at the clock to the next: some 0.1 s


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The subject of an index: a relation at the level of a variable, below some registers, beside others."""

    relation: int
    level: int
    known: int
    others: int

    @property
    def width(self) -> int:
        return self.known + self.others + 2


class TracePlan:
    """A body in the form that `evaluate` reads. Raises ValueError if it cannot be maintained by its trace."""

    def __init__(
        self, compiler: BytecodeCompiler, variant: Variant, inside: frozenset[str], *, keep_all: bool = False
    ) -> None:
        compiled = VariantCompiler(compiler, variant, inside)
        path = compiled.run()
        if compiled.segments or len(path.blocks) < 2 or path.blocks[0].tail or not path.blocks[1].parts:
            raise ValueError("an expression needs Python, or stands before every variable")
        self._words: list[int] = []
        self._keep_all = keep_all
        self.indices: list[Sensitivity] = []
        self.tries = list(dict.fromkeys(compiled.probes))
        leaps = [step for step in variant.steps if isinstance(step, Leap)]
        self._levels: list[list[int]] = []
        self._parts: list[list[int]] = []
        self._keys: list[int] = []
        self._read(path, leaps)
        self.levels: Words = np.array(self._levels, dtype=np.int64)
        self.parts: Words = np.array(self._parts, dtype=np.int64)
        self.head_at = self._list(path.emit)
        self.columns = len(path.emit)
        registers = [*path.constants, *self._registers(path)]
        self.registers: Words = np.zeros(max(registers, default=0) + 1, dtype=np.int64)
        for register, word in path.constants.items():
            self.registers[register] = word
        self.code: Words = np.array([*self._words, 0], dtype=np.int64)

    def _read(self, path: Path, leaps: Sequence[Leap]) -> None:
        looks: list[list[tuple[int, list[int], int]]] = []
        tails: list[list[tuple[int, ...]]] = []
        covering: list[list[tuple[TriePart, tuple[int, ...], Part]]] = []
        known: dict[int, list[int]] = {}
        found = iter(leaps)
        for block in path.blocks[1:]:
            if block.parts:
                level = len(self._levels)
                self._keys.append(block.binds[1])
                self._levels.append([len(self._parts), len(block.parts), 0, 0, 0, 0, block.binds[1]])
                looks.append([])
                tails.append([])
                leap = next(found)
                covering.append([])
                for part, planned in zip(block.without, leap.without, strict=True):
                    above = tuple(block.keys[part.first_key : part.first_key + part.key_count])
                    covering[-1].append((part, above, planned))
                for part, planned in zip(block.parts, leap.parts, strict=True):
                    registers = known.setdefault(planned.position, [])
                    registers += block.keys[part.first_key : part.first_key + part.key_count]
                    self._part(part.trie, part.relation, level, tuple(registers), planned)
                    registers.append(block.binds[1])
            else:
                looks[-1].append((block.relation, block.keys, 0))
            for at, instruction in enumerate(block.tail):
                if instruction[0] == k.T_ABSENT:
                    looks[-1].append((instruction[1], block.absent_keys[at], 1))
                else:
                    tails[-1].append(instruction)
        for level, (of_level, tail) in enumerate(zip(looks, tails)):
            line = self._levels[level]
            line[evaluate.LOOKS_AT] = len(self._parts)
            line[evaluate.LOOKS_N] = len(of_level) + len(covering[level])
            for relation, registers, negated in of_level:
                self._look(relation, level, tuple(registers), negated)
            for part, above, planned in covering[level]:
                self._part(part.trie, part.relation, level, above, planned)
                self._parts[-1][evaluate.NEGATED] = 1
            line[evaluate.TAIL_AT], line[evaluate.TAIL_N] = len(self._words), len(tail)
            self._words += [word for instruction in tail for word in instruction]

    def _part(self, trie: int, relation: int, level: int, known: tuple[int, ...], planned: Part) -> None:
        line = self._sensitive(relation, level, known, self._keep_all)
        line[evaluate.TRIE], line[evaluate.TRIE_LEVEL] = trie, planned.level
        line[evaluate.ORDER_AT] = self._list(planned.order.columns)
        self._parts.append(line)

    def _look(self, relation: int, level: int, registers: tuple[int, ...], negated: int) -> None:
        key = self._keys[level]
        line = self._sensitive(relation, level, registers, self._keep_all or key not in registers)
        line[evaluate.TRIE], line[evaluate.NEGATED] = -1, negated
        line[evaluate.TRIE_LEVEL] = registers.index(key) if key in registers else 0
        line[evaluate.ORDER_AT] = self._list(range(len(registers)))
        self._parts.append(line)

    def _sensitive(self, relation: int, level: int, known: tuple[int, ...], is_kept: bool) -> list[int]:
        """Returns the fields that say where the relation is sensitive; the index is -1 if a change tells by itself."""
        before = self._keys[:level]
        others = [key for key in before if key not in known]
        line = [0] * evaluate.PART_FIELDS
        line[evaluate.PART_RELATION], line[evaluate.PART_LEVEL] = relation, level
        line[evaluate.KNOWN_AT], line[evaluate.KNOWN_N] = self._list(known), len(known)
        line[evaluate.OTHERS_AT], line[evaluate.OTHERS_N] = self._list(others), len(others)
        columns = [known.index(key) if key in known else len(known) + 1 + others.index(key) for key in before]
        line[evaluate.COLUMNS_AT] = self._list(columns)
        line[evaluate.INDEX] = -1
        if others or is_kept:
            line[evaluate.INDEX] = len(self.indices)
            self.indices.append(Sensitivity(relation, level, len(known), len(others)))
        return line

    def _list(self, words: Sequence[int]) -> int:
        at = len(self._words)
        self._words += words
        return at

    @staticmethod
    def _registers(path: Path) -> Iterator[int]:
        for block in path.blocks:
            yield from block.keys
            yield from block.binds[1::2]
            for instruction in block.tail:
                yield from instruction[1:5]
        yield from path.emit


class Indices:
    """The sensitivity indices of a rule: one set of records for each."""

    def __init__(self, kinds: Sequence[Sensitivity]) -> None:
        self.kinds = kinds
        self.lines: Words = np.zeros((max(len(kinds), 1), k.ARRANGEMENT_FIELDS), dtype=np.int64)
        self._buffers: Words = np.zeros((max(len(kinds), 1), k.STORE_FIELDS), dtype=np.int64)
        self._memory: list[Trie] = []
        self._maxima: list[Words] = []
        for number, kind in enumerate(kinds):
            self._memory.append(Trie(tuple(range(kind.width)), is_counted=False))
            self._maxima.append(np.empty(0, dtype=np.int64))
            self.build(number, np.empty((0, kind.width), dtype=np.int64))

    def build(self, number: int, records: Words) -> None:
        """Sets the records of an index."""
        records = np.ascontiguousarray(records)
        self._give(number, records)
        lines = np.arange(len(records), dtype=np.int64)
        self._memory[number].build(self._buffers, self.lines, number, number, lines)
        self._make_maxima(number)
        sensitivity.note_ends(self.lines, number)

    def change(self, records: Words) -> None:
        """Adds and removes records: the number of the index, the sign, and the record, a line each."""
        for number, kind in enumerate(self.kinds):
            own = records[records[:, 0] == number]
            if not len(own):
                continue
            words = np.ascontiguousarray(own[:, 2 : 2 + kind.width])
            self._give(number, words)
            signs = np.ascontiguousarray(own[:, 1])
            done = 0
            while (done := sensitivity.change_records(self._buffers, self.lines, number, signs, done)) < len(own):
                memory = self._memory[number]
                memory.make_room(self.lines[number], 2 * len(memory.pages))
                self._make_maxima(number)

    def records(self, number: int) -> list[tuple[int, ...]]:
        """Returns all records of an index, in order."""
        memory, line = self._memory[number], self.lines[number]
        found: list[tuple[int, ...]] = []
        for page, rows, _ in memory.directory.array[: int(line[k.PAGE_COUNT])].tolist():
            columns = memory.pages.array[page].reshape(memory.key_count + 1, k.PAGE_ROWS)
            found += map(tuple, columns[:-1, :rows].T.tolist())
        return found

    def bytes(self) -> int:
        """Returns the bytes of memory of all records."""
        sizes = (memory.bytes(line) + 8 * int(line[k.PAGES_TAKEN]) for memory, line in zip(self._memory, self.lines))
        return sum(sizes)

    def _give(self, number: int, records: Words) -> None:
        self._records = records  # kept alive while a kernel reads it
        line = self._buffers[number]
        line[k.ROWS], line[k.WIDTH], line[k.COLUMNS] = records.ctypes.data, records.shape[1], records.shape[1]

    def _make_maxima(self, number: int) -> None:
        pages = len(self._memory[number].pages)
        if pages > len(self._maxima[number]):
            larger = np.empty(pages, dtype=np.int64)
            larger[: len(self._maxima[number])] = self._maxima[number]
            self._maxima[number] = larger
        self.lines[number, sensitivity.MAXIMA] = self._maxima[number].ctypes.data


class TracedRule:
    """A rule with the trace of its last evaluation. `operations` counts iterator operations; it is for tests."""

    def __init__(self, plan: TracePlan, catalog: Catalog) -> None:
        self.plan = plan
        self.catalog = catalog
        self.indices = Indices(plan.indices)
        self.operations = 0
        self.visited = 0
        depth = len(plan.levels)
        self._depth = depth
        width = max((each.width for each in plan.indices), default=1)
        self._places: Words = np.zeros((len(plan.parts) + 1, k.ITERATOR_WORDS), dtype=np.int64)
        self._states: Words = np.zeros((depth, 3), dtype=np.int64)
        self._out: Words = np.empty((OUT_ROWS) * (plan.columns + k.INSTANCE_EXTRA), dtype=np.int64)
        self._records: Words = np.zeros((256, width + 2), dtype=np.int64)
        columns = max((store.columns for store in catalog.stores), default=1)
        self._scratch: Words = np.zeros(max(columns, width) + 2, dtype=np.int64)
        self._path: Words = np.zeros((1, max(columns, width) + 3), dtype=np.int64)
        self._room = REGION_ROWS
        self.regions: Words = np.empty((0, depth + 3), dtype=np.int64)

    def evaluate_whole(self) -> Iterator[tuple[Words, int]]:
        """Evaluates the new version from scratch: yields all instances, in buffers, and builds the indices.

        Yields an empty buffer if nothing was found for a while, so that the caller can check the deadline.
        """
        depth = self._depth
        whole: Words = np.zeros((1, depth + 3), dtype=np.int64)
        whole[0, depth + 1], whole[0, depth + 2] = sensitivity.SMALLEST_WORD, -1 - sensitivity.SMALLEST_WORD
        if len(self._records) < RECORD_ROWS:
            self._records = np.zeros((RECORD_ROWS, self._records.shape[1]), dtype=np.int64)
        noted: list[list[Words]] = [[] for _ in self.indices.kinds]
        for buffer, count, records in self._run(evaluate.NEW, 1, whole, whole=True):
            for number, kind in enumerate(self.indices.kinds):
                own = records[records[:, 0] == number]
                noted[number].append(own[:, 2 : 2 + kind.width].copy())
            yield buffer, count
        for number, kind in enumerate(self.indices.kinds):
            empty = np.empty((0, kind.width), dtype=np.int64)
            self.indices.build(number, np.concatenate([empty, *noted[number]]))

    def find_regions(self) -> None:
        """Finds the regions where the epoch's changes matter; removes the matched intervals from the indices."""
        depth, plan = self._depth, self.plan
        width = max(self._records.shape[1] - 1, depth + 1)
        tables = self.catalog.S, self.catalog.A, self.indices.lines, plan.levels, plan.parts, plan.code, self._places
        while True:
            regions: Words = np.zeros((self._room, depth + 3), dtype=np.int64)
            matched: Words = np.zeros((self._room, width), dtype=np.int64)
            count = 0
            for part in range(len(plan.parts)):
                line = self.catalog.S[plan.parts[part, evaluate.PART_RELATION]]
                if not line[k.INSERTED_COUNT] and not line[k.DELETED_COUNT]:
                    continue
                count = int(surgery.find_regions(*tables, part, count, regions, matched, self._scratch, self._path))
                if count < 0:
                    break
            if count >= 0:
                break
            self._room *= 4
        removed = matched[:count][matched[:count, 0] >= 0]
        if len(removed):
            signed = np.full((len(removed), removed.shape[1] + 1), -1, dtype=np.int64)
            signed[:, 0], signed[:, 2:] = removed[:, 0], removed[:, 1:]
            self.indices.change(signed)
        sorted_regions = np.ascontiguousarray(regions[:count][np.lexsort(regions[:count].T[::-1])])
        united = np.empty_like(sorted_regions)
        self.regions = united[: int(surgery.unite_regions(sorted_regions, united))]

    def evaluate(self, version: int) -> Iterator[tuple[Words, int]]:
        """Yields the instances of this version alone, in buffers, maybe empty. First OLD; NEW updates the indices."""
        sign = 1 if version == evaluate.NEW else -1
        for buffer, count, records in self._run(version, sign, self.regions, whole=False):
            if len(records):
                self.indices.change(records)
            yield buffer, count

    def _run(self, version: int, recording: int, regions: Words, *, whole: bool) -> Iterator[tuple[Words, int, Words]]:
        control: Words = np.zeros(evaluate.CONTROL_FIELDS, dtype=np.int64)
        control[evaluate.VERSION], control[evaluate.RECORDING], control[evaluate.WHOLE] = version, recording, int(whole)
        plan, catalog = self.plan, self.catalog
        regions = np.ascontiguousarray(regions)
        registers = plan.registers.copy()
        status = evaluate.FULL
        while status != evaluate.DONE:
            control[evaluate.PAUSE_AT] = control[evaluate.OPERATIONS] + PAUSE_OPERATIONS
            status = evaluate.evaluate(
                control, catalog.S, catalog.A, plan.levels, plan.parts, plan.code, registers, self._places,
                self._states, regions, self._out, plan.head_at, plan.columns, self._records, self._scratch,
            )  # fmt: skip
            count, noted = int(control[evaluate.OUT_COUNT]), int(control[evaluate.RECORD_COUNT])
            yield self._out, count, self._records[:noted]
            control[evaluate.OUT_COUNT] = control[evaluate.RECORD_COUNT] = 0
        self.operations += int(control[evaluate.OPERATIONS])
        self.visited += int(control[evaluate.VISITED])
