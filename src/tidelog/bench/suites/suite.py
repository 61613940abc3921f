"""The suite: programs of every shape, each loaded on one and on two threads, and changed by rows and by a rule.

A load is timed from Arrow tables to committed rows. Its results are compared by rows and checksum: on one thread and on
two, with those that are known, with peers, with a bare loop where there is one. Updates are checked by a load of the
facts and rules that they leave, and by the state after their inverse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidelog.bench.benchmark import Scale, Settings, known_names
from tidelog.bench.entries import ENTRIES, Entry
from tidelog.bench.inputs.dataset import Dataset
from tidelog.bench.known import describe_results, known_results
from tidelog.bench.measure import Case, Outcome, Subject, loads, memory_of_load, require_equal, warm
from tidelog.bench.references.checksum import Checksum, checksum
from tidelog.bench.references.floors import FLOORS
from tidelog.bench.references.peers import beside
from tidelog.bench.suites.updates import measure_updates
from tidelog.diagnostics.codes import Code

_THREADS = (1, 2)


def suite(settings: Settings) -> Outcome:
    """Returns the times of the chosen programs, on one thread and on two, or on `--threads` alone."""
    out = Outcome()
    known = {entry.name: entry for entry in ENTRIES}
    for name in known_names(settings.programs, known, "program", Code.UNKNOWN_BENCHMARK) or known:
        _measure(settings, out, known[name])
    return out


def checksums(subject: Subject, entry: Entry) -> dict[str, Checksum]:
    """Returns the checksum of each result."""
    return {relation: checksum(subject.table(relation)) for relation in entry.results}


def _measure(settings: Settings, out: Outcome, entry: Entry) -> None:
    settings.say(entry.name)
    data = entry.dataset(settings)
    warm(entry.program, data.tables, ("elastic",))
    found: dict[str, Checksum] = {}
    cases: dict[int, Case] = {}
    subject: Subject | None = None
    for threads in (settings.threads,) if settings.threads else _THREADS:
        if subject is not None:
            subject.close()
        settings.say(f"{entry.name}: {_on(threads)}")
        subject, seconds = loads(entry.program, data.tables, settings.repeat, threads)
        own = checksums(subject, entry)
        for relation, before in found.items():
            out.checks.append(require_equal(f"{entry.name}: {relation} on {_on(threads)}", own[relation], before))
        found = own
        rows = sum(each.rows for each in found.values())
        cases[threads] = out.case(entry.name, f"Bootstrap, {_on(threads)}", seconds, rows=rows)
    assert subject is not None
    _note(settings, out, entry, data, found)
    instances = subject.instances
    _floor(settings, out, entry, data, cases, found)
    _beside(settings, out, entry, data, cases, found, instances)
    measure_updates(settings, out, entry, data, subject, threads, cases[threads].median)
    subject.close()


def _on(threads: int) -> str:
    return f"{threads} threads" if threads > 1 else "1 thread"


def _note(settings: Settings, out: Outcome, entry: Entry, data: Dataset, found: Mapping[str, Checksum]) -> None:
    """Adds the input, and compares the results with those that are known."""
    out.inputs.append(data.describe() | {"shape": entry.shape} | describe_results(data, found))
    known = known_results(entry.name, settings.scale, data)
    for relation, expected in known.items():
        what = f"{entry.name}: {relation}, as it is known"
        out.checks.append(require_equal(what, (found[relation].rows, found[relation].sum), expected))
    for relation, rows in data.known.items():
        if relation in found:
            out.check(f"{entry.name}: rows of {relation}", found[relation].rows, rows)


def _floor(
    settings: Settings,
    out: Outcome,
    entry: Entry,
    data: Dataset,
    cases: Mapping[int, Case],
    found: Mapping[str, Checksum],
) -> None:
    """Runs the bare loop over the same rule instances, if there is one; it uses one thread."""
    if entry.name not in FLOORS:
        return
    settings.say(f"{entry.name}: bare loop")
    relation, make = FLOORS[entry.name]
    run = make(data.tables)
    seconds = []
    for _ in range(settings.repeat):
        bare = run()
        out.checks.append(require_equal(f"{entry.name}: {relation} by a bare loop", bare.rows, found[relation].rows))
        seconds.append(bare.seconds)
    floor = out.case(entry.name, f"the same {bare.instances:,} instances", seconds, "bare loop", bare.rows)
    for threads, case in cases.items():
        out.ratio(entry.name, f"Bootstrap, {_on(threads)} / bare loop", case, floor)


def _beside(
    settings: Settings,
    out: Outcome,
    entry: Entry,
    data: Dataset,
    cases: Mapping[int, Case],
    found: Mapping[str, Checksum],
    instances: int,
) -> None:
    """Measures the memory of the load, and runs the peers on the same numbers of threads."""
    if len(cases) > 1:
        one, two = cases[1], cases[2]
        out.ratio(entry.name, "one thread / two threads", one, two)
    for threads, case in cases.items():
        peak = None
        if settings.scale != Scale.TINY:
            settings.say(f"{entry.name}: memory, {_on(threads)}")
            peak = memory_of_load(out, f"{entry.name}: {case.name}", entry.program, data.tables, threads)
        beside(replace(settings, threads=threads), entry.program, data, case, found, out, peak)
    out.inputs[-1]["instances"] = instances
