"""Stratum → the class that maintains it, by the form of its rules and by the requested strategy."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.engine.local.strata.acyclic.stratum import AcyclicStratum, AlwaysUpdatedAcyclicStratum
from tidelog.engine.local.strata.aggregates.copied import CopiedStratum
from tidelog.engine.local.strata.aggregates.stratum import AggregateStratum
from tidelog.engine.local.strata.equivalence import EquivalenceStratum
from tidelog.engine.local.strata.group_by import GroupStratum, WeightedGroupStratum
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.local.strata.materialized import TransformStratum
from tidelog.engine.local.strata.monotone.in_kernels import MonotoneInKernels, MonotoneInKernelsRecompute
from tidelog.engine.local.strata.monotone.kernel_plan import kernel_plan
from tidelog.engine.local.strata.monotone.stratum import MonotoneRecomputeStratum, MonotoneStratum
from tidelog.engine.local.strata.ordinals import OrdinalStratum
from tidelog.engine.local.strata.recursive_group_by import RoundsStratum
from tidelog.engine.local.strata.weighted import LatestStratum, StreamGroupStratum, WeightedStratum
from tidelog.engine.local.strategies.circuit.stratum import CircuitStratum
from tidelog.engine.local.strategies.counting.stratum import CountingStratum
from tidelog.engine.local.strategies.elastic_paper.stratum import PaperStratum
from tidelog.engine.local.strategies.trace.stratum import RequestedTraceStratum, TraceStratum, is_traceable
from tidelog.library._runtime.equivalence_closure import EquivalenceClosure
from tidelog.library._runtime.ordinal_table import OrdinalTable
from tidelog.rules.analysis.copies import Copies
from tidelog.rules.analysis.fixed_keys import has_fixed_keys
from tidelog.rules.analysis.monotone import is_monotone
from tidelog.rules.ir import Kind, RuleProgram, Stratum

# The strategies with a state of their own.
STATEFUL: Mapping[str, type[LocalStratum]] = {
    "circuit": CircuitStratum,
    "counting": CountingStratum,
    "elastic-paper": PaperStratum,
}


def kind_of(stratum: Stratum, program: RuleProgram, strategy: str, copies: Copies) -> type[LocalStratum]:
    """Returns the class that maintains a stratum; `copies` are not stored."""
    relation = program.relations[stratum.relations[0]]
    if relation.name in copies.places:
        return CopiedStratum
    if relation.name in copies.grouping:
        return AggregateStratum
    if any(rule.group for rule in stratum.rules):
        if stratum.recursive:
            if any(rule.max_rounds for rule in stratum.rules):
                return RoundsStratum
            if not is_monotone(stratum, program.relations):
                if strategy == "recompute" or not has_fixed_keys(stratum, program.relations):
                    return RoundsStratum
                return AlwaysUpdatedAcyclicStratum if strategy == "update" else AcyclicStratum
            if not isinstance(kernel_plan(stratum, program), str):
                return MonotoneInKernelsRecompute if strategy == "recompute" else MonotoneInKernels
            return MonotoneRecomputeStratum if strategy == "recompute" else MonotoneStratum
        (rule,) = stratum.rules
        assert rule.group is not None
        if relation.kind is Kind.STREAM:
            return StreamGroupStratum
        if program.relations[rule.group.atom.relation].weighted:
            return WeightedGroupStratum
        return GroupStratum if rule.group.aggregates is None else AggregateStratum
    transforms = [rule.transform for rule in stratum.rules if rule.transform is not None]
    if transforms:
        match transforms[0].transformer:
            case EquivalenceClosure():
                return EquivalenceStratum
            case OrdinalTable():
                return OrdinalStratum
            case _:
                return TransformStratum
    if relation.weighted:
        is_latest = any(feed.relation == relation.name and feed.latest for feed in program.feeds)
        return LatestStratum if is_latest else WeightedStratum
    if not stratum.rules:
        return LocalStratum
    traceable = [rule for rule in stratum.rules if is_traceable(rule, stratum)]
    if strategy == "trace":
        return TraceStratum if traceable else LocalStratum
    if strategy not in STATEFUL and any(rule.maintain == "trace" for rule in traceable):
        return RequestedTraceStratum
    return STATEFUL.get(strategy, LocalStratum)
