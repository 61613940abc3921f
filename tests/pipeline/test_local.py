"""Pipelines on the local engine, from files to files."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.folder import REACH_FILE, Pipe, closure, read_folder
from tidelog.diagnostics.errors import DataError, UsageError
from tidelog.pipeline.batch import Stop


def edge(op: str, src: str, dst: str, **more: object) -> dict[str, object]:
    return {"op": op, "src": src, "dst": dst, **more}


def started(folder: Path, file: str = REACH_FILE) -> Pipe:
    pipe = Pipe(folder, file=file)
    pipe.table("src,dst\na,b\nb,c\n")
    return pipe


def test_tables_come_first_and_then_each_batch_is_an_epoch(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.feed(edge("+", "c", "a"))
    first, second = pipe.run()
    assert (first.batch, first.read, first.changes) == ("start", 2, {"Reach": (3, 0)})
    assert (second.batch, second.read, second.changes) == ("0", 1, {"Reach": (6, 0), "Loop": (3, 0)})
    assert second.report is not None
    assert second.report.epoch == 2
    assert pipe.changes("reach")[0] == {"src": "a", "dst": "b", "_op": "+", "_epoch": 1}
    assert read_folder(tmp_path / "out/loop") == [{"node": "a"}, {"node": "b"}, {"node": "c"}]


def test_a_run_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    assert len(pipe.run()) == 1
    assert pipe.run() == []
    pipe.feed(edge("-", "a", "b"))
    pipe.feed(edge("+", "a", "c"))
    (step,) = pipe.run()
    assert (step.batch, step.read) == ("0", 2)
    assert pipe.summed("reach") == closure({("b", "c"), ("a", "c")})
    assert pipe.run() == []


def test_a_batch_without_effect_makes_no_epoch_and_is_not_taken_again(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.feed(edge("+", "a", "b"))
    assert [step.report is None for step in pipe.run()] == [False, True]
    pipe.feed(edge("-", "a", "b"))
    (step,) = pipe.run()
    assert (step.batch, step.read) == ("1", 1)
    assert pipe.summed("reach") == {("b", "c")}


def test_files_per_batch_cut_the_feed_in_the_order_of_its_files(tmp_path: Path) -> None:
    pipe = started(tmp_path, REACH_FILE.replace('op     = "op"', 'op = "op"\noptions = {maxFilesPerTrigger = 1}'))
    pipe.feed(edge("-", "a", "b"))
    pipe.feed(edge("+", "a", "b"))
    pipe.feed(edge("-", "a", "b"))
    assert [step.batch for step in pipe.run()] == ["start", "0", "1", "2"]
    assert pipe.summed("reach") == {("b", "c")}
    assert [path.name for path in pipe.epochs("reach")] == ["epoch=1", "epoch=2", "epoch=3", "epoch=4"]


def test_a_bad_record_fails_the_batch_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.run()
    path = pipe.feed(edge("+", "x", "y"), edge("?", "x", "z"))
    with pytest.raises(DataError) as caught:
        pipe.run()
    assert caught.value.code == "E866"
    assert f"{path}:2:1: " in caught.value.message
    assert pipe.summed("reach") == closure({("a", "b"), ("b", "c")})
    path.write_text('{"op": "+", "src": "x", "dst": "z"}\n')
    (step,) = pipe.run()
    assert (step.batch, step.changes) == ("0", {"Reach": (1, 0)})


def test_bad_records_go_to_the_quarantine_with_their_reasons(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, file=REACH_FILE + '[quarantine]\nformat = "csv"\npath = "bad"\n')
    pipe.table("src,dst\na,b\nc\n")
    pipe.feed(edge("+", "b", "c"), "{nonsense", {"op": "+", "src": 1, "dst": "x"}, "[1]")
    first, second = pipe.run()
    assert (first.read, first.bad, second.read, second.bad) == (2, 1, 4, 3)
    (cut,) = read_folder(tmp_path / "bad/batch=start")
    assert (cut["relation"], cut["code"], cut["record"]) == ("Edge", "E502", "c")
    assert cut["place"] == f"{tmp_path}/data/rows.csv:3:2"
    rows = read_folder(tmp_path / "bad/batch=0")
    assert sorted(row["code"] for row in rows) == ["E501", "E501", "E504"]
    assert {row["record"] for row in rows} == {"{nonsense", "[1]", '{"op": "+", "src": 1, "dst": "x"}'}
    assert pipe.summed("reach") == closure({("a", "b"), ("b", "c")})
    assert len(pipe.warnings) == 2


def test_bad_records_can_be_left_out_or_fail_whatever_the_file_says(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.feed({"op": "+", "src": 1, "dst": "x"})
    assert [step.bad for step in pipe.run(skip_bad=True)] == [0, 1]
    strict = Pipe(tmp_path, file=REACH_FILE + '[quarantine]\npath = "bad"\n')
    strict._fed = 1
    strict.feed({"op": "+", "src": 1, "dst": "x"})
    with pytest.raises(DataError):
        strict.run(skip_bad=False)


@pytest.mark.parametrize("kind", ["csv", "csv without a header", "tsv", "parquet", "json.gz"])
def test_a_feed_may_be_of_any_format(tmp_path: Path, kind: str) -> None:
    format_ = kind.split()[0].partition(".")[0]
    feed = REACH_FILE.replace('format = "json"\npath   = "feed"', f'format = "{format_}"\npath   = "feed"')
    pipe = started(tmp_path, feed)
    pipe.run()
    rows = [edge("+", "c", "d, e"), edge("-", "a", "b")]
    match kind:
        case "parquet":
            (tmp_path / "feed").mkdir(exist_ok=True)
            pq.write_table(pa.Table.from_pylist(rows), tmp_path / "feed/1.parquet")
        case "json.gz":
            import gzip
            import json

            with gzip.open(tmp_path / "feed/1.json.gz", "wt") as file:
                file.write("\n".join(map(json.dumps, rows)))
        case "csv":
            pipe.feed_text('op,dst,more,src\n+,"d, e",1,c\n-,b,2,a\n', "feed/1.csv")
        case "tsv":
            pipe.feed_text("op\tdst\tsrc\n+\td, e\tc\n-\tb\ta\n", "feed/1.tsv")
        case _:
            pipe.feed_text('c,"d, e",+\na,b,-\n', "feed/1.csv")
    pipe.run()
    assert pipe.summed("reach") == closure({("b", "c"), ("c", "d, e")})


KEYED = """
input relation Host(name: string, port: u16, zone: string)
output relation Open(name: string, port: u16)
Open(n, p) :- Host(n, p, "out").
"""
KEYED_FILE = """
program = "program.dl"
state   = "state"
[changes.Host]
format = "json"
path   = "feed"
op     = "op"
key    = ["name"]
order  = "ts"
[outputs.Open]
format = "json"
path   = "out/open"
"""


def host(op: str, ts: int, name: str, port: int | None = None, zone: str | None = None) -> dict[str, object]:
    return {"op": op, "ts": ts, "name": name, "port": port, "zone": zone}


@pytest.mark.parametrize("key", ["", " primary key (x) x.name"])
def test_an_update_replaces_the_row_that_has_the_key(tmp_path: Path, key: str) -> None:
    pipe = Pipe(tmp_path, KEYED.replace("zone: string)", f"zone: string){key}", 1), KEYED_FILE)
    pipe.feed(host("r", 1, "a", 80, "out"), host("c", 2, "b", 22, "in"), host("r", 1, "c", 1, "out"))
    pipe.run()
    assert pipe.summed("open") == {("a", 80), ("c", 1)}
    pipe.feed(host("u", 3, "a", 81, "out"), host("u", 3, "b", 22, "out"), host("d", 3, "c"), host("d", 3, "none"))
    (step,) = pipe.run()
    assert step.changes == {"Open": (2, 2)}
    assert pipe.summed("open") == {("a", 81), ("b", 22)}
    pipe.feed(host("u", 5, "a", 82, "out"), host("d", 4, "a"), host("d", 9, "b"), host("c", 8, "b", 1, "out"))
    pipe.run()
    assert pipe.summed("open") == {("a", 82)}


def test_an_envelope_of_debezium(tmp_path: Path) -> None:
    file = KEYED_FILE.replace('order  = "ts"', 'order = "ts_ms"\nenvelope = "debezium"').replace('op     = "op"\n', "")
    pipe = Pipe(tmp_path, KEYED, file)
    a80 = {"name": "a", "port": 80, "zone": "out"}
    pipe.feed({"op": "c", "before": None, "after": a80, "ts_ms": 1, "source": {"lsn": 5}})
    pipe.run()
    pipe.feed({"payload": {"op": "u", "before": a80, "after": {**a80, "port": 81}, "ts_ms": 2}})
    pipe.run()
    assert pipe.summed("open") == {("a", 81)}
    pipe.feed({"op": "d", "before": {"name": "a"}, "after": None, "ts_ms": 3}, "null", {"payload": None})
    (step,) = pipe.run()
    assert (step.read, step.bad) == (1, 0)
    assert pipe.summed("open") == set()
    assert len(pipe.changes("open")) == 4


def test_conflicts_are_reported(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.feed(edge("+", "x", "y"), edge("-", "x", "y"))
    assert [step.conflicts for step in pipe.run()] == [0, 1]
    assert "1 conflict; the first: the row ('x', 'y') of `Edge`" in pipe.warnings[0]
    assert ("x", "y") in pipe.summed("reach")


def test_several_feeds_make_one_epoch(tmp_path: Path) -> None:
    program = (
        "input relation A(x: u8)\ninput relation B(x: u8)\noutput relation Both(x: u8)\nBoth(x) :- A(x), B(x).\n"
        "output relation One(x: u8)\nOne(x) :- A(x), not B(x)."
    )
    feeds = "".join(f'[changes.{name}]\nformat = "json"\npath = "feed/{name}"\nop = "op"\n' for name in "AB")
    outputs = "".join(f'[outputs.{n}]\nformat = "json"\npath = "out/{n}"\n' for n in ("Both", "One"))
    pipe = Pipe(tmp_path, program, f'program = "program.dl"\nstate = "state"\n{feeds}{outputs}')
    pipe.feed({"op": "+", "x": 1}, folder="feed/A")
    pipe.feed({"op": "+", "x": 1}, folder="feed/B")
    steps = pipe.run()
    assert [(step.batch, step.changes) for step in steps] == [("start", {}), ("0", {"Both": (1, 0)})]


def test_watching_takes_what_comes_until_it_is_stopped(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    stop = Stop()
    watching = threading.Thread(target=lambda: pipe.run(watch=True, stop=stop))
    watching.start()
    try:
        for number, record in enumerate([edge("+", "c", "d"), edge("-", "a", "b")]):
            pipe.feed(record)
            deadline = time.monotonic() + 60
            while len(pipe.steps) < number + 2 and time.monotonic() < deadline:
                time.sleep(0.02)
    finally:
        stop.set()
        watching.join()
    assert [step.batch for step in pipe.steps] == ["start", "0", "1"]
    assert pipe.summed("reach") == closure({("b", "c"), ("c", "d")})


def test_an_output_that_is_added_later_begins_with_all_rows(tmp_path: Path) -> None:
    before = REACH_FILE.partition("[outputs.Reach]")[0]
    pipe = started(tmp_path, before)
    pipe.feed(edge("+", "c", "d"))
    pipe.run()
    pipe.write_file(REACH_FILE)
    assert pipe.run() == []
    assert [path.name for path in pipe.epochs("reach")] == ["epoch=2"]
    pipe.feed(edge("-", "b", "c"))
    pipe.run()
    assert pipe.summed("reach") == {("a", "b"), ("c", "d")}
    for path in pipe.epochs("reach"):
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    pipe.run()
    assert pipe.epochs("reach") == []  # they were taken away by whoever reads them: not a reason to begin again


def test_facts_of_the_program_are_the_changes_of_epoch_0(tmp_path: Path) -> None:
    program = "output relation Fact(n: u8)\nFact(7)."
    file = 'program = "program.dl"\nstate = "state"\n[outputs.Fact]\nformat = "csv"\npath = "out/fact"\n'
    pipe = Pipe(tmp_path, program, file)
    pipe.run()
    pipe.run()
    assert pipe.changes("fact") == [{"n": "7", "_op": "+", "_epoch": "0"}]


def test_multisets_have_their_weights(tmp_path: Path) -> None:
    program = "input multiset Seen(n: u8)\noutput multiset Out(n: u8)\nOut(n) :- Seen(n)."
    file = (
        'program = "program.dl"\nstate = "state"\n[changes.Seen]\nformat = "json"\npath = "feed"\nop = "op"\n'
        '[outputs.Out]\nformat = "json"\npath = "out/out"\n'
    )
    pipe = Pipe(tmp_path, program, file)
    pipe.feed(*({"op": "+", "n": 1} for _ in range(3)), {"op": "-", "n": 2})
    pipe.run()
    assert pipe.changes("out") == [
        {"n": 1, "_op": "+", "_weight": 3, "_epoch": 1},
        {"n": 2, "_op": "-", "_weight": 1, "_epoch": 1},
    ]


def test_a_table_without_files_is_an_error_and_the_next_run_loads_it(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path)
    with pytest.raises(DataError, match="there are no files for `Edge`"):
        pipe.run()
    pipe.table("a,b\n")
    assert [step.batch for step in pipe.run()] == ["start"]


def test_a_log_of_batches_that_is_gone_is_noticed(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.feed(edge("+", "c", "d"))
    pipe.run()
    (tmp_path / "state/feeds/batches.jsonl").unlink()
    with pytest.raises(UsageError, match="E868"):
        pipe.run()


def test_a_torn_line_of_the_log_was_never_a_batch(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.feed(edge("+", "c", "d"))
    pipe.run()
    with (tmp_path / "state/feeds/batches.jsonl").open("a") as log:
        log.write('{"batch": 1, "fil')
    pipe.feed(edge("+", "d", "e"))
    (step,) = pipe.run()
    assert step.batch == "1"
    assert len((tmp_path / "state/feeds/batches.jsonl").read_text().splitlines()) == 2


def test_files_that_are_not_finished_are_left_alone(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.feed(edge("+", "c", "d"), folder="feed/_temporary")
    (tmp_path / "feed/.hidden.json").write_text("{")
    assert len(pipe.run()) == 1


def test_an_output_that_cannot_be_written_undoes_the_epoch(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.run()
    pipe.feed(edge("+", "c", "d"))
    for path in (tmp_path / "out/reach/epoch=1").iterdir():
        path.unlink()
    (tmp_path / "out/reach/epoch=1").rmdir()
    (tmp_path / "out/reach").rmdir()
    (tmp_path / "out/reach").write_text("in the way")
    with pytest.raises(UsageError, match="E809"):
        pipe.run()
    os.unlink(tmp_path / "out/reach")
    (step,) = pipe.run()
    assert step.batch == "0"
    assert step.report is not None
    assert step.report.epoch == 2


def test_a_state_that_is_written_as_an_address_is_that_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    pipe = started(tmp_path, REACH_FILE.replace('"state"', f'"file:{tmp_path}/state"'))
    pipe.feed(edge("+", "c", "d"))
    pipe.run()
    assert (tmp_path / "state/feeds/batches.jsonl").exists()
    assert not list((tmp_path / "elsewhere").iterdir())
    pipe.write_file(REACH_FILE.replace('"state"', f'"file://{tmp_path}/state"'))
    assert pipe.run() == []


def test_a_broken_quote_in_a_feed_is_a_bad_record(tmp_path: Path) -> None:
    file = REACH_FILE.replace('"json"\npath   = "feed"', '"csv"\npath   = "feed"') + '[quarantine]\npath = "bad"\n'
    pipe = started(tmp_path, file)
    pipe.feed_text('src,dst,op\nc,d,+\n"x"y,z,+\nd,e,+\n"u\nv,w,+\n', "feed/1.csv")
    *_, step = pipe.run()
    assert (step.read, step.bad) == (4, 2)
    rows = sorted(read_folder(tmp_path / "bad/batch=0"), key=lambda row: str(row["place"]))
    assert [(row["code"], row["record"]) for row in rows] == [("E507", '"x"y,z,+'), ("E507", '"u\nv,w,+')]
    assert [row["place"].rpartition("feed/")[2] for row in rows] == ["1.csv:3:1", "1.csv:5:1"]
    assert pipe.summed("reach") == closure({("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")})


def test_the_place_of_a_bad_row_is_its_place_whatever_the_file_is_called(tmp_path: Path) -> None:
    program = "input relation N(n: u8)\noutput relation Out(n: u8)\nOut(n) :- N(n)."
    file = (
        'program = "program.dl"\nstate = "state"\n[inputs.N]\nformat = "FORMAT"\npath = "data"\n'
        '[quarantine]\npath = "bad"\n'
    )
    for format_, place in (("csv", ":3:1"), ("parquet", ": row 2")):
        folder = tmp_path / format_
        (folder / "data").mkdir(parents=True)
        pipe = Pipe(folder, program, file.replace("FORMAT", format_))
        path = folder / f"data/a, b: c.{format_}"
        path.write_text("n\n1\n300\n")
        if format_ == "parquet":
            pq.write_table(pa.table({"n": [1, 300], "more": ["x", "y"]}), path)
        (step,) = pipe.run()
        assert (step.read, step.bad) == (2, 1)
        (row,) = read_folder(folder / "bad/batch=start")
        assert row["place"] == f"{path}{place}"


@pytest.mark.parametrize(
    ("header", "text", "rows"),
    [
        ("true", "dst,more,src\nb,1,a\n", {("a", "b")}),
        ("true", "src,dst\n", set()),
        ("false", "src,dst\na,b\n", {("src", "dst"), ("a", "b")}),
        (None, "dst,more,src\nb,1,a\n", {("a", "b")}),
        (None, "x,y\n", {("x", "y")}),
    ],
)
def test_the_header_of_a_starting_table(
    tmp_path: Path, header: str | None, text: str, rows: set[tuple[str, str]]
) -> None:
    option = f"\noptions = {{header = {header}}}" if header else ""
    pipe = Pipe(tmp_path, file=REACH_FILE.replace('path   = "data"', f'path = "data"{option}'))
    pipe.table(text)
    (step,) = pipe.run()
    assert pipe.summed("reach") == rows
    assert step.read == len(rows)


def test_a_state_of_spark_is_told_from_a_log_that_is_gone(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.feed(edge("+", "c", "d"))
    pipe.run()
    (tmp_path / "state/feeds/batches.jsonl").unlink()
    (tmp_path / "state/feeds/log").mkdir()
    with pytest.raises(UsageError, match="the feeds of this state were read on Spark"):
        pipe.run()


def test_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path)
    pipe.table("no gzip", "data/rows.csv.gz")
    with pytest.raises(DataError, match=r"E507.*rows\.csv\.gz: cannot be read"):
        pipe.run()


def test_a_broken_quote_in_a_table_is_a_bad_record_where_there_is_a_quarantine(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, file=REACH_FILE + '[quarantine]\npath = "bad"\n')
    pipe.table('src,dst\na,b\nb\n"x"y,z\nb,c\n')
    (step,) = pipe.run()
    assert (step.read, step.bad) == (4, 2)
    assert {row["code"] for row in read_folder(tmp_path / "bad/batch=start")} == {"E502", "E507"}
    assert pipe.summed("reach") == closure({("a", "b"), ("b", "c")})
    strict = tmp_path / "strict"
    strict.mkdir()
    other = Pipe(strict)
    other.table('src,dst\na,b\nx,"z\nb,c\n')
    with pytest.raises(DataError, match=r"E507.*rows\.csv:3:1"):
        other.run()


def test_updates_without_an_order_are_told_to_add_one(tmp_path: Path) -> None:
    file = KEYED_FILE.replace('order  = "ts"\n', "") + '[quarantine]\npath = "bad"\n'
    keyed = KEYED.replace("zone: string)", "zone: string) primary key (x) x.name", 1)
    pipe = Pipe(tmp_path, keyed, file)
    records = [{"op": "u", "name": "a", "port": port, "zone": "out"} for port in (1, 2)]
    pipe.feed(*records)
    pipe.run()
    (warning,) = pipe.warnings
    assert "does not say which is later" in warning
    assert 'add `order = "…"` to `[changes.Host]`' in warning


def test_a_file_that_was_taken_half_written_is_noticed_when_it_grows(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    path = tmp_path / "feed/0000.json"
    path.parent.mkdir()
    whole = '{"op": "+", "src": "c", "dst": "d"}\n'
    path.write_text(whole)
    pipe.run()
    assert pipe.warnings == []
    with path.open("a") as file:
        file.write(whole.replace("d", "e"))
    pipe.run()
    (warning,) = pipe.warnings
    assert f"{path} has changed since its batch was planned: it had 36 bytes and has 72" in warning
    pipe.feed_text(whole, "feed/0001.json")
    pipe.run()
    assert len(pipe.warnings) == 1  # told once in each run, not with each batch


def test_a_log_of_batches_without_sizes_is_read(tmp_path: Path) -> None:
    pipe = started(tmp_path)
    pipe.feed(edge("+", "c", "d"))
    pipe.run()
    log = tmp_path / "state/feeds/batches.jsonl"
    log.write_text('{"batch": 0, "files": {"feed": ["0000.json"]}}\n')
    assert pipe.run() == []
    assert pipe.warnings == []
    log.write_text('{"batch": 0, "files": {"feed": ["0000.json"]}, "sizes": {"feed": []}}\n')
    with pytest.raises(DataError, match="the log of batches is damaged: a batch has as many sizes as files"):
        pipe.run()
