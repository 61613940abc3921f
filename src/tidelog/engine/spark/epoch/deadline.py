"""Limits of an epoch while a stratum is on frames: a round is one Spark job, which does not check them itself.

Between two rounds `Watch` checks, as everywhere. During a round, a thread waits for the deadline and then cancels the
jobs of the epoch; the error that Spark raises then becomes the deadline's error.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.engine.spark.epoch.attempt import Attempt
from tidelog.engine.spark.epoch.cancellation import RETRY_SECONDS
from tidelog.maintain.limits import Watch
from tidelog.rules.ir import Rule, Stratum


@contextmanager
def within_deadline(attempt: Attempt, watch: Watch, stratum: Stratum) -> Iterator[None]:
    """Cancels the jobs of the epoch inside the block when its deadline has passed. Raises EvaluationError then, or if
    the epoch was cancelled."""
    over = threading.Event()
    waiting = threading.Thread(target=_end_late_jobs, args=(attempt, watch, over), name="tidelog deadline", daemon=True)
    if watch.left is not None:
        waiting.start()
    try:
        yield
    except Exception:
        watch.look(named_rule(stratum))
        raise
    finally:
        over.set()


def check_round(watch: Watch, stratum: Stratum, round_: int) -> None:
    """Raises EvaluationError if a round may not begin: it is late, cancelled, or one too many."""
    rule = named_rule(stratum)
    watch.look(rule)
    watch.rounds(round_, rule)
    watch.at(round_)


def check_rows(watch: Watch, stratum: Stratum, count: int) -> None:
    """Raises EvaluationError if, of the stratum's relations with `count` rows together, one certainly has too many;
    the rows of each relation are known after the last round."""
    watch.rows(stratum.relations[0], -(-count // len(stratum.relations)), named_rule(stratum))


def named_rule(stratum: Stratum) -> Rule:
    """Returns the rule that an error names when all of them run at once: one that may run forever."""
    inside = {*stratum.relations}
    recursive = (rule for rule in stratum.rules if any(atom.relation in inside for atom in rule.positives))
    return next(recursive, stratum.rules[0])


def _end_late_jobs(attempt: Attempt, watch: Watch, over: threading.Event) -> None:
    while not over.wait(max(watch.left or 0.0, 0.0)):
        attempt.cancellation.cancel_jobs()
        if over.wait(RETRY_SECONDS):
            return
