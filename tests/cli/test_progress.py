"""The line on a terminal: phase, stratum and round; nothing at all in a pipe."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console

import tidelog
from tidelog.cli.progress import Progress

CHAIN = """
input relation Edge(a: u32, b: u32)
output relation Reach(a: u32, b: u32)
output relation Ends(a: u32)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Ends(y) :- Reach(_, y), not Edge(y, _).
"""


def shown(*, terminal: bool) -> str:
    out = io.StringIO()
    with Progress(Console(file=out, force_terminal=terminal, width=120)) as progress:
        progress.start("read", "Edge.csv")
        progress.start("evaluate", strata=2)
        progress.at(("Reach",), 1234)
        progress.start("write")
        assert list(progress.seconds) == ["read", "evaluate"]
    assert list(progress.seconds) == ["read", "evaluate", "write"]
    return out.getvalue()


def test_a_pipe_gets_nothing() -> None:
    assert shown(terminal=False) == ""


def test_a_terminal_gets_the_last_phase_when_all_is_done() -> None:
    assert "write" in shown(terminal=True)


def test_the_stratum_and_the_round_are_shown() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, force_terminal=True, width=120)) as progress:
        progress.start("evaluate", strata=2)
        progress.at(("Reach", "[bold]Odd"), 1234)
    assert "evaluate Reach, [bold]Odd, round 1,234" in out.getvalue()


def test_an_epoch_tells_of_its_strata_in_order_and_of_their_rounds() -> None:
    told: list[tuple[Sequence[str], int]] = []
    with tidelog.compile(CHAIN).open() as db:
        db._locked.on_progress(lambda relations, round_: told.append((relations, round_)))
        with db.transaction() as tx:
            tx.insert("Edge", [(n, n + 1) for n in range(50)])
        assert list(dict.fromkeys(relations for relations, _ in told)) == [("Edge",), ("Reach",), ("Ends",)]
        assert max(round_ for relations, round_ in told if relations == ("Reach",)) >= 10
        db._locked.on_progress(None)
        told.clear()
        with db.transaction() as tx:
            tx.insert("Edge", [(100, 101)])
        assert told == []
