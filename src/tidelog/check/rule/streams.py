"""Streams in a rule: what mixes with what.

A stream holds the records of one transaction, so a body that reads one gives a stream, and its head must be one. Two
streams cannot be joined, and a rule that reads a stream cannot negate or is a stream. `S'`, the records of the last
transaction as a relation, may stand everywhere; only a stream has it.
"""

from __future__ import annotations

from tidelog.check.inference import Inference
from tidelog.check.inference.drafts import short_name
from tidelog.check.names.scope import RelationEntry
from tidelog.diagnostics.codes import Code
from tidelog.syntax import ast


class StreamFlow:
    """Follows the body of one rule; `_source` is the stream that it reads, once it has read one."""

    def __init__(self, at: Inference) -> None:
        self._at = at
        self._source: ast.Atom | None = None
        self._has_failed = False

    def positive(self, atom: ast.Atom, entry: RelationEntry | None) -> None:
        self._check_prime(atom, entry)
        if entry is None or not _is_stream(atom, entry):
            return
        if self._source is not None:
            self._at.report(
                Code.STREAM_IN_RULE,
                f"stream `{short_name(entry.name)}` is joined with another stream",
                atom.span,
                "a second stream",
                related=[(self._source.span, "the first stream")],
            )
        self._source = atom

    def negative(self, atom: ast.Atom, entry: RelationEntry | None) -> None:
        self._check_prime(atom, entry)
        if entry is None:
            return
        name = short_name(entry.name)
        if _is_stream(atom, entry):
            self._has_failed = True
            self._at.report(Code.STREAM_IN_RULE, f"stream `{name}` is negated", atom.span, "streams are not negated")
        elif self._source is not None:
            self._at.report(
                Code.STREAM_IN_RULE,
                f"`not {name}` stands behind a stream",
                atom.span,
                "a rule that reads a stream cannot negate",
                related=[(self._source.span, "the stream")],
            )

    def _check_prime(self, atom: ast.Atom, entry: RelationEntry | None) -> None:
        """Reports a `'` behind what is not a stream."""
        if entry is not None and atom.prime and not entry.is_stream:
            name = atom.relation.text
            self._at.report(
                Code.STREAM_IN_RULE,
                f"`{name}'` reads the records of a stream, and `{name}` is not a stream",
                atom.span,
                f"a {entry.declaration.kind}",
                related=[(entry.span, "declared here")],
                help=f"`{name}-1` is the relation one epoch before",
            )

    def head(self, atom: ast.Atom, entry: RelationEntry | None, *, has_body: bool) -> None:
        if entry is None or self._has_failed:
            return
        name = short_name(entry.name)
        if self._source is not None and not entry.is_stream:
            self._at.report(
                Code.STREAM_IN_RULE,
                f"the body gives a stream, and `{name}` is not one",
                atom.span,
                "not a stream",
                related=[(self._source.span, "the stream")],
                help=f"`{self._source.relation.text}'` is a relation of the records of the last transaction",
            )
        elif self._source is None and entry.is_stream and has_body:
            message = f"`{name}` is a stream, and the body does not give one"
            self._at.report(Code.STREAM_IN_RULE, message, atom.span, "no literal of the body reads a stream")


def _is_stream(atom: ast.Atom, entry: RelationEntry) -> bool:
    return entry.is_stream and not atom.prime
