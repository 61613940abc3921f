"""Facts about a Java program for points-to: those that Doop extracts (`doop/*.facts.gz`), or generated ones.

Doop's files have more columns than the analysis reads, and repeated lines; only the columns it reads are kept, once.
Texts and classes that the program names are objects too, of the types String and Class. An array type is below Object,
Cloneable and Serializable. The entry is the main method; its argument is an array with one text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
    "StoreStatic": ("StoreStaticField", 5, {"from": 2, "field": 3, "method": 4}),
    "LoadElement": ("LoadArrayIndex", 5, {"to": 2, "base": 3}),
    "StoreElement": ("StoreArrayIndex", 5, {"from": 2, "base": 3}),
    "Actual": ("ActualParam", 3, {"index": 0, "call": 1, "variable": 2}),
    "Formal": ("FormalParam", 3, {"index": 0, "method": 1, "variable": 2}),
    "Returned": ("Return", 4, {"variable": 2, "method": 3}),
    "Result": ("AssignReturnValue", 2, {"call": 0, "variable": 1}),
    "This": ("ThisVar", 2, {"method": 0, "variable": 1}),
    "StaticCall": ("StaticMethodInvocation", 4, {"call": 0, "callee": 2, "method": 3}),
    "SpecialCall": ("SpecialMethodInvocation", 5, {"call": 0, "callee": 2, "base": 3}),
    "VirtualCall": ("VirtualMethodInvocation", 5, {"call": 0, "signature": 2, "base": 3}),
    "Method": ("Method", 7, {"method": 0, "name": 1, "descriptor": 5, "class": 3}),
    "StaticField": ("Field", 4, {"field": 0, "class": 1}),
    "Extends": ("DirectSuperclass", 2, {"class": 0, "above": 1}),
    "Implements": ("DirectSuperinterface", 2, {"class": 0, "above": 1}),
    "Component": ("ComponentType", 2, {"array": 0, "class": 1}),
}
_NUMBERS = ("index",)
# Statements of a generated method; one that is listed twice is generated twice as often.
_ACTIONS = (
    *("New", "New", "New", "New array", "Move", "Move", "Cast", "Load", "Store", "LoadElement", "StoreElement"),
    *("LoadStatic", "StoreStatic", "Virtual", "Virtual", "Special", "Static"),
)
_STEPS = 7


def doop(settings: Settings) -> Dataset:
    """Returns the real facts, at the scale `tiny` with a fixed half of the allocations; else generated ones."""
    folder = settings.file("doop")
    if folder is None or not folder.is_dir():
        return generated(settings.pick(30, 400, 1_000))
    read = read_doop(folder)
    if settings.scale is not Scale.TINY:
        return read
    # Fewer leave nothing to analyse: without the objects that methods are called on, nothing is reached.
    count = read.tables["New"].num_rows
    kept = np.sort(np.random.default_rng(SEED).permutation(count)[: count // 2])
    tables = {**read.tables, "New": read.tables["New"].take(kept)}
    return Dataset(f"Doop, {len(kept)} allocations", read.source, tables, SEED)


def read_doop(folder: Path) -> Dataset:
    """Reads the columns of Doop's facts that the analysis needs. Raises UsageError for a missing or malformed file."""
    tables = {name: _read(folder, *described) for name, described in FILES.items()}
    methods = tables["Method"]
    modifiers = _read(folder, "Method-Modifier", 2, {"modifier": 0, "method": 1})
    abstract = modifiers.filter(pc.equal(modifiers["modifier"], "abstract"))["method"]
    concrete = methods.filter(pc.invert(pc.is_in(methods["method"], abstract.combine_chunks())))
    tables["Concrete"] = concrete.select(["method"])
    tables["Initialiser"] = concrete.filter(pc.equal(concrete["name"], "<clinit>")).select(["class", "method"])
    used = pc.unique(pa.chunked_array([*tables["LoadStatic"]["field"].chunks, *tables["StoreStatic"]["field"].chunks]))
    fields = tables["StaticField"]
    tables["StaticField"] = fields.filter(pc.is_in(fields["field"], used))
    heaps = pc.unique(tables["New"]["heap"])
    texts = _read(folder, "StringConstant", 1, {"heap": 0})["heap"]
    tables["HeapType"] = pa.concat_tables(
        [
            tables["HeapType"],
            _read(folder, "HeapAllocation_Type_Prefill", 2, {"heap": 0, "class": 1}),
            _all_of("heap", texts, "class", "java.lang.String"),
            _all_of("heap", heaps.filter(pc.starts_with(heaps, "<class ")), "class", "java.lang.Class"),
        ]
    )
    arrays = tables["Component"]["array"]
    tables["Extends"] = pa.concat_tables([tables["Extends"], _all_of("class", arrays, "above", "java.lang.Object")])
    above = [_all_of("class", arrays, "above", each) for each in ("java.lang.Cloneable", "java.io.Serializable")]
    tables["Implements"] = pa.concat_tables([tables["Implements"], *above])
    main = f"<{_read(folder, 'MainClass', 1, {'class': 0})['class'][0]}: void main(java.lang.String[])>"
    tables["Entry"] = _table({"method": pa.array([main])})
    array = _read(folder, "MainMethodArgArray", 1, {"heap": 0})["heap"][0].as_py()
    text = _read(folder, "MainMethodArgArrayContent", 1, {"heap": 0})["heap"][0].as_py()
    formals = tables["Formal"]
    argument = formals.filter(pc.equal(formals["method"], main))["variable"][0].as_py()
    made = {"variable": [argument, f"{main}/content"], "heap": [array, text], "method": [main, main]}
    tables["New"] = pa.concat_tables([tables["New"], _lines(made)])
    stored = _lines({"from": [f"{main}/content"], "base": [argument]})
    tables["StoreElement"] = pa.concat_tables([tables["StoreElement"], stored])
    return Dataset("Doop", str(folder), {name: _distinct(table) for name, table in tables.items()})


def _all_of(name: str, values: pa.ChunkedArray, other: str, value: str) -> pa.Table:
    return _table({name: values, other: pa.repeat(value, len(values))})


def _lines(columns: Mapping[str, list[Any]]) -> pa.Table:
    return _table({name: pa.array(values) for name, values in columns.items()})


def _distinct(table: pa.Table) -> pa.Table:
    return table.group_by(table.column_names, use_threads=False).aggregate([])


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
    """Generates a program of so many classes, whose methods make, move, store, load, pass and return objects."""
    generator = np.random.default_rng(SEED)
    columns = {name: list(described[2]) for name, described in FILES.items()}
    columns |= {"Concrete": ["method"], "Initialiser": ["class", "method"], "Entry": ["method"]}
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in columns}
    slots = 3

    def any_of(count: int) -> int:
        return int(generator.integers(0, count))

    def declare(method: str, name: str, of: str) -> None:
        rows["Method"].append((method, name, "()", of))
        rows["Concrete"].append((method,))

    def make(variable: str, heap: str, of: str, method: str) -> None:
        rows["New"].append((variable, heap, method))
        rows["HeapType"].append((heap, of))

    def do(action: str, one: str, other: str, method: str, step: int) -> None:
        call, name = f"{method}/call{step}", f"f{any_of(3)}"
        match action:
            case "New":
                make(one, f"{method}/new{step}", f"C{any_of(classes)}", method)
            case "New array":
                make(one, f"{method}/new{step}", f"C{any_of(classes)}[]", method)
            case "Move" | "LoadElement" | "StoreElement":
                rows[action].append((one, other))
            case "Cast":
                rows["Cast"].append((one, other, f"C{any_of(classes)}" + ("[]" if any_of(4) == 0 else "")))
            case "Load" | "Store":
                rows[action].append((one, other, name))
            case "LoadStatic" | "StoreStatic":
                rows[action].append((one, f"C{any_of(classes)}.s", method))
            case "Virtual":
                # Class 0 has all methods, so a call through its signature finds one in every class.
                rows["VirtualCall"].append((call, f"<C0: m{any_of(slots)}>", one))
                rows["Actual"].append((0, call, other))
                rows["Result"].append((call, f"{method}/v{any_of(5)}"))
            case "Special":
                rows["SpecialCall"].append((call, f"<C0: m{any_of(slots)}>", one))
            case "Static":
                rows["StaticCall"].append((call, f"<C0: m{any_of(slots)}>", method))
                rows["Actual"].append((0, call, one))

    for number in range(classes):
        own = f"C{number}"
        rows["StaticField"].append((f"{own}.s", own))
        rows["Component"].append((f"{own}[]", own))
        rows["Extends"].append((f"{own}[]", "C0"))
        if number:
            rows["Extends"].append((own, f"C{any_of(number)}"))
        if any_of(2) == 0:
            method = f"<{own}: <clinit>>"
            declare(method, "<clinit>", own)
            rows["Initialiser"].append((own, method))
            make(f"{method}/v0", f"{method}/new", own, method)
            rows["StoreStatic"].append((f"{method}/v0", f"{own}.s", method))
        for slot in range(slots):
            # A class has some of the methods, and the rest from above.
            if number and any_of(3) == 0:
                continue
            method = f"<{own}: m{slot}>"
            variables = [f"{method}/v{i}" for i in range(5)]
            declare(method, f"m{slot}", own)
            rows["This"].append((method, f"{method}/this"))
            rows["Formal"].append((0, method, variables[0]))
            rows["Returned"].append((variables[4], method))
            rows["Move"].append((f"{method}/this", variables[1]))
            for step in range(_STEPS):
                do(_ACTIONS[any_of(len(_ACTIONS))], variables[any_of(5)], variables[any_of(5)], method, step)
    methods = [method for _, method in rows["Initialiser"]]
    called = [row[:1] for row in rows["Method"] if row[0] not in methods]
    rows["Entry"] = called[:: max(5, len(called) // 100)]
    tables = {name: _of_rows(columns[name], lines) for name, lines in rows.items()}
    return Dataset(f"program of {classes} classes", "generated", tables, SEED)


def _of_rows(columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> pa.Table:
    distinct = sorted(set(rows), key=str)
    return _lines({name: [row[i] for row in distinct] for i, name in enumerate(columns)})
