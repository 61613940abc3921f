"""Dialects: the programs of the suite in Tidelog's language and in Soufflé's, loaded by Tidelog with the same rows.

The two are loaded in turns, each into a new database, on one thread. The times are those of the processor, because the
ratio of the two is what counts; their results are compared by rows and checksum.
"""

from __future__ import annotations

from tidelog.bench.benchmark import Settings, known_names
from tidelog.bench.entries import ENTRIES, Entry
from tidelog.bench.measure import PROGRAMS, Outcome, Subject, Tables, warm
from tidelog.bench.suites.suite import checksums
from tidelog.diagnostics.codes import Code

_LANGUAGES = {"Tidelog's language": "{}", "Soufflé's language": "souffle/{}"}


def dialects(settings: Settings) -> Outcome:
    """Returns the times of the chosen programs of the suite that have a version for Soufflé."""
    out = Outcome()
    known = {entry.name: entry for entry in ENTRIES if (PROGRAMS / "souffle" / f"{entry.program}.dl").exists()}
    for name in known_names(settings.programs, known, "program", Code.UNKNOWN_BENCHMARK) or known:
        _measure(settings, out, known[name])
    return out


def _measure(settings: Settings, out: Outcome, entry: Entry) -> None:
    settings.say(entry.name)
    data = entry.dataset(settings)
    programs = {language: form.format(entry.program) for language, form in _LANGUAGES.items()}
    seconds: dict[str, list[float]] = {language: [] for language in programs}
    found: dict[str, dict[str, object]] = {}
    for program in programs.values():
        warm(program, data.tables, ("elastic",))
    for _ in range(settings.repeat):
        for language, program in programs.items():
            found[language] = dict(_load(program, data.tables, entry, seconds[language]))
    own, other = found.values()
    out.check(f"{entry.name}: the same results in both languages", other, own)
    out.inputs.append(data.describe() | {"shape": entry.shape})
    cases = [out.case(entry.name, f"Bootstrap, {language}", times) for language, times in seconds.items()]
    out.ratio(entry.name, "Soufflé's language / Tidelog's language", cases[1], cases[0])


def _load(program: str, tables: Tables, entry: Entry, seconds: list[float]) -> dict[str, object]:
    """Loads the rows into a new database, adds its seconds of the processor, and returns the checksums."""
    subject = Subject(program, threads=1)
    try:
        subject.change(inserts=tables)
        seconds.append(subject.cpu_seconds)
        return dict(checksums(subject, entry))
    finally:
        subject.close()
