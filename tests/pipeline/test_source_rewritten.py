"""A source table that is rewritten while a batch of it is taken: the batch has the rows that it was planned with, or
fails by name and leaves everything as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.folder import Pipe, closure
from tests.pipeline.test_delta_source import FILE, add, expected, made, table
from tidelog.diagnostics.errors import DataError
from tidelog.pipeline.batch_log import BatchLog, Planned
from tidelog.pipeline.sources.delta import DeltaSource

MOMENTS = ("planned", "listed")
"""A batch is in the log of batches; and its files are known, but not read."""


def when(moment: str, do: Callable[[], object], patch: pytest.MonkeyPatch) -> list[str]:
    """Does something once, at a moment of the next batch; the list tells that it was done."""
    done: list[str] = []
    plan, parts = BatchLog.plan, DeltaSource.parts

    def once() -> None:
        if not done:
            done.append(moment)
            do()

    def planning(log: BatchLog, planned: Planned) -> int:
        number = plan(log, planned)
        once()
        return number

    def listing(source: DeltaSource, *arguments: Any) -> Any:
        found = parts(source, *arguments)
        once()
        return found

    if moment == "planned":
        patch.setattr(BatchLog, "plan", planning)
    else:
        patch.setattr(DeltaSource, "parts", listing)
    return done


def changed(tmp_path: Path, feed: bool) -> Pipe:
    """A pipeline that has taken a table, which then has new versions: appends, a delete, an update."""
    pipe = Pipe(tmp_path, file=FILE)
    made(pipe, (1, "a", "b"), (2, "b", "c"), (3, "c", "d"), feed=feed)
    pipe.run()
    add(pipe, (4, "d", "e"))
    add(pipe, (5, "e", "a"))
    table(pipe).delete("id = 2")
    table(pipe).update(predicate="id = 3", updates={"dst": "'z'"})
    return pipe


@pytest.mark.parametrize("feed", [True, False], ids=["with-feed", "without-feed"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_compaction_in_the_middle_of_a_batch_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, feed: bool
) -> None:
    pipe = changed(tmp_path, feed)

    def compact() -> None:
        table(pipe).optimize.compact()
        table(pipe).optimize.z_order(["src"])
        table(pipe).vacuum(dry_run=False)  # no file is old enough

    with monkeypatch.context() as patch:
        done = when(moment, compact, patch)
        step, *later = pipe.run()
    assert done == [moment]
    assert (step.conflicts, pipe.summed("reach")) == (0, expected(pipe))
    assert all(not each.changes for each in (*later, *pipe.run()))
    assert pipe.summed("reach") == expected(pipe)


@pytest.mark.parametrize("moment", MOMENTS)
def test_files_that_are_removed_in_the_middle_of_a_batch_fail_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    pipe = changed(tmp_path, feed=False)
    before = pipe.summed("reach")

    def compact() -> None:
        table(pipe).optimize.compact()
        table(pipe).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)

    with monkeypatch.context() as patch:
        done = when(moment, compact, patch)
        with pytest.raises(DataError, match="no longer exists") as caught:
            pipe.run()
    assert (done, caught.value.code, "a new `state`" in str(caught.value)) == ([moment], "E870", True)
    assert pipe.summed("reach") == before == closure([("a", "b"), ("b", "c"), ("c", "d")])
    with pytest.raises(DataError) as again:
        pipe.run()
    assert again.value.code == "E870"
    pipe.write_file(FILE.replace('"state"', '"state-2"').replace("out/reach", "out/reach-2"))
    pipe.run()
    assert pipe.summed("reach-2") == expected(pipe)


def test_an_iceberg_table_that_is_rewritten_in_the_middle_of_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyiceberg")
    from tests.pipeline.test_iceberg import edges, started
    from tests.pipeline.test_iceberg import expected as expected_of

    pipe, source = started(tmp_path, (1, "a", "b"), (2, "b", "c"))
    pipe.run()
    source.append(edges((3, "c", "a")))
    source.delete("id = 1")

    def rewrite() -> None:
        source.refresh()
        source.overwrite(source.scan().to_arrow())

    with monkeypatch.context() as patch:
        done = when("planned", rewrite, patch)
        pipe.run()
    assert done == ["planned"]
    assert pipe.summed("reach") == expected_of(source) == closure([("b", "c"), ("c", "a")])
    assert all(not step.changes for step in pipe.run())
    assert pipe.summed("reach") == expected_of(source)
