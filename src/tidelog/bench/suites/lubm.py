"""LUBM with the rules of RDFS, over triples, and with those of OWL 2 RL, one relation per class and property.

As in paper 002: 99% of the triples are materialised, the last 1% is added, and removed again; then once more, because
the first change of a database has to plan the update of its rules. Triples about classes and properties always stay.
Each step is checked against a database that is given the same triples at once. Then a rule about a class of few things
is added and removed.
"""

from __future__ import annotations

from random import Random

import pyarrow as pa

from tidelog import compile
from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED
from tidelog.bench.inputs.lubm import is_schema
from tidelog.bench.inputs.lubm import lubm as read_lubm
from tidelog.bench.measure import PROGRAMS, Outcome, Subject, Tables, counts_of
from tidelog.rdf.ontology import read_ontology
from tidelog.rdf.owl_rules import owl_program, relation_names
from tidelog.rdf.triples import Triple

LAST_SHARE = 0.01


def lubm(settings: Settings) -> Outcome:
    out = Outcome()
    name, source, triples = read_lubm(settings)
    tables = {"T": len(triples)}
    out.inputs.append({"name": name, "source": source, "seed": SEED, "rows": len(triples), "tables": tables})
    ontology = read_ontology(triples)
    names = relation_names(ontology)
    individuals = [triple for triple in triples if not is_schema(triple)]
    Random(SEED).shuffle(individuals)
    count = max(1, int(LAST_SHARE * len(individuals)))
    last, most = individuals[:count], individuals[count:] + [triple for triple in triples if is_schema(triple)]
    _measure(settings, out, f"{name}: RDFS", (PROGRAMS / "rdfs.dl").read_text(), ("Triple",), most, last)
    owl = (*names.classes.values(), *names.properties.values())
    _measure(settings, out, f"{name}: OWL 2 RL", owl_program(ontology), owl, most, last)
    classes = tuple(names.classes.values())
    _change_rules(settings, out, f"{name}: OWL 2 RL", owl_program(ontology), classes, triples)
    return out


def _measure(
    settings: Settings,
    out: Outcome,
    group: str,
    program: str,
    results: tuple[str, ...],
    most: list[Triple],
    last: list[Triple],
) -> None:
    first_part, last_part = _table(most), _table(last)
    steps = ("99% of the triples", "the last 1% added, the first change", "the last 1% removed", "the last 1% added")
    seconds: dict[str, list[float]] = {step: [] for step in steps}
    whole = counts_of(program, {"T": pa.concat_tables([first_part["T"], last_part["T"]])}, results)
    for turn in range(settings.repeat + 1):
        settings.say(f"{group}, {turn + 1}")
        subject = Subject(program, threads=settings.threads)
        took = [subject.change(inserts=first_part)]
        before = subject.counts(results)
        took.append(subject.change(inserts=last_part))
        if turn == 0:
            out.check(f"{group}: rows after adding", subject.counts(results), whole)
        took.append(subject.change(deletes=last_part))
        out.check(f"{group}: rows after removing", subject.counts(results), before)
        took.append(subject.change(inserts=last_part))
        subject.close()
        if turn:  # the first one loads kernels
            for times, each in zip(seconds.values(), took):
                times.append(each)
    rows = sum(before.values())
    whole_case, *cases = [out.case(group, name, times, rows=rows) for name, times in seconds.items()]
    for case in cases:
        out.ratio(group, f"{case.name} / 99% of the triples", case, whole_case)


def _change_rules(
    settings: Settings, out: Outcome, group: str, program: str, classes: tuple[str, ...], triples: list[Triple]
) -> None:
    """Times adding and removing a rule of little effect, beside a full recompute."""
    repeat, everything = max(settings.repeat, 5), _table(triples)
    settings.say(f"{group}: a rule added and removed")
    recomputes = []
    for _ in range(settings.repeat):
        subject = Subject(program, "recompute", settings.threads)
        subject.change(inserts=everything)
        recomputes.append(subject.change(deletes=_table(triples[:1])))
        subject.close()
    subject = Subject(program, threads=settings.threads)
    subject.change(inserts=everything)
    rule, head, more = _small_rule(program, {name: _members(subject, name) for name in classes})
    seconds: dict[str, list[float]] = {"a rule added": [], "the rule removed": []}
    for _ in range(repeat):
        before = subject.count(head)
        seconds["a rule added"].append(subject.change_rules(add=rule))
        out.check(f"{group}: rows of {head} with the rule", subject.count(head), before + more)
        seconds["the rule removed"].append(subject.change_rules(remove=rule))
        out.check(f"{group}: rows of {head} without it", subject.count(head), before)
    subject.close()
    recomputed = out.case(group, "full recompute", recomputes)
    for name, times in seconds.items():
        out.ratio(group, f"{name} / full recompute", out.case(group, f"{name}, {rule}", times), recomputed)


def _small_rule(program: str, members: dict[str, set[str]]) -> tuple[str, str, int]:
    """Returns a rule from the smallest class to a class that no rule reads, that class, and the number of rows it
    derives.
    """
    rules = [rule for stratum in compile(program).stages.rules.strata for rule in stratum.rules]
    read = {atom.relation for rule in rules for atom in rule.atoms}
    by_size = sorted(members, key=lambda name: (len(members[name]), name))
    return next(
        (f"{head}(x) :- {source}(x).", head, len(members[source] - members[head]))
        for source in by_size
        for head in by_size
        if head not in read and members[source] - members[head]
    )


def _members(subject: Subject, name: str) -> set[str]:
    return set(subject.table(name).column(0).to_pylist())


def _table(triples: list[Triple]) -> Tables:
    columns = zip(*triples)
    return {"T": pa.table({name: pa.array(values, pa.string()) for name, values in zip("spo", columns)})}
