"""How Hypothesis runs the properties: without deadlines, for a case may be the one that compiles the kernels.

What is saved (`saved.toml`) runs before everything else: a mistake that comes back is seen at once.
"""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
settings.load_profile("ci")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name != "test_saved.py")
