"""Tokens → a command.

A command ends with `;`, an update with `,` or `;`. A keyword needs no blank after it: `insertR(1);` inserts into R.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidelog.deep_recursion import deeply
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.shell import commands
from tidelog.shell.commands import Command, Update, Verb, Word
from tidelog.shell.place import IncompleteError, Place, bad_command
from tidelog.shell.read_record import expect, read_fields, read_list, read_name, read_record, unexpected
from tidelog.shell.records import Record, Scalar
from tidelog.shell.scan import Scanner

_PROFILES = ("cpu", "change", "timely")
_Reader = Callable[[Scanner, Place], Command]


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
    keyword: str | None = token.text
    if token.text not in _READERS:
        keyword = next((each for each in _LONGEST_FIRST if token.text.startswith(each)), None)
    if keyword is None or (keyword in ALONE and keyword != token.text):
        help = did_you_mean(token.text, KEYWORDS, "`help;` lists the commands")
        raise bad_command(token.place, f"there is no command `{token.text}`", help)
    scanner.take_part(len(keyword))
    command = _READERS[keyword](scanner, token.place)
    if keyword not in _WITH_THEIR_END:
        expect(scanner, ";", "`;`")
    return command


def _plain(word: Word) -> _Reader:
    return lambda scanner, place: commands.Plain(word, place)


def _named(make: Callable[[str, Place], Command], what: str) -> _Reader:
    return lambda scanner, place: make(read_name(scanner, what), place)


def _numbered(make: Callable[[int, Place], Command], *, negative: bool) -> _Reader:
    def read(scanner: Scanner, place: Place) -> Command:
        token = scanner.peek()
        record = read_record(scanner)
        if not isinstance(record, Scalar) or type(record.value) is not int or (record.value < 0 and not negative):
            raise unexpected(token, "a number")
        return make(record.value, place)

    return read


def _profile(scanner: Scanner, place: Place) -> Command:
    token = scanner.peek()
    if token.kind != "word":
        return commands.Profile(None, True, place)
    what = next((each for each in _PROFILES if token.text.startswith(each)), None)
    if what is None:
        raise unexpected(token, "`cpu`, `change`, `timely` or `;`")
    scanner.take_part(len(what))
    switch = scanner.take()
    if switch.kind != "word" or switch.text not in ("on", "off"):
        raise unexpected(switch, "`on` or `off`")
    return commands.Profile(what, switch.text == "on", place)


def _query_index(scanner: Scanner, place: Place) -> Command:
    index = read_name(scanner, "the name of an index")
    expect(scanner, "(", f"`(` behind the index `{index}`")
    return commands.QueryIndex(index, read_list(scanner, ")"), place)


def _rule(*, adds: bool) -> _Reader:
    def read(scanner: Scanner, place: Place) -> Command:
        text = scanner.code_until(";")
        is_rule = text[:1].isupper() or text[:1] == "&"
        return commands.ChangeRules(adds, f"{text}." if is_rule and not text.endswith(".") else text, place)

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


def _row_update(verb: Verb) -> _Reader:
    return lambda scanner, place: Update(verb, *read_row(scanner), None, _update_end(scanner), place)


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


def _take_word(scanner: Scanner, word: str) -> bool:
    """Takes the word if it is next; True if it was."""
    token = scanner.peek()
    if token.kind != "word" or token.text != word:
        return False
    scanner.take()
    return True


def _update_end(scanner: Scanner) -> bool:
    """Takes the end of an update; True for a semicolon, False for a comma."""
    if scanner.take_symbol(","):
        return False
    expect(scanner, ";", "`,` or `;`")
    return True


_READERS: Mapping[str, _Reader] = {
    "start": _plain(Word.START),
    "commit": lambda scanner, place: commands.Commit(_take_word(scanner, "dump_changes"), place),
    "rollback": _plain(Word.ROLLBACK),
    "insert": _row_update(Verb.INSERT),
    "insert_or_update": _row_update(Verb.INSERT_OR_UPDATE),
    "delete": _row_update(Verb.DELETE),
    "delete_key": _delete_key,
    "modify": _modify,
    "clear": _named(commands.Clear, "the name of a relation"),
    "dump": lambda scanner, place: commands.Dump(scanner.take().text if scanner.peek().kind == "word" else None, place),
    "query_index": _query_index,
    "dump_index": _named(commands.DumpIndex, "the name of an index"),
    "explain": lambda scanner, place: commands.Explain(*read_row(scanner), _take_word(scanner, "shortest"), place),
    "why_not": lambda scanner, place: commands.WhyNot(*read_row(scanner), place),
    "query": lambda scanner, place: commands.Query(scanner.code_until(";"), place),
    "add_rule": _rule(adds=True),
    "remove_rule": _rule(adds=False),
    "rules": _plain(Word.RULES),
    "stats": _plain(Word.STATS),
    "echo": lambda scanner, place: commands.Echo(scanner.text_until(";"), place),
    "timestamp": _plain(Word.TIMESTAMP),
    "profile": _profile,
    "log_level": _numbered(commands.LogLevel, negative=True),
    "mssleep": _numbered(commands.Sleep, negative=False),
    "help": _plain(Word.HELP),
    "exit": _plain(Word.EXIT),
}

KEYWORDS = tuple(_READERS)
ALONE = frozenset(word.value for word in Word)
_WITH_THEIR_END = frozenset((*(verb.value for verb in Verb), "echo", "query", "add_rule", "remove_rule"))
_LONGEST_FIRST = sorted(KEYWORDS, key=len, reverse=True)
