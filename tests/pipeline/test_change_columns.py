"""Change columns as Delta spells them, in feeds and outputs of files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.pipeline.folder import REACH_FILE, Pipe
from tidelog.diagnostics.errors import ProgramError

FEED = REACH_FILE.replace('op     = "op"', 'change_columns = "delta"')


def change(kind: str, version: int, src: str, dst: str) -> dict[str, object]:
    return {"_change_type": kind, "_commit_version": version, "src": src, "dst": dst}


def started(folder: Path, file: str) -> Pipe:
    pipe = Pipe(folder, file=file)
    pipe.table("src,dst\na,b\n")
    return pipe


def test_a_feed_takes_the_changes_of_a_change_data_feed(tmp_path: Path) -> None:
    pipe = started(tmp_path, FEED)
    pipe.feed(
        change("update_preimage", 4, "a", "b"),
        change("update_postimage", 4, "a", "c"),
        change("insert", 3, "x", "y"),
        change("delete", 5, "x", "y"),
    )
    (_, step) = pipe.run()
    assert (step.read, step.conflicts, pipe.summed("reach")) == (4, 0, {("a", "c")})


def test_with_a_key_the_row_after_an_update_replaces_the_one_before(tmp_path: Path) -> None:
    pipe = started(tmp_path, FEED.replace('"delta"', '"delta"\nkey = ["src"]'))
    pipe.feed(change("update_preimage", 4, "a", "b"), change("update_postimage", 4, "a", "c"))
    (_, step) = pipe.run()
    assert (step.conflicts, pipe.summed("reach")) == (0, {("a", "c")})


@pytest.mark.parametrize("format_", ["json", "parquet"])
def test_an_output_has_the_columns_of_delta(tmp_path: Path, format_: str) -> None:
    output = f'[outputs.Reach]\nformat = "{format_}"\nchange_columns = "delta"\npath   = "out/reach"\n'
    pipe = started(tmp_path, REACH_FILE.replace('[outputs.Reach]\nformat = "json"\npath   = "out/reach"\n', output))
    pipe.run()
    pipe.feed({"op": "-", "src": "a", "dst": "b"})
    pipe.run()
    rows = pipe.changes("reach")
    kept = [(row["src"], row["dst"], row["_change_type"], row["_commit_version"]) for row in rows]
    assert kept == [("a", "b", "insert", 1), ("a", "b", "delete", 2)]
    stamp = rows[0]["_commit_timestamp"]
    moment = datetime.fromisoformat(stamp) if isinstance(stamp, str) else stamp
    assert abs(datetime.now(UTC) - moment) < timedelta(hours=1)


def test_a_column_of_the_relation_may_not_have_such_a_name(tmp_path: Path) -> None:
    program = """
input relation Edge(src: string, dst: string)
output relation Reach(_change_type: string)
output relation Loop(node: string)
Reach(x) :- Edge(x, _).
Loop(x) :- Edge(x, x).
"""
    output = '[outputs.Reach]\nchange_columns = "delta"'
    pipe = Pipe(tmp_path, program, REACH_FILE.replace("[outputs.Reach]", output))
    with pytest.raises(ProgramError, match="`_change_type`, which is reserved in change tables"):
        pipe.run()
    pipe.write_file(REACH_FILE)
    pipe.table("src,dst\na,b\n")
    pipe.run()


def test_an_unknown_style_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="there is no change_columns `hudi`"):
        started(tmp_path, FEED.replace('"delta"', '"hudi"')).run()
