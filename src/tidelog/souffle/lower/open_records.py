"""Steps that take a column apart → scans of a relation that has the parts as columns of its own.

    Scan walk(r, n), Unpack r as [p, t], Test p = q

    Scan walk.open.0(r, n, q, t), Bind p = q      walk.open.0(r, n, p, t) :- walk(r, n), r = [p, t].

So a value is taken apart once for each row, and a join on a field of a record is one on a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidelog.souffle.plan import terms


@dataclass(frozen=True, slots=True)
class Opened:
    """A relation with one column taken apart: the place of the column, the branch, and the number of its fields."""

    relation: str
    place: int
    branch: str
    fields: int

    @property
    def name(self) -> str:
        return f"{self.relation}.open.{self.place}{f'.{self.branch}' if self.branch else ''}"


def open_records(steps: Sequence[terms.Step]) -> tuple[list[terms.Step], list[Opened]]:
    """Returns the steps with scans of opened relations where that makes a join of a comparison, and those relations."""
    made = [*steps]
    found: list[Opened] = []
    bound: set[str] = set()
    place = 0
    while place < len(made):
        step = made[place]
        if isinstance(step, terms.Scan):
            opened = _opened(made, place, step, bound)
            if opened is not None:
                found.append(opened)
                step = made[place]
                assert isinstance(step, terms.Scan)
        bound |= {each.name for each in terms.bound_by([step])}
        place += 1
    return made, found


def _opened(steps: list[terms.Step], place: int, scan: terms.Scan, bound: set[str]) -> Opened | None:
    """Opens the first column that is taken apart behind a scan and compared with what is bound before it."""
    columns = {each.name: number for number, each in enumerate(scan.terms) if isinstance(each, terms.Var)}
    for number in range(place + 1, len(steps)):
        unpack = steps[number]
        if not isinstance(unpack, terms.Unpack) or unpack.value.name not in columns or unpack.value.name in bound:
            continue
        fields: list[terms.Var | terms.Const | None] = [*unpack.fields]
        dropped: list[terms.Step] = []
        known_as: list[terms.Step] = []
        for test in steps[number + 1 :]:
            if not isinstance(test, terms.Test) or test.operator != "=":
                continue
            for one, other in ((test.left, test.right), (test.right, test.left)):
                known = isinstance(one, terms.Const) or (isinstance(one, terms.Var) and one.name in bound)
                if known and isinstance(other, terms.Var) and other in fields:
                    assert isinstance(one, terms.Var | terms.Const)
                    fields[fields.index(other)] = one
                    dropped.append(test)
                    known_as.append(terms.Bind(other, one, test.span))
                    break
        if not dropped:
            continue
        opened = Opened(scan.relation, columns[unpack.value.name], unpack.branch, len(fields))
        steps[place] = replace(scan, relation=opened.name, terms=(*scan.terms, *fields))
        kept = [each for each in steps[place + 1 :] if each is not unpack and not any(each is one for one in dropped)]
        steps[place + 1 :] = [*known_as, *kept]
        return opened
    return None
