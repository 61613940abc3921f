"""Facts about a Java program for points-to: those that Doop extracts (`doop/*.facts.gz`), or generated ones.

Doop's files have more columns and more methods than the analysis reads; only what it reads is kept. Class initialisers
and the main method are entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from tidelog.bench.benchmark import Scale, Settings
from tidelog.bench.inputs.dataset import SEED, Dataset, unreadable

# relation: (file, its number of columns, the columns to keep under these names)
FILES: dict[str, tuple[str, int, dict[str, int]]] = {
    "New": ("AssignHeapAllocation", 6, {"variable": 3, "heap": 2, "method": 4}),
    "HeapType": ("NormalHeap", 2, {"heap": 0, "class": 1}),
    "Move": ("AssignLocal", 5, {"from": 2, "to": 3}),
    "Cast": ("AssignCast", 6, {"from": 2, "to": 3, "class": 4}),
    "Load": ("LoadInstanceField", 6, {"to": 2, "base": 3, "field": 4}),
    "Store": ("StoreInstanceField", 6, {"from": 2, "base": 3, "field": 4}),
    "LoadStatic": ("LoadStaticField", 5, {"to": 2, "field": 3, "method": 4}),
    "StoreStatic": ("StoreStaticField", 5, {"from": 2, "field": 3}),
    "LoadElement": ("LoadArrayIndex", 5, {"to": 2, "base": 3}),
    "StoreElement": ("StoreArrayIndex", 5, {"from": 2, "base": 3}),
    "Actual": ("ActualParam", 3, {"index": 0, "call": 1, "variable": 2}),
    "Formal": ("FormalParam", 3, {"index": 0, "method": 1, "variable": 2}),
    "Returned": ("Return", 4, {"variable": 2, "method": 3}),
    "Result": ("AssignReturnValue", 2, {"call": 0, "variable": 1}),
    "This": ("ThisVar", 2, {"method": 0, "variable": 1}),
    "StaticCall": ("StaticMethodInvocation", 4, {"call": 0, "callee": 2, "method": 3}),
    "SpecialCall": ("SpecialMethodInvocation", 5, {"call": 0, "callee": 2, "base": 3, "method": 4}),
    "VirtualCall": ("VirtualMethodInvocation", 5, {"call": 0, "signature": 2, "base": 3, "method": 4}),
    "Method": ("Method", 7, {"method": 0, "name": 1, "descriptor": 5, "class": 3}),
    "Extends": ("DirectSuperclass", 2, {"class": 0, "above": 1}),
    "Implements": ("DirectSuperinterface", 2, {"class": 0, "above": 1}),
}
_NUMBERS = ("index",)


def doop(settings: Settings) -> Dataset:
    """The real facts at full scale, with a fixed sample of the allocations at a smaller one; generated without them."""
    folder = settings.data / "doop" if settings.data else None
    if folder is None or not folder.is_dir():
        return generated(settings.pick(30, 400, 1_500))
    read = read_doop(folder)
    if settings.scale is Scale.FULL:
        return read
    tables = dict(read.tables)
    kept = np.random.default_rng(SEED).permutation(tables["New"].num_rows)[: settings.pick(200, 4_000, 0)]
    tables["New"] = tables["New"].take(np.sort(kept))
    return Dataset(f"Doop, {len(kept)} allocations", read.source, tables, SEED)


def read_doop(folder: Path) -> Dataset:
    """What the analysis reads of Doop's facts. Raises UsageError when a file is missing or not as it should be."""
    tables = {name: _read(folder, *described) for name, described in FILES.items()}
    modifiers = _read(folder, "Method-Modifier", 2, {"modifier": 0, "method": 1})
    abstract = modifiers.filter(pc.equal(modifiers["modifier"], "abstract"))["method"]
    own = tables["This"]["method"]
    concrete = pc.unique(own.filter(pc.invert(pc.is_in(own, abstract.combine_chunks()))))
    methods = tables["Method"]["method"]
    used = pa.concat_arrays([concrete, pc.unique(tables["VirtualCall"]["signature"])])
    main = f"<{_read(folder, 'MainClass', 1, {'class': 0})['class'][0]}: void main(java.lang.String[])>"
    entries = methods.filter(pc.or_(pc.equal(methods, main), pc.ends_with(methods, " <clinit>()>")))
    tables["Method"] = tables["Method"].filter(pc.is_in(methods, used))
    tables["Concrete"] = _table({"method": concrete})
    tables["Entry"] = _table({"method": pc.unique(entries)})
    return Dataset("Doop", str(folder), tables)


def _read(folder: Path, file: str, width: int, columns: dict[str, int]) -> pa.Table:
    path = folder / f"{file}.facts.gz"
    names = [f"c{i}" for i in range(width)]
    try:
        read = pyarrow.csv.read_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(column_names=names),
            parse_options=pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(path, error) from error
    return _table({name: read[f"c{place}"] for name, place in columns.items()})


def _table(columns: dict[str, pa.Array]) -> pa.Table:
    types = [pa.uint32() if name in _NUMBERS else pa.string() for name in columns]
    return pa.table({name: column.cast(kind) for (name, column), kind in zip(columns.items(), types)})


def generated(classes: int) -> Dataset:
    """A program of so many classes, in which methods make, move, store, load, pass and return objects."""
    generator = np.random.default_rng(SEED)
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in [*FILES, "Concrete", "Entry"]}
    slots, actions = 3, ("New", "Move", "Cast", "Load", "Store", "Virtual", "Virtual", "Static")

    def any_of(count: int) -> int:
        return int(generator.integers(0, count))

    for number in range(classes):
        own = f"C{number}"
        if number:
            rows["Extends"].append((own, f"C{any_of(number)}"))
        for slot in range(slots):
            # A class has some of the methods, and the rest from above.
            if number and any_of(3) == 0:
                continue
            method = f"<{own}: m{slot}>"
            variables = [f"{method}/v{i}" for i in range(5)]
            rows["Method"].append((method, f"m{slot}", "()", own))
            rows["Concrete"].append((method,))
            rows["This"].append((method, f"{method}/this"))
            rows["Formal"].append((0, method, variables[0]))
            rows["Returned"].append((variables[4], method))
            rows["Move"].append((f"{method}/this", variables[1]))
            for step in range(6):
                one, other = variables[any_of(5)], variables[any_of(5)]
                call, field = f"{method}/call{step}", f"f{any_of(3)}"
                match actions[any_of(len(actions))]:
                    case "New":
                        made = any_of(classes)
                        rows["New"].append((one, f"{method}/new{step}", method))
                        rows["HeapType"].append((f"{method}/new{step}", f"C{made}"))
                    case "Move":
                        rows["Move"].append((one, other))
                    case "Cast":
                        rows["Cast"].append((one, other, f"C{any_of(classes)}"))
                    case "Load":
                        rows["Load"].append((one, other, field))
                    case "Store":
                        rows["Store"].append((one, other, field))
                    case "Virtual":
                        # Class 0 has all methods, so a call through its signature finds one in every class.
                        rows["VirtualCall"].append((call, f"<C0: m{any_of(slots)}>", one, method))
                        rows["Actual"].append((0, call, other))
                        rows["Result"].append((call, variables[any_of(5)]))
                    case "Static":
                        rows["StaticCall"].append((call, f"<C0: m{any_of(slots)}>", method))
                        rows["Actual"].append((0, call, one))
    rows["Entry"] = [rows["Method"][i][:1] for i in range(0, len(rows["Method"]), 5)]
    columns = {name: list(described[2]) for name, described in FILES.items()}
    columns |= {"Concrete": ["method"], "Entry": ["method"]}
    tables = {name: _of_rows(columns[name], lines) for name, lines in rows.items()}
    return Dataset(f"program of {classes} classes", "generated", tables, SEED)


def _of_rows(columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> pa.Table:
    distinct = sorted(set(rows), key=str)
    return _table(
        {
            name: pa.array([row[i] for row in distinct], pa.uint32() if name in _NUMBERS else pa.string())
            for i, name in enumerate(columns)
        }
    )
