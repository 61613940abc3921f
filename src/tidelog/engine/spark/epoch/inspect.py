"""Rows that tasks found for `Inspect` → calls of its functions, in the driver, when nothing else can fail any more.

Tasks may run twice, or for an epoch that fails in the end. So they only write the rows to files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.engine.spark.storage.directory import StateDirectory
from tidelog.engine.spark.storage.state_files import TOTAL, value_names
from tidelog.maintain.inspect import Inspected, show_changes
from tidelog.rules.ir import RuleProgram
from tidelog.rules.schema.stored import stored_rows


def show_inspected(
    program: RuleProgram, directory: StateDirectory, files: Mapping[str, Sequence[str]], epoch: int
) -> None:
    """Shows all changes of the epoch, in the order of the program, then of the rows; `files` are by relation."""
    definitions = program.functions.definitions
    for inspection in program.inspections:
        relation = program.relations[inspection.relation]
        values = value_names(relation)
        found: list[Inspected] = []
        for name in files.get(relation.name, ()):
            table = directory.read(name, [*values, TOTAL, "_rank"])
            rows = stored_rows(table, relation, definitions)
            found += zip(rows, table[TOTAL].to_pylist(), table["_rank"].to_pylist(), strict=True)
        show_changes(inspection, found, epoch, definitions)
