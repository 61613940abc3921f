"""Diagnostics → plain dictionaries, for editors and other programs: what `tidelog check --json` prints.

Lines and columns count from 1; columns count characters. An end is the position behind the last character.
"""

from __future__ import annotations

from typing import Any

from tidelog.diagnostics.report import Diagnostic
from tidelog.diagnostics.spans import Span


def as_record(diagnostic: Diagnostic) -> dict[str, Any]:
    """Everything that the rendering says, and where."""
    return {
        "severity": diagnostic.severity,
        "code": str(diagnostic.code),
        "message": diagnostic.message,
        **_place(diagnostic.span),
        "labels": [{**_place(label.span), "text": label.text, "primary": label.primary} for label in diagnostic.labels],
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
    }


def _place(span: Span) -> dict[str, Any]:
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {
        "file": span.source.name,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    }
