"""The update table of the suite: rows deleted and inserted, a rule removed and added, beside recomputation.

Every change is followed by its inverse, after which the results must be those of before. One change of each kind is
compared with a load of the facts and rules that it leaves, whose time is that of recomputation.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from tidelog.bench.benchmark import Scale, Settings
from tidelog.bench.entries import Entry
from tidelog.bench.inputs.dataset import SEED, Dataset
from tidelog.bench.measure import PROGRAMS, Outcome, Subject, Tables, require_equal, take
from tidelog.bench.references.checksum import Checksum, checksum
from tidelog.bench.references.pathway import run_pathway

_SIZES = {"1 row": 1, "100 rows": 100}


def measure_updates(
    settings: Settings, out: Outcome, entry: Entry, data: Dataset, subject: Subject, threads: int, bootstrap: float
) -> None:
    """Adds the lines of one program to the update table; the subject is loaded, and in the same state afterwards.

    `bootstrap`: the seconds of that load, which is the recomputation of an insertion.
    """
    table = data.tables[entry.changed]
    loaded = _results(subject, entry)
    rng = np.random.default_rng(SEED + 1)
    sizes = {**_SIZES, "1%": table.num_rows // 100}
    changes: dict[str, list[pa.Table]] = {}
    left: dict[str, int] = {}
    for what, size in sizes.items():
        if size < 1 or size > table.num_rows // 2 or (what == "1%" and size in _SIZES.values()):
            continue
        settings.say(f"{entry.name}: {what} of {entry.changed}")
        times = settings.pick(2, 3, 3) if size > 1 else settings.pick(2, 10, 30)
        places = [rng.choice(table.num_rows, size=size, replace=False) for _ in range(times)]
        parts = [{entry.changed: take(table, chosen)} for chosen in places]
        rest = dict(data.tables) | {entry.changed: _without(table, places[0])}
        change = _Change(
            f"{what} of {entry.changed}",
            ("deleted", "inserted"),
            [lambda part=part: subject.change(deletes=part) for part in parts],  # type: ignore[misc]
            [lambda part=part: subject.change(inserts=part) for part in parts],  # type: ignore[misc]
            size,
        )
        change.run(out, entry, subject, threads, rest, entry.program, bootstrap)
        changes[f"{what} of {entry.changed}"] = [part[entry.changed] for part in parts]
        left = left or change.left
    if "pathway" in settings.peers and settings.scale != Scale.FULL:
        settings.say(f"{entry.name}: pathway")
        _beside_pathway(out, entry, data, changes, {relation: each.rows for relation, each in loaded.items()}, left)
    settings.say(f"{entry.name}: a rule")
    times = settings.pick(2, 3, 3)
    text = (PROGRAMS / f"{entry.program}.dl").read_text(encoding="utf-8")
    change = _Change(
        "a rule",
        ("removed", "added"),
        [lambda: subject.change_rules(remove=entry.rule)] * times,
        [lambda: subject.change_rules(add=entry.rule)] * times,
        1,
    )
    change.run(out, entry, subject, threads, data.tables, text.replace(entry.rule, ""), bootstrap)
    out.checks.append(require_equal(f"{entry.name}: the state after all changes", _results(subject, entry), loaded))


def _beside_pathway(
    out: Outcome,
    entry: Entry,
    data: Dataset,
    changes: dict[str, list[pa.Table]],
    loaded: dict[str, int],
    left: dict[str, int],
) -> None:
    """Runs the same changes in Pathway, requires the same numbers of rows, and adds its cases and ratios."""
    run = run_pathway(entry.program, data.tables, entry.changed, [part for parts in changes.values() for part in parts])
    if run is None:
        return
    for what, found, expected in zip(("the load", "a deletion", "all changes"), run.rows, (loaded, left, loaded)):
        out.checks.append(require_equal(f"{entry.name}: rows after {what}, as pathway has them", found, expected))
    out.case(entry.name, "Bootstrap", [run.load], "pathway", sum(loaded.values()))
    at = 0
    for what, parts in changes.items():
        for name, seconds in (("deleted", run.deletes), ("inserted", run.inserts)):
            (own,) = (case for case in out.cases if case.group == entry.name and case.name == f"{what} {name}")
            theirs = out.case(entry.name, own.name, seconds[at : at + len(parts)], "pathway", own.rows)
            out.ratio(entry.name, f"{own.name}: tidelog / pathway", own, theirs)
        at += len(parts)


class _Change:
    """A change and its inverse, some times."""

    def __init__(
        self,
        what: str,
        names: tuple[str, str],
        there: Sequence[Callable[[], float]],
        back: Sequence[Callable[[], float]],
        rows: int,
    ) -> None:
        self._what, self._names, self._there, self._back, self._rows = what, names, there, back, rows
        self.left: dict[str, int] = {}

    def run(
        self,
        out: Outcome,
        entry: Entry,
        subject: Subject,
        threads: int,
        rest: Tables,
        program: str,
        bootstrap: float,
    ) -> None:
        """Times the changes. `rest` and `program`: the facts and the rules that the first one leaves."""
        seconds: tuple[list[float], list[float]] = ([], [])
        instances: tuple[list[int], list[int]] = ([], [])
        recompute = [bootstrap, bootstrap]
        before = _results(subject, entry)
        for number, pair in enumerate(zip(self._there, self._back)):
            for way, act in enumerate(pair):
                seconds[way].append(act())
                instances[way].append(subject.instances)
                if number == 0 and way == 0:
                    recompute[0] = self._compare(out, entry, subject, threads, rest, program)
        out.checks.append(require_equal(f"{entry.name}: {self._what}, and back", _results(subject, entry), before))
        for way, name in enumerate(self._names):
            out.case(entry.name, f"{self._what} {name}", seconds[way], rows=self._rows)
            out.updates.append(
                {
                    "group": entry.name,
                    "change": f"{self._what} {name}",
                    "rows": self._rows,
                    "repetitions": len(seconds[way]),
                    "first": seconds[way][0],
                    "median": statistics.median(seconds[way]),
                    "p99": float(np.quantile(seconds[way], 0.99)),
                    "instances": int(statistics.median(instances[way])),
                    "recompute": recompute[way],
                }
            )

    def _compare(self, out: Outcome, entry: Entry, subject: Subject, threads: int, rest: Tables, program: str) -> float:
        """Requires the results of a load of these facts, and returns its seconds."""
        fresh = Subject(program, threads=threads)
        seconds = fresh.change(inserts=rest)
        what = f"{entry.name}: {self._what} {self._names[0]}, compared with a load"
        found = _results(subject, entry)
        out.checks.append(require_equal(what, found, _results(fresh, entry)))
        self.left = {relation: each.rows for relation, each in found.items()}
        fresh.close()
        return seconds


def _results(subject: Subject, entry: Entry) -> dict[str, Checksum]:
    return {relation: checksum(subject.table(relation)) for relation in entry.results}


def _without(table: pa.Table, places: np.ndarray) -> pa.Table:
    kept = np.ones(table.num_rows, dtype=bool)
    kept[places] = False
    return table.filter(pa.array(kept))
