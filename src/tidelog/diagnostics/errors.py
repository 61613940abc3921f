"""The error tree. Whatever goes wrong on the user's side is one of these, and nothing half done is left behind.

TidelogError                     exit code of the command line
├── ProgramError                 1   the program's text is wrong; `.diagnostics` has all of it
├── EvaluationError              1   a rule failed while running (division by zero); names rule, stratum, epoch
├── UsageError                   2   a call or an option that cannot be (an unknown engine, a closed database)
│   └── MissingDependencyError   2   something must be installed; the message has the command
├── DataError                    3   rows that do not fit: names the place, the value and the type wanted
├── TransactionError             3   a write that cannot be (into a derived relation, after the commit)
└── InternalError                70  our bug
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.diagnostics.report import Diagnostic


class TidelogError(Exception):
    """Everything that Tidelog raises. `code` is listed in `docs/reference/errors.md`."""

    exit_code = 1

    def __init__(self, message: str, *, code: str, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.help = help

    def __str__(self) -> str:
        text = f"error[{self.code}]: {self.message}"
        return f"{text}\n  = help: {self.help}" if self.help else text


class ProgramError(TidelogError):
    """The program does not check. Its text is the rendering of all diagnostics."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(diagnostics[0].message, code=diagnostics[0].code)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "\n\n".join(diagnostic.render() for diagnostic in self.diagnostics)


class EvaluationError(TidelogError):
    """A rule failed while an epoch ran; the state is that of the last commit."""


class UsageError(TidelogError):
    exit_code = 2


class MissingDependencyError(UsageError):
    pass


class DataError(TidelogError):
    exit_code = 3


class TransactionError(TidelogError):
    exit_code = 3


class InternalError(TidelogError):
    exit_code = 70
