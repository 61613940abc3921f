"""A small sample of `make fuzz`, always the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.answers import TooLongError, WrongAnswerError, answer, limited
from tests.fuzz.fuzz import failure_of, shrink
from tests.fuzz.inputs import KINDS_OF_INPUT, make, programs

SAMPLE, MOST = 150, 600
VERDICTS = ("right", "wrong", "syntax")


@pytest.mark.parametrize("kind", KINDS_OF_INPUT)
def test_whatever_the_input_is_the_front_end_answers(kind: str, tmp_path: Path) -> None:
    done: Counter[str] = Counter()
    for number in range(MOST):
        # Inputs that all end at the same place would test little. Which do depends on all programs of the tests.
        if number >= SAMPLE and all(done[verdict] >= SAMPLE // 100 for verdict in VERDICTS):
            break
        done[answer(make(kind, 1, number, programs()), tmp_path)] += 1
    assert min(done[verdict] for verdict in VERDICTS) >= SAMPLE // 100, done


def test_an_input_is_made_from_its_seed_and_its_number() -> None:
    assert make("programs", 1, 7, programs()) == make("programs", 1, 7, programs())
    assert make("programs", 1, 7, programs()) != make("programs", 1, 8, programs())


def test_a_bug_of_ours_is_a_failure_and_is_made_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        if "boom" in path.read_text(encoding="utf-8"):
            raise ValueError("a bug")

    monkeypatch.setattr("tidelog.database.program.program.read_source", broken)
    data = b"relation R(x: u8)\n// boom\nR(1).\n"
    failure = failure_of(data, tmp_path)
    assert isinstance(failure, ValueError)
    assert shrink(data, tmp_path, failure) == b"boom"


def test_an_exit_code_for_our_bugs_is_a_wrong_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        raise SystemExit(70)

    monkeypatch.setattr("tidelog.database.program.program.read_source", broken)
    with pytest.raises(WrongAnswerError):
        answer(b"", tmp_path)


def test_what_does_not_end_is_stopped() -> None:
    def endless() -> None:
        while True:
            pass

    with pytest.raises(TooLongError), limited(0.05):
        endless()
