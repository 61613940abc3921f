"""Long runs of the properties on seeded random cases, for as long as one likes:

    python -m tests.properties.soak --seconds 600 --seed 1

Case number n of a run is made from the seed and n alone, so a failure names everything that is needed to repeat it. A
failing case is made smaller and printed as a script. Each number is a case of the core language and one of the wider
language, for the properties of either. The properties on Spark run only when they are asked for by name.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.oracle.case import Case, RuleCase, script
from tests.oracle.compose import FEATURES, random_language_case
from tests.oracle.generate import random_case, random_rule_case
from tests.oracle.instances import TooLargeError
from tests.oracle.shrink import shrink
from tests.properties.algorithm3 import algorithm_3_agrees
from tests.properties.check import (
    agrees_when_giving_up,
    agrees_while_plans_change,
    agrees_with_oracle,
    cut_differently,
    rolled_back,
    survives_failures,
    undone,
)
from tests.properties.converting import converts_unnoticed
from tests.properties.durable import captured_while_written, survives_reopening
from tests.properties.language import (
    language_agrees_with_oracle,
    language_survives_failures,
    shell_prints_the_same,
)
from tests.properties.rule_changes import (
    STRATEGIES,
    failed_rule_changes_leave_nothing,
    rules_agree_with_oracle,
    rules_survive_reopening,
)
from tests.properties.strategies import strategies_agree

OTHER_STRATEGIES = ("counting", "elastic-paper", "circuit", "trace")


def language_on_local_spark(case: Case) -> None:
    from tests.properties.language_on_spark import language_agrees_on_spark
    from tidelog.engine.spark.session import local_session

    language_agrees_on_spark(case, local_session())


def language_agrees_through_tasks(case: Case) -> None:
    from tests.properties import language_on_spark

    language_on_spark.language_agrees_through_tasks(case, seed=len(case.history))


def agrees_on_local_spark(case: Case, plan: str) -> None:
    from tests.properties.spark_plans import agrees_on_spark
    from tidelog.engine.spark.session import local_session

    agrees_on_spark(case, local_session(), plan)


PROPERTIES: dict[str, Callable[[Case], object]] = {
    "oracle": partial(agrees_with_oracle, recounted=True),
    "switch": partial(agrees_when_giving_up, share=0.1),
    "plans": partial(agrees_while_plans_change, share=0.5, seed=0),
    "failure": survives_failures,
    "undo": undone,
    "rollback": rolled_back,
    "cuts": cut_differently,
    "capture": captured_while_written,
    "strategies": strategies_agree,
    "algorithm 3": algorithm_3_agrees,
    **{f"undo, {name}": partial(undone, strategy=name) for name in OTHER_STRATEGIES},
    **{f"cuts, {name}": partial(cut_differently, strategy=name) for name in OTHER_STRATEGIES},
    **{f"failure, {name}": partial(survives_failures, strategy=name) for name in OTHER_STRATEGIES},
}
LANGUAGE_PROPERTIES: dict[str, Callable[[Case], object]] = {
    "language": language_agrees_with_oracle,
    "language failure": language_survives_failures,
    "language shell": shell_prints_the_same,
    "language reopening": survives_reopening,
    **{f"language, {name}": partial(language_agrees_with_oracle, strategy=name) for name in OTHER_STRATEGIES},
    "language, tasks": language_agrees_through_tasks,
    "language, converting": converts_unnoticed,
}
SLOW_PROPERTIES: dict[str, Callable[[Case], object]] = {
    f"spark, {plan}": partial(agrees_on_local_spark, plan=plan) for plan in ("single task", "decomposed", "frames")
}
SLOW_LANGUAGE_PROPERTIES: dict[str, Callable[[Case], object]] = {"language, spark": language_on_local_spark}
RULE_PROPERTIES: dict[str, Callable[[RuleCase], object]] = {
    "rules": rules_agree_with_oracle,
    "rules reopening": partial(rules_survive_reopening, seed=0),
    **{f"rules failure, {name}": partial(failed_rule_changes_leave_nothing, strategy=name) for name in STRATEGIES},
}
ALL_PROPERTIES: dict[str, Callable[[Any], object]] = {
    **PROPERTIES,
    **LANGUAGE_PROPERTIES,
    **RULE_PROPERTIES,
    **SLOW_PROPERTIES,
    **SLOW_LANGUAGE_PROPERTIES,
}


def soak(seed: int, seconds: float, names: list[str], first: int = 0) -> bool:
    """Runs cases until the time is over; prints progress to standard error. False at the first failure."""
    start = time.monotonic()
    shown = start
    number = first
    done: Counter[str] = Counter()
    while time.monotonic() - start < seconds:
        core = random_case(random.Random(f"{seed}/{number}"))
        wide = random_language_case(random.Random(f"{seed}/{number}"), FEATURES[number % len(FEATURES)])
        changing = random_rule_case(random.Random(f"{seed}/{number}"))
        for name in names:
            case = wide if name.startswith("language") else changing if name in RULE_PROPERTIES else core
            failure = _failure(ALL_PROPERTIES[name], case)
            if failure is None:
                done[name] += 1
            elif isinstance(failure, TooLargeError):
                done["too large"] += 1
            else:
                _report(seed, number, name, case, failure)
                return False
        number += 1
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            print(f"{shown - start:6.0f} s, case {number}: {_counts(done)}", file=sys.stderr)
    print(f"no failure in {number - first} cases: {_counts(done)}", file=sys.stderr)
    return True


def _failure(check: Callable[[Any], object], case: Case | RuleCase) -> Exception | None:
    try:
        check(case)
    except Exception as error:
        return error
    return None


def _report(seed: int, number: int, name: str, case: Case | RuleCase, failure: Exception) -> None:
    check = ALL_PROPERTIES[name]
    small = case
    if isinstance(case, Case):
        small = shrink(case, lambda smaller: type(_failure(check, smaller)) is type(failure), seconds=60)
    print(f"# property {name} fails: --seed {seed} --first {number} --property {name}")
    print(script(small))
    traceback.print_exception(_failure(check, small) or failure, file=sys.stdout)


def _counts(done: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in done.items())


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the properties on random cases for a while.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--property", choices=ALL_PROPERTIES, action="append", help="may be given more than once")
    options = parser.parse_args()
    names = options.property or [*PROPERTIES, *LANGUAGE_PROPERTIES, *RULE_PROPERTIES]
    return 0 if soak(options.seed, options.seconds, names, options.first) else 1


if __name__ == "__main__":
    sys.exit(main())
