"""Tokens → a command.

A command ends with `;`, an update with `,` or `;`. A keyword needs no blank after it: `insertR(1);` inserts into R.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidelog.deep_recursion import deeply
from tidelog.diagnostics.suggest import suggest
from tidelog.shell import commands
from tidelog.shell.commands import Command, Update, Verb
from tidelog.shell.place import IncompleteError, Place, bad_command
from tidelog.shell.read_record import expect, read_fields, read_list, read_name, read_record, unexpected
from tidelog.shell.records import Record, Scalar
from tidelog.shell.scan import Scanner

_PROFILES = ("cpu", "change", "timely")


def read_command(scanner: Scanner) -> Command | None:
    """Takes one command, and nothing after it; returns None if the input ends before one.

    Raises DataError for text that is no command, IncompleteError if the input ends inside one.
    """
    first = scanner.peek()
    if first.kind == "end":
        return None
    try:
        return deeply(_read, scanner)
    except IncompleteError:
        raise IncompleteError(first.place) from None
    except RecursionError:
        raise bad_command(first.place, "the command is nested too deeply") from None


def _read(scanner: Scanner) -> Command:
    token = scanner.peek()
    if token.kind != "word":
        raise unexpected(token, "a command")
    if token.text in _READERS:
        scanner.take()
        return _READERS[token.text](scanner, token.place)
    keyword = next((each for each in _LONGEST_FIRST if token.text.startswith(each)), None)
    if keyword is None or keyword in ALONE:
        meant = suggest(token.text, KEYWORDS)
        raise bad_command(
            token.place,
            f"there is no command `{token.text}`",
            f"did you mean `{meant}`?" if meant else "`help;` lists the commands",
        )
    scanner.take_part(len(keyword))
    return _READERS[keyword](scanner, token.place)


def _alone(make: Callable[[Place], Command]) -> Callable[[Scanner, Place], Command]:
    def read(scanner: Scanner, place: Place) -> Command:
        _end(scanner)
        return make(place)

    return read


def _named(make: Callable[[str, Place], Command], what: str) -> Callable[[Scanner, Place], Command]:
    def read(scanner: Scanner, place: Place) -> Command:
        name = read_name(scanner, what)
        _end(scanner)
        return make(name, place)

    return read


def _numbered(make: Callable[[int, Place], Command], *, negative: bool) -> Callable[[Scanner, Place], Command]:
    def read(scanner: Scanner, place: Place) -> Command:
        token = scanner.peek()
        record = read_record(scanner)
        if not isinstance(record, Scalar) or type(record.value) is not int or (record.value < 0 and not negative):
            raise unexpected(token, "a number")
        _end(scanner)
        return make(record.value, place)

    return read


def _commit(scanner: Scanner, place: Place) -> Command:
    token = scanner.peek()
    show = token.kind == "word" and token.text == "dump_changes"
    if show:
        scanner.take()
    _end(scanner)
    return commands.Commit(show, place)


def _dump(scanner: Scanner, place: Place) -> Command:
    relation = scanner.take().text if scanner.peek().kind == "word" else None
    _end(scanner)
    return commands.Dump(relation, place)


def _echo(scanner: Scanner, place: Place) -> Command:
    return commands.Echo(scanner.text_until(";"), place)


def _profile(scanner: Scanner, place: Place) -> Command:
    token = scanner.peek()
    if token.kind != "word":
        _end(scanner)
        return commands.Profile(None, True, place)
    what = next((each for each in _PROFILES if token.text.startswith(each)), None)
    if what is None:
        raise unexpected(token, "`cpu`, `change`, `timely` or `;`")
    scanner.take_part(len(what))
    switch = scanner.take()
    if switch.kind != "word" or switch.text not in ("on", "off"):
        raise unexpected(switch, "`on` or `off`")
    _end(scanner)
    return commands.Profile(what, switch.text == "on", place)


def _query_index(scanner: Scanner, place: Place) -> Command:
    index = read_name(scanner, "the name of an index")
    expect(scanner, "(", f"`(` behind the index `{index}`")
    arguments = read_list(scanner, ")")
    _end(scanner)
    return commands.QueryIndex(index, arguments, place)


def _explain(scanner: Scanner, place: Place) -> Command:
    relation, record = read_row(scanner)
    token = scanner.peek()
    shortest = token.kind == "word" and token.text == "shortest"
    if shortest:
        scanner.take()
    _end(scanner)
    return commands.Explain(relation, record, shortest, place)


def _why_not(scanner: Scanner, place: Place) -> Command:
    relation, record = read_row(scanner)
    _end(scanner)
    return commands.WhyNot(relation, record, place)


def _query(scanner: Scanner, place: Place) -> Command:
    return commands.Query(scanner.code_until(";"), place)


def _rule(make: Callable[[str, Place], Command]) -> Callable[[Scanner, Place], Command]:
    def read(scanner: Scanner, place: Place) -> Command:
        text = scanner.code_until(";")
        is_rule = text[:1].isupper() or text[:1] == "&"
        return make(f"{text}." if is_rule and not text.endswith(".") else text, place)

    return read


def read_row(scanner: Scanner) -> tuple[str, Record]:
    """Returns a relation and one of its rows: `R(1, 2)` or `R[value]`."""
    at = scanner.peek().place
    relation = read_name(scanner, "the name of a relation")
    if scanner.take_symbol("["):
        record = read_record(scanner)
        expect(scanner, "]", "`]`")
        return relation, record
    expect(scanner, "(", f"`(` or `[` behind the relation `{relation}`")
    return relation, read_fields(scanner, relation, ")", at)


def _row_update(verb: Verb) -> Callable[[Scanner, Place], Command]:
    def read(scanner: Scanner, place: Place) -> Command:
        relation, record = read_row(scanner)
        return Update(verb, relation, record, None, _update_end(scanner), place)

    return read


def _delete_key(scanner: Scanner, place: Place) -> Command:
    relation = read_name(scanner, "the name of a relation")
    key = read_record(scanner)
    return Update(Verb.DELETE_KEY, relation, key, None, _update_end(scanner), place)


def _modify(scanner: Scanner, place: Place) -> Command:
    relation = read_name(scanner, "the name of a relation")
    key = read_record(scanner)
    expect(scanner, "<-", "`<-` behind the key")
    change = read_record(scanner)
    return Update(Verb.MODIFY, relation, key, change, _update_end(scanner), place)


def _end(scanner: Scanner) -> None:
    expect(scanner, ";", "`;`")


def _update_end(scanner: Scanner) -> bool:
    """Takes the end of an update; True for a semicolon, False for a comma."""
    if scanner.take_symbol(","):
        return False
    expect(scanner, ";", "`,` or `;`")
    return True


_READERS: Mapping[str, Callable[[Scanner, Place], Command]] = {
    "start": _alone(commands.Start),
    "commit": _commit,
    "rollback": _alone(commands.Rollback),
    "insert": _row_update(Verb.INSERT),
    "insert_or_update": _row_update(Verb.INSERT_OR_UPDATE),
    "delete": _row_update(Verb.DELETE),
    "delete_key": _delete_key,
    "modify": _modify,
    "clear": _named(commands.Clear, "the name of a relation"),
    "dump": _dump,
    "query_index": _query_index,
    "dump_index": _named(commands.DumpIndex, "the name of an index"),
    "explain": _explain,
    "why_not": _why_not,
    "query": _query,
    "add_rule": _rule(commands.AddRule),
    "remove_rule": _rule(commands.RemoveRule),
    "rules": _alone(commands.Rules),
    "stats": _alone(commands.Stats),
    "echo": _echo,
    "timestamp": _alone(commands.Timestamp),
    "profile": _profile,
    "log_level": _numbered(commands.LogLevel, negative=True),
    "mssleep": _numbered(commands.Sleep, negative=False),
    "help": _alone(commands.Help),
    "exit": _alone(commands.Exit),
}

KEYWORDS = tuple(_READERS)
ALONE = frozenset(("start", "rollback", "rules", "stats", "timestamp", "help", "exit"))
_LONGEST_FIRST = sorted(KEYWORDS, key=len, reverse=True)
