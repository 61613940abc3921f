"""Task context: the facts about a database that all its tasks need beside their segment, and how they travel."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.maintain.options import Maintenance
from tidelog.rules.ir import Feed, Inspection, Relation, RuleProgram
from tidelog.values import Definitions


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The functions and types of the program, the hidden relations that an engine treats in a way of their own, and
    how the database was opened."""

    functions: CompiledFunctions = field(default_factory=lambda: CompiledFunctions(Definitions()))
    feeds: tuple[Feed, ...] = ()
    inspections: tuple[Inspection, ...] = ()
    options: Maintenance = field(default_factory=Maintenance)

    @classmethod
    def of(cls, program: RuleProgram, options: Maintenance) -> TaskContext:
        return cls(program.functions, program.feeds, program.inspections, options)

    @property
    def definitions(self) -> Definitions:
        return self.functions.definitions

    @property
    def latest(self) -> frozenset[str]:
        """The relations with the rows of a stream: they change also in an epoch in which the stream has none."""
        return frozenset(feed.relation for feed in self.feeds if feed.latest)

    @property
    def inspected(self) -> frozenset[str]:
        return frozenset(each.relation for each in self.inspections)


def without_keys(relations: Mapping[str, Relation]) -> dict[str, Relation]:
    """Returns the relations as tasks need them: primary keys are checked only where users write rows."""
    return {name: replace(relation, key=None, key_type=None) for name, relation in relations.items()}


def ship(value: Any) -> bytes:
    """Returns the value as bytes that `pickle.loads` reads in another process.

    Extern functions may be closures, or stand in a file that other processes cannot import: those go as code.
    """
    from pyspark import cloudpickle

    for module in _modules_of_files():
        cloudpickle.register_pickle_by_value(module)
    data: bytes = cloudpickle.dumps(value)
    return data


def _modules_of_files() -> list[ModuleType]:
    """Returns the modules that were run from a file (`--externs`) and cannot be found by their names."""
    return [module for name, module in list(sys.modules.items()) if name.startswith("tidelog_externs_")]
