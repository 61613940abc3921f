"""The benchmarks' programs: a naive evaluation of their text agrees, and Soufflé's versions have the same rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pytest

from tidelog.bench.inputs import doop, galen
from tidelog.bench.inputs.dataset import Dataset
from tidelog.bench.measure import PROGRAMS, Subject
from tidelog.bench.references.andersen import andersen
from tidelog.bench.suites.maintained import facts_of, without

Row = tuple[object, ...]
Atom = tuple[bool, str, list[str]]
_ATOM = re.compile(r"(not )?(\w+)\(([^()]*)\)")
NAMES = ["closure", "galen", "crdt", "points-to"]


def rules(text: str) -> list[str]:
    """The rules of a program, comments and declarations left out."""
    lines = [line.split("//")[0].strip() for line in text.splitlines()]
    return [line for line in lines if ":-" in line]


def atoms(text: str) -> list[Atom]:
    return [
        (not sign, name, [each.strip() for each in columns.split(",")]) for sign, name, columns in _ATOM.findall(text)
    ]


def bindings(body: list[Atom], facts: dict[str, set[Row]], known: dict[str, object]) -> Iterator[dict[str, object]]:
    if not body:
        yield known
        return
    (positive, name, terms), *rest = body
    found = []
    for row in facts.get(name, ()):
        now = dict(known)
        if all(term == "_" or now.setdefault(term, value) == value for term, value in zip(terms, row)):
            found.append(now)
    if not positive:
        found = [] if found else [known]
    for now in found:
        yield from bindings(rest, facts, now)


def naive(program: str, data: Dataset) -> dict[str, set[Row]]:
    """Everything that follows: all rules again and again, those with a negation after the others have come to rest."""
    facts = {name: set(zip(*(column.to_pylist() for column in table.columns))) for name, table in data.tables.items()}
    parsed = [atoms(line) for line in rules((PROGRAMS / f"{program}.dl").read_text())]
    # The only negation, in points-to, is of a relation that reads nothing but facts.
    first = [rule for rule in parsed if rule[0][1] in ("Own", "Declares")]
    for stratum in (first, parsed):
        size = -1
        while size != (size := sum(map(len, facts.values()))):
            for (_, head, terms), *body in stratum:
                new = {tuple(known[term] for term in terms) for known in bindings(body, facts, {})}
                facts.setdefault(head, set()).update(new)
    return facts


@pytest.mark.parametrize(
    ("program", "data"), [("galen", galen.generated(14)), ("points-to", doop.generated(8))], ids=["galen", "points-to"]
)
def test_a_program_derives_what_a_naive_evaluation_of_its_text_does(program: str, data: Dataset) -> None:
    expected = naive(program, data)
    subject = Subject(program)
    subject.change(inserts=data.tables)
    heads = {atoms(rule)[0][1] for rule in rules((PROGRAMS / f"{program}.dl").read_text())}
    for head in heads:
        assert rows_of(subject.table(head)) == expected[head], head
    derived = {name for name in heads if expected[name]}
    assert derived == heads


def rows_of(table: pa.Table) -> set[Row]:
    return set(zip(*(column.to_pylist() for column in table.columns)))


def test_a_worklist_solver_finds_what_points_where_before_and_after_facts_leave() -> None:
    tables = dict(doop.generated(30).tables)
    subject = Subject("points-to")
    subject.change(inserts=tables)
    for seed in range(4):
        for relation, rows in andersen(tables).rows().items():
            found = set(rows)
            assert found == rows_of(subject.table(relation))
            assert found
        gone = facts_of(tables, 30, seed)
        subject.change(deletes=gone)
        tables = without(tables, gone)


@pytest.mark.parametrize("name", NAMES)
def test_the_version_for_souffle_has_the_same_rules(name: str) -> None:
    ours = [rule.replace("not ", "!") for rule in rules((PROGRAMS / f"{name}.dl").read_text())]
    ours = [rule.replace("(c > d) or ((c == d) and (n > m))", "(c > d ; c = d, n > m)") for rule in ours]
    assert rules((PROGRAMS / "souffle" / f"{name}.dl").read_text()) == ours
