"""The error tree. Whatever goes wrong on the user's side is one of these, and nothing half done is left behind.

TidelogError                     exit code of the command line
├── ProgramError                 1   the program's text is wrong; `.diagnostics` has all of it
├── EvaluationError              1   a rule failed while running (division by zero); names rule, stratum, epoch
│   └── OverflowedError          1   a result did not fit into its type; names rule and values
├── UsageError                   2   a call or an option that cannot be (an unknown engine, a closed database)
│   └── MissingDependencyError   2   something must be installed; the message has the command
├── DataError                    3   rows that do not fit: names the place, the value and the type wanted
├── TransactionError             3   a write that cannot be (into a derived relation, after the commit)
└── InternalError                70  our bug
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.diagnostics.shown import Shown

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


class ProgramError(TidelogError, Shown):
    """The program does not check. Its text is the rendering of all diagnostics."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(diagnostics[0].message, code=diagnostics[0].code)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "\n\n".join(diagnostic.render() for diagnostic in self.diagnostics)

    def _text(self, width: int) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Renders for notebooks: the diagnostics with their carets."""
        return "\n".join(diagnostic._repr_html_() for diagnostic in self.diagnostics)

    def _render_traceback_(self) -> list[str]:
        """Returns what IPython prints for the error: what is wrong with the program, and no lines of Python."""
        return [f"{type(self).__name__}:", *str(self).splitlines()]


class EvaluationError(TidelogError):
    """A rule failed while an epoch ran; the state is that of the last commit."""


class OverflowedError(EvaluationError):
    """A result did not fit into its type. `place` is the rule or function, if the operation knows it; the evaluator of
    the rule adds what is missing: the values of its variables (`row`, as texts), and the rule."""

    def __init__(self, told: str, *, help: str | None = None, place: str = "") -> None:
        super().__init__(told, code="E612", help=help)
        self._told, self._place = told, place
        self._rule = ""
        self._row: Mapping[str, str] = {}
        self._tell()

    @property
    def row(self) -> Mapping[str, str]:
        """The variables that are bound where the operation failed, with the texts of their values."""
        return self._row

    @row.setter
    def row(self, row: Mapping[str, str]) -> None:
        self._row = row
        self._tell()

    def add_rule(self, text: str, place: object) -> None:
        """Adds the rule, unless the place is one."""
        if not self._rule and not self._place.startswith("the rule"):
            self._rule = f"the rule `{text}` at {place}"
            self._tell()

    def _tell(self) -> None:
        where = " of ".join(filter(None, (self._place, self._rule)))
        values = f", with {', '.join(f'{name} = {text}' for name, text in self._row.items())}" if self._row else ""
        self.message = f"{f'{where}: ' if where else ''}{self._told}{values}; the last commit is intact"


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
