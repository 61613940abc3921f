"""Tidelog: Datalog whose answers stay up to date while facts and rules change.

    program = tidelog.compile("reach.dl")
    with program.open() as db:
        with db.transaction() as tx:
            tx.insert("Edge", [("a", "b"), ("b", "c")])
        tx.changes["Reach"].inserted

The names below are the whole public surface. They load on first use: `import tidelog` alone needs neither Arrow nor
Java.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidelog.diagnostics.errors import (
    DataError,
    EvaluationError,
    InternalError,
    MissingDependencyError,
    ProgramError,
    TidelogError,
    TransactionError,
    UsageError,
)

if TYPE_CHECKING:
    from tidelog.database.database import Database
    from tidelog.database.program.program import Program, compile
    from tidelog.database.storage.open import open
    from tidelog.database.transactions.changes import Changes, Delta
    from tidelog.database.transactions.progress import progress
    from tidelog.database.transactions.transaction import Transaction
    from tidelog.engine.interface import EpochReport

__all__ = [
    "Changes",
    "DataError",
    "Database",
    "Delta",
    "EpochReport",
    "EvaluationError",
    "InternalError",
    "MissingDependencyError",
    "Program",
    "ProgramError",
    "TidelogError",
    "Transaction",
    "TransactionError",
    "UsageError",
    "compile",
    "open",
    "progress",
]

_HOMES = {
    "Changes": "tidelog.database.transactions.changes",
    "Database": "tidelog.database.database",
    "Delta": "tidelog.database.transactions.changes",
    "EpochReport": "tidelog.engine.interface",
    "Program": "tidelog.database.program.program",
    "Transaction": "tidelog.database.transactions.transaction",
    "compile": "tidelog.database.program.program",
    "open": "tidelog.database.storage.open",
    "progress": "tidelog.database.transactions.progress",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("tidelog")
    if name == "load_ipython_extension":  # `%load_ext tidelog`
        from tidelog.notebook.magics import load

        return load
    if name not in _HOMES:
        raise AttributeError(f"module 'tidelog' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
