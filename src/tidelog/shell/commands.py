"""The commands of the shell. Each has the position of its first word."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidelog.shell.place import Place
from tidelog.shell.records import Record


class Command:
    """One command."""

    __slots__ = ()
    place: Place


class Word(Enum):
    """A command that is only a keyword, which is the value."""

    START = "start"
    ROLLBACK = "rollback"
    RULES = "rules"
    STATS = "stats"
    TIMESTAMP = "timestamp"
    HELP = "help"
    EXIT = "exit"


@dataclass(frozen=True, slots=True)
class Plain(Command):
    """`start;` and similar."""

    word: Word
    place: Place


@dataclass(frozen=True, slots=True)
class Commit(Command):
    """`commit;`, or `commit dump_changes;`"""

    show_changes: bool
    place: Place


class Verb(Enum):
    """The kind of an update. The value is its keyword."""

    INSERT = "insert"
    INSERT_OR_UPDATE = "insert_or_update"
    DELETE = "delete"
    DELETE_KEY = "delete_key"
    MODIFY = "modify"


@dataclass(frozen=True, slots=True)
class Update(Command):
    """`insert R(1, 2)` and similar; `last` if it ends with `;`, which applies all updates before it.

    `record` is the row, or for DELETE_KEY and MODIFY the key; `change` is the change that MODIFY makes to the row.
    """

    verb: Verb
    relation: str
    record: Record
    change: Record | None
    last: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Clear(Command):
    """`clear R;`"""

    relation: str
    place: Place


@dataclass(frozen=True, slots=True)
class Dump(Command):
    """`dump;` or `dump R;`"""

    relation: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class QueryIndex(Command):
    """`query_index I(1, 2);`"""

    index: str
    arguments: tuple[Record, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class DumpIndex(Command):
    """`dump_index I;`"""

    index: str
    place: Place


@dataclass(frozen=True, slots=True)
class Explain(Command):
    """`explain R(1, 2);`, or `explain R(1, 2) shortest;`"""

    relation: str
    record: Record
    shortest: bool
    place: Place


@dataclass(frozen=True, slots=True)
class WhyNot(Command):
    """`why_not R(1, 2);`"""

    relation: str
    record: Record
    place: Place


@dataclass(frozen=True, slots=True)
class Query(Command):
    """`query R(x, 2), x > 1;`"""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class ChangeRules(Command):
    """`add_rule R(x) :- S(x);`: rules, or declarations with their rules; or `remove_rule R(x) :- S(x);`. The last `.`
    may be omitted.
    """

    adds: bool
    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Echo(Command):
    """`echo text;`"""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Profile(Command):
    """`profile;`, or `profile cpu on;`, where `what` is cpu, change or timely."""

    what: str | None
    on: bool
    place: Place


@dataclass(frozen=True, slots=True)
class LogLevel(Command):
    """`log_level 3;`"""

    level: int
    place: Place


@dataclass(frozen=True, slots=True)
class Sleep(Command):
    """`mssleep 10;`"""

    milliseconds: int
    place: Place
