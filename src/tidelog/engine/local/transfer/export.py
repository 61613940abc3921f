"""State transfer: the whole state of a database ↔ tables, from which an engine of another kind continues.

A checkpoint (`checkpoint`) has the words of one engine. This has values, in the form of `rules.schema.stored`:

    rows       of each relation that lasts: its rows with their three numbers, in the form of `arrow_state.state_schema`
    given      of an input relation that rules derive too: the facts that transactions gave, the weight as `_total`
    waiting    of a delayed relation: the deltas due in later epochs, the changes of weights as `_total`

A stream has nothing between epochs. Everything else that lasts is the epoch's number; marks and rules are the
database's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import pyarrow as pa

from tidelog.engine.local.encoding.words import Values
from tidelog.engine.local.epoch.delays import Delays
from tidelog.engine.local.storage.weighted_table import Bag, bag_to_words, words_to_bag
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.transfer.arrow_state import StateTables
from tidelog.rules.ir import Kind, Relation, Role, RuleProgram

TOTAL = "_total"


@dataclass(frozen=True, slots=True)
class ExportedState:
    """A state on its way from one engine to another; see the module."""

    epoch: int
    rows: Mapping[str, pa.Table]
    given: Mapping[str, pa.Table] = field(default_factory=dict)
    waiting: Mapping[str, Sequence[pa.Table]] = field(default_factory=dict)


def export_state(
    epoch: int, program: RuleProgram, state_tables: StateTables, strata: Iterable[LocalStratum], delays: Delays
) -> ExportedState:
    """Returns the committed state of an engine. Costs all of it."""
    lasting = [name for name, relation in program.relations.items() if relation.kind is not Kind.STREAM]
    homes = {name: stratum for stratum in strata for name in stratum.relations}
    derived = {rule.head.relation for rule in program.rules}
    given = {
        name: state_tables.bag_table(name, words_to_bag(homes[name].given_to(name)))
        for name in lasting
        if program.relations[name].role is Role.INPUT and name in derived
    }
    waiting = {name: [state_tables.bag_table(name, bag) for bag in queue] for name, queue in delays.queues()}
    return ExportedState(epoch, {name: state_tables.table(name) for name in lasting}, given, waiting)


def table_to_bag(table: pa.Table, relation: Relation, values: Values) -> Bag:
    """Returns the rows with their weights, as words of these values."""
    words = values.table_to_words(table, relation)
    return dict(zip(map(tuple, words.tolist()), table.column(TOTAL).to_pylist()))


def reset_strata(
    strata: Iterable[LocalStratum], unknown: AbstractSet[str], given: Mapping[str, Bag]
) -> list[LocalStratum]:
    """Resets the strata of relations in `unknown`, whose numbers are not known, to the given facts; returns them."""
    chosen = [each for each in strata if each.joins and not unknown.isdisjoint(each.relations)]
    for stratum in chosen:
        own = (stratum.program.relations[name] for name in stratum.relations if name in given)
        stratum.start_from(
            {stratum.numbers[each.name]: bag_to_words(given[each.name], len(each.columns)) for each in own}
        )
    return chosen
