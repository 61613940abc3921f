"""Rules that scan a relation, and may look rows of others up, in a Bootstrap: rows go into the head without waves.

Members of aggregates, filters, projections and joins are such rules. A wave would write their instances to buffers,
queue the new rows, and go through these three times; one kernel (`kernels/scan_rule`, and `kernels/chain_rule` for
joins) does it at once where nothing else happens in the stratum: it is not recursive, has one relation, and had no rows
and no facts. Where most instances of a join repeat, waves count them in buffers, which is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.bytecode import Bytecode
from tidelog.engine.local.execution.threads import ThreadPool
from tidelog.engine.local.kernels import chain_rule as chains
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import scan_rule as scans
from tidelog.engine.local.storage.store import Store
from tidelog.plan.variant import Variant
from tidelog.rules.ir import Rule

if TYPE_CHECKING:
    from tidelog.engine.local.strata.joins import LocalStratum

LEAST_ROWS = 20_000  # of the relations below: with fewer, waves are as fast
SHARED_BY = 4  # threads that share a wave are faster than one thread that scans
AT_ONCE = 1 << 16  # lines, first; then twice as many
MOST_AT_ONCE = 1 << 20
MOSTLY_NEW = 0.75  # of the instances so far: then room is made for all that follow
MOST_GROWTH = 8  # times the rows so far
TRIED, REPEATED = 1 << 14, 0.5  # after so many instances, a join is left to waves if fewer of them have new heads
_ROOT = 0


class ScanRules:
    """The rules of one Bootstrap of a stratum, if all of them scan a relation; made once they are planned.

    `look` checks the limits of the epoch for a rule, and may raise; `divided` returns the error of a variant in which
    the kernel divided by zero, given the control words of the wave.
    """

    def __init__(
        self,
        stratum: LocalStratum,
        pool: ThreadPool,
        look: Callable[[Rule], None],
        divided: Callable[[Words, Variant], Exception],
    ) -> None:
        self._stratum = stratum
        self._pool = pool
        self._look = look
        self._divided = divided
        self._found: list[_Path] = []

    def fit(self) -> bool:
        """True if all rules can be scanned; nothing has been done then."""
        stratum = self._stratum
        (store, *others) = stratum.stores()
        if (
            others
            or stratum.recursive
            or not store.columns
            or len(store)
            or store.arrangements
            or store.is_slim
            or not LEAST_ROWS <= stratum.rows_below() <= store.line[k.COUNT_ROOM]
            or stratum.watch.limits.max_rounds is not None
            or self._pool.threads >= SHARED_BY
        ):
            return False
        self._found = []
        for number, bytecode in enumerate(stratum.plans.variants):
            if stratum.plans.table[number, k.ACTIVE]:
                paths = _paths(number, bytecode)
                if not paths:
                    return False
                self._found += paths
        return bool(self._found)

    def run(self, *, is_read: bool) -> int | None:
        """Derives the stratum; returns the instances, or None if waves are better: then nothing is derived. Rows have
        the stamps of inserted ones if rules above read them.
        """
        stratum = self._stratum
        (store,) = stratum.stores()
        stratum.plans.executor.reset()
        instances, room = 0, int(store.line[k.COUNT_ROOM])
        for path in self._found:
            found = (self._chain if path.depth else self._scan)(path, store, int(is_read))
            if found is None:
                store.line[k.USED] = store.line[k.LIVE] = 0
                store.line[k.COUNT_ROOM] = room
                store.clear_index()
                stratum.plans.tally[:] = 0
                return None
            stratum.plans.tally[path.tally] += found
            instances += found
            store.line[k.COUNT_ROOM] -= found
        store.line[k.TOP] = int(len(store) > 0)
        stratum.watch.at(1 + int(len(store) > 0))
        return instances

    def _scan(self, path: _Path, store: Store, stamp: int) -> int | None:
        """Runs one rule with one literal; returns its instances, or None if totals might outgrow their bits."""
        stratum, segment = self._stratum, path.bytecode.segments[0]
        code, block = segment.code, _block(segment.code, path.scan)
        last = int(stratum.catalog.S[path.scanned, k.USED])
        if len(stratum.catalog.stores[path.scanned]) > store.line[k.COUNT_ROOM]:
            return None
        registers, found = segment.constants.copy(), np.zeros(1 + store.columns, dtype=np.int64)
        hashes: Words = np.empty(k.PIECE, dtype=np.int64)
        line, at_once, emitted, before = 0, AT_ONCE, 0, len(store)
        while line < last:
            end, new = min(line + at_once, last), len(store) - before
            if line and new >= MOSTLY_NEW * emitted:
                store.make_row_room((last - line) * new // line + k.PIECE)
            while line < end:
                line = scans.scan_rule(
                    stratum.catalog.S, code.ctypes.data, block, store.relation, stamp, line, end, registers, found,
                    hashes, stratum.plans.executor.scratch,
                )  # fmt: skip
                if line == scans.DIVIDED:
                    raise self._division(path, path.scan)
                if line < end:
                    store.make_row_room(max(len(store), k.PIECE))
            at_once = min(2 * at_once, MOST_AT_ONCE)
            emitted = int(found[scans.EMITTED])
            self._look_at(path.rule)
        return emitted

    def _chain(self, path: _Path, store: Store, stamp: int) -> int | None:
        """Runs one rule with several literals; returns its instances, or None if most of the first ones repeat."""
        stratum, segment, depth = self._stratum, path.bytecode.segments[0], path.depth
        last = int(stratum.catalog.S[path.scanned, k.USED])
        registers, found = segment.constants.copy(), np.zeros(1, dtype=np.int64)
        state: Words = np.zeros(chains.FIRST_BATCH + chains.BATCH_WORDS * depth, dtype=np.int64)
        batches: Words = np.empty(depth * k.PIECE * len(registers), dtype=np.int64)
        entries: Words = np.empty(depth * k.PIECE, dtype=np.int64)
        hashes: Words = np.empty(k.PIECE, dtype=np.int64)
        before, is_tried, status = len(store), False, chains.ROOM
        while status != chains.FINISHED:
            if not is_tried:
                state[chains.LOOKED_AT] = max(int(state[chains.LOOKED_AT]), chains.PAUSE_ROWS - 4 * TRIED)
            status = chains.chain_rule(
                stratum.catalog.S, stratum.catalog.A, segment.code.ctypes.data, path.scan, depth, store.relation,
                stamp, last, registers, state, batches, entries, found, hashes, stratum.plans.executor.scratch,
            )  # fmt: skip
            emitted, new = int(found[scans.EMITTED]), len(store) - before
            if status == chains.DIVIDED:
                raise self._division(path, int(state[chains.LEVEL]))
            if not is_tried and emitted >= TRIED:
                if new < REPEATED * emitted:
                    return None
                is_tried = True
            if emitted > store.line[k.COUNT_ROOM]:
                return None
            if status == chains.ROOM:
                line = int(state[chains.LINE])
                more = (last - line) * new // line if is_tried and line and new >= MOSTLY_NEW * emitted else 0
                store.make_row_room(max(min(more, MOST_GROWTH * len(store)), len(store), k.PIECE, TRIED))
            self._look_at(path.rule)
        return emitted

    def _look_at(self, rule: Rule) -> None:
        """Checks the limits of the epoch, and reports progress."""
        self._stratum.watch.at(0)
        self._look(rule)

    def _division(self, path: _Path, node: int) -> Exception:
        control: Words = np.zeros(k.CONTROL_FIELDS, dtype=np.int64)
        control[k.PHASE], control[k.VARIANT], control[k.NODE] = k.INSERT, path.number, node
        control[k.THREADS], control[k.CHUNK] = 1, k.ALL_ROWS
        return self._divided(control, path.bytecode.at[node])


@dataclass(frozen=True, slots=True)
class _Path:
    """A rule in the tree of some bytecode: the block that scans, and so many look-ups in the blocks behind it."""

    number: int
    bytecode: Bytecode
    scan: int
    depth: int

    @property
    def rule(self) -> Rule:
        return self.bytecode.at[self.scan + self.depth].rule

    @property
    def scanned(self) -> int:
        """The relation that is scanned."""
        code = self.bytecode.segments[0].code
        return int(code[_block(code, self.scan) + k.ROW_RELATION])

    @property
    def tally(self) -> int:
        code = self.bytecode.segments[0].code
        return int(code[code[_block(code, self.scan + self.depth) + k.EMIT_AT] + k.EMIT_TALLY])


def _block(code: Words, number: int) -> int:
    return int(code[k.CODE_BLOCKS + number])


def _paths(number: int, bytecode: Bytecode) -> list[_Path]:
    """Returns the rules of a tree; none if any of them is not a scan with look-ups behind it, or shares these."""
    if bytecode.kind != k.KIND_RULE or bytecode.in_python:
        return []
    code = bytecode.segments[0].code
    root = _block(code, _ROOT)
    if code[root + k.OP] != k.ITERATE_UNIT or code[root + k.TAIL_N] or code[root + k.EMIT_N] or code[root + k.ONCE_N]:
        return []
    found = []
    scan = int(code[root + k.CHILD])
    while scan >= 0:
        depth = _depth(code, scan)
        if depth < 0:
            return []
        found.append(_Path(number, bytecode, scan, depth))
        scan = int(code[_block(code, scan) + k.SIBLING])
    return found


def _depth(code: Words, scan: int) -> int:
    """Returns how many look-ups follow a scan; -1 if something else does, or it is none."""
    node, blocks = scan, []
    while True:
        block = _block(code, node)
        blocks.append(block)
        op = code[block + k.OP]
        is_scan = op == k.ITERATE_SCAN if node == scan else op in (k.ITERATE_PROBE, k.ITERATE_FIND)
        if not is_scan or code[block + k.CHECK] != k.CHECK_BEFORE or code[block + k.ONCE_N]:
            return -1
        if node != scan and code[block + k.SIBLING] != -1:
            return -1
        if code[block + k.CHILD] < 0:
            break
        if code[block + k.EMIT_N] or code[block + k.CHILD] != node + 1:
            return -1
        node += 1
    # A join with bounds has zones; one that looks negated rows up prefetches these.
    if len(blocks) > 1 and any(code[each + k.BOUND_N] or _looks_for_absences(code, each) for each in blocks):
        return -1
    return len(blocks) - 1 if code[blocks[-1] + k.EMIT_N] == 1 else -1


def _looks_for_absences(code: Words, block: int) -> bool:
    tail = int(code[block + k.TAIL_AT])
    ops = (code[tail + i * k.TAIL_WIDTH + k.TAIL_OP] for i in range(int(code[block + k.TAIL_N])))
    return any(op == k.T_ABSENT for op in ops)
