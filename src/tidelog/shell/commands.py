"""The commands of the shell. Each has the position of its first word."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidelog.shell.place import Place
from tidelog.shell.records import Record


@dataclass(frozen=True, slots=True)
class Start:
    """`start;`"""

    place: Place


@dataclass(frozen=True, slots=True)
class Commit:
    """`commit;`, or `commit dump_changes;`"""

    show_changes: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Rollback:
    """`rollback;`"""

    place: Place


class Verb(Enum):
    """The kind of an update. The value is its keyword."""

    INSERT = "insert"
    INSERT_OR_UPDATE = "insert_or_update"
    DELETE = "delete"
    DELETE_KEY = "delete_key"
    MODIFY = "modify"


@dataclass(frozen=True, slots=True)
class Update:
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
class Clear:
    """`clear R;`"""

    relation: str
    place: Place


@dataclass(frozen=True, slots=True)
class Dump:
    """`dump;` or `dump R;`"""

    relation: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class QueryIndex:
    """`query_index I(1, 2);`"""

    index: str
    arguments: tuple[Record, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class DumpIndex:
    """`dump_index I;`"""

    index: str
    place: Place


@dataclass(frozen=True, slots=True)
class Explain:
    """`explain R(1, 2);`, or `explain R(1, 2) shortest;`"""

    relation: str
    record: Record
    shortest: bool
    place: Place


@dataclass(frozen=True, slots=True)
class WhyNot:
    """`why_not R(1, 2);`"""

    relation: str
    record: Record
    place: Place


@dataclass(frozen=True, slots=True)
class Query:
    """`query R(x, 2), x > 1;`"""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class AddRule:
    """`add_rule R(x) :- S(x);`: rules, or declarations with their rules; the last `.` may be omitted."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class RemoveRule:
    """`remove_rule R(x) :- S(x);`"""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Rules:
    """`rules;`"""

    place: Place


@dataclass(frozen=True, slots=True)
class Stats:
    """`stats;`"""

    place: Place


@dataclass(frozen=True, slots=True)
class Echo:
    """`echo text;`"""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Timestamp:
    """`timestamp;`"""

    place: Place


@dataclass(frozen=True, slots=True)
class Profile:
    """`profile;`, or `profile cpu on;`, where `what` is cpu, change or timely."""

    what: str | None
    on: bool
    place: Place


@dataclass(frozen=True, slots=True)
class LogLevel:
    """`log_level 3;`"""

    level: int
    place: Place


@dataclass(frozen=True, slots=True)
class Sleep:
    """`mssleep 10;`"""

    milliseconds: int
    place: Place


@dataclass(frozen=True, slots=True)
class Help:
    """`help;`"""

    place: Place


@dataclass(frozen=True, slots=True)
class Exit:
    """`exit;`"""

    place: Place


Command = (
    Start
    | Commit
    | Rollback
    | Update
    | Clear
    | Dump
    | QueryIndex
    | DumpIndex
    | Explain
    | WhyNot
    | Query
    | AddRule
    | RemoveRule
    | Rules
    | Stats
    | Echo
    | Timestamp
    | Profile
    | LogLevel
    | Sleep
    | Help
    | Exit
)
