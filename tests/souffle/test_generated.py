"""Random small programs give what their naive evaluation gives, after histories too, and what Soufflé writes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tidelog
from tests.souffle.generated import Generated, Row
from tests.souffle.running import SOUFFLE, compiled, run_reference
from tidelog.cli.run_souffle import text_of
from tidelog.database.database import Database
from tidelog.database.program.program import Program


def found_lines(program: Program, database: Database, made: Generated) -> dict[str, list[str]]:
    """Returns the lines of each relation that the program writes, by file."""
    souffle = program.stages.souffle
    assert souffle is not None
    texts = text_of(souffle)
    found = {}
    for relation in made.relations:
        kinds = souffle.declared.kinds(relation.name)
        rows = database.relation(relation.name).rows()
        found[f"{relation.name}.csv"] = sorted(
            "\t".join(texts.write(value, kind) for value, kind in zip(row, kinds, strict=True)) for row in rows
        )
    return found


@pytest.mark.parametrize("seed", range(12))
def test_a_random_program_gives_what_it_means(seed: int) -> None:
    made = Generated(random.Random(seed))
    program = compiled(made.text())
    with program.open() as database:
        assert found_lines(program, database, made) == made.lines()


@pytest.mark.parametrize("seed", range(100, 104))
def test_a_random_program_stays_up_to_date(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    made = Generated(chance)
    program = compiled(made.text(inputs=True))
    souffle = program.stages.souffle
    assert souffle is not None
    everything = {relation.name: made.rows_for(souffle, relation) for relation in made.facts}
    kept: dict[str, dict[Row, Row]] = {relation.name: {} for relation in made.facts}
    for epoch in range(6):
        path = tmp_path / "db"
        with program.open(path=path) if epoch == 0 else tidelog.open(path) as database:
            with database.transaction() as tx:
                for relation in made.facts:
                    all_rows, held = everything[relation.name], kept[relation.name]
                    leaving = [row for row in held if chance.random() < 0.4]
                    coming = [row for row in all_rows if row not in held and chance.random() < 0.6]
                    tx.delete(souffle.facts[relation.name], [held.pop(row) for row in leaving])
                    tx.insert(souffle.facts[relation.name], [all_rows[row] for row in coming])
                    held |= {row: all_rows[row] for row in coming}
                    relation.rows = set(held)
            made.evaluate()
            assert found_lines(program, database, made) == made.lines()


@pytest.mark.skipif(SOUFFLE is None, reason="Soufflé is not installed")
@pytest.mark.parametrize("seed", range(200, 203))
def test_the_reference_gives_the_same(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    several = [Generated(chance, f"g{place}_", careful=True) for place in range(10)]
    expected = {name: lines for made in several for name, lines in made.lines().items()}
    assert run_reference("".join(made.text() for made in several), tmp_path) == expected
