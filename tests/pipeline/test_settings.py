"""A pipeline file that is wrong: everything that is wrong with it, with places and helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.folder import REACH_FILE, Pipe
from tidelog.database.program.program import compile
from tidelog.diagnostics.errors import ProgramError, UsageError
from tidelog.pipeline.check_settings import check_settings
from tidelog.pipeline.read_settings import read_settings


def wrong(tmp_path: Path, file: str, engine: str | None = None) -> str:
    pipe = Pipe(tmp_path, file=file, engine=engine)
    with pytest.raises(ProgramError) as caught:
        pipe.run()
    return str(caught.value).replace(f"{tmp_path}/", "")


def test_a_misspelt_setting_is_shown_with_the_one_that_was_meant(tmp_path: Path) -> None:
    assert wrong(tmp_path, REACH_FILE.replace('path   = "feed"', 'pth    = "feed"')) == (
        "error[E863]: `[changes.Edge]` has no `path`\n"
        "  --> pipe.toml:7:2\n"
        "   |\n"
        " 7 | [changes.Edge]\n"
        "   |  ^^^^^^^^^^^^ it has to be there\n"
        "   |\n"
        '   = help: add a line like `path = "folder"`\n'
        "\n"
        "error[E862]: there is no setting `pth` in `[changes.Edge]`\n"
        "  --> pipe.toml:9:1\n"
        "   |\n"
        ' 9 | pth    = "feed"\n'
        "   | ^^^ unknown\n"
        "   |\n"
        "   = help: did you mean `path`?"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('state   = "state"', "", "error[E863]: the pipeline file has no `state`"),
        ('program = "program.dl"', "program = 3", "error[E864]: `program` is a number"),
        ('op     = "op"', 'op = ["op"]', "error[E864]: `changes.Edge.op` is a list"),
        ('op     = "op"', 'key = "source"', "error[E864]: `Edge` has no column `source`"),
        ('op     = "op"', "key = [1]", "error[E864]: `changes.Edge.key` is a list"),
        ('op     = "op"', 'op = "src"', "error[E864]: `src` is a column of `Edge`"),
        ('op     = "op"', 'envelope = "debezium"', "error[E863]: `[changes.Edge]` has no `key`"),
        ('op     = "op"', "options = {multiLine = true}", "error[E864]: the local engine has no option `multiLine`"),
        ('op     = "op"', "options = {maxFilesPerTrigger = 0}", "a whole number above 0 is wanted here"),
        ('op     = "op"', 'options = {sep = "ab"}', "one character that is no quote and no line end is wanted here"),
        ("[changes.Edge]", "[chnges.Edge]", "= help: did you mean `changes`?"),
        ("[changes.Edge]", "[changes.edge]", "= help: did you mean `Edge`?"),
        ("[changes.Edge]", "[changes.Reach]", "error[E865]: `Reach` is an output relation, not an input relation"),
        ("[outputs.Loop]", "[outputs.Edge]", "error[E865]: `Edge` is an input relation, not an output relation"),
        ("[inputs.Edge]", "[inputs.Node]", "error[E865]: the program has no relation `Node`"),
        ('mode   = "snapshot"', 'mode = "snapshots"', "= help: did you mean `snapshot`?"),
        ('format = "parquet"', 'format = "orc"', "error[E864]: the local engine has no format `orc`"),
        ('path   = "out/loop"', 'path = "s3://x/loop"', "the local engine has only paths of this machine"),
        ('state   = "state"', 'state = "hdfs:/x"', "the local engine has only paths of this machine"),
        ('state   = "state"', 'state = "state"\nengine = "sprak"', "= help: did you mean `spark`?"),
        ('state   = "state"', 'state = "state"\ninputs = 3', "error[E861]: the pipeline file is not TOML"),
        ("[inputs.Edge]", "[quarantine]\npath = 7\n[inputs.Edge]", "error[E864]: `quarantine.path` is a number"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in REACH_FILE
    assert said in wrong(tmp_path, REACH_FILE.replace(old, new))


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize(
    ("old", "new", "said", "line"),
    [
        ('"out/loop"', '"data"', "`[outputs.Loop]` and `[inputs.Edge]` have the same path", 16),
        ('"out/loop"', '"feed/../feed"', "`[outputs.Loop]` and `[changes.Edge]` have the same path", 16),
        ('"out/loop"', '"."', "`[outputs.Loop]` and `[inputs.Edge]` have paths of which one is inside the other", 16),
        ('"out/loop"', '"state"', "`[outputs.Loop]` and `state` have the same path", 16),
        ('"out/loop"', '"state/deep/down"', "`[outputs.Loop]` and `state` have paths of which one", 16),
        ('"out/loop"', '"out/reach"', "`[outputs.Loop]` and `[outputs.Reach]` have the same path", 16),
        ('"out/loop"', '"out"', "`[outputs.Loop]` and `[outputs.Reach]` have paths of which", 16),
        ('"out/loop"', '"file:FOLDER/data"', "`[outputs.Loop]` and `[inputs.Edge]` have the same path", 16),
        ('"out/reach"', '"feed/epochs"', "`[outputs.Reach]` and `[changes.Edge]` have paths of which", 13),
        ('"feed"', '"state/feeds"', "`state` and `[changes.Edge]` have paths of which one", 3),
        ("[inputs.Edge]", '[quarantine]\npath = "data"\n[inputs.Edge]', "`[quarantine]` and `[inputs.Edge]`", 5),
        ('"out/loop"', '"FOLDER"', "would replace the folder of the program", 16),
    ],
)
def test_what_is_written_to_has_a_folder_of_its_own(
    tmp_path: Path, engine: str, old: str, new: str, said: str, line: int
) -> None:
    assert old in REACH_FILE
    found = wrong(tmp_path, REACH_FILE.replace(old, new.replace("FOLDER", str(tmp_path))), engine)
    assert said in found
    assert f"--> pipe.toml:{line}:" in found


def test_paths_that_only_look_alike_are_apart(tmp_path: Path) -> None:
    file = REACH_FILE.replace('"data"', '"s3a://bucket/data/*.csv"').replace('"out/loop"', '"s3://bucket/data/loop"')
    pipe = Pipe(tmp_path, file=file.replace('"feed"', '"out/reach2"'), engine="spark")
    settings, spans = read_settings(tmp_path / "pipe.toml", "spark")
    check_settings(settings, spans, compile(settings.program).stages.rules)
    pipe.write_file(file.replace("*.csv", "l*"))
    settings, spans = read_settings(tmp_path / "pipe.toml", "spark")
    with pytest.raises(ProgramError, match="have the same path"):
        check_settings(settings, spans, compile(settings.program).stages.rules)


def test_a_path_of_this_machine_may_be_an_address(tmp_path: Path) -> None:
    for written in (f"file://{tmp_path}/s", f"file:{tmp_path}/s", f"{tmp_path}/s"):
        (tmp_path / "pipe.toml").write_text(
            REACH_FILE.replace('"state"', f'"{written}"').replace('"feed"', f'"{written}f"')
        )
        for engine in ("local", "spark"):
            settings, _ = read_settings(tmp_path / "pipe.toml", engine)
            assert settings.state == f"{tmp_path}/s"
            assert settings.feeds[0].place.folder == tmp_path / "sf"


def test_text_that_is_not_toml_is_shown_where_it_ends(tmp_path: Path) -> None:
    assert "  --> pipe.toml:1:2\n" in wrong(tmp_path, "[a")


def test_any_format_and_option_may_be_for_spark(tmp_path: Path) -> None:
    file = REACH_FILE.replace(
        'format = "parquet"\npath   = "out/loop"', 'format = "jdbc"\noptions = {url = "u", n = 5}'
    )
    (tmp_path / "pipe.toml").write_text(file)
    settings, _ = read_settings(tmp_path / "pipe.toml", "spark")
    assert settings.outputs[1].place.options == {"url": "u", "n": "5"}
    assert settings.outputs[1].place.path is None


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "pipe.toml").write_text(REACH_FILE)
    settings, _ = read_settings(tmp_path / "pipe.toml")
    assert settings.state == str(tmp_path / "state")
    assert settings.feeds[0].place.path == str(tmp_path / "feed")


def test_a_list_of_tables_is_shown_where_it_is(tmp_path: Path) -> None:
    said = wrong(tmp_path, REACH_FILE.replace("[inputs.Edge]", "[[inputs.Edge]]"))
    assert "error[E864]: `inputs.Edge` is a list\n  --> pipe.toml:4:3\n" in said


def test_a_quarantine_on_spark_has_a_path(tmp_path: Path) -> None:
    said = wrong(tmp_path, REACH_FILE + '[quarantine]\nformat = "jdbc"\n', "spark")
    assert "error[E863]: `[quarantine]` has no `path`" in said


def test_lines_of_text_may_be_envelopes(tmp_path: Path) -> None:
    file = REACH_FILE.replace(
        '"json"\npath   = "feed"', '"text"\npath   = "feed"\nenvelope = "debezium"\nkey = ["src"]'
    )
    (tmp_path / "pipe.toml").write_text(file)
    settings, _ = read_settings(tmp_path / "pipe.toml", "spark")
    assert settings.feeds[0].is_envelope


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the pipeline"):
        read_settings(tmp_path / "none.toml")


def test_a_relation_with_a_column_of_a_change_table_is_refused(tmp_path: Path) -> None:
    program = "input relation Edge(src: string)\noutput relation Out(_op: string)\nOut(x) :- Edge(x)."
    pipe = Pipe(tmp_path, program, 'program = "program.dl"\nstate = "s"\n[outputs.Out]\nformat = "csv"\npath = "o"\n')
    with pytest.raises(ProgramError, match="E806"):
        pipe.run()


def test_brackets_without_end_and_impossible_paths_are_errors_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "pipe.toml"
    path.write_text("a = " + "[" * 2000 + "]" * 2000)
    with pytest.raises(ProgramError, match="nested too deep"):
        read_settings(path)
    path.write_text(REACH_FILE.replace('"feed"', '"fe\\u0000ed"'))
    with pytest.raises(ProgramError, match="a text without NUL characters"):
        read_settings(path)
    with pytest.raises(UsageError, match="cannot read the pipeline"):
        read_settings(tmp_path / "a\0b.toml")
