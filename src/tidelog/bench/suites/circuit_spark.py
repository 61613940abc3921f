"""Rules as rows on Spark: the cost of a round with 5 rules and with 100, by the circuit and by a join for each rule.

The rules are those of a small ontology, all about one relation of triples (as in `rules`): one recursion. Both programs
get the same number of triples. A round of the union of joins with 100 rules takes many seconds, so that run is stopped
after two of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import tidelog
from tidelog.bench.benchmark import Settings
from tidelog.bench.measure import Outcome, Ratio, spark_session

FEW, MANY = 5, 100
CHANGE = "T(x, 1, x) :- T(x, 0, {0})."
Triple = tuple[int, int, int]


def circuit_spark(settings: Settings) -> Outcome:
    out = Outcome()
    with spark_session() as session:
        _measure(settings, out, session)
    return out


def _measure(settings: Settings, out: Outcome, session: Any) -> None:
    things = settings.pick(20, 500, 5_000)
    group = f"triples about {things:,} things"
    seconds: dict[tuple[int, str], list[float]] = {}
    _run(settings, out, session, FEW, things, {})  # starts the session's Java and Python
    for _ in range(settings.repeat):
        for rules in (FEW, MANY):
            settings.say(f"{group}: {rules} rules as rows")
            _run(settings, out, session, rules, things, seconds)
    for (rules, what), taken in seconds.items():
        out.case(group, f"{rules} rules, {what}", taken)
    for what in dict.fromkeys(what for _, what in seconds):
        many, few = (median(seconds[rules, what]) for rules in (MANY, FEW))
        out.ratios.append(Ratio(group, f"{what}, {MANY} rules / {FEW} rules", many / few))
    if settings.scale == "tiny":
        return
    settings.say(f"{group}: {MANY} rules as a union of joins, two rounds of it")
    of_joins = _joined(session, MANY, things)
    out.case(group, f"{MANY} rules, a round of a union of joins", (of_joins,))
    of_rows = median(seconds[MANY, "a round of the first epoch"])
    out.ratios.append(Ratio(group, f"a round of a union of joins / of the circuit, {MANY} rules", of_joins / of_rows))


def _run(
    settings: Settings,
    out: Outcome,
    session: Any,
    rules: int,
    things: int,
    seconds: dict[tuple[int, str], list[float]],
) -> None:
    """Times a first epoch, a small one, and a rule added and removed; checks against the local engine."""
    program, triples = tidelog.compile(ontology(rules)), triples_about(things, rules)
    change = CHANGE.format(rules - 1)
    with program.open() as local, program.open("spark", spark=session, strategy="circuit") as remote:
        steps: dict[str, Callable[[tidelog.Transaction], object]] = {
            "a round of the first epoch": lambda tx: tx.insert("Given", triples),
            "a wave of a small epoch": lambda tx: tx.delete("Given", triples[:5]),
            "a wave for an added rule": lambda tx: tx.add_rules(change),
            "a wave for a removed rule": lambda tx: tx.remove_rules(change),
        }
        for what, do in steps.items():
            for db in (local, remote):
                with db.transaction() as tx:
                    do(tx)
            assert tx.report is not None
            (stratum,) = tx.report.strata
            found, expected = (set(db.relation("T").rows()) for db in (remote, local))
            name = f"{rules} rules, {what}"
            out.check(f"{name}: rows beside the local engine's", found == expected, True)
            seconds.setdefault((rules, what), []).append(stratum.seconds / max(stratum.rounds, 1))


def _joined(session: Any, rules: int, things: int) -> float:
    """Returns the seconds per round with a join for each rule and position."""
    program, rounds = tidelog.compile(ontology(rules)), 2
    plans = {"T": "frames"}
    with program.open("spark", spark=session, strategy="update", plans=plans, max_rounds=rounds) as db:
        started = perf_counter()
        try:
            with db.transaction() as tx:
                tx.insert("Given", triples_about(things, rules))
        except tidelog.EvaluationError:
            # The limit is looked at when a round more begins.
            return (perf_counter() - started) / (rounds + 1)
        assert tx.report is not None
        return perf_counter() - started


def ontology(rules: int) -> str:
    """Generates so many rules: subclasses, subproperties, domains, inverses, chains."""
    forms = (
        "T(x, 0, {half}) :- T(x, 0, {i}).",
        "T(x, {above}, y) :- T(x, {i}, y).",
        "T(x, {above}, z) :- T(x, {i}, y), T(y, {next}, z).",
        "T(x, 0, {i}) :- T(x, {next}, _).",
        "T(y, {i}, x) :- T(x, {next}, y).",
    )
    lines = ["input relation Given(s: u32, p: u32, o: u32)", "output relation T(s: u32, p: u32, o: u32)"]
    lines.append("T(s, p, o) :- Given(s, p, o).")
    for number in range(rules - 1):
        i = 2 + number
        lines.append(forms[number % len(forms)].format(i=i, half=i // 2, above=i // 2 + 1, next=i % rules + 1))
    return "".join(f"{line}\n" for line in lines)


def triples_about(things: int, rules: int) -> list[Triple]:
    """Generates things, each with a class and two of the properties in the rules."""
    chance = random.Random(3)
    found = []
    for thing in range(1_000, 1_000 + things):
        found.append((thing, 0, chance.randrange(2, rules + 1)))
        for _ in range(2):
            found.append((thing, chance.randrange(2, rules + 1), chance.randrange(1_000, 1_000 + things)))
    return sorted(set(found))
