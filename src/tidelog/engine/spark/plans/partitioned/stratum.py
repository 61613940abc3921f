"""One part of a stratum that several tasks maintain together: `LocalStratum` with waves in step.

All tasks run the same wave at the same time. In a wave a task joins its part of the delta, with the kernels of the
local engine, and sends each instance to the tasks of its head: one for each copy of the head's relation (`routing`).
All copies of a row get the same instances in the same waves, so they have the same numbers, which are also those that
one task would find: ranks follow from waves, and everything else is counted.

    wave w    join the delta → apply own instances, send the others → meet → apply instances received → next delta

So a wave is one exchange, in which only instances travel. An Update is given up in the same wave by all tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.execution.bytecode import Bytecode
from tidelog.engine.local.execution.plan_cache import IN_BOOTSTRAP, IN_UPDATE
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels import sent_instances as kernels
from tidelog.engine.local.storage.store import Store
from tidelog.engine.local.strata.joins import REPLAN_INSTANCES, LocalStratum
from tidelog.engine.spark.plans.partitioned.exchange import LARGE_MESSAGE, Exchange, Header
from tidelog.engine.spark.plans.partitioned.instances import InstanceCodec
from tidelog.engine.spark.plans.partitioned.routing import Routing, copy_name
from tidelog.engine.spark.plans.tasks.subprogram import TaskProgram
from tidelog.functions.runtime_errors import without_result
from tidelog.maintain.options import Maintenance
from tidelog.maintain.switch import Meter
from tidelog.rules.analysis.copies import Copies
from tidelog.rules.ir import Rule, RuleProgram, Stratum

GIVE_UP_SHARE = 0.45
"""An Update is given up when more instances than this share of all have died: to derive the rest costs less."""

_ROUTED_TOGETHER = 1 << 15


@dataclass(slots=True)
class Link:
    """What joins the engine of one part to the others during one job.

    `how` is "update", or "bootstrap" or "recompute" where all rows are derived from scratch, for this `reason`.
    `may_give_up`: an Update may become a Bootstrap.
    """

    exchange: Exchange
    how: str = "update"
    reason: str = ""
    may_give_up: bool = True


@dataclass(slots=True)
class Holder:
    """The routing of a part, and the link of the job under way."""

    routing: Routing
    link: Link | None = None

    @property
    def exchange(self) -> Exchange:
        assert self.link is not None
        return self.link.exchange


class PartitionEngine(LocalEngine):
    """The engine of one part. Its epochs run only while the engines of all other parts run the same ones."""

    def __init__(self, task: TaskProgram, routing: Routing, options: Maintenance) -> None:
        self.holder = Holder(routing)
        super().__init__(task.program, track_state=True, limits=options.limits, threads=1)

    def look(self) -> None:
        """Raises if the deadline of the epoch has passed."""
        self._watch.look()

    def _stratum(
        self, stratum: Stratum, program: RuleProgram, numbers: Mapping[str, int], copies: Copies
    ) -> LocalStratum:
        if not stratum.rules:
            return super()._stratum(stratum, program, numbers, copies)
        made = PartitionStratum(stratum, program, numbers, self._catalog, self._values, self._watch, self._thread_pool)
        made.join_parts(self.holder)
        return made


@dataclass(slots=True)
class _Outbox:
    """Instances of one relation that wait to be routed, and encoded ones for each task."""

    codec: InstanceCodec
    copies: Sequence[tuple[int, int]]
    """The number of the relation of each copy, and its column."""
    waiting: list[Words] = field(default_factory=list)
    count: int = 0


class PartitionStratum(LocalStratum):
    """The part of a stratum that one task has."""

    fixed = "update"
    checked_always = True

    def join_parts(self, holder: Holder) -> None:
        """Lets the stratum take part; `holder` has the link of each epoch."""
        self._holder = holder
        self._homes = np.array([self.numbers[name] for name in holder.routing.copies], dtype=np.int64)
        self._boxes: dict[int, _Outbox] = {}
        for name, columns in holder.routing.copies.items():
            codec = InstanceCodec(self.program.relations[name], self.values)
            copies = [(self.numbers[copy_name(name, columns, column)], column) for column in columns]
            self._boxes[self.numbers[name]] = _Outbox(codec, copies)
        # Tasks may number relations differently, but have the same copies in the same order.
        self._receivers = [(number, box.codec) for box in self._boxes.values() for number, _ in box.copies]
        self._places = {number: place for place, (number, _) in enumerate(self._receivers)}
        self._parts: list[list[bytes]] = []
        self._size = 0
        self._emitted = 0
        self._all_instances: int | None = None  # of all parts; None: they have not been counted yet

    # The interface for an epoch

    def begin(self) -> Self:
        self.fixed = "update"  # what it was in the end is decided by all parts
        return super().begin()

    def is_touched(self) -> bool:
        return True

    def update(self, meter: Meter) -> bool:
        """Runs the Update or the Bootstrap that all parts run."""
        link = self._holder.link
        assert link is not None
        meter.begin()
        if link.how != "update":
            self.bootstrap()
            self.fixed, self.why = link.how, link.reason
        elif self._run_update(None):
            self.fixed, self.why = "update", link.reason
        else:
            self.roll_back()
            self.bootstrap()
            self.fixed, self.why = "bootstrap", "Update was given up: most instances have died"
        meter.end(self.work)
        return True

    def _has_waves(self) -> bool:
        return True

    def _may_kill(self) -> bool:
        heard = self._meet({"kills": super()._may_kill(), "knows": self._all_instances is not None})
        if not all(each["knows"] for each in heard):
            # Some part has loaded its rows.
            totals = sum(int(store.totals_of(store.lines()).sum()) for store in self._home_stores())
            self._all_instances = _sum(self._meet({"instances": totals}), "instances")
        return any(each["kills"] for each in heard)

    def _may_bear(self) -> bool:
        heard = self._meet({"bears": super()._may_bear(), "top": self.top_rank()})
        # Dead rows return with a rank above all others, wherever these are.
        self.catalog.S[self._inside, k.TOP] = max(each["top"] for each in heard)
        return any(each["bears"] for each in heard)

    def _home_stores(self) -> list[Store]:
        return [self.catalog.stores[number] for number in self._homes.tolist()]

    def division(self, rule: Rule, error: ZeroDivisionError | None = None) -> EvaluationError:
        written, names = self._source_rule(rule), ", ".join(self._holder.routing.copies)
        where = f"in the rule `{written.text}` at {written.span} (stratum {names}); the last commit is intact"
        return without_result(where, error)

    # Waves

    def _go_on(self, control: Words, meter: Meter | None, reads: Words, *, logging: bool, before: int) -> int | None:
        """Runs a phase to its end, wave by wave with all parts; returns the instances that this part has found."""
        control[k.PYTHON_VARIANTS], control[k.YIELD_AT] = 1, k.ALL_ROWS
        self._phase = control.item(k.PHASE)
        self._emitted, prepared = 0, 0
        while True:
            # Kernels return after each wave, and leave all joins to `_run_wave`.
            control[k.LAST_WAVE] = control[k.WAVE]
            self.plans.table[:, k.IN_PYTHON] = 1
            status = self.plans.executor.drive(control, self.plans.table, reads)
            wave = control.item(k.WAVE)
            if status == k.PYTHON:
                heard = self._run_wave(control)
                if wave > 0 and not any(each["batch"] for each in heard):
                    found = _sum(heard, "emitted") * (-1 if self._phase == k.RETRACT else 1)
                    self._all_instances = found + ((self._all_instances or 0) if logging else 0)
                    self.waves = wave - 1
                    return self._emitted
                if wave > self._last_round() - before:
                    self.watch.rounds(wave + before, lambda: self._running(control))
                if self._gives_up(heard):
                    return None
            elif status in (k.DONE, k.ROUNDS):
                control[k.STATE], control[k.VARIANT] = k.STATE_NEXT, 0
                if wave > prepared and (not logging or self._emitted >= REPLAN_INSTANCES):
                    self._prepare(IN_UPDATE if logging else IN_BOOTSTRAP, wave)
                    prepared = 2 * wave
            elif not self._make_room(control, status):
                raise self._broken()

    def _run_wave(self, control: Words) -> list[Header]:
        """Joins the delta of a wave, exchanges the instances and applies those of this part; returns what all parts
        tell of the wave."""
        count = self._holder.exchange.count
        self._parts, self._size = [[] for _ in range(count)], 0
        batch = int(self.catalog.S[self._homes, k.BATCH_COUNT].sum())
        self._run_in_python(control, every=True)
        for number in self._boxes:
            self._route(control, number)
        told = {"batch": batch, "emitted": self._emitted}
        heard, received = self._holder.exchange.meet(told, [b"".join(each) for each in self._parts])
        self._parts = []
        for data in received:
            for number, instances in self._unpacked(data):
                self._apply_sent(control, number, instances)
            self._look(None)
        self.watch.at(control.item(k.WAVE))
        return heard

    def _gives_up(self, heard: Sequence[Header]) -> bool:
        """True if all parts give up this Update: they have heard the same."""
        link = self._holder.link
        assert link is not None
        if self._phase != k.RETRACT or not link.may_give_up:
            return False
        return _sum(heard, "emitted") > GIVE_UP_SHARE * (self._all_instances or 0)

    def _meet(self, header: Header) -> list[Header]:
        heard, _ = self._holder.exchange.meet(header)
        return heard

    # Instances

    def _feed_tree(self, control: Words, bytecode: Bytecode) -> None:
        executor = self.plans.executor
        own = executor.at_root(control, bytecode.segments[0])
        own[k.COMBINE] = 1
        while True:
            status = executor.enumerate(own, bytecode)
            variant = bytecode.at[max(int(own[k.NODE]), 0)]
            if status == k.DIVISION:
                raise self._divided(control, variant)
            self._look(variant.rule)
            for number, instances in executor.take_counted():
                self._send(control, number, instances)
            if status == k.DONE:
                return

    def _apply(self, control: Words, head: int, out: Words, count: int) -> None:
        """Takes instances that Python has found."""
        width = self._boxes[head].codec.width
        self._send(control, head, out.reshape(-1)[: count * width].reshape(count, width))

    def _send(self, control: Words, head: int, instances: Words) -> None:
        """Takes instances that were found here; the buffer may be used again."""
        box = self._boxes[head]
        box.waiting.append(instances.copy())
        box.count += len(instances)
        if box.count >= _ROUTED_TOGETHER:
            self._route(control, head)

    def _route(self, control: Words, head: int) -> None:
        """Applies the waiting instances of a relation that are of this part, and encodes the others."""
        box = self._boxes[head]
        if not box.count:
            return
        instances = box.waiting[0] if len(box.waiting) == 1 else np.concatenate(box.waiting)
        box.waiting, box.count = [], 0
        self._emitted += len(instances) + kernels.repeats_of(instances)
        exchange = self._holder.exchange
        divided, starts = np.empty_like(instances), np.empty(exchange.count + 1, dtype=np.int64)
        for number, column in box.copies:
            kernels.divide(
                instances, box.codec.parts(instances, column, exchange.count), exchange.count, divided, starts
            )
            for part in range(exchange.count):
                found = divided[starts[part] : starts[part + 1]]
                if not len(found):
                    continue
                if part == exchange.me:
                    self._apply_sent(control, number, found)
                else:
                    data = box.codec.encode(found)
                    self._parts[part] += [_to_bytes(self._places[number]), _to_bytes(len(data)), data]
                    self._size += len(data)
        if self._size > LARGE_MESSAGE:
            exchange.send([b"".join(each) for each in self._parts])
            self._parts, self._size = [[] for _ in range(exchange.count)], 0

    def _unpacked(self, data: bytes) -> Iterator[tuple[int, Words]]:
        at = 0
        while at < len(data):
            place, size = (int.from_bytes(data[start : start + 8], "little") for start in (at, at + 8))
            number, codec = self._receivers[place]
            yield number, codec.decode(data[at + 16 : at + 16 + size])
            at += 16 + size

    def _apply_sent(self, control: Words, number: int, instances: Words) -> None:
        """Applies instances to a copy, some at a time."""
        for start in range(0, len(instances), _ROUTED_TOGETHER):
            some = instances[start : start + _ROUTED_TOGETHER]
            repeats = kernels.repeats_of(some)
            control[k.APPLIED] = 0
            while (status := kernels.apply_counted(control, self.catalog.S, number, some, repeats)) == k.GROW:
                self.catalog.stores[number].make_room(len(some), control.item(k.NEED_INSTANCES))
            if status != 0:
                raise self._broken()


def _sum(heard: Sequence[Header], name: str) -> int:
    return sum(int(each[name]) for each in heard)


def _to_bytes(number: int) -> bytes:
    return number.to_bytes(8, "little")
