"""`%load_ext tidelog` in a real IPython: cells, queries, what they show, and errors without a traceback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import tidelog

pytest.importorskip("IPython")
from IPython.core.interactiveshell import InteractiveShell

REACH = """%%datalog
input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
Reach(x, y) :- Edge(x, y).
Edge("a", "b").
"""


@pytest.fixture
def shell() -> Iterator[Any]:
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    assert run(made, "%load_ext tidelog").success
    yield made
    if isinstance(made.user_ns.get("db"), tidelog.Database):
        made.user_ns["db"].close()
    InteractiveShell.clear_instance()


def run(shell: Any, cell: str) -> Any:
    return shell.run_cell(cell)


def html_of(shell: Any, value: Any) -> str:
    data, _ = shell.display_formatter.format(value)
    return str(data.get("text/html", ""))


def text_of(shell: Any, value: Any) -> str:
    data, _ = shell.display_formatter.format(value)
    return str(data["text/plain"])


def test_a_cell_makes_a_database_and_later_cells_add_to_it(shell: Any) -> None:
    first = run(shell, REACH).result
    assert shell.user_ns["db"].relation("Reach").rows() == [("a", "b")]
    assert "+2 relations: Edge, Reach; +2 rules" in html_of(shell, first)
    assert "<td>a</td><td>b</td><td>+1</td>" in html_of(shell, first)
    more = run(shell, '%%datalog\nReach(x, z) :- Reach(x, y), Edge(y, z).\nEdge("b", "c").').result
    assert "+no relations; +2 rules" in text_of(shell, more)
    assert more.changes["Reach"].inserted == [("a", "c"), ("b", "c")]
    declared = run(shell, "%%datalog\noutput relation Back(dst: string, src: string)\nBack(y, x) :- Reach(x, y).")
    assert declared.result.relations == ["Back"]
    assert len(shell.user_ns["db"].relation("Back")) == 3


def test_a_line_is_a_query_whose_parameters_are_variables(shell: Any) -> None:
    run(shell, REACH)
    answer = run(shell, '%datalog Reach("a", x)').result
    assert answer.rows == [("b",)]
    assert "<td>b</td>" in html_of(shell, answer)
    shell.user_ns["start"] = 'a" or "'
    assert run(shell, "%datalog Reach($start, x)").result.rows == []
    shell.user_ns["start"] = "a"
    assert run(shell, "%datalog Reach($start, x)").result.rows == [("b",)]
    shell.user_ns["from_"] = "a"
    assert run(shell, "%datalog Reach($from, x)").result.rows == [("b",)]
    assert run(shell, '%datalog Reach("$start", x)').result.rows == []


def test_databases_have_names_and_begin_again(shell: Any) -> None:
    run(shell, REACH)
    run(shell, REACH.replace("%%datalog", "%%datalog -d other").replace('"b").', '"z").'))
    assert run(shell, '%datalog -d other Reach("a", x)').result.rows == [("z",)]
    shell.user_ns["other"].close()
    old = shell.user_ns["db"]
    run(shell, "%%datalog --new\noutput relation One(n: u8)\nOne(1).")
    assert shell.user_ns["db"].relation("One").rows() == [(1,)]
    assert repr(old) == "<Database on local, closed>"


def test_a_wrong_program_shows_its_carets_and_no_traceback(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, REACH)
    capsys.readouterr()
    wrong = run(shell, "%%datalog\nReach(x, z) :- Edge(x, y).")
    assert isinstance(wrong.error_in_exec, tidelog.ProgramError)
    out, err = capsys.readouterr()
    shown = out + err
    assert "Reach(x, z) :- Edge(x, y)." in shown
    assert "^" in shown
    assert "Traceback" not in shown
    assert ".py" not in shown
    assert len(shell.user_ns["db"].rules()) == 2, "nothing has changed"


def test_so_does_a_program_in_python(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "import tidelog\ntidelog.compile('output relation A(x: u8)\\nA(y) :- A(x).')")
    out, err = capsys.readouterr()
    assert "^" in out + err
    assert "Traceback" not in out + err


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%datalog Reach(x, y)", "there is no database in the variable `db`"),
        ("%datalog", "there is no query"),
        ("%%datalog --old\nA(1).", "'--old' is no option"),
        ("db = 3\n%datalog A(x)", "no database in it, but a value of type int"),
        ("%%datalog -d 7\nA(1).", "'7' is no name of a variable"),
    ],
)
def test_slips_are_explained_without_a_traceback(
    shell: Any, cell: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert isinstance(run(shell, cell).error_in_exec, tidelog.UsageError)
    out, err = capsys.readouterr()
    assert message in out + err
    assert "Traceback" not in out + err


def test_everything_people_meet_has_both_forms(shell: Any) -> None:
    run(shell, REACH.replace('"b").', '"<b>").'))
    db = shell.user_ns["db"]
    with db.transaction() as tx:
        tx.insert("Edge", [("<script>", "x" * 300)])
    program = tidelog.compile(
        "input relation A(x: u8)\noutput relation B(x: u8)\nB(x) :- A(x), not C(x).\nrelation C(x: u8)"
    )
    with pytest.raises(tidelog.ProgramError) as wrong:
        tidelog.compile('output relation A(x: string)\nA("<b>") :- B(x).')
    values = [
        db,
        program,
        db.relation("Reach"),
        db.relations,
        db.query("Reach(x, y)"),
        tx.changes,
        tx.changes["Reach"],
        tx.report,
        db.profile(),
        db.explain("Reach", ("a", "<b>")),
        db.why_not("Reach", ("<b>", "<i>")),
        wrong.value,
        wrong.value.diagnostics[0],
    ]
    for value in values:
        html, text = html_of(shell, value), text_of(shell, value)
        assert html, repr(value)
        for tag in ("<script", '<b>"', "<i>"):
            assert tag not in html, f"{value!r} is not escaped"
        assert max(map(len, text.splitlines())) <= 120, f"{value!r} is too wide"
        assert len(text.splitlines()) < 220
    assert "&lt;script&gt;" in html_of(shell, db.relation("Reach"))


def test_drawings_are_svg(shell: Any) -> None:
    run(shell, REACH)
    db = shell.user_ns["db"]
    for drawing in (db.explain("Reach", ("a", "b")).graph(), tidelog.compile(REACH.partition("\n")[2]).graph()):
        data, _ = shell.display_formatter.format(drawing)
        assert data["image/svg+xml"].startswith("<svg")


def test_the_package_works_without_ipython() -> None:
    script = "import sys; sys.modules['IPython'] = None; import tidelog; tidelog.load_ipython_extension"
    subprocess.run([sys.executable, "-c", script], check=True)
