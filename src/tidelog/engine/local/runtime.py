"""The runtime of one version of the program over a catalog: its strata, and everything that needs the whole program.

A change of rules makes a new runtime that reuses the unchanged strata. The epoch that begins with it may fail; then the
old runtime is active again. So nothing of the old runtime changes before the epoch is committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.epoch.delays import Delays
from tidelog.engine.local.epoch.functional_dependencies import FunctionalDependencies
from tidelog.engine.local.epoch.inspect import Inspector
from tidelog.engine.local.epoch.reclaim_values import Reclaim
from tidelog.engine.local.epoch.scheduler import Scheduler
from tidelog.engine.local.metrics.profiler import Profiler
from tidelog.engine.local.metrics.relation_sizes import RelationSizes
from tidelog.engine.local.storage.catalog import Catalog
from tidelog.engine.local.storage.weighted_table import Tables
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strata.weighted import WeightedStratum
from tidelog.engine.local.transfer.arrow_state import StateTables
from tidelog.rules.analysis.copies import Copies
from tidelog.rules.ir import Role, RuleProgram


class Runtime:
    """The strata of a program over the stores with these `numbers` in the catalog; `before` is the runtime of the rules
    before this one."""

    def __init__(
        self,
        program: RuleProgram,
        catalog: Catalog,
        values: Values,
        numbers: Mapping[str, int],
        strata: Sequence[LocalStratum],
        tables: Tables,
        copies: Copies,
        before: Runtime | None = None,
    ) -> None:
        self.program = program
        self.numbers = numbers
        self.strata = strata
        self.tables = tables
        self.copies = copies
        self._values = values
        self.relations = list(program.relations.values())
        self.places = {each.name: place for place, each in enumerate(self.relations)}
        self.weighted = {each.relations[0]: each for each in strata if isinstance(each, WeightedStratum)}
        self.functional_dependencies = FunctionalDependencies(program, catalog, numbers, values)
        self.scheduler = Scheduler(strata, catalog)
        self.activate()
        declared = {numbers[each.name]: each.name for each in self.relations if each.role is not Role.HIDDEN}
        sizes, reclaim, profiler = (None, None, None) if before is None else before._goes_on()
        self.sizes: RelationSizes = RelationSizes(declared, catalog, sizes)
        self.delays = Delays(program, tables)
        self.inspector = Inspector(program, tables, values)
        self.reclaim: Reclaim = Reclaim(program, numbers, catalog, tables, self.delays, values, strata, reclaim)
        self.profiler: Profiler = Profiler(program, strata, profiler)
        self.state_tables = StateTables(program, catalog, numbers, values, self.weighted, copies)
        if before is not None:
            self.inspector.is_silent = before.inspector.is_silent
            self.reclaim.go_on(before.reclaim)

    def activate(self) -> None:
        """Gives this runtime's program to its strata and values; also after a roll back."""
        self._values.definitions = self.program.functions.definitions
        for stratum in self.strata:
            stratum.program = self.program
            stratum.read_above = self.scheduler.read

    def _goes_on(self) -> tuple[RelationSizes, Reclaim, Profiler]:
        """Returns the parts that the runtime of the next rules continues from."""
        return self.sizes, self.reclaim, self.profiler
