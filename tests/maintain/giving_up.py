"""A switch that tries every Update first and gives it up as soon as it has met a share of the stratum's instances."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from tidelog.maintain import epoch, switch
from tidelog.maintain.switch import Decision, Meter, Progress, Switch


@contextmanager
def giving_up(share: float) -> Iterator[None]:
    """In here, all databases have such a switch; it looks after every buffer of instances, in both phases."""

    def goes_on(self: Meter, now: Progress) -> bool:
        return self._earlier + now.instances <= share * self._instances

    with (
        mock.patch.object(epoch, "FEW_INSTANCES", 0),
        mock.patch.object(switch, "LOOK_EVERY", 0),
        mock.patch.object(switch, "LOOKS", 1 << 60),
        mock.patch.object(Switch, "decide", return_value=Decision("update", "tried first", budget=0.0, bootstrap=1.0)),
        mock.patch.object(Meter, "goes_on", goes_on),
    ):
        yield
