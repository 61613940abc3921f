"""Paths of iterators → trees → bytecode: variants with the same delta share their common prefix.

A variant's path is one iterator after the other, with registers numbered in the order of use. A tree starts as one
path; another path with the same delta is grafted on: it follows the tree as long as its iterators do the same (up to
the numbers of registers), and becomes a branch with registers of its own from there on. If an iterator is shared but
not all of its tail, the rest of the tail moves to an iterator over nothing, below it.

    P(x, z) :- P(x, y), E(y, z).        batch of P ─ probe E ┬ emit P(x, z)
    Q(x, z) :- P(x, y), E(y, z), z > 5.                      └ unit, where z > 5 ─ emit Q(x, z)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.bounds import SplitTail, split_tail
from tidelog.engine.local.execution.word_expressions import BINARY, OPERANDS, Instruction
from tidelog.engine.local.kernels import layout as k
from tidelog.plan.variant import Variant

Numbers = dict[int, int]  # registers of a path → registers of the tree
Symbol = tuple[str, int | None]  # a register: a constant's word, the place of a binding, a register of the tree
_OVER_ROWS = (k.ITERATE_BATCH, k.ITERATE_PROBE, k.ITERATE_SCAN, k.ITERATE_FIND)
Key = tuple[tuple[int, ...] | tuple[Symbol, ...], ...]  # of an iterator: two with equal keys do the same


@dataclass(frozen=True, slots=True)
class Emit:
    """The target of a variant's instances: the buffer, the tally, the registers of the head."""

    slot: int
    tally: int
    registers: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """The place of a variant in the trie of a literal at one level; a line of the iterators."""

    variant: Variant
    position: int
    level: int

    @property
    def key(self) -> tuple[int, int, int]:
        return id(self.variant), self.position, self.level


@dataclass(frozen=True, slots=True)
class TriePart:
    """A part of a leapfrog join (see `layout.PART_…`); the registers known above its level are a slice of the keys."""

    trie: int
    level: int
    slot: Slot
    parent: Slot | None
    relation: int
    inside: int
    check: int
    is_last: bool
    first_key: int
    key_count: int


@dataclass(slots=True)
class Block:
    """One iterator: its bindings and checks, and its tail."""

    op: int
    target: int = 0
    relation: int = 0
    inside: int = 0
    check: int = k.CHECK_NONE
    keys: list[int] = field(default_factory=list)
    binds: list[int] = field(default_factory=list)  # column, register, …; over a buffer: registers
    equals: list[int] = field(default_factory=list)  # column, register, …
    tail: list[Instruction] = field(default_factory=list)
    absent_keys: dict[int, list[int]] = field(default_factory=dict)  # index in the tail → registers
    emits: list[Emit] = field(default_factory=list)
    children: list[Block] = field(default_factory=list)
    below: dict[Key, Block] = field(default_factory=dict)  # the children that others may share
    parts: list[TriePart] = field(default_factory=list)  # of a leapfrog join
    without: list[TriePart] = field(default_factory=list)  # its negated parts
    variant: Variant | None = None  # the first that added it

    def cut_tail(self, length: int) -> Block:
        """Cuts the tail after `length` instructions; moves the rest, and all that follows, to a block over nothing."""
        rest = Block(k.ITERATE_UNIT, variant=self.variant)
        rest.tail, rest.absent_keys = self.tail_from(length)
        rest.emits, rest.children, rest.below = self.emits, self.children, self.below
        self.tail = self.tail[:length]
        self.absent_keys = {at: keys for at, keys in self.absent_keys.items() if at < length}
        self.emits, self.children, self.below = [], [rest], {}
        return rest

    def split_tail(self) -> SplitTail:
        """Returns the tail of an iterator over rows in parts; of another, the tail."""
        if not self.tail or self.op not in _OVER_ROWS:
            return SplitTail((), (), self.tail, self.absent_keys)
        return split_tail(dict(zip(self.binds[1::2], self.binds[::2])), self.tail, self.absent_keys)

    def tail_from(self, start: int) -> tuple[list[Instruction], dict[int, list[int]]]:
        """Returns the instructions from `start` on, and the registers that belong to them."""
        return self.tail[start:], {at - start: keys for at, keys in self.absent_keys.items() if at >= start}


@dataclass(frozen=True, slots=True)
class Path:
    """A variant as one iterator after the other; `constants` gives the words of some registers."""

    blocks: list[Block]
    emit: tuple[int, ...]
    constants: dict[int, int]


class Forest:
    """The trees of variants with the same delta. A variant joins the last tree that shares its root and has room."""

    def __init__(self) -> None:
        self.trees: list[Tree] = []
        self._open: dict[Key, Tree] = {}

    def add(self, path: Path, emit: Emit, variant: Variant) -> None:
        """Adds a variant, to a tree or as one; costs the path, however many trees there are."""
        if path.blocks[0].op == k.ITERATE_UNIT and len(path.blocks) == 1:
            self.trees.append(Tree(path, emit, variant))  # a rule without a body is for one thread alone
            return
        key = _key(path.blocks[0], path.constants, {})
        tree = self._open.get(key)
        if tree is not None and tree.has_room():
            tree.graft(path, emit, variant)
        else:
            self._open[key] = Tree(path, emit, variant)
            self.trees.append(self._open[key])


class Tree:
    """Variants with the same delta that share the root."""

    def __init__(self, path: Path, emit: Emit, variant: Variant) -> None:
        self.variants = [variant]
        self._constants: dict[int, int] = {}
        self._register_of: dict[int, int] = {}  # the word of a constant → its register
        self._registers = 0
        self._root = self._branch(path, 0, emit, {}, variant)

    def graft(self, path: Path, emit: Emit, variant: Variant) -> None:
        """Adds a variant whose first iterator does what the root does."""
        at, depth = self._root, 0
        numbers: Numbers = _shared_binds(at, path.blocks[0])
        while True:
            mine = path.blocks[depth]
            shared = self._shared_tail(at, mine, path, numbers)
            if shared < len(at.tail):
                self._add_below(at, at.cut_tail(shared))
            if shared < len(mine.tail):
                rest = Block(k.ITERATE_UNIT)
                rest.tail, rest.absent_keys = mine.tail_from(shared)
                own = replace(path, blocks=[rest, *path.blocks[depth + 1 :]])
                self._add_child(at, self._branch(own, 0, emit, numbers, variant))
                break
            depth += 1
            if depth == len(path.blocks):
                self._emit(at, emit, path, numbers)
                break
            mine = path.blocks[depth]
            # The places of a leapfrog join in its tries are those of one variant.
            below = None if mine.parts else at.below.get(_key(mine, path.constants, numbers))
            if below is None:
                self._add_child(at, self._branch(path, depth, emit, numbers, variant))
                break
            numbers |= _shared_binds(below, mine)
            at = below
        self.variants.append(variant)

    def has_room(self) -> bool:
        """True if another variant may be added: one row must not overflow a buffer."""
        return len(self.variants) < k.OUT_SPARE

    def code(self, first_cursor: int) -> tuple[Words, list[Block], int]:
        """Returns the words, the blocks in order, and the number of cursors, of which the first has this number."""
        blocks: list[Block] = []
        _list(self._root, blocks)
        shared = self._root.children if self._root.op == k.ITERATE_UNIT and self._root.children else [self._root]
        splits = {id(block): first_cursor + i for i, block in enumerate(shared)}
        return lay_out(blocks, splits), blocks, len(shared)

    def constant_words(self) -> Words:
        """Returns the initial words of the registers."""
        words = np.zeros(max(self._registers, 1), dtype=np.int64)
        for register, word in self._constants.items():
            words[register] = word
        return words

    # Sharing

    def _add_child(self, block: Block, child: Block) -> None:
        block.children.append(child)
        self._add_below(block, child)

    def _add_below(self, block: Block, child: Block) -> None:
        """Enters a child among those that others may share; of two that do the same, the first is shared."""
        if not child.parts:
            block.below.setdefault(_key(child, self._constants, None), child)

    def _shared_tail(self, mine: Block, other: Block, path: Path, numbers: Numbers) -> int:
        """Returns how many instructions the tails have in common; adds the registers that they set to `numbers`."""
        for at, (left, right) in enumerate(zip(mine.tail, other.tail)):
            reads, sets = OPERANDS.get(left[0], BINARY)
            if any(left[i] != right[i] for i in range(6) if i not in reads and i not in sets):
                return at
            if not self._agree([left[i] for i in reads], [right[i] for i in reads], path, numbers):
                return at
            if not self._agree(mine.absent_keys.get(at, []), other.absent_keys.get(at, []), path, numbers):
                return at
            numbers |= {right[i]: left[i] for i in sets}
        return min(len(mine.tail), len(other.tail))

    def _agree(self, mine: Sequence[int], other: Sequence[int], path: Path, numbers: Numbers) -> bool:
        """True if the registers that both read hold the same values."""
        if len(mine) != len(other):
            return False
        for left, right in zip(mine, other):
            if right in path.constants:
                if self._constants.get(left) != path.constants[right]:
                    return False
            elif numbers.get(right) != left:
                return False
        return True

    # Branches

    def _branch(self, path: Path, depth: int, emit: Emit, numbers: Numbers, variant: Variant) -> Block:
        """Returns the path from this depth on, with registers of the tree; `numbers` has the shared ones."""
        own = dict(numbers)
        block = path.blocks[depth]
        made = replace(
            block,
            keys=[self._number(each, path, own) for each in block.keys],
            binds=self._every_second(block.binds, path, own),
            equals=self._every_second(block.equals, path, own),
            tail=[self._instruction(each, path, own) for each in block.tail],
            absent_keys={
                at: [self._number(each, path, own) for each in keys] for at, keys in block.absent_keys.items()
            },
            emits=[],
            children=[],
            below={},
            variant=variant,
        )
        if depth + 1 < len(path.blocks):
            self._add_child(made, self._branch(path, depth + 1, emit, own, variant))
        else:
            self._emit(made, emit, path, own)
        return made

    def _emit(self, block: Block, emit: Emit, path: Path, numbers: Numbers) -> None:
        registers = tuple(self._number(each, path, numbers) for each in emit.registers)
        block.emits.append(replace(emit, registers=registers))

    def _number(self, register: int, path: Path, numbers: Numbers) -> int:
        """Returns the tree's number of a path's register, a new one if it has none."""
        if register in path.constants:
            word = path.constants[register]
            if word not in self._register_of:
                known = self._register_of[word] = self._new()
                self._constants[known] = word
            return self._register_of[word]
        if register not in numbers:
            numbers[register] = self._new()
        return numbers[register]

    def _new(self) -> int:
        self._registers += 1
        return self._registers - 1

    def _every_second(self, words: list[int], path: Path, numbers: Numbers) -> list[int]:
        return [self._number(each, path, numbers) if i % 2 else each for i, each in enumerate(words)]

    def _instruction(self, instruction: Instruction, path: Path, numbers: Numbers) -> Instruction:
        reads, sets = OPERANDS.get(instruction[0], BINARY)
        op, *rest = (
            self._number(each, path, numbers) if i in reads or i in sets else each for i, each in enumerate(instruction)
        )
        target, a, b, width, signed = rest
        return op, target, a, b, width, signed


def _key(block: Block, constants: dict[int, int], numbers: Numbers | None) -> Key:
    """Returns the key of an iterator; `numbers` are those of the path that it is in, None if it is in the tree."""
    bound = {register: place for place, register in enumerate(block.binds[1::2])}

    def symbol(register: int) -> Symbol:
        if register in constants:
            return "constant", constants[register]
        if register in bound:
            return "bound", bound[register]
        return "register", register if numbers is None else numbers.get(register)

    return (
        (block.op, block.target, block.relation, block.inside, block.check),
        tuple(block.binds[::2]),
        tuple(block.equals[::2]),
        tuple(map(symbol, block.keys)),
        tuple(map(symbol, block.equals[1::2])),
    )


def _shared_binds(mine: Block, other: Block) -> Numbers:
    """Returns the registers that a path's iterator binds, with those that the tree's iterator binds."""
    return dict(zip(other.binds[1::2], mine.binds[1::2], strict=True))


def _list(block: Block, found: list[Block]) -> None:
    found.append(block)
    for child in block.children:
        _list(child, found)


def chain(blocks: list[Block], emit: tuple[int, ...]) -> Words:
    """Returns the words of one path that is not shared; its instances go to buffer 0."""
    for block, child in pairwise(blocks):
        block.children = [child]
    blocks[-1].emits = [Emit(0, 0, emit)]
    return lay_out(blocks, {})


def lay_out(blocks: list[Block], splits: dict[int, int]) -> Words:
    """Returns the flat words: the starts of the blocks, the blocks, then the lists that they point to.

    `splits` has the cursor of each block (by `id`) whose rows threads share.
    """
    numbers = {id(block): number for number, block in enumerate(blocks)}
    parents = {id(child): numbers[id(block)] for block in blocks for child in block.children}
    siblings = {id(left): numbers[id(right)] for block in blocks for left, right in pairwise(block.children)}
    slots: dict[tuple[int, int, int], int] = {}
    for block in blocks:
        for part in (*block.parts, *block.without):
            slots.setdefault(part.slot.key, len(blocks) + len(slots))
    words: list[int] = [len(blocks) + len(slots), *[0] * len(blocks)]
    starts = []
    for _ in blocks:
        starts.append(len(words))
        words += [0] * k.BLOCK_WIDTH
    for number, (start, block) in enumerate(zip(starts, blocks, strict=True)):
        words[k.CODE_BLOCKS + number] = start
        words[start + k.OP] = block.op
        words[start + k.TARGET] = block.target
        words[start + k.ROW_RELATION] = block.relation
        words[start + k.INSIDE] = block.inside
        words[start + k.CHECK] = block.check
        keys_at = len(words)
        words[start + k.KEY_N], words[start + k.KEY_AT] = len(block.keys), keys_at
        words += block.keys
        if block.parts:
            words[start + k.KEY_N], words[start + k.KEY_AT] = len(block.parts), len(words)
            words[start + k.TARGET] = len(block.without)
            for part in (*block.parts, *block.without):
                parent = -1 if part.parent is None else slots[part.parent.key]
                words += [part.trie, part.level, slots[part.slot.key], parent, part.relation, part.inside, part.check]
                words += [int(part.is_last), part.key_count, keys_at + part.first_key]
        per_bind = 1 if block.op == k.ITERATE_INPUT else 2
        words[start + k.BIND_N], words[start + k.BIND_AT] = len(block.binds) // per_bind, len(words)
        words += block.binds
        words[start + k.EQUAL_N], words[start + k.EQUAL_AT] = len(block.equals) // 2, len(words)
        words += block.equals
        once, bounds, tail, absent_keys = block.split_tail()
        absent_at = {}
        for place, registers in absent_keys.items():
            absent_at[place] = len(words)
            words += registers
        words[start + k.ONCE_N], words[start + k.ONCE_AT] = len(once), len(words)
        words += [word for instruction in once for word in instruction]
        words[start + k.BOUND_N], words[start + k.BOUND_AT] = len(bounds), len(words)
        words += [word for bound in bounds for word in bound]
        words[start + k.TAIL_N], words[start + k.TAIL_AT] = len(tail), len(words)
        for place, (op, target, a, b, width, signed) in enumerate(tail):
            words += [op, target, a, absent_at.get(place, b), width, signed]
        words[start + k.PARENT] = parents.get(id(block), -1)
        words[start + k.CHILD] = numbers[id(block.children[0])] if block.children else -1
        words[start + k.SIBLING] = siblings.get(id(block), -1)
        words[start + k.SPLIT] = splits.get(id(block), -1)
        words[start + k.EMIT_N], words[start + k.EMIT_AT] = len(block.emits), len(words)
        for emit in block.emits:
            words += [emit.slot, emit.tally, len(emit.registers), *emit.registers]
    return np.array(words, dtype=np.int64)
