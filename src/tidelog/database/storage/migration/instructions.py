"""What the caller of a migration says: names that change, defaults of new columns, and what may be lost.

    {"rename": {"Edge.src": "source", "Link": "Edge"},   old relation or column: its new name
     "default": {"Edge.weight": 1},                      new column: its value in the facts that are there
     "drop": ["Host", "Edge.note", "rules"]}             old relation, old column, the rules added at run time; "*": all

`True` says nothing of all this, and is enough where nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.suggest import did_you_mean

EVERYTHING = "*"
ADDED_RULES = "rules"
_PARTS = ("rename", "default", "drop")
_EXAMPLE = 'for example `migrate={"rename": {"Edge.src": "source"}, "default": {"Edge.weight": 1}, "drop": ["Host"]}`'


@dataclass(frozen=True, slots=True)
class Instructions:
    """See the module. Relations and columns in `rename` and `drop` are those of the old program."""

    rename: Mapping[str, str] = field(default_factory=dict)
    default: Mapping[str, Any] = field(default_factory=dict)
    drop: AbstractSet[str] = frozenset()

    def drops(self, name: str) -> bool:
        """True if the relation, the column or the rules may be lost."""
        return name in self.drop or EVERYTHING in self.drop

    def new_name(self, relation: str) -> str:
        """Returns the name of an old relation in the new program."""
        return self.rename.get(relation, relation)


def read_instructions(given: object) -> Instructions | None:
    """Returns what `Program.open` was given as `migrate`; None for False. Raises UsageError for anything else."""
    if isinstance(given, bool):
        return Instructions() if given else None
    if isinstance(given, Instructions):
        return given
    if not isinstance(given, Mapping):
        raise _wrong(f"`migrate` is {given!r}; it must be True, False or a dictionary")
    for name in given:
        if name not in _PARTS:
            help = did_you_mean(str(name), _PARTS, f"the entries are {', '.join(map(repr, _PARTS))}")
            raise _wrong(f"`migrate` has no entry {name!r}", help)
    rename, default, drop = given.get("rename", {}), given.get("default", {}), given.get("drop", ())
    if not isinstance(rename, Mapping) or not all(isinstance(each, str) for pair in rename.items() for each in pair):
        raise _wrong(f"`rename` is {rename!r}; it must have old names, each with the new one")
    if not isinstance(default, Mapping) or not all(isinstance(each, str) for each in default):
        raise _wrong(f"`default` is {default!r}; it must have new columns, each with a value")
    names = [drop] if isinstance(drop, str) else drop
    if not isinstance(names, list | tuple | AbstractSet) or not all(isinstance(each, str) for each in names):
        raise _wrong(f"`drop` is {drop!r}; it must be a list of names")
    return Instructions(dict(rename), dict(default), frozenset(names))


def _wrong(message: str, help: str | None = _EXAMPLE) -> UsageError:
    return UsageError(message, code=Code.MIGRATION_NOT_SAID, help=help)
