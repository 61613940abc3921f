"""A pipeline file → `Settings`, or all errors of the file at once, each with its line.

    program = "reach.dl"
    [changes.Edge]
    format = "json"
    path   = "feed/edge"

Paths are relative to the file. `check_settings` compares the settings with the program.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError, UsageError
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Source, Span
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import listed
from tidelog.pipeline.addresses import on_this_machine, resolve
from tidelog.pipeline.settings import (
    FILE_FORMATS,
    FILES_PER_BATCH,
    LOCAL_OPTIONS,
    Feed,
    Output,
    Place,
    Settings,
    Table,
)
from tidelog.pipeline.sinks import CHANGE_COLUMNS, CHANGE_TYPE, COMMIT_VERSION, EPOCH, OP
from tidelog.pipeline.sources.formats import POSITIONED, TABLE_FORMATS, has_positions
from tidelog.pipeline.toml_spans import Name, TomlSpans, toml_spans
from tidelog.rules.lower.checked_arithmetic import WAYS, WRAP

ENGINES = ("local", "spark")
_OF_A_PLACE = ("format", "path", "options")
_CHANGE_COLUMNS = "change_columns"
OPERATIONS = "op"
_MODES = ("changes", "snapshot")
_ENVELOPES = ("debezium",)
_FLAT = ("csv", "tsv", "facts")
_WITHOUT_PATH = re.compile(r"(?!(csv|json|jsonl|parquet|tsv|facts|orc|text|avro|xml)$)")
_AT = re.compile(r"\(at line (\d+), column (\d+)\)|\(at end of document\)")

Made = TypeVar("Made")


def read_settings(path: Path, engine: str | None = None) -> tuple[Settings, TomlSpans]:
    """Returns the settings and their positions. `engine` overrides the one of the file.

    Raises UsageError if the file cannot be read, ProgramError with all errors in it.
    """
    try:
        source = Source(str(path), path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the pipeline {path}: {error}", code=Code.UNREADABLE_PIPELINE) from error
    spans = toml_spans(source)
    try:
        document = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        raise ProgramError((_not_toml(source, str(error)),)) from error
    except RecursionError:
        raise ProgramError((_not_toml(source, "its arrays or tables are nested too deep"),)) from None
    reader = _Reader(document, spans, path.absolute().parent, engine)
    settings = reader.settings(path)
    if reader.wrong:
        raise ProgramError(tuple(sorted(reader.wrong, key=lambda each: each.span.start)))
    return settings, spans


def _not_toml(source: Source, message: str) -> Diagnostic:
    at = _AT.search(message)
    text = _AT.sub("", message).strip()
    start = max(len(source.text.rstrip()) - 1, 0)
    if at is not None and at[1]:
        start = source.line_starts[int(at[1]) - 1] + int(at[2]) - 1
    return diagnostic(
        Code.UNREADABLE_PIPELINE,
        "the pipeline file is not TOML",
        Span(source, start, start + 1),
        text[:1].lower() + text[1:],
    )


class _Reader:
    """Reads one document; `wrong` collects its errors."""

    def __init__(self, document: Mapping[str, Any], spans: TomlSpans, folder: Path, engine: str | None) -> None:
        self.wrong: list[Diagnostic] = []
        self._document = document
        self._spans = spans
        self._folder = folder
        self._engine = engine

    def settings(self, path: Path) -> Settings:
        known = ("program", "engine", "overflow", "state", "inputs", "changes", "outputs", "quarantine")
        self._refuse_unknown((), self._document, known)
        engine = self._choice((), self._document, "engine", ENGINES, "local")
        self._engine = engine = self._engine or engine
        program = self._text((), self._document, "program", needed='program = "reach.dl"')
        state = self._text((), self._document, "state", needed='state = "state"')
        quarantine = self._document.get("quarantine")
        return Settings(
            file=path,
            program=(self._folder / program).resolve(),
            engine=engine,
            overflow=self._choice((), self._document, "overflow", WAYS, WRAP),
            state=self._state(state),
            tables=self._each("inputs", self._table),
            feeds=self._each("changes", self._feed),
            outputs=self._each("outputs", self._output),
            quarantine=None if quarantine is None else self._quarantine(quarantine),
        )

    def _state(self, path: str) -> str:
        """Returns the folder of the state; on this machine always as a path."""
        self._refuse_elsewhere((), "state", path)
        resolved = resolve(path, self._folder)
        return str(on_this_machine(resolved) or resolved)

    # Tables of the file

    def _each(self, kind: str, make: Callable[[Name, str, Mapping[str, Any]], Made]) -> tuple[Made, ...]:
        found = self._document.get(kind, {})
        if not isinstance(found, Mapping):
            self._bad_type((kind,), f"tables such as `[{kind}.Edge]`", found)
            return ()
        made = []
        for relation, table in found.items():
            name = (kind, relation)
            if isinstance(table, Mapping):
                made.append(make(name, relation, table))
            else:
                self._bad_type(name, f"a table `[{kind}.Relation]` with the relation's name", table)
        return tuple(made)

    def _table(self, name: Name, relation: str, table: Mapping[str, Any]) -> Table:
        self._refuse_unknown(name, table, ("format", "path", "options"))
        return Table(relation, self._place(name, table))

    def _feed(self, name: Name, relation: str, table: Mapping[str, Any]) -> Feed:
        self._refuse_unknown(name, table, (*_OF_A_PLACE, OPERATIONS, "order", "key", "envelope", _CHANGE_COLUMNS))
        envelope = self._choice(name, table, "envelope", _ENVELOPES, "")
        if envelope and table.get("format") in _FLAT:
            self._bad_value(name, "envelope", f"a file of format `{table['format']}` has no envelopes", "", ())
        op = self._text(name, table, OPERATIONS) or (OPERATIONS if envelope else "")
        order = self._text(name, table, "order")
        style = self._choice(name, table, _CHANGE_COLUMNS, tuple(CHANGE_COLUMNS), "")
        if style:
            op = op or (CHANGE_TYPE if CHANGE_COLUMNS[style].is_delta else OP)
            order = order or (COMMIT_VERSION if CHANGE_COLUMNS[style].is_delta else EPOCH)
        key = self._names(name, table, "key")
        if envelope and not key and "key" not in table:
            self._missing(name, "key", "in an envelope rows are found by their key", 'key = ["id"]')
        return Feed(
            relation,
            self._place(name, table),
            op=op or None,
            order=order or None,
            key=key,
            is_envelope=bool(envelope),
        )

    def _output(self, name: Name, relation: str, table: Mapping[str, Any]) -> Output:
        self._refuse_unknown(name, table, (*_OF_A_PLACE, "mode", _CHANGE_COLUMNS))
        format_ = table.get("format")
        mode = self._choice(name, table, "mode", _MODES, "snapshot" if format_ in TABLE_FORMATS else "changes")
        style = self._choice(
            name, table, _CHANGE_COLUMNS, tuple(CHANGE_COLUMNS), "delta" if format_ == "delta" else "tidelog"
        )
        place = self._place(name, table)
        return Output(relation, place, is_snapshot=mode == "snapshot", change_columns=style)

    def _quarantine(self, table: Any) -> Place | None:
        name = ("quarantine",)
        if not isinstance(table, Mapping):
            self._bad_type(name, "a table `[quarantine]`", table)
            return None
        self._refuse_unknown(name, table, ("format", "path", "options"))
        return self._place(name, {"format": "json", **table}, needs_path=True)

    def _place(self, name: Name, table: Mapping[str, Any], *, needs_path: bool = False) -> Place:
        format_ = self._text(name, table, "format", needed='format = "csv"')
        is_local = self._engine == "local"
        is_ours = has_positions(format_, table.get("options", {}) if self._engine == "spark" else {})
        if is_ours and (name[0] in ("inputs", "changes") or format_ in TABLE_FORMATS):
            if name[0] == "quarantine":
                self._bad_value(name, "format", f"the quarantine cannot be a table of format `{format_}`", "", ())
            return self._positioned_place(name, table, format_)
        if is_local and format_ and format_ not in FILE_FORMATS:
            known = (*FILE_FORMATS, *POSITIONED)
            self._bad_value(name, "format", f"the local engine has no format `{format_}`", format_, known)
        needs_path = needs_path or is_local or not _WITHOUT_PATH.match(format_)
        path = self._text(name, table, "path", needed='path = "folder"' if needs_path else None)
        self._refuse_elsewhere(name, "path", path)
        resolved = resolve(path, self._folder) if path else None
        return Place(format_, resolved, path, self._options(name, table))

    def _positioned_place(self, name: Name, table: Mapping[str, Any], format_: str) -> Place:
        """Returns the place of a source with positions: its format has options of its own on both engines."""
        known = POSITIONED[format_]
        path = self._text(name, table, "path", needed='path = "folder"' if known.has_path else None)
        if path and not known.has_path:
            message = f"the format `{format_}` has no path"
            self._report(Code.UNKNOWN_SETTING, message, self._spans.of_name((*name, "path")), "unknown")
        found = table.get("options", {})
        options = {}
        for option, value in found.items() if isinstance(found, Mapping) else ():
            where = (*name, "options")
            if not isinstance(value, str | bool | int | float):
                self._bad_type((*where, option), "text, a number or a Boolean", value)
            elif option in known.whole_numbers and (not str(value).isdecimal() or int(value) < 1):
                self._bad_type((*where, option), "a whole number above 0", value)
            elif not known.has_option(option, is_output=name[0] == "outputs"):
                message = f"the format `{format_}` has no option `{option}`"
                self._bad_value(where, option, message, option, known.writes if name[0] == "outputs" else known.options)
            else:
                options[option] = str(value).lower() if isinstance(value, bool) else str(value)
        if not isinstance(found, Mapping):
            self._bad_type((*name, "options"), "a table such as `{header = true}`", found)
        for option, example in known.needed.items():
            if option not in options:
                self._missing((*name, "options"), option, f"the format `{format_}` needs it", example)
        return Place(format_, resolve(path, self._folder) if path else None, path, options)

    def _options(self, name: Name, table: Mapping[str, Any]) -> Mapping[str, str]:
        found = table.get("options", {})
        if not isinstance(found, Mapping):
            self._bad_type((*name, "options"), "a table such as `{header = true}`", found)
            return {}
        options = {}
        for option, value in found.items():
            if not isinstance(value, str | bool | int | float):
                self._bad_type((*name, "options", option), "text, a number or a Boolean", value)
            elif self._engine == "local" and option not in LOCAL_OPTIONS:
                self._bad_value(
                    (*name, "options"), option, f"the local engine has no option `{option}`", option, LOCAL_OPTIONS
                )
            elif self._engine == "local" and option == "sep" and (len(str(value)) != 1 or str(value) in '"\r\n'):
                self._bad_type((*name, "options", option), "one character that is no quote and no line end", value)
            elif option == FILES_PER_BATCH and (not str(value).isdecimal() or int(value) < 1):
                self._bad_type((*name, "options", option), "a whole number above 0", value)
            else:
                options[option] = str(value).lower() if isinstance(value, bool) else str(value)
        return options

    # Values

    def _text(self, name: Name, table: Mapping[str, Any], key: str, needed: str | None = None) -> str:
        if key not in table:
            if needed is not None:
                self._missing(name, key, "it has to be there", needed)
            return ""
        value = table[key]
        if not isinstance(value, str) or not value:
            self._bad_type((*name, key), "text" if not isinstance(value, str) else "a text that is not empty", value)
            return ""
        if "\0" in value:
            self._bad_type((*name, key), "a text without NUL characters", value)
            return ""
        return value

    def _names(self, name: Name, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
        value = table.get(key, [])
        listed = [value] if isinstance(value, str) else value
        if (
            not isinstance(listed, list)
            or not all(isinstance(each, str) for each in listed)
            or (key in table and not listed)
        ):
            self._bad_type((*name, key), 'a list of columns such as `["src", "dst"]`', value)
            return ()
        return tuple(listed)

    def _choice(self, name: Name, table: Mapping[str, Any], key: str, choices: Sequence[str], default: str) -> str:
        value = self._text(name, table, key) if key in table else default
        if value and value != default and value not in choices:
            self._bad_value(name, key, f"there is no {key} `{value}`", value, choices)
            return default
        return value or default

    # Errors

    def _refuse_unknown(self, name: Name, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for key, value in table.items():
            if key in known:
                continue
            what = "table" if isinstance(value, Mapping) else "setting"
            where = f"in `[{'.'.join(name)}]`" if name else "in a pipeline file"
            help = did_you_mean(key, known, f"there are {listed(known)}")
            span = self._spans.of_name((*name, key))
            self._report(Code.UNKNOWN_SETTING, f"there is no {what} `{key}` {where}", span, "unknown", help)

    def _refuse_elsewhere(self, name: Name, key: str, path: str) -> None:
        if self._engine == "local" and on_this_machine(path) is None:
            self._bad_value(name, key, "the local engine has only paths of this machine", path, ())

    def _missing(self, name: Name, key: str, why: str, example: str) -> None:
        where = f"`[{'.'.join(name)}]`" if name else "the pipeline file"
        help = f"add a line like `{example}`"
        self._report(Code.MISSING_SETTING, f"{where} has no `{key}`", self._spans.of_name(name), why, help)

    def _bad_type(self, name: Name, wanted: str, value: Any) -> None:
        message, label = f"`{'.'.join(name)}` is {_kind(value)}", f"{wanted} is wanted here"
        self._report(Code.BAD_SETTING, message, self._spans.of_value(name), label)

    def _bad_value(self, name: Name, key: str, message: str, value: str, choices: Sequence[str]) -> None:
        help = did_you_mean(value, choices, f"there are {listed(choices)}" if choices else None)
        self._report(Code.BAD_SETTING, message, self._spans.of_value((*name, key)), "not possible here", help)

    def _report(self, code: Code, message: str, span: Span, label: str, help: str | None = None) -> None:
        self.wrong.append(diagnostic(code, message, span, label, help=help))


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "a Boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text" if value else "an empty text"
        case list():
            return "a list"
        case Mapping():
            return "a table"
        case _:
            return "a date or time"
