"""Rules and sizes → the jobs of an epoch: the strata that share a job, and the plan of each job.

    decomposed    the pivot cuts the strata into buckets; one task per bucket runs its whole fixpoint
    single task   one task runs everything: the cost of a small stratum is the job, not the work
    partitioned   tasks that run at the same time join their parts of a stratum and exchange what they find, for a
                  stratum too large for one task and without a pivot
    frames        rounds of DataFrame joins, where such tasks cannot run or their joins would not be local

and, with `engine="auto"` (`placement`),

    driver        the single task, in this process and without a job

The number of jobs is the cost of an epoch, so neighbouring strata share a job where one task may see all they need:
any number of single-task strata, and decomposed strata that have a pivot in common. The choice depends on the program,
the sizes and the requested plans. It is made before each job, when the sizes below are known. State moves between plans
without loss, because all keep the same numbers, and ranks stay true however buckets are cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.engine.spark.plans.partitioned.routing import Routing, find_routing
from tidelog.engine.spark.plans.pivot import Decomposition, find_pivots
from tidelog.engine.spark.plans.placement import Placement, Relations
from tidelog.engine.spark.plans.split_inputs import split_inputs
from tidelog.engine.spark.strategies.circuit.words import has_words
from tidelog.rules.ir import Relation, RuleProgram, Stratum

SINGLE_TASK_ROWS = 200_000
"""Up to this many rows, read and held, a stratum is done in one task.

Measured on 2 cores with a join of two relations: no gain from a second task up to here, a quarter at 2,000,000 rows.
"""

RECURSIVE_SINGLE_TASK_ROWS = 1_000
"""The same where rules are recursive: ten thousand edges may stand for a million rows of their closure."""

FRAMES_ROWS = 20_000_000
"""Above this many rows a stratum without a pivot leaves the single task, whose process needs 60 to 140 bytes a row."""


class Plan(StrEnum):
    """A way to run strata; the value is the place in reports."""

    DECOMPOSED = "decomposed"
    SINGLE_TASK = "single task"
    FRAMES = "frames"
    PARTITIONED = "partitioned"
    DRIVER = "driver"


ONE_ENGINE = frozenset({Plan.SINGLE_TASK, Plan.DRIVER})
"""Plans by which one local engine sees all of a segment."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Strata, in their order, that one job maintains (frames: one stratum, several jobs).

    `pivots` has the column that decides the bucket of each relation's rows for a decomposed or partitioned segment, and
    is empty otherwise.
    """

    strata: tuple[Stratum, ...]
    plan: Plan
    pivots: Mapping[str, int]
    reason: str
    is_requested: bool = False

    @property
    def relations(self) -> tuple[str, ...]:
        return tuple(name for stratum in self.strata for name in stratum.relations)

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations below that rules of the segment mention, each once, in order of mention."""
        own = set(self.relations)
        rules = (rule for stratum in self.strata for rule in stratum.rules)
        mentioned = (atom.relation for rule in rules for atom in rule.atoms)
        return tuple(dict.fromkeys(name for name in mentioned if name not in own))


class Chooser:
    """Chooses for one program (in the form of `split_inputs`); pivots are looked for once per group of strata. With
    `placement` strata may run in this process. With `circuit` strata that rule rows can express run on frames.
    `together`: so many tasks of one job are certain to run at the same time.

    Raises UsageError when a request names no derived relation or an impossible plan.
    """

    def __init__(
        self,
        program: RuleProgram,
        requested: Mapping[str, str] | None = None,
        placement: Placement | None = None,
        *,
        circuit: bool = False,
        together: int = 0,
    ) -> None:
        self._program = program
        self._together = together
        self._known_routings: dict[tuple[str, ...], Routing | str] = {}
        self._placement = placement
        self._circuit = circuit
        self._known_pivots: dict[tuple[str, ...], Decomposition] = {}
        self._requested = self._checked(requested or {})

    def choose(
        self, rows: Mapping[str, int], after: Segment | None = None, events: Mapping[str, int] | None = None
    ) -> Segment | None:
        """Returns the segment that follows `after` (None: the first); None when there are no more rules.

        `rows` and `events` have the rows and the changed rows of each relation (absent: none). Strata without rules
        belong to no segment.
        """
        strata = self._program.strata
        start = 0 if after is None else 1 + strata.index(after.strata[-1])
        segment: Segment | None = None
        for index in range(start, len(strata)):
            if not strata[index].rules:
                continue
            alone = self._placed(self._alone(index, rows), rows, events or {})
            joined = alone if segment is None else self._join(segment, alone)
            if joined is None:
                return segment
            segment = joined
        return segment

    def _alone(self, index: int, rows: Mapping[str, int]) -> Segment:
        stratum = self._program.strata[index]
        request = self._requested.get(index)
        decomposition = self._pivots((stratum,))
        segment = Segment((stratum,), Plan.SINGLE_TASK, {}, "")
        size = sum(rows.get(name, 0) for name in segment.reads + segment.relations)
        limit = RECURSIVE_SINGLE_TASK_ROWS if stratum.recursive else SINGLE_TASK_ROWS
        if request is not None:
            pivots = (decomposition.pivots or {}) if request is Plan.DECOMPOSED else {}
            if request is Plan.PARTITIONED:
                pivots = self._homes(stratum)
            return Segment((stratum,), request, pivots, "it is requested by `plans=`", is_requested=True)
        has_rule_rows = self._circuit and has_words(stratum, stratum.rules, self._program.relations)
        if has_rule_rows and self._takes_frames(stratum):
            return Segment((stratum,), Plan.FRAMES, {}, "the circuit joins rules, as rows, with facts")
        if size <= limit:
            return Segment((stratum,), Plan.SINGLE_TASK, {}, f"{size:,} rows are few enough for one task")
        if decomposition.pivots is not None:
            return Segment((stratum,), Plan.DECOMPOSED, decomposition.pivots, decomposition.reason)
        if size <= FRAMES_ROWS or not self._takes_frames(stratum):
            return Segment((stratum,), Plan.SINGLE_TASK, {}, decomposition.reason)
        reason = f"{size:,} rows are too many for one task; {decomposition.reason}"
        if self._fits_partitions(stratum, size):
            return Segment((stratum,), Plan.PARTITIONED, self._homes(stratum), reason)
        return Segment((stratum,), Plan.FRAMES, {}, reason)

    def _placed(self, segment: Segment, rows: Mapping[str, int], events: Mapping[str, int]) -> Segment:
        """Returns the segment, moved to this process if the placement says so."""
        if self._placement is None or segment.is_requested:
            return segment
        size = sum(rows.get(name, 0) for name in segment.reads + segment.relations)
        changed = sum(events.get(name, 0) for name in segment.reads)
        is_small = segment.plan is Plan.SINGLE_TASK
        here, why = self._placement.runs_in_driver(segment.relations, segment.plan.value, is_small, size, changed)
        if here:
            return Segment(segment.strata, Plan.DRIVER, {}, why)
        return replace(segment, reason=f"{segment.reason}; {why}" if why else segment.reason)

    def _join(self, first: Segment, second: Segment) -> Segment | None:
        """Returns one segment for both, or None when they need a job each."""
        strata = first.strata + second.strata
        plans = {first.plan, second.plan}
        is_requested = first.is_requested or second.is_requested
        if len(plans) == 1 and plans <= ONE_ENGINE:
            reason = first.reason if first.reason == second.reason else f"{first.reason}; {second.reason}"
            return Segment(strata, first.plan, {}, reason, is_requested)
        held_back = any(part.is_requested and part.plan is Plan.SINGLE_TASK for part in (first, second))
        if plans & {Plan.FRAMES, Plan.PARTITIONED, Plan.DRIVER} or held_back:
            return None
        decomposition = self._pivots(strata)
        if decomposition.pivots is None:
            return None
        return Segment(strata, Plan.DECOMPOSED, decomposition.pivots, decomposition.reason, is_requested)

    def _takes_frames(self, stratum: Stratum) -> bool:
        """True if the stratum has only joins of sets, and no relation that is inspected."""
        inspected = {each.relation for each in self._program.inspections}
        return not any(
            rule.group is not None
            or rule.transform is not None
            or self._program.relations[rule.head.relation].weighted
            or rule.head.relation in inspected
            for rule in stratum.rules
        )

    def _homes(self, stratum: Stratum) -> dict[str, int]:
        """Returns the column that divides each relation of a stratum that can be partitioned."""
        routing = self._routing(stratum)
        return {} if isinstance(routing, str) else routing.homes

    def _fits_partitions(self, stratum: Stratum, rows: int) -> bool:
        """True if tasks that run at the same time can join so many rows, each no more than a single task may."""
        routing = self._routing(stratum)
        if self._together < 2 or isinstance(routing, str):
            return False
        return rows * max(map(len, routing.copies.values())) <= FRAMES_ROWS * self._together

    def _routing(self, stratum: Stratum) -> Routing | str:
        """Returns the routing of a stratum, or why it has none."""
        if stratum.relations not in self._known_routings:
            found = find_routing(stratum, self._program.relations)
            if not self._takes_frames(stratum):
                found = "it has weights, groups or a transformer"
            self._known_routings[stratum.relations] = found
        return self._known_routings[stratum.relations]

    def _pivots(self, strata: tuple[Stratum, ...]) -> Decomposition:
        names = tuple(name for stratum in strata for name in stratum.relations)
        if names not in self._known_pivots:
            rules = [rule for stratum in strata for rule in stratum.rules]
            restless = [each for each in strata if each.recursive and any(rule.group for rule in each.rules)]
            if restless:
                reason = f"`{restless[0].relations[0]}` groups inside its recursion, whose rounds cannot be divided"
                self._known_pivots[names] = Decomposition(None, reason)
            else:
                self._known_pivots[names] = find_pivots(rules, self._program.relations, names)
        return self._known_pivots[names]

    def _plans(self) -> list[Plan]:
        """Returns the plans that may be requested."""
        return [plan for plan in Plan if plan is not Plan.DRIVER or self._placement is not None]

    def _checked(self, requested: Mapping[str, str]) -> dict[int, Plan]:
        checked: dict[int, Plan] = {}
        for name, request in requested.items():
            place = next((i for i, s in enumerate(self._program.strata) if s.rules and name in s.relations), None)
            if place is None:
                raise _impossible(f"`plans` names `{name}`, which is not a derived relation")
            if request not in self._plans():
                listed = ", ".join(repr(plan.value) for plan in self._plans())
                help_ = "open the program with `engine='auto'` to run strata in this process"
                raise _impossible(
                    f"there is no plan {request!r}; the plans are {listed}", help_ if request == Plan.DRIVER else None
                )
            decomposition = self._pivots((self._program.strata[place],))
            if request == Plan.FRAMES and not self._takes_frames(self._program.strata[place]):
                raise _impossible(
                    f"`{name}` has weights, groups or a transformer, which the plan `frames` does not support"
                )
            if request == Plan.DECOMPOSED and decomposition.pivots is None:
                raise _impossible(f"`{name}` cannot be decomposed: {decomposition.reason}")
            routing = self._routing(self._program.strata[place])
            if request == Plan.PARTITIONED and isinstance(routing, str):
                raise _impossible(f"`{name}` cannot be partitioned: {routing}")
            checked[place] = Plan(request)
        return checked


def show_choice(
    program: RuleProgram,
    rows: Mapping[str, int] | None = None,
    plans: Mapping[str, str] | None = None,
    *,
    auto: bool = False,
) -> str:
    """Returns the plan of each stratum and its reason, for people: for the sizes `rows`, or for large relations. With
    `auto`, the plan of a stratum where it does not run in the driver's process."""
    split = split_inputs(program).rules
    sizes = dict.fromkeys(split.relations, SINGLE_TASK_ROWS) if rows is None else rows
    chooser = Chooser(split, plans, _NeverInDriver(lambda: 1) if auto else None)
    lines: list[str] = ["in the driver's process where that is measured to be faster; otherwise:"] if auto else []
    segment = chooser.choose(sizes)
    while segment is not None:
        lines.append(f"{segment.plan.value}, because {segment.reason}")
        lines.extend(f"  {_shown(stratum, segment, split.relations)}" for stratum in segment.strata)
        segment = chooser.choose(sizes, after=segment)
    return "\n".join(lines) if chooser.choose(sizes) is not None else "no rules, no jobs"


class _NeverInDriver(Placement):
    """Placement that shows the plans of strata outside this process."""

    def runs_in_driver(
        self, relations: Relations, plan: str, is_small: bool, rows: int, events: int
    ) -> tuple[bool, str]:
        return False, ""


def _impossible(message: str, help_: str | None = None) -> UsageError:
    return UsageError(message, code=Code.IMPOSSIBLE_PLAN, help=help_)


def _shown(stratum: Stratum, segment: Segment, relations: Mapping[str, Relation]) -> str:
    names = []
    for name in stratum.relations:
        by = f" by {relations[name].columns[segment.pivots[name]].name}" if name in segment.pivots else ""
        names.append(f"{name}{by}")
    rules = "1 rule" if len(stratum.rules) == 1 else f"{len(stratum.rules)} rules"
    return f"{', '.join(names)} ({rules}{', recursive' if stratum.recursive else ''})"
