"""Sizes and a seed → facts about machine code: blocks, definitions and uses of registers and of places on the stack."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.bench.inputs.shapes.graphs import Facts

_COLUMNS = {
    "Block": ("address", "block"),
    "Successor": ("block", "end", "next"),
    "Falls": ("from", "to"),
    "Use": ("address", "register", "operand"),
    "UseIn": ("block", "address", "register", "operand"),
    "DefinedIn": ("block", "register"),
    "ReferredIn": ("block", "register"),
    "LastDefinition": ("address", "definition", "register"),
    "Leaves": ("block", "identity", "register", "definition"),
    "FlowDefinition": ("end", "register", "next", "value"),
    "Call": ("address", "callee"),
    "Returns": ("callee", "block", "end"),
    "ReturnRegister": ("register",),
    "UsedFor": ("address", "register", "kind"),
    "Arithmetic": ("address", "to", "one", "other", "factor", "offset"),
    "Access": ("kind", "address", "register", "base", "index", "offset"),
    "StackUse": ("block", "address", "base", "position"),
    "StackDefinition": ("address", "base", "position"),
    "StackReferredIn": ("block", "base", "position"),
    "StackLeaves": ("block", "base", "position", "definition"),
    "TableStart": ("jump", "size", "start"),
    "TableEntry": ("address", "start", "size", "target"),
}
_LENGTH = 6
_STACK = 5


def code(functions: int, blocks: int, registers: int, bits: int, seed: int) -> Facts:
    """Returns the facts of functions with branches, loops and calls; numbers of 32 or 64 bits."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    rows["ReturnRegister"].append((0,))
    for function in range(functions):
        _function(rng, rows, function, functions, blocks, registers)
    kind = pa.uint64() if bits == 64 else pa.uint32()
    return {name: _table(rows[name], columns, kind) for name, columns in _COLUMNS.items()}


def _table(rows: list[tuple[int, ...]], columns: tuple[str, ...], kind: pa.DataType) -> pa.Table:
    numbers = np.unique(np.array(rows, dtype=np.int64).reshape(-1, len(columns)), axis=0)
    return pa.table({name: pa.array(numbers[:, i]).cast(kind) for i, name in enumerate(columns)})


def _function(
    rng: np.random.Generator,
    rows: dict[str, list[tuple[int, ...]]],
    function: int,
    functions: int,
    blocks: int,
    registers: int,
) -> None:
    """Adds the rows of one function: six instructions in a block, each of which reads two registers and writes one."""
    first = function * blocks
    drawn: Any = rng.integers(0, registers, (blocks, _LENGTH, 3)).tolist()
    positions: Any = rng.integers(0, 40, (blocks, _LENGTH)).tolist()
    what: Any = rng.integers(0, 10, (blocks, _LENGTH)).tolist()
    callees: Any = rng.integers(0, functions, blocks).tolist()
    targets: Any = rng.integers(0, blocks, (blocks, 3)).tolist()
    for number in range(blocks):
        block = (first + number) * 16
        last: dict[int, int] = {}
        stored: dict[int, int] = {}
        for step in range(_LENGTH):
            address = block + step
            to, *read = drawn[number][step]
            rows["Block"].append((address, block))
            if step:
                rows["Falls"].append((address - 1, address))
            for operand, register in enumerate(read):
                rows["Use"].append((address, register, operand))
                rows["UseIn"].append((block, address, register, operand))
                rows["ReferredIn"].append((block, register))
                if register in last:
                    rows["LastDefinition"].append((address, last[register], register))
            position, action = positions[number][step], what[number][step]
            if action < 2:
                rows["Access"].append((0, address, to, _STACK, 4, position))
                rows["StackUse"].append((block, address, _STACK, position))
                rows["StackReferredIn"].append((block, _STACK, position))
            elif action < 4:
                rows["Access"].append((1, address, read[0], _STACK, 4, position))
                rows["StackDefinition"].append((address, _STACK, position))
                rows["StackReferredIn"].append((block, _STACK, position))
                stored[position] = address
            elif action == 4:
                rows["UsedFor"].append((address, read[0], position % 3))
            elif action < 8:
                rows["Arithmetic"].append((address, to, read[0], read[1], 1 << position % 4, position))
            if to != _STACK:
                last[to] = address
        end = block + _LENGTH - 1
        for register, address in last.items():
            rows["Leaves"].append((block, register, register, address))
            rows["DefinedIn"].append((block, register))
            rows["ReferredIn"].append((block, register))
        for position, address in stored.items():
            rows["StackLeaves"].append((block, _STACK, position, address))
        _ends(rows, first, number, blocks, end, last, callees[number] * blocks * 16, targets[number])


def _ends(
    rows: dict[str, list[tuple[int, ...]]],
    first: int,
    number: int,
    blocks: int,
    end: int,
    last: dict[int, int],
    callee: int,
    targets: list[int],
) -> None:
    """Adds how a block ends: with a branch, a call, a jump through a table, or a return."""
    block = (first + number) * 16
    following = [number + 1] if number + 1 < blocks else []
    if number % 4 == 1:
        following.append(targets[0])
    if number % 9 == 5:
        rows["Call"].append((end, callee))
        rows["Leaves"].append((block, 0, 0, end))
    if number % 50 == 49:
        rows["TableStart"].append((end, 4, block + 8))
        for place, target in enumerate(targets):
            rows["TableEntry"].append((block + 8 + place, block + 8, 4, (first + target) * 16))
    for each in following:
        after = (first + each) * 16
        rows["Successor"].append((block, end, after))
        if last and number % 6 == 0:
            rows["FlowDefinition"].append((end, min(last), after, 1))
    if number == blocks - 1:
        rows["Returns"].append((first * 16, block, end))
