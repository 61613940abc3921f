"""A checkpoint: the state of an engine as of one epoch ↔ one file, which is mapped into memory to be loaded.

It holds the matrices of words of `engine.local.transfer.checkpoint`, and the interned values of each type: an Arrow
stream of one column, in the order of their ids. The rows of the file become the rows of a store as they are: their ids
are places in the column of their type. Text is stored as text, every other value as its canonical bytes
(`values.encode`), and an id that belongs to no value as null.

A file gets its name (`snapshot-<epoch>.tide`) when all of it is on the disk, and is never changed again.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.database.storage.checked_file import CheckedFile, CheckedWriter, DamagedError
from tidelog.database.storage.journal import Journal, sync_directory
from tidelog.engine.local.encoding.words import Value, Values, Words
from tidelog.engine.local.storage import row_counts
from tidelog.engine.local.transfer.check_state import BadStateError, PresentIds, check_state
from tidelog.engine.local.transfer.checkpoint import (
    FREE,
    LAYOUT,
    LAYOUT_BEFORE,
    ROWS,
    Capture,
    CheckpointState,
    PartName,
    StoreSizes,
)
from tidelog.engine.storage_errors import damaged
from tidelog.rules.rule_changes.rule_set import Layer, RuleSet
from tidelog.rules.schema.storable import know_functions
from tidelog.types import StringType, Type
from tidelog.values import Definitions
from tidelog.values.encode import decoder, encoder

_log = logging.getLogger("tidelog")
# From format 5 on, copies of other relations have no rows (`rules/analysis/copies`), which earlier versions would miss.
FORMAT, FORMAT_WITH_COPIES, FORMAT_BEFORE = 5, 4, 3
_PIECE_WORDS = 1 << 20
_WORD = 8
_VALUES_AT_ONCE = 1 << 16
_NAME = re.compile(r"snapshot-(\d+)\.tide")


@dataclass(frozen=True, slots=True)
class ProgramVersion:
    """The program that derived the rows of a checkpoint: its digest, and the versions of its extern functions."""

    program: str
    externs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that was read: its state, the values of its words, the program that derived it, and its rules."""

    state: CheckpointState
    values: Values
    version: ProgramVersion
    rules: RuleSet


def checkpoints(directory: Path) -> dict[int, Path]:
    """Returns the checkpoints in a directory by their epochs, the latest first."""
    found = {int(match[1]): path for path in directory.iterdir() if (match := _NAME.fullmatch(path.name))}
    return dict(sorted(found.items(), reverse=True))


def load_last(journal: Journal, base: RuleSet, digest: str, *, is_writer: bool) -> Checkpoint | None:
    """Reads the last checkpoint that is whole; None where there is none and the journal has everything.

    The writer also removes unfinished files of a killed process. Raises DataError where whole checkpoints and the
    journal together miss an epoch.
    """
    directory = journal.directory
    reasons = []
    if is_writer:
        for path in directory.glob("snapshot-*.partial"):
            path.unlink(missing_ok=True)
    loaded = None
    for path in checkpoints(directory).values():
        try:
            loaded = read_checkpoint(path, base, digest)
        except FileNotFoundError:
            # The writer has just removed it; there are others now.
            return load_last(journal, base, digest, is_writer=is_writer)
        except (DamagedError, OSError) as error:
            reasons.append(f"{path.name} cannot be used, {error}")
            continue
        break
    after = 0 if loaded is None else loaded.state.epoch
    first = journal.first()
    if reasons and (after + 1 < first if first is not None else after < journal.acknowledged()):
        raise damaged(directory, "; ".join(reasons))
    for reason in reasons:
        _log.warning("%s: %s; an older one and the journal are used", directory, reason)
    return loaded


def write_checkpoint(
    directory: Path, capture: Capture, version: ProgramVersion, rules: RuleSet, lock: AbstractContextManager[Any]
) -> Path:
    """Writes a captured state, taking the lock for one piece of it at a time. Raises OSError when it cannot."""
    path = directory / f"snapshot-{capture.epoch:012}.tide"
    partial = path.with_suffix(".partial")
    try:
        with partial.open("wb", buffering=0) as file:
            _write(CheckedWriter(file), capture, version, rules, lock)
            os.fsync(file.fileno())
        partial.rename(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_directory(directory)
    return path


def read_checkpoint(path: Path, base: RuleSet, digest: str) -> Checkpoint:
    """Maps a checkpoint. The program has the digest, and had the rules `base` when it was compiled.

    Raises DamagedError for a checkpoint that is not whole, or is of another format or another program, or that no
    Tidelog has written, whatever its checksums say.
    """
    try:
        return _read(path, CheckedFile.map(path), base, digest)
    except BadStateError as error:
        raise DamagedError(f"{error}") from error
    except (DamagedError, OSError):
        raise
    except Exception as error:  # a file may hold anything, and so may fail in any way
        raise DamagedError(f"it is not one that Tidelog writes ({type(error).__name__}: {error})") from error


def _read(path: Path, file: CheckedFile, base: RuleSet, digest: str) -> Checkpoint:
    described = file.description
    form = described["format"], tuple(described["layout"])
    if form not in ((FORMAT, LAYOUT), (FORMAT_WITH_COPIES, LAYOUT), (FORMAT_BEFORE, LAYOUT_BEFORE)):
        raise DamagedError(f"it has format {described['format']} of another version of Tidelog")
    version = ProgramVersion(**described["basis"])
    if version.program != digest:
        raise DamagedError("it is of another program")
    rules = base.with_layer(Layer.of_document(described["layer"]))
    program = rules.rules
    know_functions(program)
    _check_numbers(path, described)
    _check_places(described)
    parts: dict[PartName, Words] = {}
    for each in described["parts"]:
        count, width = each["rows"], each["width"]
        words = np.frombuffer(file.pages, np.int64, count * width, each["at"])
        matrix = words.reshape(count, width)
        if form[0] == FORMAT_BEFORE and each["kind"] == ROWS:
            matrix = row_counts.from_words(matrix)
        name = PartName(each["kind"], each["relation"], each["number"])
        if name in parts:
            raise DamagedError(f"it has the {name.kind} of `{name.relation}` twice")
        parts[name] = matrix
    sizes = {name: StoreSizes(**each) for name, each in described["sizes"].items()}
    values = Values(program.functions.definitions)
    columns = (column.type for relation in program.relations.values() for column in relation.columns)
    pools = {str(type_): (type_, pool) for type_, pool in values.interned(columns).items()}
    copies = []
    present: dict[Type, npt.NDArray[np.bool_]] = {}
    for each in described["pools"]:
        type_, pool = pools.pop(each["type"])  # each type once
        data = memoryview(file.pages)[each["at"] : each["at"] + each["length"]]
        stored = _read_values(data, type_, program.functions.definitions)
        present[type_] = _present(stored)
        copies.append((pool, stored))
    state = CheckpointState(
        described["epoch"],
        parts,
        sizes,
        described["instances"],
        lambda what: damaged(path.parent, f"{path.name} cannot be used: {what}"),
    )
    check_state(state, program.relations, PresentIds.of(present))
    values.fill(copies)
    return Checkpoint(state, values, version, rules)


def _write(
    out: CheckedWriter, capture: Capture, version: ProgramVersion, rules: RuleSet, lock: AbstractContextManager[Any]
) -> None:
    program = rules.rules
    parts = []
    for store in capture.stores():
        parts.append(_part(PartName(ROWS, store.name), out.length, store.used, store.width))
        while store.is_unread:
            with lock:
                piece = store.piece(max(_PIECE_WORDS // store.width, 1))
            out.add(piece)
        if len(store.free):
            parts.append(_part(PartName(FREE, store.name), out.length, len(store.free), 1))
            out.add(store.free)
    columns = {name: len(relation.columns) for name, relation in program.relations.items()}
    for name, words in capture.bags(columns):
        parts.append(_part(name, out.length, *words.shape))
        out.add(words)
    pools = []
    for type_, values in capture.pools:
        data = _values_bytes(values, type_, program.functions.definitions)
        pools.append({"type": str(type_), "at": out.length, "length": data.size})
        out.add(data)
    out.finish(
        {
            "format": FORMAT,
            "layout": LAYOUT,
            "epoch": capture.epoch,
            "basis": asdict(version),
            "layer": rules.layer.document(),
            "instances": capture.instances,
            "sizes": {name: asdict(sizes) for name, sizes in capture.sizes.items()},
            "parts": parts,
            "pools": pools,
        }
    )


def _part(name: PartName, at: int, rows: int, width: int) -> dict[str, Any]:
    return {**asdict(name), "at": at, "rows": rows, "width": width}


def _values_bytes(values: pa.ChunkedArray | list[Value], type_: Type, definitions: Definitions) -> pa.Buffer:
    """Returns the values of a pool as an Arrow stream: text as it is, other values encoded."""
    is_text = isinstance(type_, StringType)
    schema = pa.schema([pa.field("value", pa.string() if is_text else pa.binary())])
    encode = encoder(type_, definitions)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        if isinstance(values, pa.ChunkedArray):
            writer.write_table(pa.table([values], schema=schema), max_chunksize=_VALUES_AT_ONCE)
            values = []
        for start in range(0, len(values), _VALUES_AT_ONCE):
            some = [None if value is None else encode(value) for value in values[start : start + _VALUES_AT_ONCE]]
            writer.write_batch(pa.record_batch([pa.array(some, pa.binary())], schema=schema))
    return sink.getvalue()


def _read_values(data: memoryview, type_: Type, definitions: Definitions) -> pa.ChunkedArray | list[Value]:
    """Returns the values of a pool, for `Pool.fill`."""
    with pa.ipc.open_stream(data) as reader:
        if reader.schema.types != [pa.string() if isinstance(type_, StringType) else pa.binary()]:
            raise DamagedError(f"its values of type {type_} are not one column of bytes")
        table = reader.read_all()
    table.validate(full=True)
    stored = table.column(0)
    if isinstance(type_, StringType):
        return stored
    decode = decoder(type_, definitions)
    values = [None if value is None else decode(value) for value in stored.to_pylist()]
    if len(set(values) - {None}) != len(stored) - stored.null_count:
        raise DamagedError(f"it has a value of type {type_} twice")
    return values


def _present(values: pa.ChunkedArray | list[Value]) -> npt.NDArray[np.bool_]:
    """Returns which ids of a pool have a value."""
    if isinstance(values, list):
        return np.fromiter((value is not None for value in values), np.bool_, len(values))
    chunks = [chunk.is_valid().to_numpy(zero_copy_only=False) for chunk in values.chunks]
    return np.concatenate([np.zeros(0, np.bool_), *chunks])


def _check_numbers(path: Path, described: Mapping[str, Any]) -> None:
    """Raises DamagedError where a number of the description is none, or the epoch is not that of the file's name."""
    sizes, instances = described["sizes"].values(), described["instances"].values()
    numbers = [described["epoch"], *instances, *(number for each in sizes for number in each.values())]
    numbers += [each[key] for each in described["parts"] for key in ("number", "at", "rows", "width")]
    numbers += [each[key] for each in described["pools"] for key in ("at", "length")]
    for number in numbers:
        if type(number) is not int or not 0 <= number < 1 << 62:
            raise DamagedError(f"its description has {number!r} for a number")
    named = _NAME.fullmatch(path.name)
    if named is not None and int(named[1]) != described["epoch"]:
        raise DamagedError(f"it is of epoch {described['epoch']}")


def _check_places(described: Mapping[str, Any]) -> None:
    """Raises DamagedError where parts are not inside the file, one after the other: stores write to their parts."""
    places = [(each["at"], each["rows"] * each["width"] * _WORD) for each in described["parts"]]
    places += [(each["at"], each["length"]) for each in described["pools"]]
    end = 0
    for at, size in sorted(place for place in places if place[1]):
        if at % _WORD or at < end:
            raise DamagedError(f"its part at byte {at} overlaps the one before")
        end = at + size
    if end > described["length"]:
        raise DamagedError(f"its parts end at byte {end:,}, behind its contents")
