from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.cli.main import main

PROGRAM = """\
input relation A(x: u8)
input relation B(x: u8)
output relation C(x: u8)
C(y) :- A(x), not B(x), var y = x + 1.
"""


@pytest.mark.parametrize(
    ("stage", "part"),
    [
        ("ast", "C(y) :- A(x), not B(x), var y = x + 1."),
        ("types", "x: u8, y: u8"),
        ("rules", "[0] C(y) :- A(x)"),
        ("strata", "stratum 2: C"),
        ("plan", "Δ not B(x)"),
    ],
)
def test_each_stage_prints_itself_on_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stage: str, part: str
) -> None:
    path = tmp_path / "p.dl"
    path.write_text(PROGRAM)
    assert main(["show", str(path), "--stage", stage]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert part in out


@pytest.mark.parametrize("stage", ["ast", "types"])
def test_modules_are_found_and_only_the_stages_before_are_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stage: str
) -> None:
    path = tmp_path / "p.dl"
    path.write_text("import points as p\nextern function f(x: p::Point): bool\ninput relation A(x: p::Point)\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "points.dl").write_text("typedef Point = Point{x: u8}\n")
    assert main(["show", str(path), "--stage", stage, "-L", str(tmp_path / "lib")]) == 0
    assert "input relation A(x: p" in capsys.readouterr().out


def test_the_plans_of_spark_are_shown_and_can_be_overridden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.dl"
    path.write_text(PROGRAM + "output relation D(x: u8, y: u8)\nD(x, y) :- C(x), C(y).\n")
    asked = ["show", str(path), "--stage", "plan", "--engine", "spark"]
    assert main(asked) == 0
    assert capsys.readouterr().out == (
        "single task, because no column of the head is bound by a literal of the body in"
        " `C(y) :- A(x), not B(x), var y = x + 1.`\n  C (1 rule)\n"
        "decomposed, because every rule carries `x` of `D` unchanged\n  D by x (1 rule)\n"
    )
    assert main([*asked, "--plan", "D=frames"]) == 0
    assert "frames, because it is requested by `plans=`\n  D (1 rule)" in capsys.readouterr().out
    assert main([*asked, "--plan", "D=fast"]) == 2
    assert "there is no plan 'fast'" in capsys.readouterr().err
    assert main([*asked, "--plan", "D"]) == 2
    assert "RELATION=PLAN" in capsys.readouterr().err


def test_the_plans_of_auto_are_those_of_spark_and_the_driver(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.dl"
    path.write_text(PROGRAM + "output relation D(x: u8, y: u8)\nD(x, y) :- C(x), C(y).\n")
    asked = ["show", str(path), "--stage", "plan", "--engine"]
    assert main([*asked, "spark"]) == 0
    on_spark = capsys.readouterr().out
    assert main([*asked, "auto"]) == 0
    first, _, rest = capsys.readouterr().out.partition("\n")
    assert first == "in the driver's process where that is measured to be faster; otherwise:"
    assert rest == on_spark
    assert main([*asked, "auto", "--plan", "D=driver"]) == 0
    assert "driver, because it is requested by `plans=`\n  D (1 rule)" in capsys.readouterr().out
    assert main([*asked, "spark", "--plan", "D=driver"]) == 2
    assert "there is no plan 'driver'; the plans are 'decomposed', 'single task', 'frames'" in capsys.readouterr().err


@pytest.mark.parametrize("more", [["--stage", "plan"], ["--stage", "strata", "--engine", "spark"]])
def test_a_plan_that_would_not_be_looked_at_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    path = tmp_path / "p.dl"
    path.write_text(PROGRAM)
    assert main(["show", str(path), *more, "--plan", "C=frames"]) == 2
    assert "--plan is for `--stage plan --engine spark`" in capsys.readouterr().err


def test_the_plan_names_the_expressions_that_python_evaluates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text.dl"
    path.write_text("""
        import base64
        import vec
        input relation U(x: string, v: Vec<string>)
        output relation A(x: string) A(substr(x, 0, 2)) :- U(x, _), contains(x, "a").
        output relation B(x: string) B(join(v, x)) :- U(x, v), len(x) > 1.
        output relation C(x: string) C(base64::encode(to_bytes(x))) :- U(x, v).
        output relation D(x: string) D(join(vec::map(v, |y| y ++ x), x)) :- U(x, v).
    """)
    assert main(["show", str(path), "--stage", "plan"]) == 0
    shown = capsys.readouterr().out.partition("expressions in Python\n")[2].splitlines()
    assert [line.strip() for line in shown] == [
        "C(base64::encode(to_bytes(x))) :- U(x, v).",
        "base64::encode(ddlog_std::to_bytes(x)): the function `base64::encode`",
        "D(join(vec::map(v, |y| y ++ x), x)) :- U(x, v).",
        "ddlog_std::join(vec::map(v, |y: string| (y ++ x)), x): a closure",
    ]


def test_the_plan_says_how_recursions_through_groups_are_updated_and_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.dl"
    path.write_text("""\
input multiset Edge(from: u32, to: u32, length: u64)
input relation Road(from: u32, to: u32, length: u64)
relation Far(n: u32, d: u64)
output relation Near(n: u32, d: u64)
Far(m, d + l) :- Near(n, d), Edge(n, m, l).
Near(n, m) :- Far(n, d), var m = d.group_by(n).min().
relation Way(n: u32, d: u64)
output relation Best(n: u32, d: u64)
Way(m, d + l) :- Best(n, d), Road(n, m, l).
Best(n, m) :- Way(n, d), var m = d.group_by(n).min().
relation Odd(n: u32, d: u64)
output relation Last(n: u32, d: u64)
Odd(m, d ^ l) :- Last(n, d), Road(n, m, l).
Last(n, m) :- Odd(n, d), var m = d.group_by(n).min().
""")
    assert main(["show", str(path), "--stage", "plan"]) == 0
    _, _, told = capsys.readouterr().out.partition("recursion through groups\n")
    told, _, in_python = told.partition("expressions in Python\n")
    assert "  Near(n, m)" in in_python
    assert "  Best(n, m)" not in in_python
    assert sorted(told.splitlines()) == [
        "  Far, Near: monotone, row by row in Python: `Edge` is not a set",
        "  Odd, Last: in rounds, or by depth while no row depends on itself: this may get worse when its inputs get"
        f" better (`d ^ l`, {path}:13:8)",
        "  Way, Best: monotone, in kernels",
    ]
