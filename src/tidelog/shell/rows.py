"""Rows of relations ↔ the records that scripts write and the shell prints.

An error names the position, the relation, the column and the expected type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.check.program import TypedProgram
from tidelog.database.program.program import Program
from tidelog.deep_recursion import deeply
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError, TransactionError, UsageError
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.rules.ir import Index, Relation, Role, RuleProgram
from tidelog.shell.from_record import MisfitError, ValueReader
from tidelog.shell.mutate import mutate
from tidelog.shell.place import Place
from tidelog.shell.records import Record, StructRecord, TupleRecord
from tidelog.types import Type
from tidelog.values.structs import field_values
from tidelog.values.text import record_writer

Row = tuple[Any, ...]


class Rows:
    """The declared relations and indexes of one program."""

    def __init__(self, program: Program) -> None:
        self.take(program.stages.typed, program.stages.rules)

    def take(self, typed: TypedProgram, rules: RuleProgram) -> None:
        """Replaces the program by one with changed rules."""
        self.relations = {name: each for name, each in rules.relations.items() if each.role is not Role.HIDDEN}
        self.indexes = rules.indexes
        self._typed = typed
        self._rules = rules
        self._definitions = rules.functions.definitions
        self._reader = ValueReader(self._definitions, lambda: rules.functions.context)
        self._writers: dict[str, Callable[[Any], str]] = {}

    def names(self, role: Role) -> list[str]:
        """Returns the relations of a role in printing order, which is that of ASCII."""
        return sorted(name for name, relation in self.relations.items() if relation.role is role)

    def constructors(self) -> list[str]:
        """Returns the constructors of the declared types, without those of relations."""
        types = self._definitions.types.values()
        names = {constructor.name for type_ in types for constructor in type_.constructors or ()}
        return sorted(names - self.relations.keys())

    def input(self, name: str, place: Place) -> Relation:
        """Returns the input relation of this name; raises TransactionError if there is none."""
        relation = self.relations.get(name)
        if relation is None:
            raise TransactionError(
                f"{place}: there is no relation `{name}`",
                code=Code.WRITE_TO_UNKNOWN_RELATION,
                help=did_you_mean(name, self.names(Role.INPUT)),
            )
        if relation.role is not Role.INPUT:
            raise TransactionError(
                f"{place}: `{name}` is an {relation.role.value} relation, and its rows are derived",
                code=Code.WRITE_TO_DERIVED_RELATION,
                help=f"its facts are in `{name}.facts`" if f"{name}.facts" in self.relations else None,
            )
        return relation

    def output(self, name: str, place: Place) -> Relation:
        """Returns the output relation of this name; raises UsageError if there is none."""
        relation = self.relations.get(name)
        if relation is None or relation.role is not Role.OUTPUT:
            help = did_you_mean(name, self.names(Role.OUTPUT))
            if relation is not None:
                variables = ", ".join(column.name for column in relation.columns)
                help = f"`{name}` is an {relation.role.value} relation; `query {name}({variables});` prints its rows"
            raise UsageError(f"{place}: unknown output relation {name}", code=Code.UNKNOWN_RELATION_NAME, help=help)
        return relation

    def any(self, name: str, place: Place) -> Relation:
        """Returns the declared relation of this name; raises UsageError if there is none."""
        relation = self.relations.get(name)
        if relation is None:
            help = did_you_mean(name, self.relations)
            raise UsageError(f"{place}: there is no relation `{name}`", code=Code.UNKNOWN_RELATION_NAME, help=help)
        return relation

    def index(self, name: str, place: Place) -> Index:
        """Returns the index of this name; raises UsageError if there is none."""
        index = self.indexes.get(name)
        if index is None:
            help = did_you_mean(name, self.indexes)
            raise UsageError(f"{place}: unknown index {name}", code=Code.UNKNOWN_INDEX, help=help)
        return index

    def row(self, relation: Relation, record: Record) -> Row:
        """Returns the row of a record; raises DataError if it does not fit."""
        assert relation.value is not None
        if isinstance(record, StructRecord) and record.names is None and not relation.explicit:
            self._check_count(relation, record)
        value = _read(self._reader.value, record, relation.value, _named(relation), _part(relation))
        return (value,) if relation.explicit else field_values(value)

    def key(self, relation: Relation, record: Record) -> Any:
        """Returns the primary key of a record; raises DataError if it does not fit, TransactionError without a primary
        key.
        """
        key = self._typed.relations[relation.name].key
        if key is None:
            raise TransactionError(
                f"{record.place}: relation `{relation.name}` has no primary key", code=Code.NO_PRIMARY_KEY
            )
        return _read(self._reader.value, record, key.expression.type, f"{_named(relation)}, primary key", "field")

    def change(self, relation: Relation, old: Any, record: Record) -> Any:
        """Returns the value of a row, `old` as users get it, with the changes of a record.

        Raises DataError if those do not fit.
        """
        from tidelog.io.fit import fitter  # not before: the first command needs no table library

        assert relation.value is not None
        old = fitter(relation.value, self._definitions)(old)

        def changed(record: Record, type_: Type) -> Any:
            return mutate(old, record, type_, self._reader)

        return _read(changed, record, relation.value, _named(relation), _part(relation))

    def index_key(self, index: Index, arguments: tuple[Record, ...], place: Place) -> Row:
        """Returns the key of an index lookup; raises DataError if the arguments do not fit."""
        count = len(index.columns)
        if count != 1 and len(arguments) == 1 and isinstance(arguments[0], TupleRecord):
            arguments = arguments[0].items
        if len(arguments) != count:
            raise DataError(
                f"{place}: index `{index.name}` has {_columns(count)}, not {len(arguments)}",
                code=Code.WRONG_VALUE_COUNT,
            )
        return tuple(
            _read(self._reader.value, argument, column.type, f"index `{index.name}`, column `{column.name}`", "field")
            for column, argument in zip(index.columns, arguments)
        )

    def value(self, relation: Relation, row: Row) -> Any:
        """Returns a row as one value."""
        return self._rules.row_value(relation, row)

    def text(self, relation: Relation, row: Row) -> str:
        """Returns the record of a row as the shell prints it."""
        assert relation.value is not None
        write = self._writers.get(relation.name)
        if write is None:
            write = self._writers[relation.name] = record_writer(relation.value, self._definitions)
        return write(self.value(relation, row))

    def _check_count(self, relation: Relation, record: StructRecord) -> None:
        if record.name == relation.name and len(record.fields) != len(relation.columns):
            raise DataError(
                f"{record.place}: relation `{relation.name}` has {_columns(len(relation.columns))}, "
                f"not {len(record.fields)}",
                code=Code.WRONG_VALUE_COUNT,
                help=f"its columns are {_listed(relation)}" if relation.columns else None,
            )


def _read(read: Callable[[Record, Type], Any], record: Record, type_: Type, where: str, part: str) -> Any:
    """Applies `read` to a record; raises DataError with the target of the value, such as a relation and its column."""
    try:
        return deeply(read, record, type_)
    except MisfitError as error:
        if error.path:
            where += f", {part} `{'.'.join(error.path)}`"
        raise DataError(f"{error.place}: {where}: {error.message}", code=Code.WRONG_VALUE, help=error.help) from None
    except RecursionError:
        raise DataError(f"{record.place}: {where}: the record is nested too deeply", code=Code.WRONG_VALUE) from None


def _named(relation: Relation) -> str:
    return f"relation `{relation.name}`"


def _part(relation: Relation) -> str:
    return "field" if relation.explicit else "column"


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def _listed(relation: Relation) -> str:
    return ", ".join(f"`{column.name}: {column.type}`" for column in relation.columns)
