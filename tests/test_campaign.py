"""The campaign runs its parts in turn, adds up what they say, and reports what fails."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

from tests.campaign import Campaign, Part, figures, parts, work


def test_a_part_that_fails_is_in_the_report_with_the_command_that_repeats_it(tmp_path: Path) -> None:
    found = [Part("help of Python's", "json.tool --help"), Part("wrong", "json.tool nowhere-{seed}")]
    report = tmp_path / "report.md"
    assert not Campaign(found, 7, 0.0003, report).run(1)
    text = report.read_text()
    assert "| wrong |" in text
    assert "python -m json.tool nowhere-10007" in text
    assert not found[0].failures


def test_parts_take_turns_with_seeds_of_their_own() -> None:
    often, rarely = Part("often", ""), Part("rarely", "", every=2)
    turns = [(part.name, seed) for part, seed in islice(work([often, rarely], 1), 5)]
    assert turns == [("often", 10001), ("rarely", 10001), ("often", 20001), ("often", 30001), ("rarely", 30001)]


def test_the_last_line_with_figures_counts() -> None:
    assert figures("1 kills\n20 kills, 1,400 commits\n") == Counter({"kills": 20, "commits": 1400})
    assert figures("nothing") == Counter()
    assert all("{seed}" in part.command for part in parts())
