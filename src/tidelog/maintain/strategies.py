"""The strategies: the ways to maintain strata that `strategy=` can request, each with a description.

A strategy is a preference per stratum: where it does not apply, the stratum is maintained in its own way, and the
report says so. All give the same rows and changes.
"""

from __future__ import annotations

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.suggest import suggest

DEFAULT_STRATEGY = "elastic"
STRATEGIES = {
    "elastic": "update incrementally, or recompute a stratum where that is cheaper: the switch decides",
    "recompute": "always recompute the strata that a change affects",
    "update": "always update incrementally, at any cost",
    "counting": "always update, with a count per row and iteration, as in differential dataflow",
    "circuit": "always update, with rules as rows that are joined with facts, as in the dynamic Datalog paper",
    "trace": "always update, by the traces of leapfrog joins, for rules that do not recurse",
    "elastic-paper": "always update, with a count per row in its first iteration, as in the elastic paper",
}


def check_strategy(name: object) -> str:
    """Returns the name, if there is such a strategy. Raises UsageError that suggests the one that was meant."""
    if not isinstance(name, str) or name not in STRATEGIES:
        meant = suggest(name, STRATEGIES) if isinstance(name, str) else None
        known = ", ".join(map(repr, STRATEGIES))
        raise UsageError(
            f"there is no strategy {name!r}",
            code=Code.UNKNOWN_ENGINE,
            help=f"did you mean {meant!r}?" if meant else f"the strategies are {known}",
        )
    return name
