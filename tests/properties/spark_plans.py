"""Spark engines that run strata by a given plan, however small the strata are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tests.oracle.case import Case
from tests.properties.check import agrees_with_oracle
from tests.properties.replay import Replay
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.interface import Engine
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.plans.choose_plan import Chooser
from tidelog.engine.spark.plans.split_inputs import split_inputs
from tidelog.rules.ir import RuleProgram


def agrees_on_spark(case: Case, spark: Any, plan: str, relations: Iterable[str] | None = None) -> Replay:
    """After every transaction Spark agrees with the oracle, by this plan for these relations (None: for all)."""
    return agrees_with_oracle(case, engine=by_plan(spark, plan, relations))


def by_plan(spark: Any, plan: str, relations: Iterable[str] | None) -> Callable[[RuleProgram], Engine]:
    def make(rules: RuleProgram) -> Engine:
        split = split_inputs(rules).rules
        named = split.relations if relations is None else relations
        return SparkEngine(rules, spark=spark, plans={name: plan for name in named if _fits(split, name, plan)})

    return make


def _fits(rules: RuleProgram, relation: str, plan: str) -> bool:
    """Whether the relation has rules, and for a decomposed plan also a pivot."""
    try:
        Chooser(rules, {relation: plan})
    except UsageError:
        return False
    return True
