"""The costs of a stratum's past epochs → the expected costs of the next Bootstrap and the next Update.

Seconds are stored per rule instance. Other work on the machine only ever makes them too many, and one measurement in a
few is far off, so the lower median of the last few counts.

The impact of an event is the instances that an Update kills and brings to life for it, by the relation that changed and
the sign. It is an average: most events touch nothing, a few touch much. The more deletes there are, the more they meet
the same instances, so their sum saturates: n events of impact i kill and bring back C (1 - exp(-n i / C)), where C is
the most that is possible.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import exp, log

Event = tuple[str, int]
"""The relation of a row, and +1 if it is inserted, -1 if it is deleted."""

_KEPT = 5
# Below this many instances the clock measures the call, not the work.
MEASURABLE = 2_000
# All instances killed, and half of them found again.
_SATURATED = 1.5


class History:
    """The cost history of one stratum."""

    def __init__(self) -> None:
        self._bootstraps: deque[float] = deque(maxlen=_KEPT)
        self._updates: deque[float] = deque(maxlen=_KEPT)
        self._impacts: dict[Event, deque[tuple[int, float]]] = {}
        self.skipped = 0  # Updates in a row that were not even tried

    def note_bootstrap(self, seconds: float, instances: int, replaced: int = 0) -> None:
        """Notes a Bootstrap that found so many instances; a replaced row is as expensive as an instance."""
        if instances >= MEASURABLE:
            self._bootstraps.append(seconds / (instances + replaced))

    def note_update(
        self, seconds: float, work: int, events: Mapping[Event, int], instances: int, *, given_up: bool = False
    ) -> None:
        """Notes an Update that met `work` instances of a stratum that had so many; one that was given up would have
        met at least twice as many."""
        self.skipped = 0
        if work >= MEASURABLE:
            self._updates.append(seconds / work)
        self._note_impact(2.0 * max(work, instances // 2) if given_up else float(work), events, instances)

    @property
    def bootstrap_rate(self) -> float | None:
        """Seconds per instance, and per row replaced, of a Bootstrap; None where none was measured."""
        return _lower_median(self._bootstraps)

    @property
    def update_rate(self) -> float | None:
        """Seconds per instance that an Update meets; None where none was measured."""
        return _lower_median(self._updates)

    def expected_work(self, events: Mapping[Event, int], instances: int) -> float | None:
        """Returns the instances that an Update of these events would meet; None if a kind of event was never seen."""
        impacts = {event: self._impact(event) for event in events}
        known = {event: impact for event, impact in impacts.items() if impact is not None}
        if len(known) < len(impacts):
            return None
        born = sum(count * known[event] for event, count in events.items() if event[1] > 0)
        touched = sum(count * known[event] for event, count in events.items() if event[1] < 0)
        most = _SATURATED * max(instances, 1)
        return born + most * (1 - exp(-touched / most))

    def _impact(self, event: Event) -> float | None:
        """Returns the instances per event, over the last few epochs that had such events."""
        seen = self._impacts.get(event)
        if not seen:
            return None
        return sum(work for _, work in seen) / sum(count for count, _ in seen)

    def _note_impact(self, work: float, events: Mapping[Event, int], instances: int) -> None:
        """Divides the work of one epoch among its kinds of events, by their known impacts."""
        if len(events) == 1:
            for event, count in events.items():
                self._impacts.setdefault(event, deque(maxlen=_KEPT)).append((count, _share(event, work, instances)))
            return
        known = [impact for event in events if (impact := self._impact(event)) is not None]
        usual = max(sum(known) / len(known), 1e-3) if known else 1.0
        weights = {event: count * max(self._impact(event) or usual, 1e-3) for event, count in events.items()}
        whole = sum(weights.values())
        for event, count in events.items():
            share = _share(event, work * weights[event] / whole, instances)
            self._impacts.setdefault(event, deque(maxlen=_KEPT)).append((count, share))


def _share(event: Event, work: float, instances: int) -> float:
    """Returns the impact of events of one kind that met so much work, as if none had met what others met before."""
    if event[1] > 0:
        return work
    most = _SATURATED * max(instances, 1)
    return -most * log(1 - min(work / most, 0.95))


def _lower_median(rates: deque[float]) -> float | None:
    return sorted(rates)[(len(rates) - 1) // 2] if rates else None
