"""Settings and their program → all contradictions between them, each with its line.

A table and a feed need an input relation, an output needs an output relation; the columns that a feed names must exist,
or must not. Every place that is written needs a folder of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tidelog.database.locked_engine import declared
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import listed
from tidelog.pipeline.addresses import is_inside, on_this_machine, overlap
from tidelog.pipeline.settings import FILE_FORMATS, LOCAL_OPTIONS, Feed, Output, Place, Settings, Table
from tidelog.pipeline.sinks import CHANGE_COLUMNS, WEIGHT
from tidelog.pipeline.sources.formats import gives_operations, gives_rows, is_positioned
from tidelog.pipeline.toml_spans import Name, TomlSpans
from tidelog.rules.ir import Kind, Relation, Role, RuleProgram


def check_settings(settings: Settings, spans: TomlSpans, program: RuleProgram) -> None:
    """Raises ProgramError with all contradictions."""
    wrong = list(_wrong(settings, spans, program))
    if wrong:
        raise ProgramError(tuple(sorted(wrong, key=lambda each: each.span.start)))


def _wrong(settings: Settings, spans: TomlSpans, program: RuleProgram) -> Iterator[Diagnostic]:
    relations = declared(program)
    yield from _overlaps(settings, spans)
    yield from _beside_positions(settings, spans)
    for table in settings.tables:
        yield from _wrong_role(("inputs", table.relation), Role.INPUT, relations, spans)
    for feed in settings.feeds:
        misplaced = list(_wrong_role(("changes", feed.relation), Role.INPUT, relations, spans))
        yield from misplaced
        if not misplaced:
            yield from _wrong_columns(feed, relations[feed.relation], spans)
            yield from _rows_without_operations(feed, settings, spans)
            yield from _stated_operations(feed, spans)
    for output in settings.outputs:
        misplaced = list(_wrong_role(("outputs", output.relation), Role.OUTPUT, relations, spans))
        yield from misplaced
        if not misplaced and not output.is_snapshot:
            yield from _reserved(output, relations[output.relation], spans)
        if not misplaced and output.is_snapshot and relations[output.relation].kind is Kind.STREAM:
            yield diagnostic(
                Code.BAD_SETTING,
                f"the stream `{output.relation}` has no snapshot: its rows exist only during their epoch",
                spans.of_value(("outputs", output.relation, "mode")),
                "cannot be",
                help='use `mode = "changes"`',
            )


def _overlaps(settings: Settings, spans: TomlSpans) -> Iterator[Diagnostic]:
    """Reports places that are written and overlap with another place: one would delete files that the other needs."""
    read = [*_paths("inputs", settings.tables), *_paths("changes", settings.feeds)]
    written = [(("state",), settings.state), *_paths("outputs", settings.outputs)]
    if settings.quarantine is not None and settings.quarantine.path:
        written.append((("quarantine",), settings.quarantine.path))
    for place, (name, path) in enumerate(written):
        for other, used in (*read, *written[:place]):
            if overlap(path, used):
                yield _overlap(name, path, other, used, spans)
    for output in settings.outputs:
        for what, file in (("pipeline file", settings.file), ("program", settings.program)):
            if output.is_snapshot and output.place.path and is_inside(str(file.resolve()), output.place.path):
                yield diagnostic(
                    Code.BAD_SETTING,
                    f"the snapshot of `{output.relation}` would replace the folder of the {what}",
                    spans.of_value(("outputs", output.relation, "path")),
                    "a folder of its own is wanted here",
                )


def _paths(kind: str, tables: Iterable[Table | Feed | Output]) -> Iterator[tuple[Name, str]]:
    for each in tables:
        if each.place.path:
            yield (kind, each.relation), each.place.path


def _overlap(name: Name, path: str, other: Name, used: str, spans: TomlSpans) -> Diagnostic:
    here, there = (f"`[{'.'.join(each)}]`" if each != ("state",) else "`state`" for each in (name, other))
    if is_inside(path, used) and is_inside(used, path):
        how = "have the same path"
    else:
        how = "have paths of which one is inside the other"
    return diagnostic(
        Code.BAD_SETTING,
        f"{here} and {there} {how}",
        spans.of_value(name if name == ("state",) else (*name, "path")),
        "a folder of its own is wanted here",
        help="the state and every output need a folder apart from the inputs, the feeds and the other outputs",
    )


def _wrong_role(name: Name, role: Role, relations: Mapping[str, Relation], spans: TomlSpans) -> Iterator[Diagnostic]:
    relation = relations.get(name[1])
    if relation is not None and relation.role is role:
        return
    known = [each.name for each in relations.values() if each.role is role]
    if relation is None:
        message, label = f"the program has no relation `{name[1]}`", "unknown"
    else:
        message = f"`{name[1]}` is an {relation.role.value} relation, not an {role.value} relation"
        label = f"an {role.value} relation is wanted here"
    yield diagnostic(
        Code.WRONG_RELATION,
        message,
        spans.of_name(name),
        label,
        help=did_you_mean(name[1], known, f"the {role.value} relations are {listed(known)}"),
    )


def _wrong_columns(feed: Feed, relation: Relation, spans: TomlSpans) -> Iterator[Diagnostic]:
    name = ("changes", feed.relation)
    columns = [column.name for column in relation.columns]
    for column in feed.key:
        if column not in columns:
            yield diagnostic(
                Code.BAD_SETTING,
                f"`{relation.name}` has no column `{column}`",
                spans.of_value((*name, "key")),
                "a key is made of the relation's columns",
                help=did_you_mean(column, columns, f"the columns are {listed(columns)}"),
            )
    if feed.op in columns and not feed.is_envelope:
        yield diagnostic(
            Code.BAD_SETTING,
            f"`{feed.op}` is a column of `{relation.name}`, so it cannot have the operation",
            spans.of_value((*name, "op")),
            "a column of its own is wanted here",
        )
    if feed.key and relation.kind is not Kind.SET:
        yield diagnostic(
            Code.BAD_SETTING,
            f"`{relation.name}` is a {relation.kind.value}, whose rows have no keys",
            spans.of_name((*name, "key")),
            "cannot be",
            help="leave it out",
        )


def _rows_without_operations(feed: Feed, settings: Settings, spans: TomlSpans) -> Iterator[Diagnostic]:
    """Reports settings that contradict a feed of whole rows, which has its first rows and its deletes itself."""
    if not gives_rows(feed):
        return
    name = ("changes", feed.relation)
    for setting, value in (("key", feed.key), ("order", feed.order)):
        if value:
            yield diagnostic(
                Code.BAD_SETTING,
                f"the feed of `{feed.relation}` has no `{setting}`: its changes are whole rows, which add up",
                spans.of_name((*name, setting)),
                "cannot be",
                help='leave it out, or name the column with the operation, such as `op = "op"`, if each row is one',
            )
    for table in settings.tables:
        if table.relation == feed.relation and not _is_same_source(table.place, feed.place):
            yield diagnostic(
                Code.BAD_SETTING,
                f"`{feed.relation}` starts with rows that its feed does not know",
                spans.of_name(("inputs", table.relation)),
                "another source",
                help=f"leave `[inputs.{table.relation}]` out: the feed begins with the rows of its table",
            )


def _stated_operations(feed: Feed, spans: TomlSpans) -> Iterator[Diagnostic]:
    """Reports settings that a feed does not need whose records state their operation and order themselves."""
    if not gives_operations(feed):
        return
    for setting, value in (("op", feed.op), ("order", feed.order), ("envelope", feed.is_envelope)):
        if value and not (setting == "op" and feed.is_envelope):
            yield diagnostic(
                Code.BAD_SETTING,
                f"the feed of `{feed.relation}` has no `{setting}`: its source states the operations and their order",
                spans.of_name(("changes", feed.relation, setting)),
                "cannot be",
                help="leave it out",
            )


def _beside_positions(settings: Settings, spans: TomlSpans) -> Iterator[Diagnostic]:
    """Reports what does not go with a feed that has positions on Spark: all feeds are then read as on the local engine,
    and the log of batches is a file of this machine."""
    if settings.engine != "spark" or not any(is_positioned(feed.place) for feed in settings.feeds):
        return
    if on_this_machine(settings.state) is None:
        yield diagnostic(
            Code.BAD_SETTING,
            "the state of a pipeline with a feed that has positions has to be on this machine",
            spans.of_value(("state",)),
            "the log of batches cannot be there",
        )
    for feed in settings.feeds:
        place = feed.place
        if is_positioned(place):
            continue
        unknown = [option for option in place.options if option not in LOCAL_OPTIONS]
        here = place.path is not None and on_this_machine(place.path) is not None
        if place.format not in FILE_FORMATS or not here or unknown:
            yield diagnostic(
                Code.BAD_SETTING,
                f"the feed of `{feed.relation}` cannot be beside a feed that has positions",
                spans.of_name(("changes", feed.relation)),
                f"{f'option `{unknown[0]}`' if unknown else f'format `{place.format}`'} is for Spark's streams only",
                help=f"beside it, a feed has files on this machine, with the formats {listed(FILE_FORMATS)}"
                f" and the options {listed(LOCAL_OPTIONS)}; or make two pipelines",
            )


def _is_same_source(one: Place, other: Place) -> bool:
    return (one.format, one.path, one.options.get("table")) == (other.format, other.path, other.options.get("table"))


def _reserved(output: Output, relation: Relation, spans: TomlSpans) -> Iterator[Diagnostic]:
    name = ("outputs", relation.name)
    reserved = {WEIGHT, *(column.name for column in CHANGE_COLUMNS[output.change_columns].of(relation))}
    for column in relation.columns:
        if column.name in reserved:
            yield diagnostic(
                Code.RESERVED_COLUMN,
                f"`{relation.name}` has a column `{column.name}`, which is reserved in change tables",
                spans.of_name(name),
                "its changes do not fit in a table",
                help='use `mode = "snapshot"`, or rename the column',
            )
