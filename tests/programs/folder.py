"""A folder of files → a program, its transactions, and the changes that each has to make. README.md has the format."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.history import Transaction, Write
from tests.oracle.program import Program, Relation
from tests.oracle.read import read
from tests.oracle.types import Row, Type, Value
from tests.properties.replay import Changes

SIGNS = {"+": +1, "-": -1}


@dataclass(frozen=True, slots=True)
class Folder:
    """One program. `expected` has one entry more than `transactions`: the first is what opening has to change."""

    name: str
    text: str
    program: Program
    engines: tuple[str, ...]
    transactions: tuple[Transaction, ...]
    expected: tuple[Changes, ...]


def load(path: Path) -> Folder:
    """Reads a folder. Raises ValueError with the file's name for anything that is not as README.md says."""
    text = (path / "program.dl").read_text(encoding="utf-8")
    program = read(text)
    inputs = {relation.name: relation for relation in program.named("input")}
    outputs = {relation.name: relation for relation in program.named("output")}
    epochs = sorted(path.glob("epoch-*"), key=lambda epoch: int(epoch.name.removeprefix("epoch-")))
    if [epoch.name for epoch in epochs] != [f"epoch-{number}" for number in range(len(epochs))]:
        raise ValueError(f"{path}: the epochs must be epoch-0, epoch-1, ...: no number may be missing")
    strangers = {entry.name for entry in (path / "expect").iterdir()} - {"opening", *(epoch.name for epoch in epochs)}
    if strangers:
        raise ValueError(f"{path / 'expect'}: {sorted(strangers)} belong to no epoch")
    engines = path / "engines.txt"
    return Folder(
        path.name,
        text,
        program,
        tuple(engines.read_text(encoding="utf-8").split()) if engines.exists() else ("local",),
        tuple(Transaction(tuple(_writes(epoch, inputs))) for epoch in epochs),
        tuple(_changes(path / "expect" / name, outputs) for name in ("opening", *(epoch.name for epoch in epochs))),
    )


def _writes(folder: Path, relations: dict[str, Relation]) -> list[Write]:
    """The deletes, then the inserts."""
    writes = [Write(*_file(path, relations)) for path in sorted(folder.iterdir())]
    return sorted(writes, key=lambda write: write.sign)


def _changes(folder: Path, relations: dict[str, Relation]) -> Changes:
    found: dict[str, dict[int, frozenset[Row]]] = {}
    for path in sorted(folder.iterdir()) if folder.exists() else ():
        sign, name, rows = _file(path, relations)
        if len(set(rows)) != len(rows):
            raise ValueError(f"{path}: a row stands there twice")
        found.setdefault(name, {})[sign] = frozenset(rows)
    nothing: frozenset[Row] = frozenset()
    return {name: (rows.get(+1, nothing), rows.get(-1, nothing)) for name, rows in found.items()}


def _file(path: Path, relations: dict[str, Relation]) -> tuple[int, str, tuple[Row, ...]]:
    sign, name = SIGNS.get(path.name[0]), path.name[1:].removesuffix(".csv")
    if sign is None or path.suffix != ".csv" or name not in relations:
        raise ValueError(f"{path}: the name must be + or -, one of {sorted(relations)}, and .csv")
    columns = relations[name].columns
    with path.open(encoding="utf-8", newline="") as file:
        rows: list[Row]
        if not columns:
            rows = [() for line in file if line.strip() == "()"]
        else:
            rows = [_row(cells, columns, path, place) for place, cells in enumerate(csv.reader(file), 1)]
    if not rows:
        raise ValueError(f"{path}: there is no row in it")
    return sign, name, tuple(rows)


def _row(cells: list[str], columns: tuple[Type, ...], path: Path, place: int) -> Row:
    if len(cells) != len(columns):
        raise ValueError(f"{path}:{place}: {len(cells)} cells, {len(columns)} columns")
    return tuple(_value(cell, type_) for cell, type_ in zip(cells, columns))


def _value(cell: str, type_: Type) -> Value:
    match type_.kind:
        case "string":
            return cell
        case "bool":
            return {"true": True, "false": False}[cell]
        case _:
            return int(cell)
