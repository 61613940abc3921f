"""The error of both engines for a relation that is declared functional and has two rows with the same key."""

from __future__ import annotations

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import EvaluationError
from tidelog.engine.interface import Row
from tidelog.rules.ir import Relation, Rule


def shown_row(row: Row, rule: Rule | None) -> str:
    """Formats a row, with the rule that derives it."""
    return f"{row} as a fact" if rule is None else f"{row} by `{' '.join(rule.text.split())}`"


def two_values(relation: Relation, one: str, other: str) -> EvaluationError:
    """Makes the error for two rows of one key, both formatted by `shown_row`."""
    key = ", ".join(column.name for column in relation.columns[: relation.functional])
    return EvaluationError(
        f"`{relation.name}` is a function of ({key}), and has two values for one key:"
        f" {one} and {other}; the last commit is intact",
        code=Code.TWO_VALUES,
        help="make the rules exclude one another, or declare the relation without `#[functional]`",
    )
