"""`--externs FILE.py` of check, run and shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.cli.externs import load_externs
from tidelog.cli.main import main
from tidelog.diagnostics.errors import UsageError

PROGRAM = """
import net
extern function twice(x: u64): u64
output relation Out(x: u64, host: string)
Out(twice(21), net::host(7)).
"""
NET = "extern function host(n: u64): string\n"
EXTERNS = """
from neighbour import NAME
from os.path import join

def twice(x):
    return _double(x)

def _double(x):
    return 2 * x

def unused(): ...

EXTERNS = {"net::host": lambda n: f"{NAME}{n}"}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "net.dl").write_text(NET)
    (tmp_path / "externs.py").write_text(EXTERNS)
    (tmp_path / "neighbour.py").write_text("NAME = 'host-'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(__import__("sys").path))
    monkeypatch.delitem(__import__("sys").modules, "neighbour", raising=False)
    return tmp_path


def test_functions_of_the_file_are_extern_functions_by_name_or_by_the_dictionary(folder: Path) -> None:
    found = load_externs(folder / "externs.py")
    assert sorted(found) == ["net::host", "twice", "unused"]
    assert found["twice"](4) == 8
    assert found["net::host"](4) == "host-4"
    assert load_externs(None) == {}


def test_run_and_check_use_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("-L", "lib", "--externs", "externs.py")
    assert main(["check", "p.dl", *options]) == 0
    assert main(["run", "p.dl", "-D", "out", *options]) == 0
    assert Path("out/Out.csv").read_text() == "x,host\n42,host-7\n"


def test_a_missing_function_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "externs.py").write_text("def twice(x): return 2 * x\n")
    assert main(["check", "p.dl", "-L", "lib", "--externs", "externs.py"]) == 1
    assert "extern function `net::host` has no Python function" in capsys.readouterr().err
    assert main(["run", "p.dl", "-L", "lib", "--externs", "externs.py"]) == 2
    assert "`net::host`" in capsys.readouterr().err
    assert main(["check", "p.dl", "-L", "lib"]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = 1 / 0\n", "cannot be loaded: ZeroDivisionError: division by zero (line 2)"),
        ("def f(:\n", "cannot be loaded: SyntaxError: "),
        ("import nonexistent_module_x\n", "ModuleNotFoundError: No module named 'nonexistent_module_x' (line 1)"),
        ("EXTERNS = [1]\n", "EXTERNS in bad.py is not a dictionary, but of type list"),
        ("EXTERNS = {'f': 5}\n", "has the entry 'f': 5, which is not a name and a function"),
        ("EXTERNS = {5: print}\n", "has the entry 5: "),
    ],
)
def test_a_file_that_is_no_good_says_why(folder: Path, text: str, message: str) -> None:
    Path("bad.py").write_text(text)
    with pytest.raises(UsageError) as error:
        load_externs(Path("bad.py"))
    assert message in error.value.message
    assert error.value.code == "E813"


def test_a_file_that_is_not_there_is_wrong_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("check", "run", "shell"):
        assert main([command, "p.dl", "--externs", "absent.py"]) == 2
        assert "absent.py" in capsys.readouterr().err
