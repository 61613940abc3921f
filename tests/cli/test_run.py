"""`tidelog run`: files in, files out, a summary, and nothing written when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tidelog.cli.main import main

PROGRAM = """
input relation Edge(src: string, dst: u32)
input relation Host(name: string)
output relation Reach(src: string, dst: u32)
output relation Quiet(name: string)
relation Busy(name: string)
Reach(x, y) :- Edge(x, y).
Busy(x) :- Edge(x, _).
Quiet(h) :- Host(h), not Busy(h).
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program and some facts, which is also the current one."""
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "Edge.csv").write_text("src,dst\nb,2\na,10\na,9\n")
    (tmp_path / "facts" / "Host.facts").write_text("a\nz\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    return main(["run", "p.dl", *arguments])


def test_facts_are_read_and_outputs_written_in_value_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-F", "facts", "-D", "new/out") == 0
    assert (folder / "new/out/Reach.csv").read_text() == "src,dst\na,9\na,10\nb,2\n"
    assert (folder / "new/out/Quiet.csv").read_text() == "name\nz\n"
    assert sorted(path.name for path in (folder / "new/out").iterdir()) == ["Quiet.csv", "Reach.csv"]
    out, err = capsys.readouterr()
    assert err == ""
    for part in ("Edge", "Reach", "new/out/Reach.csv", "facts/Host.facts", "bootstrap", "epoch 1"):
        assert part in out


def test_the_header_and_the_cells_for_null_can_be_chosen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "n.dl").write_text(
        "input relation R(a: string, b: string, n: Option<u32>)\noutput relation O(a: string, n: Option<u32>)\n"
        "O(a, n) :- R(a, _, n).\n"
    )
    (folder / "f").mkdir()
    (folder / "f/R.csv").write_text("source,target,count\nx,y,NA\nu,v,\n")
    assert main(["run", "n.dl", "-F", "f", "-D", "out", "--header", "position"]) == 3
    assert "`tidelog run --null NA`" in capsys.readouterr().err
    assert main(["run", "n.dl", "-F", "f", "-D", "out", "--null", "NA", "--header", "position"]) == 0
    assert (folder / "out/O.csv").read_text() == "a,n\nu,\nx,\n"


@pytest.mark.parametrize("name", ["tsv", "parquet"])
def test_other_formats_hold_the_same_rows(folder: Path, name: str) -> None:
    assert run("-F", "facts", "-D", "out", "--format", name) == 0
    if name == "tsv":
        assert (folder / "out/Reach.tsv").read_text() == "src\tdst\na\t9\na\t10\nb\t2\n"
    else:
        table = pyarrow.parquet.read_table(folder / "out/Reach.parquet")
        assert table.schema == pa.schema([pa.field("src", pa.string(), False), pa.field("dst", pa.uint32(), False)])
        assert table.to_pydict() == {"src": ["a", "a", "b"], "dst": [9, 10, 2]}


def test_the_outputs_of_one_run_are_facts_for_the_next(folder: Path) -> None:
    for name in ("csv", "tsv", "parquet"):
        assert run("-F", "facts", "-D", name, "--format", name) == 0
        Path(f"{name}/Reach.{name}").rename(f"{name}/Edge.{name}")
        assert run("-F", name, "-D", f"again-{name}") == 0
        assert (folder / f"again-{name}/Reach.csv").read_text() == "src,dst\na,9\na,10\nb,2\n"


def test_json_is_the_only_thing_on_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-F", "facts", "-D", "out", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["relations"] == [
        {"name": "Edge", "role": "input", "rows": 3, "file": "facts/Edge.csv"},
        {"name": "Host", "role": "input", "rows": 2, "file": "facts/Host.facts"},
        {"name": "Reach", "role": "output", "rows": 3, "file": "out/Reach.csv"},
        {"name": "Quiet", "role": "output", "rows": 1, "file": "out/Quiet.csv"},
        {"name": "Busy", "role": "internal", "rows": 2, "file": None},
    ]
    assert list(document["seconds"]) == ["compile", "open", "read", "evaluate", "write"]
    fields = {"relations", "strategy", "place", "reason", "rounds", "instances", "seconds", "events", "impact"}
    fields |= {"expected_update", "expected_bootstrap", "given_up", "given_up_instances", "regret", "by_round"}
    assert fields == set(document["strata"][0])
    assert (document["epoch"], document["engine"]) == (1, "local")


def test_a_relation_without_a_file_starts_empty_with_a_note(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "facts/Host.facts").unlink()
    assert run("-F", "facts", "-D", "out") == 0
    assert capsys.readouterr().err == "note: facts has no file for `Host`, which starts empty\n"
    assert (folder / "out/Quiet.csv").read_text() == "name\n"


def test_a_file_of_no_relation_is_warned_about(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "facts/Edge.csv").rename(folder / "facts/Egde.csv")
    assert run("-F", "facts") == 0
    err = capsys.readouterr().err
    assert "warning: facts/Egde.csv is not read" in err
    assert "did you mean `Edge`?" in err


def test_without_facts_the_program_runs_on_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.dl").write_text(PROGRAM + 'Edge("x", 1).\n')
    assert run("-D", "out") == 0
    assert (folder / "out/Reach.csv").read_text() == "src,dst\nx,1\n"
    assert "without -F the input relations start empty: Edge, Host" in capsys.readouterr().err


def test_a_bad_cell_exits_with_3_names_the_place_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "facts/Edge.csv").write_text("src,dst\n" + "a,1\n" * 15 + "a,seven\n")
    assert run("-F", "facts", "-D", "out") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(
        "error[E504]: facts/Edge.csv:17:2, column `dst` of `Edge`: `'seven'` is not a u32 (0 to 4294967295)"
    )
    assert list((folder / "out").iterdir()) == []


def test_two_files_for_one_relation_exit_with_3(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "facts/Edge.tsv").touch()
    assert run("-F", "facts") == 3
    assert "both `Edge.csv` and `Edge.tsv`" in capsys.readouterr().err


def test_a_wrong_program_exits_with_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.dl").write_text(PROGRAM + "Quiet(x) :- Hsot(x).")
    assert run("-F", "facts", "-D", "out") == 1
    assert "unknown relation `Hsot`" in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_a_rule_that_fails_exits_with_1_and_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.dl").write_text(PROGRAM + "Reach(x, z) :- Edge(x, y), var z = 1 / (y - 2).")
    assert run("-F", "facts", "-D", "out") == 1
    assert "error[" in capsys.readouterr().err
    assert list((folder / "out").iterdir()) == []


def test_a_folder_that_cannot_be_made_exits_with_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "file").touch()
    assert run("-F", "facts", "-D", "file/out") == 2
    assert "cannot create the folder file/out" in capsys.readouterr().err


@pytest.mark.spark
def test_spark_writes_the_same_files(folder: Path, spark: object) -> None:
    assert run("-F", "facts", "-D", "local") == 0
    assert run("-F", "facts", "-D", "spark", "--engine", "spark") == 0
    for name in ("Reach.csv", "Quiet.csv"):
        assert (folder / "local" / name).read_text() == (folder / "spark" / name).read_text()


NESTED = """
typedef Shape = Circle{r: double} | Square{a: u8, b: u8}
input relation Drawn(id: bigint, shape: Shape, tags: Vec<string>, note: Option<string>)
output relation Shown(shape: Shape, tags: Set<string>, note: Option<string>, id: bigint)
Shown(s, tags.to_set(), n, i) :- Drawn(i, s, tags, n).
input multiset Coin(value: u8)
output multiset Paid(value: u8)
Paid(v) :- Coin(v).
input stream Event(x: u8)
output stream Told(x: u8)
Told(x) :- Event(x).
"""
DRAWN = (
    'id,shape,tags,note\n7,"{""tag"": ""Circle"", ""r"": 1.5}","[""b"", ""a"", ""b""]",null\n'
    '-8,"{""tag"": ""Square"", ""a"": 1, ""b"": 2}",[],"""x"""\n'
)
SHOWN = (
    'shape,tags,note,id\n"{""tag"": ""Circle"", ""r"": 1.5}","[""a"", ""b""]",,7\n'
    '"{""tag"": ""Square"", ""a"": 1, ""b"": 2}",[],x,-8\n'
)


@pytest.fixture
def nested(folder: Path) -> Path:
    (folder / "p.dl").write_text(NESTED)
    for path in (folder / "facts").iterdir():
        path.unlink()
    (folder / "facts/Drawn.csv").write_text(DRAWN)
    (folder / "facts/Coin.jsonl").write_text('{"value": 5}\n[5]\n{"value": 1}\n')
    (folder / "facts/Event.facts").write_text("3\n3\n")
    return folder


def test_relations_of_all_types_and_kinds_are_read_and_written(nested: Path) -> None:
    assert run("-F", "facts", "-D", "out") == 0
    assert (nested / "out/Shown.csv").read_text() == SHOWN
    assert (nested / "out/Paid.csv").read_text() == "value\n1\n5\n5\n"
    assert (nested / "out/Told.csv").read_text() == "x\n3\n3\n"


def test_json_lines_hold_one_object_per_row(nested: Path) -> None:
    assert run("-F", "facts", "-D", "out", "--format", "jsonl") == 0
    rows = [json.loads(line) for line in (nested / "out/Shown.jsonl").read_text().splitlines()]
    assert rows == [
        {"shape": {"tag": "Circle", "r": 1.5}, "tags": ["a", "b"], "note": None, "id": 7},
        {"shape": {"tag": "Square", "a": 1, "b": 2}, "tags": [], "note": "x", "id": -8},
    ]


def test_parquet_holds_ordinary_nested_columns(nested: Path) -> None:
    assert run("-F", "facts", "-D", "out", "--format", "parquet") == 0
    assert pyarrow.parquet.read_table(nested / "out/Shown.parquet").to_pylist() == [
        {"shape": {"tag": "Circle", "r": 1.5, "a": None, "b": None}, "tags": ["a", "b"], "note": None, "id": "7"},
        {"shape": {"tag": "Square", "r": None, "a": 1, "b": 2}, "tags": [], "note": "x", "id": "-8"},
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("Drawn.csv", DRAWN.replace("1.5", '""x""'), "Drawn.csv:2:2, column `shape` of `Drawn`, at `.r`: `'x'`"),
        ("Drawn.csv", DRAWN.replace("[]", "[1]"), "Drawn.csv:3:3, column `tags` of `Drawn`, at `[0]`: `1` is not a"),
        ("Drawn.csv", DRAWN.replace("[]", "x"), "Drawn.csv:3:3, column `tags` of `Drawn`: `'x'` is not a"),
        ("Coin.jsonl", '[5]\n{"value": 256}\n', "Coin.jsonl:2:1, column `value` of `Coin`: `256` is not a u8"),
        ("Coin.jsonl", "[5]\n\n5\n", "Coin.jsonl:3:1: the line for `Coin` is neither an object nor an array"),
        ("Coin.jsonl", "[5]\n[\n", "Coin.jsonl:2:1: the line is not JSON"),
        ("Coin.jsonl", '{"valeu": 1}\n', "Coin.jsonl:1:1 for `Coin` has a key 'valeu', which is no column"),
    ],
)
def test_the_first_value_that_does_not_fit_is_pointed_at(
    nested: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    (nested / "facts" / name).write_text(text)
    assert run("-F", "facts", "-D", "out") == 3
    assert message in capsys.readouterr().err
    assert list((nested / "out").iterdir()) == []


def test_an_output_of_functions_is_refused_before_anything_is_done(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "p.dl").write_text("output relation F(f: function(u8): u8)\nF(|x: u8| x + 1).\n")
    assert run("-D", "out") == 2
    assert "error[E812]" in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_modules_are_looked_for_where_told(folder: Path) -> None:
    (folder / "lib").mkdir()
    (folder / "lib" / "one.dl").write_text("output relation One(x: u8)\nOne(1).\n")
    (folder / "p.dl").write_text("import one\n")
    assert run("-D", "out") == 1
    assert run("-D", "out", "-L", "lib") == 0
    assert (folder / "out/one::One.csv").read_text() == "x\n1\n"


def test_text_that_is_interned_or_of_a_library_type_is_a_plain_cell(folder: Path) -> None:
    (folder / "p.dl").write_text(
        "import time\nimport uuid\n"
        "input relation Edge(name: istring, day: time::Date, id: uuid::Uuid, at: Option<istring>)\n"
        "output relation Out(name: istring, day: time::Date, id: uuid::Uuid, at: Option<istring>)\n"
        "Out(n, d, i, a) :- Edge(n, d, i, a).\n"
    )
    text = 'name,day,id,at\na,2024-02-29,7,\n"b,c",0000-01-01,340282366920938463463374607431768211455,x\n'
    (folder / "facts/Edge.csv").write_text(text)
    assert run("-F", "facts", "-D", "out") == 0
    assert (folder / "out/Out.csv").read_text() == text
    (folder / "facts/Edge.csv").write_text(text.replace("2024-02-29", "2023-02-29"))
    assert run("-F", "facts", "-D", "out") == 3


def test_bad_rows_are_left_out_and_counted_where_that_is_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "facts/Edge.csv").write_text("src,dst\nb,2\na,ten\na,9\na\n")
    assert run("-F", "facts", "-D", "out") == 3
    assert "facts/Edge.csv:3:2, column `dst` of `Edge`: `'ten'` is not a u32" in capsys.readouterr().err
    assert run("-F", "facts", "-D", "out", "--on-bad-row", "skip", "--json") == 0
    out, err = capsys.readouterr()
    assert err.startswith("warning: facts/Edge.csv: skipped 2 bad rows; the first: facts/Edge.csv:3:2, column `dst`")
    assert len(err.splitlines()) == 1
    relations = {each["name"]: each for each in json.loads(out)["relations"]}
    assert (relations["Edge"]["rows"], relations["Edge"]["skipped"]) == (2, 2)
    assert relations["Host"]["skipped"] == 0
    assert "skipped" not in relations["Reach"]
    assert (folder / "out/Reach.csv").read_text() == "src,dst\na,9\nb,2\n"
    assert run("-F", "facts", "--on-bad-row=skip") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "skipped" in next(line for line in lines if "relation" in line)
    assert next(line.split() for line in lines if line.split()[:1] == ["Edge"])[:4] == ["Edge", "input", "2", "2"]


def test_files_without_a_format_and_headers_by_position_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "facts/Host.json").write_text("[]")
    (folder / "facts/Edge.csv").write_text("source,number\na,1\n")
    assert run("-F", "facts", "-D", "out") == 0
    err = capsys.readouterr().err
    assert "warning: facts/Host.json is not read: its name tells no format" in err
    assert "note: facts/Edge.csv: header by position: `source,number` does not name the columns of `Edge`" in err
    assert (folder / "out/Reach.csv").read_text() == "src,dst\na,1\n"


PRINTED = 'output relation P(x: u32, y: string)\noutput relation Q(x: u32)\nP(1, "a, b"). P(2, "c"). Q(3).\n'


def test_outputs_are_printed_to_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.dl").write_text(PRINTED)
    assert run("-D", "-") == 0
    assert capsys.readouterr().out == 'P:\nx,y\n1,"a, b"\n2,c\n\nQ:\nx\n3\n'
    assert run("-D", "-", "--format", "jsonl") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[1]) == {"x": 1, "y": "a, b"}
    assert not (folder / "-").exists()


def test_one_output_is_printed_without_its_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.dl").write_text("output relation Q(x: u32)\nQ(3).\n")
    assert run("-D", "-", "--format", "tsv") == 0
    assert capsys.readouterr().out == "x\n3\n"


def test_a_format_that_is_no_text_is_not_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-D", "-", "--format", "parquet") == 2
    assert "E809" in (shown := capsys.readouterr().err)
    assert "cannot be printed" in shown
