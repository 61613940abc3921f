"""Published Soufflé tests under random histories: `python -m tests.souffle.published_histories DIRECTORY`.

Facts, from files and from the text, are deleted and inserted again, and clauses removed and added again, in epochs. The
rows of every output are compared with those of a new database, and with Soufflé's where it is installed.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tidelog
from tests.souffle.published import AGREES, Published, published, report
from tests.souffle.turned import Row, Turned, turned, write_facts
from tidelog.cli.run_souffle import text_of
from tidelog.database.database import Database
from tidelog.database.program.program import Program
from tidelog.diagnostics.errors import EvaluationError
from tidelog.diagnostics.spans import Span

SOUFFLE = shutil.which("souffle")
_MOST_CHANGED = 40

Rows = dict[str, set[Row]]


def history(case: Published, seed: int, epochs: int, word_bits: int, engine: str, *, durable: bool) -> str:
    """Returns `agrees`, or what differs first. With `durable` the database is closed and opened again on the way."""
    chance = random.Random(f"{seed} {case.name}")
    found = turned(case, word_bits)
    said = ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = _History(case, found, word_bits, engine, chance, Path(folder), durable=durable)
        except EvaluationError:
            # Without facts it divides by zero.
            found = turned(case, word_bits, keeps_facts=True)
            run = _History(case, found, word_bits, engine, chance, Path(folder) / "again", durable=durable)
        try:
            for epoch in range(epochs):
                run.epoch(epoch)
                if epoch in (epochs // 3, 2 * epochs // 3):
                    said = run.compared(with_souffle=epoch == epochs // 3)
                    if said:
                        return f"epoch {epoch}: {said}"
                if durable and epoch == epochs // 2:
                    run.reopen()
            run.restore()
            said = run.compared(with_souffle=True)
        finally:
            run.close()
    changed = f"{sum(map(len, found.rows.values()))} facts, {run.rule_changes} changes of rules"
    changed += f", {run.rolled_back} epochs rolled back" if run.rolled_back else ""
    return f"at the end: {said}" if said else f"{AGREES}: {changed}"


class _History:
    def __init__(
        self,
        case: Published,
        found: Turned,
        word_bits: int,
        engine: str,
        chance: random.Random,
        folder: Path,
        *,
        durable: bool,
    ) -> None:
        self._case, self._found, self._bits, self._engine = case, found, word_bits, engine
        self._chance, self._folder = chance, folder
        self._path = folder / "db" if durable else None
        folder.mkdir(exist_ok=True)
        self.held: Rows = {name: set() for name in found.rows}
        self.gone: list[Span] = []
        self.rule_changes = 0
        self.rolled_back = 0
        program = self._compiled(found.text)
        self._facts = _facts_of(program)
        self._database = self._opened(program)

    def close(self) -> None:
        self._database.close()

    def reopen(self) -> None:
        assert self._path is not None
        self._database.close()
        self._database = tidelog.open(self._path)

    def epoch(self, number: int) -> None:
        """Commits a random change: of facts always, in every other epoch of a clause as well."""
        chance = self._chance
        after: Rows = {}
        gone = [*self.gone]
        try:
            with self._database.transaction() as tx:
                for name, rows in self._found.rows.items():
                    held = self.held[name]
                    if number == 0:
                        new, old = {row for row in rows if chance.random() < 0.8}, set()
                    else:
                        old = set(_some(held, chance))
                        new = set(_some(rows - held, chance))
                    tx.delete(self._facts[name], [*old])
                    tx.insert(self._facts[name], [*new])
                    after[name] = (held - old) | new
                if number % 2 and self._found.clauses:
                    self._change_clause(tx)
        except EvaluationError:
            # A division by zero that the whole program does not have: nothing of the epoch is kept.
            self.gone = gone
            self.rolled_back += 1
        else:
            self.held |= after

    def _change_clause(self, tx: Any) -> None:
        if self.gone and self._chance.random() < 0.5:
            span = self._chance.choice(self.gone)
            tx.add_rules(_text(span))
            self.gone.remove(span)
        else:
            texts = {_text(each) for each in self.gone}
            clauses = [each for each in self._found.clauses if _text(each) not in texts]
            if not clauses:
                return
            span = self._chance.choice(clauses)
            tx.remove_rules(_text(span))
            self.gone.append(span)
        self.rule_changes += 1

    def restore(self) -> None:
        """Commits all facts and clauses that are missing."""
        with self._database.transaction() as tx:
            for span in self.gone:
                tx.add_rules(_text(span))
            self.gone.clear()
            for name, rows in self._found.rows.items():
                tx.insert(self._facts[name], [*(rows - self.held[name])])
                self.held[name] = set(rows)

    def compared(self, *, with_souffle: bool) -> str:
        """Returns the first relation that differs from a batch run, if any."""
        text = self._found.without([each for each in self._found.clauses if _text(each) in set(map(_text, self.gone))])
        program = self._compiled(text)
        with program.open() as fresh:
            with fresh.transaction() as tx:
                for name, rows in self.held.items():
                    tx.insert(_facts_of(program)[name], [*rows])
            for name in self._found.outputs:
                ours, batch = (set(each.relation(name).rows()) for each in (self._database, fresh))
                if name in self._found.chosen:
                    if said := self._invalid(name, ours):
                        return said
                elif ours != batch:
                    return f"{name}: {_difference(ours, batch)} than a new database"
        return self._compared_with_souffle(text) if with_souffle and SOUFFLE is not None and self._bits == 32 else ""

    def _invalid(self, name: str, rows: set[Row]) -> str:
        """Returns a key of a choice that two rows share, if there is one."""
        souffle = self._compiled(self._found.text).stages.souffle
        assert souffle is not None
        relation = souffle.declared.relations[name]
        columns = [each.name for each in relation.attributes]
        for names, _ in relation.dependencies:
            places = [columns.index(one) for one in names]
            if len({tuple(row[place] for place in places) for row in rows}) < len(rows):
                return f"{name}: two rows with the same {', '.join(names)}"
        return ""

    def _compared_with_souffle(self, text: str) -> str:
        facts, out = self._folder / "facts", self._folder / "out"
        for folder in (facts, out):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        program = self._compiled(text).stages.souffle
        assert program is not None
        assert SOUFFLE is not None
        write_facts(program, self.held, facts)
        path = self._folder / "program.dl"
        path.write_text(text, encoding="utf-8")
        command = [SOUFFLE, str(path), "-F", str(facts), "-D", str(out), "-w", "-I", str(self._case.folder)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=60, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            return ""
        if done.returncode:
            return f"Soufflé says: {done.stderr.strip().splitlines()[:1]}"
        texts = text_of(program)
        for name in self._found.outputs:
            if name in self._found.chosen:
                continue
            kinds = program.declared.kinds(name)
            ours = {
                "\t".join(texts.write(value, kind) for value, kind in zip(row, kinds, strict=True)) if kinds else "()"
                for row in self._database.relation(name).rows()
            }
            written = out / f"{name}.csv"
            theirs = {*written.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]}
            if set("\n".join(ours).split("\n")) - {""} != theirs - {""}:
                return f"{name}: {_difference(ours, theirs)} than Soufflé"
        return ""

    def _compiled(self, text: str) -> Program:
        return tidelog.compile(text, dialect="souffle", search_path=[self._case.folder], word_bits=self._bits)

    def _opened(self, program: Program) -> Database:
        return program.open(self._engine, path=self._path) if self._path else program.open(self._engine)


def _facts_of(program: Program) -> dict[str, str]:
    assert program.stages.souffle is not None
    return dict(program.stages.souffle.facts)


def _some(rows: set[Row], chance: random.Random) -> list[Row]:
    """Returns a third of the rows, or a few of very many."""
    count = min(len(rows), _MOST_CHANGED, (len(rows) + 2) // 3)
    return chance.sample(sorted(rows, key=repr), chance.randint(0, count))


def _text(span: Span) -> str:
    return span.source.text[span.start : span.end]


def _difference(ours: set[Any], theirs: set[Any]) -> str:
    more, fewer = sorted(ours - theirs, key=repr)[:2], sorted(theirs - ours, key=repr)[:2]
    return f"{len(ours - theirs)} more {more}, {len(theirs - ours)} fewer {fewer}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--word-bits", type=int, default=32)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--durable", action="store_true")
    parser.add_argument("--seconds", type=float, default=120.0, help="the longest time of one test")
    parser.add_argument("--only", nargs="*", default=())
    given = parser.parse_args(arguments)
    cases = published(given.directory, given.only)

    def judge(case: Published) -> str:
        return history(case, given.seed, given.epochs, given.word_bits, given.engine, durable=given.durable)

    return min(1, report(cases, judge, (), given.seconds, apart=given.engine == "local"))


if __name__ == "__main__":
    sys.exit(main())
