"""Progress of an epoch, for a progress bar: the hooks of strata and of rounds → one callback.

Strata report when they begin, rounds whenever the kernel returns to Python: often enough for an eye, and free of charge
without a callback.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.engine.interface import ProgressCallback
from tidelog.maintain.epoch import StratumState
from tidelog.rules.ir import Role, RuleProgram


def progress_hooks(
    program: RuleProgram, tell: ProgressCallback
) -> tuple[Callable[[StratumState, str], None], Callable[[int], None]]:
    """Returns the functions to call when a stratum begins and in each round. Hidden relations are not named."""
    shown = {name for name, relation in program.relations.items() if relation.role is not Role.HIDDEN}
    present: tuple[str, ...] = ()

    def on_stratum(stratum: StratumState, strategy: str) -> None:
        nonlocal present
        present = tuple(name for name in stratum.relations if name in shown) or present
        tell(present, 0)

    return on_stratum, lambda round_: tell(present, round_)
