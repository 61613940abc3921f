"""State transfer: the state of a local engine ↔ files of a Spark state, with the manifest that names them.

Both engines keep rows with the same numbers (`arrow_state`), so rows are copied and nothing is derived. One thing
differs: on Spark, an input relation that rules derive too has its facts in a relation of their own (`split_inputs`),
one level lower. The counts of such a stratum differ between the engines, so it is recomputed; so are strata whose
numbers are unknown on Spark. Weights, groups and delayed changes are the same in both engines.

No Spark session is needed: the files are read and written by pyarrow.
"""

from __future__ import annotations

import uuid

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.transfer.export import ExportedState
from tidelog.engine.spark.epoch.set_relation import stored_set
from tidelog.engine.spark.plans.split_inputs import SplitProgram, split_inputs
from tidelog.engine.spark.storage import state_files
from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.manifest import Manifest
from tidelog.engine.spark.storage.state_files import NUMBERS, TOTAL, Changed, Stored, as_facts, read_weights, with_input
from tidelog.rules.ir import Kind, Relation, RuleProgram


def write_state(state: ExportedState, program: RuleProgram, directory: StateDirectory) -> Manifest:
    """Writes the state of a local engine of this program; the manifest names the files, and has no basis and no marks.

    They are in the folder of the state's epoch, which must be empty before.
    """
    directory.make(state.epoch)
    split = split_inputs(program)
    state = _with_split_inputs(state, split)
    label = uuid.uuid4().hex[:12]
    stored = {}
    for name, table in state.rows.items():
        relation = split.rules.relations[name]
        is_derived = name in split.derived
        numbered = _positional(table, relation, NUMBERS if is_derived else (TOTAL,))
        if not is_derived and not relation.weighted:
            numbered = state_files.with_total(numbered, state_files.all_of(1, numbered.num_rows))
        bucket = state_files.write_whole(directory, state.epoch, name, numbered)
        stored[name] = Stored(label, True, None, (bucket,)) if is_derived else stored_set(label, bucket)
    waiting = {}
    for feed in program.feeds:
        if not feed.latest:
            source = split.rules.relations[feed.source]
            queue = state.waiting.get(feed.relation, ())
            waiting[feed.relation] = tuple(_write_changes(each, source, state.epoch, directory) for each in queue)
    return Manifest(1, state.epoch, relations=stored, waiting=waiting)


def read_state(
    manifest: Manifest, program: RuleProgram, directory: StateDirectory
) -> tuple[ExportedState, frozenset[str]]:
    """Returns the state that a manifest names, for a local engine of this program, and the relations whose numbers are
    not known."""
    written = split_inputs(program, manifest.relations).written
    derived = {rule.head.relation for rule in program.rules}
    rows, given, unknown = {}, {}, set()
    for name, relation in program.relations.items():
        if relation.kind is Kind.STREAM:
            continue
        facts = written.get(name, name)
        stored = manifest.relations.get(name if name in derived else facts)
        is_counted = name in derived and (stored is None or stored.counted)
        table = read_weights(directory, relation, stored, numbers=is_counted)
        loaded = with_input(table, False) if is_counted else as_facts(table, relation.weighted)
        rows[name] = _named(loaded, relation)
        if name in derived and facts != name:
            given[name] = _named(read_weights(directory, relation, manifest.relations.get(facts)), relation)
        if name in derived and (facts != name or not is_counted):
            unknown.add(name)
    waiting = {}
    for feed in program.feeds:
        if not feed.latest:
            queue = manifest.waiting.get(feed.relation, ())
            waiting[feed.relation] = [
                _read_changes(each, program.relations[feed.relation], directory) for each in queue
            ]
    return ExportedState(manifest.epoch, rows, given, waiting), frozenset(unknown)


def _with_split_inputs(state: ExportedState, split: SplitProgram) -> ExportedState:
    """Returns the state for an engine of the split program."""
    both = {name: written for name, written in split.written.items() if written != name}
    if not both:
        return state
    relations = split.rules.relations
    facts = {written: as_facts(state.given[name], relations[written].weighted) for name, written in both.items()}
    engine = LocalEngine(split.rules)
    try:
        engine.import_state(ExportedState(state.epoch, {**state.rows, **facts}, {}, state.waiting), both.keys())
        return engine.export_state()
    finally:
        engine.close()


def _write_changes(table: pa.Table, source: Relation, epoch: int, directory: StateDirectory) -> Changed | None:
    """Writes the waiting changes of a delayed relation, given as changes of weights, as changes of its source."""
    if not table.num_rows:
        return None
    changes = _positional(table, source, (TOTAL,))
    if source.weighted:
        return state_files.write_weights(directory, epoch, source, changes)
    is_inserted = pc.greater(changes[TOTAL], 0)
    inserted, deleted = changes.filter(is_inserted), changes.filter(pc.invert(is_inserted))
    return state_files.write_changes(directory, epoch, source, inserted, deleted)


def _read_changes(changed: Changed | None, relation: Relation, directory: StateDirectory) -> pa.Table:
    """Reads the changes that `_write_changes` wrote."""
    table = state_files.read_changes(directory, relation, changed or Changed((), 0, 0))
    return _named(table if changed is None or changed.weighted else state_files.as_weights(table), relation)


def _positional(table: pa.Table, relation: Relation, numbers: tuple[str, ...]) -> pa.Table:
    """Returns the columns and some of the numbers, in the form of `state_files`."""
    values = table.columns[: len(relation.columns)]
    names = [*(f"c{i}" for i in range(len(values))), *numbers]
    return pa.Table.from_arrays([*values, *(table[name] for name in numbers)], names=names)


def _named(table: pa.Table, relation: Relation) -> pa.Table:
    """Returns a table of `state_files` with the names of the relation's columns."""
    names = [column.name for column in relation.columns]
    return table.rename_columns([*names, *table.column_names[len(names) :]])
