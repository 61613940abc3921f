"""How Hypothesis runs the properties: without deadlines, for a case may be the one that compiles the kernels.

What is saved (`saved.toml`) runs before everything else: a mistake that comes back is seen at once. Small waves go head
by head too, as only large ones do elsewhere; the smallest do not, so that both kinds follow one another. After one
such wave, the next begin with their new rows. Cyclic rules are joined by lists, as only those over many rows are
elsewhere. Bootstraps of any length arrange what Updates will probe. Rules are scanned and chained, and keys counted in
arrays, from a few rows on.
"""

from collections.abc import Iterator
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

from tidelog.engine.local.execution import list_joins, row_wise
from tidelog.engine.local.storage import arrangement
from tidelog.engine.local.strata import joins, scan_rules
from tidelog.engine.local.strata.aggregates import group_table

settings.register_profile(
    "ci",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
settings.load_profile("ci")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name != "test_saved.py")


@pytest.fixture(scope="module", autouse=True)
def head_by_head() -> Iterator[None]:
    with (
        mock.patch.multiple(row_wise, FIRST_ROWS=3, START_ROWS=6, EXPECTED=1, PART=1 << 40, MET=0, AGAIN=1),
        mock.patch.multiple(row_wise, LISTED=0, MOST_WASTE=0),
        mock.patch.multiple(list_joins, LEAST_ROWS=0, LEAPT=1e12),
        mock.patch.multiple(joins, ARRANGING_PART=1e9, LEAST_ARRANGING=0.0),
        mock.patch.multiple(scan_rules, LEAST_ROWS=4, TRIED=3, AT_ONCE=2),
        mock.patch.multiple(arrangement, MANY_ROWS=3),
        mock.patch.multiple(group_table, MANY=2),
    ):
        yield
