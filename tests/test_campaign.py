"""The campaign runs its parts in turn, adds up the figures of all sittings, and reports failures."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

from tests.campaign import Campaign, Part, figures, parts, read_records, report, run_command, work


def test_a_part_that_fails_is_in_the_report_with_the_command_that_repeats_it(tmp_path: Path) -> None:
    found = [Part("help of Python's", "json.tool --help"), Part("wrong", "json.tool nowhere-{seed}")]
    records = tmp_path / "campaign.jsonl"
    assert not Campaign(found, 7, 0.0003, records).run()
    text = (tmp_path / "campaign.md").read_text()
    assert "| wrong |" in text
    assert "python -m json.tool nowhere-10007" in text
    assert not any(run.failed for run in read_records(records) if run.part != "wrong")


def test_parts_take_turns_with_seeds_of_their_own() -> None:
    often, rarely = Part("often", ""), Part("rarely", "", every=2)
    turns = [(part.name, seed) for part, _, seed in islice(work([often, rarely], 1), 5)]
    assert turns == [("often", 10001), ("rarely", 10001), ("often", 20001), ("often", 30001), ("rarely", 30001)]


def test_a_later_sitting_adds_to_the_records_and_repeats_no_seed(tmp_path: Path) -> None:
    found, records = [Part("help of Python's", "json.tool --help")], tmp_path / "campaign.jsonl"
    for _ in range(2):
        assert Campaign(found, 7, 0.0001, records).run()
    with records.open("a") as file:
        file.write('{"part": "a line that a crash cut o')
    runs = read_records(records)
    assert len({run.seed for run in runs}) == len(runs) >= 2
    assert len({run.sitting for run in runs}) == 2
    assert " in 2 sittings" in report(runs)
    assert f"| help of Python's | {len(runs)} |" in report(runs)


def test_a_run_that_hangs_is_a_failure() -> None:
    failed, output = run_command("http.server 0", 1.0)
    assert failed
    assert "did not end within 1 seconds" in output


def test_the_last_line_with_figures_counts() -> None:
    assert figures("1 kills\n20 kills, 1,400 commits\n") == Counter({"kills": 20, "commits": 1400})
    assert figures("nothing") == Counter()
    assert all("{seed}" in part.command for part in parts())
