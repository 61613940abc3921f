"""A case, one test: a program and what is done to it. It prints itself as a Python script that repeats it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle.history import History, RuleCall, RuleTransaction, Transaction
from tests.oracle.program import Program
from tests.oracle.write import write, write_call


@dataclass(frozen=True, slots=True, repr=False)
class Case:
    program: Program
    history: History

    def __repr__(self) -> str:
        return f"Case:\n{script(self)}"


@dataclass(frozen=True, slots=True, repr=False)
class RuleCase:
    """A case in which rules come and go."""

    program: Program
    history: tuple[RuleTransaction, ...]

    def __repr__(self) -> str:
        return f"Case:\n{script(self)}"


def script(case: Case | RuleCase) -> str:
    """Python that opens the program and makes the transactions through the public API."""
    lines = [
        "import tidelog",
        f"program = tidelog.compile(r'''\n{write(case.program)}''')",
        'db = program.open(engine="local")',
    ]
    for transaction in case.history:
        if isinstance(transaction, RuleTransaction):
            lines += _script_of(transaction.writes, transaction.calls)
        else:
            lines += _script_of(transaction)
    return "\n".join([*lines, ""])


def _script_of(transaction: Transaction, rules: tuple[RuleCall, ...] = ()) -> list[str]:
    calls = [
        f"    tx.{'insert' if write.sign > 0 else 'delete'}({write.relation!r}, {list(write.rows)!r})"
        for write in transaction.writes
    ]
    calls += [f"    tx.{'add' if call.sign > 0 else 'remove'}_rules({write_call(call)!r})" for call in rules]
    calls = calls or ["    pass"]
    if not transaction.fails:
        return ["with db.transaction() as tx:", *calls]
    return [
        "try:",
        *(f"    {line}" for line in ("with db.transaction() as tx:", *calls, "    raise KeyboardInterrupt")),
        "except KeyboardInterrupt:",
        "    pass",
    ]
