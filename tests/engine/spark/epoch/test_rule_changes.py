"""Rules that change at run time, on Spark: the same changes and rows as on the local engine, through reopening too."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tidelog

pytestmark = pytest.mark.spark

GRAPH = """
input relation Edge(a: string, b: string)
output relation Reach(a: string, b: string)
output relation Out(a: string)
Reach(x, y) :- Edge(x, y).
"""
COUNTED = "Out(x) :- Edge(x, y), var g = y.group_by(x), g.count_distinct() > 1."
MORE = f"""
typedef Name = Short{{text: string}} | None_
function shout(s: string): string {{ s ++ "!" }}
output relation Named(name: Name)
Named(Short{{shout(x)}}) :- Reach(x, _), not Out(x).
{COUNTED}
"""


class Step(NamedTuple):
    """A transaction: rows that come and go, and rules."""

    insert: tuple[tuple[str, str], ...] = ()
    delete: tuple[tuple[str, str], ...] = ()
    add: str = ""
    remove: str = ""
    reopened: bool = False


STEPS = (
    Step(insert=(("a", "b"), ("b", "c"), ("c", "d"), ("a", "z"))),
    Step(add=f"Reach(x, z) :- Reach(x, y), Edge(y, z).{MORE}"),
    Step(insert=(("d", "e"),), remove="Reach(x, y) :- Edge(x, y).", reopened=True),
    # Edge is an input relation: its facts and its rows part here, and stay apart.
    Step(add="Reach(x, y) :- Edge(x, y). Edge(x, y) :- Reach(y, x)."),
    Step(delete=(("a", "b"),), remove="Edge(x, y) :- Reach(y, x).", reopened=True),
    Step(insert=(("q", "a"),), remove=COUNTED, add="output relation Was(a: string) Was(x) :- Edge-1(x, _)."),
    Step(insert=(("r", "a"),)),
)


def run(db: tidelog.Database, step: Step) -> dict[str, list[str]]:
    with db.transaction() as tx:
        tx.delete("Edge", list(step.delete))
        if step.add:
            tx.add_rules(step.add)
        if step.remove:
            tx.remove_rules(step.remove)
        tx.insert("Edge", list(step.insert))
    return {name: sorted(map(str, delta)) for name, delta in tx.changes.items() if len(list(delta))}


def contents(db: tidelog.Database) -> dict[str, list[str]]:
    return {name: sorted(map(str, db.relation(name).rows())) for name in db._locked.relations}


def test_rules_that_come_and_go_give_what_the_local_engine_gives(spark: Any, tmp_path: Path) -> None:
    program = tidelog.compile(GRAPH)
    with program.open() as local:
        remote = program.open("spark", spark=spark, path=tmp_path)
        try:
            for number, step in enumerate(STEPS):
                assert run(remote, step) == run(local, step), f"changes of step {number}"
                assert contents(remote) == contents(local), f"rows after step {number}"
                if step.reopened:
                    remote.close()
                    remote = tidelog.open(tmp_path, engine="spark", spark=spark)
                    assert remote.rules() == local.rules()
                    assert contents(remote) == contents(local), f"rows after step {number}, opened again"
        finally:
            remote.close()


def test_a_change_of_rules_that_fails_leaves_rules_and_rows(spark: Any) -> None:
    program = tidelog.compile("input relation N(n: u64)\noutput relation Q(n: u64)\nQ(n) :- N(n).")
    with program.open("spark", spark=spark) as db:
        with db.transaction() as tx:
            tx.insert("N", [(0,), (2,)])
        with pytest.raises(tidelog.EvaluationError, match="division by zero"), db.transaction() as tx:
            tx.add_rules("Q(10 / n) :- N(n).")
        assert (db.rules(), db.relation("Q").rows()) == (["Q(n) :- N(n)."], [(0,), (2,)])
        with db.transaction() as tx:
            tx.add_rules("Q(10 / n) :- N(n), n > 0.")
            tx.remove_rules("Q(n) :- N(n).")
        assert (tx.changes["Q"].inserted, tx.changes["Q"].deleted) == ([(5,)], [(0,), (2,)])


def test_rules_alone_change_a_stratum_on_frames(spark: Any) -> None:
    with tidelog.compile(GRAPH).open("spark", spark=spark, plans={"Reach": "frames"}) as db:
        run(db, Step(insert=(("a", "b"), ("b", "c"))))
        run(db, Step(add="Reach(y, x) :- Edge(x, y)."))
        assert db.report.strata[0].events == 1
        run(db, Step(remove="Reach(x, y) :- Edge(x, y)."))
        assert db.relation("Reach").rows() == [("b", "a"), ("c", "b")]
