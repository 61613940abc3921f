"""Program text → a checked program, ready to be opened as a database."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.check.names.modules import SearchPath
from tidelog.compile_program import CompiledProgram, compile_program
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.shown import Shown, Table
from tidelog.diagnostics.spans import Source
from tidelog.diagnostics.suggest import suggest
from tidelog.diagnostics.wording import counted
from tidelog.engine.kept_changes import Retention, changes_not_kept
from tidelog.maintain.options import DEFAULT_SWITCH, Maintenance
from tidelog.maintain.strategies import DEFAULT_STRATEGY
from tidelog.rules.lower.checked_arithmetic import WAYS
from tidelog.rules.lower.program import Options
from tidelog.rules.rule_changes.rule_set import Know, RuleSet
from tidelog.souffle.dialect import DIALECTS
from tidelog.types import written_type

if TYPE_CHECKING:
    from tidelog.database.database import Database
    from tidelog.database.program.relations import Relations
    from tidelog.database.program.types import Types
    from tidelog.database.storage.migration.instructions import Instructions
    from tidelog.database.storage.migration.plan import MigrationPlan
    from tidelog.diagnostics.svg import Drawing

ENGINES = ("local", "spark", "auto")
_WORD_BITS = (32, 64)


@dataclass(frozen=True, slots=True)
class Opening:
    """The options of opening a database in a directory; see `Program.open`."""

    durability: str = "disk"
    read_only: bool = False
    migrate: Instructions | None = None
    keep_epochs: int = 8
    keep_changes: Retention | None = None
    plans: Mapping[str, str] | None = None


class Program(Shown):
    """A checked program. `name` is its path, or `<text>`; `stages` has every form that the compiler made of it.

    >>> program
    <Program <text>: 5 relations, 5 rules>
    """

    def __init__(
        self, name: str, stages: CompiledProgram, options: Options | None = None, know: Know | None = None
    ) -> None:
        """`know` is called with the functions and types of rules that are added at run time."""
        self.name = name
        self.stages = stages
        self._options = options or Options()
        self._rule_set = RuleSet(stages.typed, stages.rules, options=replace(self._options, externs={}), know=know)
        if stages.souffle is not None:
            from tidelog.souffle.read_added import AddedRules

            added = AddedRules(stages.souffle)
            self._rule_set = replace(self._rule_set, read=added, read_query=added.query, is_made=added.is_made)

    def open(
        self,
        engine: str = "local",
        *,
        spark: Any = None,
        strategy: str = DEFAULT_STRATEGY,
        switch: float = DEFAULT_SWITCH,
        threads: int | None = None,
        max_rounds: int | None = None,
        max_rows: int | None = None,
        deadline: float | None = None,
        path: str | os.PathLike[str] | None = None,
        durability: str = "disk",
        read_only: bool = False,
        migrate: bool | Mapping[str, Any] = False,
        keep_epochs: int = 8,
        keep_changes: int | str | timedelta | None = None,
        plans: Mapping[str, str] | None = None,
    ) -> Database:
        """Opens a new database, in memory, with the facts of the program's text applied; with a `path`, a durable one.

        `engine` is `"local"` (this process), `"spark"`, or `"auto"`: each stratum in this process or on Spark, by
        measured time, from epoch to epoch. `spark` is the session to use there, by default the active one or a new
        local one. `strategy` is `"elastic"` (an incremental update, or a full recompute of a stratum where that is
        cheaper), `"recompute"` (always a full recompute: the baseline), `"update"` (always an incremental update),
        `"circuit"` (rules are rows, joined with facts), `"counting"` or `"elastic-paper"` (other ways to update, for
        comparison). `switch` is for `"elastic"`: while the costs of updates of a stratum are not known, an update that
        has taken this share of the time of the last derivation is abandoned for a full recompute. `threads` is the
        number of threads for one epoch; None lets the engine choose. An epoch that needs more than `max_rounds` rounds
        in a stratum, more than `max_rows` rows in a relation, or more than `deadline` seconds, is rolled back with an
        EvaluationError.

        `path` is a directory. A database in it is opened; it must have been made with a program that means the same,
        unless `migrate` keeps its facts and derives everything else with this program. `migrate` may say more than
        True: `{"rename": {"Edge.src": "source"}, "default": {"Edge.weight": 1}, "drop": ["Host"]}`; what is lost must
        be in `drop`, and `db.migration` is what was done. A database of the other engine is converted to this one. With
        the `durability` `"disk"` a commit is on the disk before it returns; with `"os"` it outlives the process, but
        perhaps not a power cut. One process may write to a database; others may open it with `read_only`. On Spark, the
        directory is one that its tasks reach too, or an address such as
        `s3a://bucket/state`; the files of an epoch stay there for `keep_epochs` epochs after it, for DataFrames and
        readers that still need them. `keep_changes` is a number of epochs, or a time such as `"7 days"`, for which
        `db.changes_since(epoch)` has the changes of earlier epochs; the directory stores it until another value is
        given, and 0 ends it. On Spark, `plans` fixes the plans of strata, by relation, instead of a choice by
        rules and sizes (`tidelog show --stage plan --engine spark`): `{"Reach": "decomposed"}`, `"single task"`,
        `"partitioned"` or `"frames"`; with `"auto"` also `"driver"`, for this process.

        Raises UsageError for an invalid option, EvaluationError when a rule fails on the program's own facts,
        DataError for a damaged directory.
        """
        from tidelog.database.database import Database

        maintenance = Maintenance.checked(
            strategy=strategy,
            switch=switch,
            threads=threads,
            max_rounds=max_rounds,
            max_rows=max_rows,
            deadline=deadline,
        )
        _check_engine(engine, spark)
        _check_plans(plans, engine)
        kept = None if keep_changes is None else Retention.of(keep_changes)
        if kept and path is None:
            raise changes_not_kept()
        how = Opening(durability, read_only, _instructions(migrate), keep_epochs, kept, plans)
        if engine != "local":
            from tidelog.database.storage.open_spark import open_on_spark

            where = None if path is None else os.fspath(path)
            return open_on_spark(self, spark, where, maintenance, how, auto=engine == "auto")
        if path is not None:
            from tidelog.database.storage.open_local import local_directory, open_durable

            return open_durable(self, local_directory(path), maintenance, how)
        from tidelog.engine.local.engine import LocalEngine

        local = LocalEngine(
            self.stages.rules,
            limits=maintenance.limits,
            strategy=maintenance.strategy,
            switch=maintenance.switch,
            threads=maintenance.threads,
        )
        return Database(self.stages.rules, local, self._rule_set)

    def migration(self, path: str | os.PathLike[str], migrate: bool | Mapping[str, Any] = True) -> MigrationPlan:
        """Returns what opening the database at `path` with `migrate` would do, as text; nothing is written.

        Raises UsageError where there is no database, or for an entry of `migrate` about something that is not there.
        """
        from tidelog.database.storage.migration.preview import preview_migration

        return preview_migration(self, path, _instructions(migrate))

    @property
    def types(self) -> Types:
        """The constructors of the program's types as classes: `program.types.Circle(r=2)`."""
        from tidelog.database.program.types import Types

        return Types(self.stages.rules.functions.definitions)

    @property
    def relations(self) -> Relations:
        """The declared relations by name, with columns, types, role and kind.

        >>> program.relations["Edge"].columns, program.relations["Edge"].role
        ({'src': 'string', 'dst': 'string'}, 'input')
        """
        from tidelog.database.locked_engine import declared
        from tidelog.database.program.relations import Relations

        return Relations(declared(self.stages.rules))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is allowed and perhaps not meant, as `tidelog check` prints it; `compile` gives it to Python's warnings.

        >>> program.warnings
        ()
        """
        return tuple(each.render() for each in self.stages.typed.warnings)

    def __repr__(self) -> str:
        typed = self.stages.typed
        return (
            f"<Program {self.name}: {counted(len(typed.relations), 'relation')}, {counted(len(typed.rules), 'rule')}>"
        )

    def graph(self) -> Drawing:
        """Returns a drawing of the strata (SVG): which relations are derived from which, and in which order.

        Relations that depend on one another share a box; a dashed line is a negation.
        """
        from tidelog.database.program.graph import draw_strata

        return draw_strata(self.stages.rules)

    def _tables(self) -> Iterator[Table]:
        """Yields the relations that the user declared, with the number of rules of each."""
        from tidelog.database.locked_engine import declared

        heads = Counter(rule.head.relation for rule in self.stages.rules.rules)
        rows = [
            (
                name,
                f"{relation.role.value} {relation.kind.value}",
                ", ".join(f"{column.name}: {written_type(column.type)}" for column in relation.columns),
                heads[name],
            )
            for name, relation in declared(self.stages.rules).items()
        ]
        yield Table(repr(self)[1:-1], ("relation", "kind", "columns", "rules"), rows, len(rows))


def compile(
    path_or_text: str | os.PathLike[str],
    *,
    externs: Mapping[str, Callable[..., Any]] | None = None,
    search_path: Iterable[str | os.PathLike[str]] = (),
    keep_duplicates: bool = False,
    output_internal: bool = False,
    overflow: str = "wrap",
    dialect: str | None = None,
    word_bits: int = 32,
    macros: Mapping[str, str] | None = None,
) -> Program:
    """Checks a program. A path object, or a one-line string that ends in `.dl`, is a file; other strings are text.

    `externs` are Python functions for the program's extern functions, by their qualified names; modules are looked for
    beside the file and on the search path. With `keep_duplicates`, groups have one value per instance of the body
    before them; with `output_internal`, the changes of internal relations are reported, too. With `overflow="error"`,
    an integer that does not fit into its type ends the epoch, instead of wrapping around.

    A program in Soufflé's language is recognised by its text; `dialect` is `"souffle"` or `"tidelog"` where that is not
    enough. Its numbers have 32 bits, or 64 with `word_bits`; included files are looked for on the search path, too,
    and `macros` are defined before it.

    What is allowed and perhaps not meant is a warning of Python; `program.warnings` has the texts.
    Raises ProgramError with all diagnostics, UsageError when the file cannot be read or a function is missing.

    >>> tidelog.compile("input relation In(n: u8)\\noutput relation Out(n: u8)\\nOut(n) :- In(n), n > 2.")
    <Program <text>: 2 relations, 1 rule>
    """
    source = read_source(path_or_text)
    modules = [Path(each) for each in search_path]
    if overflow not in WAYS:
        raise UsageError(
            f"`overflow` is {overflow!r}; it must be one of {', '.join(map(repr, WAYS))}", code=Code.UNKNOWN_ENGINE
        )
    options = Options(
        externs or {},
        keep_duplicates,
        output_internal,
        overflow=overflow,
        dialect=dialect or "",
        word_bits=word_bits,
        macros=macros or {},
    )
    _check_dialect(options)
    program = compile_source(source, modules, options)
    for each in program.warnings:
        warnings.warn(f"\n{each}", stacklevel=2)
    return program


def compile_source(source: Source, modules: SearchPath, options: Options) -> Program:
    """Compiles a text that was read; see `compile`."""
    if not options.externs:
        return Program(source.name, compile_program(source, modules, options), options)
    from tidelog.database.program.externs import FittedExterns

    fitted = FittedExterns(options.externs)
    stages = compile_program(source, modules, replace(options, externs=fitted.functions))
    fitted.know(stages.typed.functions, stages.rules.functions.definitions)
    return Program(source.name, stages, options, fitted.know)


def _check_dialect(options: Options) -> None:
    """Raises UsageError for an unknown dialect, or numbers of another size."""
    if options.dialect and options.dialect not in DIALECTS:
        raise UsageError(
            f"there is no dialect {options.dialect!r}",
            code=Code.UNREADABLE_PROGRAM,
            help=f"the dialects are {' and '.join(map(repr, DIALECTS))}",
        )
    if options.word_bits not in _WORD_BITS:
        raise UsageError(f"`word_bits` is {options.word_bits!r}; it is 32 or 64", code=Code.UNREADABLE_PROGRAM)


def read_source(path_or_text: str | os.PathLike[str]) -> Source:
    """Returns the text of a program with the name that errors show."""
    if isinstance(path_or_text, str) and ("\n" in path_or_text or not path_or_text.endswith(".dl")):
        return Source("<text>", path_or_text)
    path = Path(path_or_text)
    if "\0" in str(path):
        raise UsageError(f"the path {str(path)!r} has a NUL character in it", code=Code.UNREADABLE_PROGRAM)
    try:
        return Source(str(path), path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(
            f"cannot read the program {path}: {error.strerror}", code=Code.UNREADABLE_PROGRAM, help=_similar_file(path)
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the program {path} is not UTF-8 text: byte {error.start}", code=Code.UNREADABLE_PROGRAM
        ) from error


def _check_engine(engine: object, spark: Any) -> None:
    """Raises UsageError for an unknown engine, or for a session with an engine that takes none."""
    if engine not in ENGINES:
        meant = suggest(engine, ENGINES) if isinstance(engine, str) else None
        raise UsageError(
            f"there is no engine {engine!r}",
            code=Code.UNKNOWN_ENGINE,
            help=f"did you mean {meant!r}?" if meant else _engines_help(engine),
        )
    if engine == "local" and spark is not None:
        raise UsageError(
            "a Spark session was given to the local engine",
            code=Code.SPARK_FOR_LOCAL_ENGINE,
            help="open the program with `engine='spark'`",
        )
    if spark is not None and not callable(getattr(getattr(spark, "conf", None), "get", None)):
        raise UsageError(
            f"`spark` is {spark!r}, which is no Spark session",
            code=Code.UNKNOWN_ENGINE,
            help="pass `SparkSession.builder.getOrCreate()`, or nothing: then there will be a local one",
        )


def _instructions(migrate: object) -> Instructions | None:
    from tidelog.database.storage.migration.instructions import read_instructions

    return read_instructions(migrate)


def _engines_help(engine: object) -> str:
    engines = f"the engines are {', '.join(map(repr, ENGINES))}"
    is_path = isinstance(engine, str | os.PathLike)
    return f"{engines}; a directory is given as `program.open(path={str(engine)!r})`" if is_path else engines


def _check_plans(plans: object, engine: str) -> None:
    """Raises UsageError for plans with the local engine, or in a wrong form; the engine checks each plan."""
    is_mapping = isinstance(plans, Mapping) and all(isinstance(each, str) for pair in plans.items() for each in pair)
    if plans is not None and not is_mapping:
        raise UsageError(
            f"`plans` is {plans!r}; it must have names of relations, each with a plan",
            code=Code.IMPOSSIBLE_PLAN,
            help="for example `plans={'Reach': 'frames'}`",
        )
    if plans and engine == "local":
        raise UsageError(
            "`plans` are for the Spark engine", code=Code.IMPOSSIBLE_PLAN, help="open the program with `engine='spark'`"
        )


def _similar_file(path: Path) -> str | None:
    if path.exists() or not path.parent.is_dir():
        return None
    meant = suggest(path.name, [file.name for file in path.parent.glob("*.dl")])
    return f"did you mean `{path.with_name(meant)}`?" if meant else None
