"""`oracle_*` with the switch at work: Update, given up half-way and dropped, then Bootstrap.

Random histories are small, and small strata are always updated; so the switch is set to give up early. The last test
makes sure that the histories exercise both strategies.
"""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.oracle.case import Case
from tests.oracle.generate import cases, random_case
from tests.oracle.instances import TooLargeError
from tests.properties.check import agrees_when_giving_up, agrees_with_oracle


@settings(max_examples=60)
@given(cases(), st.sampled_from([0.0, 0.1, 0.3]))
def test_oracle_local_agrees_when_update_is_given_up(case: Case, share: float) -> None:
    try:
        agrees_when_giving_up(case, share)
    except TooLargeError:
        reject()


def test_most_strata_of_random_histories_are_updated_and_an_early_switch_bootstraps_them() -> None:
    usual: Counter[str] = Counter()
    early: Counter[str] = Counter()
    for seed in range(30):
        case = random_case(random.Random(seed))
        for strategies, replay in ((usual, agrees_with_oracle(case)), (early, agrees_when_giving_up(case, 0.1))):
            strategies.update(stratum.strategy for report in replay.reports[1:] for stratum in report.strata)
    assert usual["update"] >= 100
    assert usual["update"] >= 5 * usual["bootstrap"]
    assert early["bootstrap"] >= 50
    assert early["update"] >= 50
