"""Rule changes: one of about a hundred rules is added and removed, beside a full recompute.

The programs are those of a small ontology: subclasses, subproperties, domains, ranges, inverses, chains, transitive
properties. In one program everything is about one relation of triples, and so one recursion; in the other every class
and every property has its own relation. The changed rule affects a class of few things.
"""

from __future__ import annotations

import random
from functools import partial
from statistics import median
from typing import NamedTuple

from tidelog.bench.benchmark import Settings
from tidelog.bench.measure import Outcome, Ratio, Subject, timed

_CLASSES, _PROPERTIES = 40, 20
_RARE = _CLASSES - 1  # a class that few things are in
Triple = tuple[int, int, int]  # subject, property (0: is a), object or class


def rules(settings: Settings) -> Outcome:
    out = Outcome()
    things = settings.pick(200, 5_000, 40_000)
    triples = _triples(things)
    for group, text, change in (
        ("one relation of triples", _as_triples(), f"T(x, 1, x) :- T(x, 0, {_RARE})."),
        ("a relation for each class", _as_relations(), f"P1(x, x) :- C{_RARE}(x)."),
    ):
        settings.say(f"{group}: {things} things")
        _change(out, settings, group, text, triples, change)
        _first_result(out, settings, group, text)
    return out


def _change(out: Outcome, settings: Settings, group: str, text: str, triples: list[Triple], change: str) -> None:
    """Times adding and removing one rule, and deriving everything with it and without it."""
    recomputes = [_recompute(text, triples, settings.threads) for _ in range(max(settings.repeat, 2))]
    subject = _loaded(text, triples, settings.threads)
    before = _sizes(subject)
    added: list[Taken] = []
    removed: list[Taken] = []
    for _ in range(max(settings.repeat, 5)):
        added.append(Taken(subject.change_rules(add=change), subject.cpu_seconds))
        with_it = _sizes(subject)
        removed.append(Taken(subject.change_rules(remove=change), subject.cpu_seconds))
    out.check(f"{group}: rows with the rule and without it again", _sizes(subject), before)
    out.check(f"{group}: the rule derives something", sum(with_it.values()) > sum(before.values()), True)
    subject.close()
    fresh = _loaded(f"{text}{change}\n", triples, settings.threads)
    out.check(f"{group}: rows with the rule, beside a program that has it", with_it, _sizes(fresh))
    fresh.close()
    changes = {"a rule added": added, "the rule removed": removed}
    for name, taken in {"full recompute": recomputes, **changes}.items():
        out.case(group, name, (each.seconds for each in taken))
    for name, taken in changes.items():
        for what, of in (("", lambda each: each.seconds), (", processor time", lambda each: each.processor)):
            ratio = median(map(of, taken)) / median(map(of, recomputes))
            out.ratios.append(Ratio(group, f"{name} / full recompute{what}", ratio))


def _first_result(out: Outcome, settings: Settings, group: str, text: str) -> None:
    """Times a new program from its text to the rows derived from one fact, in a process that has run others."""
    seconds = []
    for number in range(max(settings.repeat, 5)):
        taken, subject = timed(partial(_loaded, f"// {number}\n{text}", [(1, 2, 3)], settings.threads))
        seconds.append(taken)
        subject.close()
    out.case(group, "first result of a fresh program", seconds)


class Taken(NamedTuple):
    """The seconds of a transaction, by the clock and of the processors."""

    seconds: float
    processor: float


def _recompute(text: str, triples: list[Triple], threads: int | None) -> Taken:
    """Times a full recompute of every stratum, without compiling the program and without reading the facts."""
    subject = _loaded(text, triples, threads, "recompute")
    taken = Taken(subject.change(deletes={"Given": triples[:1]}), subject.cpu_seconds)
    subject.close()
    return taken


def _loaded(text: str, triples: list[Triple], threads: int | None, strategy: str = "elastic") -> Subject:
    subject = Subject(text, strategy, threads)
    subject.change(inserts={"Given": triples})
    return subject


def _sizes(subject: Subject) -> dict[str, int]:
    assert subject.report is not None
    return dict(subject.report.rows)


# The programs and their facts


def _axioms() -> list[tuple[str, int, int, int]]:
    """Returns about a hundred axioms: (kind, and up to three numbers of classes or properties)."""
    chance = random.Random(7)
    found = [("below", i, i // 2, 0) for i in range(1, _CLASSES)]
    found += [("subproperty", i, (i + 1) // 2, 0) for i in range(2, _PROPERTIES)]
    found += [("domain", i, chance.randrange(_RARE), 0) for i in range(1, _PROPERTIES)]
    found += [("range", i, chance.randrange(_RARE), 0) for i in range(1, _PROPERTIES, 2)]
    found += [("inverse", i, i + 1, 0) for i in range(11, _PROPERTIES - 1, 4)]
    found += [("chain", first, second, both) for first, second, both in ((13, 14, 9), (17, 18, 8), (19, 13, 7))]
    found += [("both", i, i + 1, i + 2) for i in range(20, 32, 3)]
    return found


def _as_triples() -> str:
    forms = {
        "below": "T(x, 0, {1}) :- T(x, 0, {0}).",
        "subproperty": "T(x, {1}, y) :- T(x, {0}, y).",
        "domain": "T(x, 0, {1}) :- T(x, {0}, _).",
        "range": "T(y, 0, {1}) :- T(_, {0}, y).",
        "inverse": "T(y, {1}, x) :- T(x, {0}, y).",
        "chain": "T(x, {2}, z) :- T(x, {0}, y), T(y, {1}, z).",
        "both": "T(x, 0, {2}) :- T(x, 0, {0}), T(x, 0, {1}).",
    }
    lines = ["input relation Given(s: u32, p: u32, o: u32)", "output relation T(s: u32, p: u32, o: u32)"]
    lines.append("T(s, p, o) :- Given(s, p, o).")
    lines += [forms[kind].format(*numbers) for kind, *numbers in _axioms()]
    return "".join(f"{line}\n" for line in lines)


def _as_relations() -> str:
    forms = {
        "below": "C{1}(x) :- C{0}(x).",
        "subproperty": "P{1}(x, y) :- P{0}(x, y).",
        "domain": "C{1}(x) :- P{0}(x, _).",
        "range": "C{1}(y) :- P{0}(_, y).",
        "inverse": "P{1}(y, x) :- P{0}(x, y).",
        "chain": "P{2}(x, z) :- P{0}(x, y), P{1}(y, z).",
        "both": "C{2}(x) :- C{0}(x), C{1}(x).",
    }
    lines = ["input relation Given(s: u32, p: u32, o: u32)"]
    lines += [f"output relation C{i}(x: u32)" for i in range(_CLASSES)]
    lines += [f"output relation P{i}(x: u32, y: u32)" for i in range(1, _PROPERTIES)]
    lines += [f"C{i}(x) :- Given(x, 0, {i})." for i in range(_CLASSES)]
    lines += [f"P{i}(x, y) :- Given(x, {i}, y)." for i in range(1, _PROPERTIES)]
    lines += [forms[kind].format(*numbers) for kind, *numbers in _axioms()]
    return "".join(f"{line}\n" for line in lines)


def _triples(things: int) -> list[Triple]:
    """Generates things, each with a class and a few properties; 1% of them are in the rare class."""
    chance = random.Random(11)
    found = []
    for thing in range(100, 100 + things):
        found.append((thing, 0, _RARE if thing % 100 == 0 else chance.randrange(1, _RARE)))
        for _ in range(4):
            found.append((thing, chance.randrange(1, _PROPERTIES), chance.randrange(100, 100 + things)))
    return found
