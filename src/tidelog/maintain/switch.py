"""The switch: whether a stratum is repaired (Update) or derived anew (Bootstrap) in this epoch.

Update's cost is the rule instances that die or are born; Bootstrap's is all of them. While RETRACT runs, the share of
all instances that it has killed says which will win, without a clock: up to 0.42 Update was measured to win, at 0.5
they tie, past 0.7 Update loses several times over (`docs/decisions/0002-ranked-update.md`).

Where much of what the rules read is gone, that share is sure to be reached, and the time until then would be lost: on
random graphs Update and Bootstrap tie when a tenth (sparse) to a quarter (dense) of the edges is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass

KILLED_SHARE = 0.45
GONE_SHARE = 0.25
# Below this many instances both are faster than the difference could be noticed.
ALWAYS_UPDATE = 20_000
RANK_LIMIT = 1 << 29


@dataclass(frozen=True, slots=True)
class Decision:
    """`kill_limit`: RETRACT gives up when it has killed more instances than this."""

    strategy: str
    reason: str
    kill_limit: int

    @property
    def is_anew(self) -> bool:
        """Whether the stratum is derived from nothing."""
        return self.strategy in ("bootstrap", "recompute")


def decide(*, instances: int, new_below: int, gone_below: int, rows_below: int, top_rank: int) -> Decision:
    """What to try first for a stratum with so many instances, of whose lower rows so many are new.

    `gone_below` lower rows are leaving; they are still among `rows_below`.
    """
    if top_rank >= RANK_LIMIT:
        return Decision("bootstrap", "the ranks have grown near their limit", 0)
    if instances == 0 and new_below * 2 >= rows_below:
        return Decision("bootstrap", "nothing was derived yet and most of what the rules read is new", 0)
    before = max(rows_below - new_below, gone_below, 1)
    if instances > ALWAYS_UPDATE and gone_below >= GONE_SHARE * before:
        return Decision("bootstrap", f"{gone_below / before:.0%} of what the rules read is gone", 0)
    limit = max(ALWAYS_UPDATE, int(KILLED_SHARE * instances))
    return Decision("update", "the change is repaired", limit)


def gave_up(decision: Decision, instances: int) -> str:
    """Why Bootstrap follows an Update that hit its limit."""
    share = decision.kill_limit / instances if instances else 1.0
    return f"Update had killed more than {share:.0%} of {instances} rule instances"
