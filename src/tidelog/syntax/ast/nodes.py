"""What every node has: a span; and names, which other nodes are made of."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.diagnostics.spans import Span


@dataclass(frozen=True, slots=True)
class Node:
    """Anything that stands somewhere in a source."""

    span: Span = field(compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A word that the program's author chose. A scoped name is one text: `net::ipv4::Host`."""

    text: str

    @property
    def module(self) -> str:
        """The path before the last `::`, or nothing."""
        return self.text.rpartition("::")[0]

    @property
    def last(self) -> str:
        """The word behind the last `::`."""
        return self.text.rpartition("::")[2]
