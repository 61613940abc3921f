"""The entries of a journal → epochs of a local engine.

Epochs without new rules are replayed together where the program does not depend on history: that is one update instead
of a thousand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from time import perf_counter

from tidelog.database.storage.journal import Journal
from tidelog.database.storage.journal_entry import Call, read_calls, read_entry
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.interface import NewRules, Operation
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.storage_errors import damaged
from tidelog.library._runtime.extern import ContinuedTransformer
from tidelog.rules.ir import Kind, RuleProgram
from tidelog.rules.rule_changes.rule_set import RuleSet
from tidelog.rules.schema.storable import know_functions

_TOGETHER = 1000


@dataclass(frozen=True, slots=True)
class Replayed:
    """One step of a replay: the rules after it, its seconds, and the bytes of its entries."""

    rules: RuleSet
    seconds: float
    size: int


def replay(journal: Journal, engine: LocalEngine, rules: RuleSet) -> Iterator[Replayed]:
    """Applies the journal's entries behind the engine's epoch, and yields each step when it is done.

    `rules` are those of the engine. Raises DataError where an entry is missing or damaged.
    """
    entries = deque[tuple[int, bytes]]()
    following = journal.entries(engine.epoch)
    while True:
        entries.extend(islice(following, _TOGETHER - len(entries)))
        if not entries:
            return
        started = perf_counter()
        calls = _calls(journal.directory, *entries[0])
        if calls:
            epoch, body = entries.popleft()
            rules = _replay_rules(journal.directory, engine, rules, epoch, body, calls)
            yield Replayed(rules, perf_counter() - started, len(body))
            continue
        together = 1 if _depends_on_history(engine.program) else len(entries)
        plain = list(takewhile(lambda each: not _calls(journal.directory, *each), islice(entries, together)))
        for _ in plain:
            entries.popleft()
        _replay_facts(engine, [(epoch, _read(journal.directory, epoch, body, engine.program)) for epoch, body in plain])
        yield Replayed(rules, perf_counter() - started, sum(len(body) for _, body in plain))


def _replay_facts(engine: LocalEngine, epochs: list[tuple[int, list[Operation]]]) -> None:
    try:
        engine.replay([operation for _, operations in epochs for operation in operations], epochs[-1][0])
    except EvaluationError:
        # Together they may meet a combination of rows that no epoch had.
        if len(epochs) == 1:
            raise
        for epoch, operations in epochs:
            engine.replay(operations, epoch)


def _replay_rules(
    directory: Path, engine: LocalEngine, rules: RuleSet, epoch: int, body: bytes, calls: tuple[Call, ...]
) -> RuleSet:
    """Replays an epoch that changes the rules, and returns the new rules. Its rows are rows of the new program."""
    with _readable(directory, epoch):
        for sign, text in calls:
            rules = rules.add(text) if sign > 0 else rules.remove(text)
        know_functions(rules.rules)
    engine.replay(_read(directory, epoch, body, rules.rules), epoch, NewRules(rules, calls))
    return rules


def _calls(directory: Path, epoch: int, body: bytes) -> tuple[Call, ...]:
    with _readable(directory, epoch):
        return read_calls(body)


def _read(directory: Path, epoch: int, body: bytes, program: RuleProgram) -> list[Operation]:
    with _readable(directory, epoch):
        return read_entry(body, program)


@contextmanager
def _readable(directory: Path, epoch: int) -> Iterator[None]:
    """Raises DataError where the bytes of an entry cannot be read."""
    try:
        yield
    except Exception as error:  # bytes of a file may fail in any way
        raise damaged(directory, f"the journal's entry for epoch {epoch} cannot be read ({error})") from error


def _depends_on_history(program: RuleProgram) -> bool:
    """True if the state depends on which facts were committed in the same epoch."""
    is_continued = any(
        rule.transform is not None and isinstance(rule.transform.transformer, ContinuedTransformer)
        for rule in program.rules
    )
    streams = any(relation.kind is Kind.STREAM for relation in program.relations.values())
    return is_continued or streams or bool(program.feeds)
