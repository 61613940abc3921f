"""A record of a feed → an operation: the row, whether it is inserted, deleted or replaced, and its order.

| word | operation |
| --- | --- |
| `+`, `insert`, `c`, `r` | inserts the row |
| `-`, `delete`, `d` | deletes the row; with a key, any row that has the key |
| `u`, `update` | replaces the row that has the key |
| `update_postimage` | inserts the row; with a key, replaces the row that has it |
| `update_preimage` | deletes the row; with a key, does nothing, because the row after the update has the key |

`c`, `r`, `u` and `d` are Debezium's (create, read, update, delete); its `t`, which empties a table, is refused, because
it is no operation on a row. In its envelope a record has the row `before` and `after`, perhaps inside `payload`.
Columns that the relation does not have are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any

from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import DataError
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import listed
from tidelog.io.bad_rows import BadRecord, OnBad
from tidelog.io.fit import cell_fitter, fitter
from tidelog.io.tables import columns_help
from tidelog.io.values import Row, UnfitError, misfit, quoted
from tidelog.pipeline.batch import Records
from tidelog.pipeline.records import CLEAR, Record
from tidelog.pipeline.settings import NULL_OPTION, Feed
from tidelog.rules.ir import Kind, Relation
from tidelog.rules.schema.arrow import is_option, with_plain_columns
from tidelog.values import Definitions


class Verb(Enum):
    """The kind of an operation."""

    INSERT = "insert"
    DELETE = "delete"
    REPLACE = "replace"
    CLEAR = "clear"


WORDS = {
    **dict.fromkeys(("+", "insert", "c", "r"), Verb.INSERT),
    **dict.fromkeys(("-", "delete", "d"), Verb.DELETE),
    **dict.fromkeys(("u", "update"), Verb.REPLACE),
    "update_postimage": Verb.INSERT,
    "update_preimage": Verb.DELETE,
}
_PREIMAGE = "update_preimage"

_TRUNCATE = "t"

Order = tuple[int, Any]
"""Numbers come before times, times before other texts; within each, their own order."""

_NUMBER = re.compile(r"\s*[+-]?(\d+)(\.\d*)?([eE][+-]?\d+)?\s*")
_TIME = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"([T ](?P<clock>\d\d:\d\d(:\d\d)?)([.,](?P<fraction>\d+))?(?P<offset> ?(Z|[+-]\d\d(:?\d\d)?))?)?",
    re.IGNORECASE | re.ASCII,
)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_UNORDERED: Order = (0, 0)


class Unsent(Enum):
    """The value of a column that an update did not send."""

    UNSENT = "unsent"


UNSENT = Unsent.UNSENT


@dataclass(frozen=True, slots=True)
class FeedOperation:
    """The operation of one record. A delete by key has no row; a feed without keys gives no key.

    A row with `UNSENT` values has them from the row before, which has the key `base` (`unsent`).
    """

    verb: Verb
    row: Row | None
    key: Row | None
    order: Order
    record: Record
    base: Row | None = None


class OperationReader:
    """Reads the records of one feed."""

    def __init__(self, feed: Feed, relation: Relation, definitions: Definitions) -> None:
        self.count = 0
        self._feed = feed
        self._relation = with_plain_columns(relation)
        self._key = [i for name in feed.key for i, column in enumerate(relation.columns) if column.name == name]
        nulls = frozenset([feed.place.options.get(NULL_OPTION, "")])
        self._cells = [cell_fitter(column.type, definitions, nulls) for column in self._relation.columns]
        self._fitters = [fitter(column.type, definitions, wire=True) for column in self._relation.columns]
        self._optional = [is_option(column.type) for column in self._relation.columns]

    def read_all(self, records: Records, on_bad: OnBad) -> Iterator[FeedOperation]:
        """Yields the operations of records, and counts the records in `count`. Calls `on_bad`, which may raise, for a
        record without an operation.
        """
        self.count = 0
        for record in records:
            if isinstance(record, Record) and self._is_preimage(record):
                self.count += 1
                continue
            if isinstance(record, BadRecord):
                self.count += 1
                on_bad(record)
                continue
            self.count += record.op != CLEAR
            try:
                operation = self.read(record)
            except DataError as error:
                on_bad(BadRecord(record.place, record.text, error))
            else:
                yield operation

    def read(self, record: Record) -> FeedOperation:
        """Returns the operation of a record. Raises DataError, with the record's place."""
        values = record.values
        if self._feed.is_envelope and isinstance(values.get("payload"), Mapping):
            values = values["payload"]
        verb = self._verb(record, values)
        order = self._order(record, values)
        if verb is Verb.CLEAR:
            return FeedOperation(verb, None, None, order, record)
        if self._feed.is_envelope:
            values = self._image(record, values, "before" if verb is Verb.DELETE else "after")
        if not self._key:
            return FeedOperation(verb, self._row(record, values), None, order, record)
        if verb is Verb.DELETE:
            return FeedOperation(verb, None, self._values(record, values, self._key), order, record)
        row = self._row(record, values)
        key = tuple(row[i] for i in self._key)
        base = None if not record.unchanged else key
        if base is not None and record.base is not None:
            base = self._values(record, record.base, self._key)
        return FeedOperation(verb, row, key, order, record, base)

    def _is_preimage(self, record: Record) -> bool:
        """True for the row before an update in a feed with a key."""
        return bool(self._key) and self._feed.op is not None and record.values.get(self._feed.op) == _PREIMAGE

    def _verb(self, record: Record, values: Mapping[str, Any]) -> Verb:
        if record.op == CLEAR:
            return Verb.CLEAR
        if self._feed.op is None and record.op is None:
            return Verb.INSERT
        word = record.op or values.get(self._feed.op or "")
        verb = WORDS.get(word) if isinstance(word, str) else None
        if verb is None and word == _TRUNCATE and self._feed.is_envelope:
            raise _refusal(
                record,
                f"`{_TRUNCATE}` empties the table, which a feed cannot do",
                "leave truncations out at the source (Debezium's `skipped.operations=t`), or delete row by row",
            )
        if verb is None:
            assert self._feed.op is not None
            known = f"operations are {listed(WORDS)}"
            help = did_you_mean(word, WORDS, known) if isinstance(word, str) else known
            raise _bad_value(record, word, self._feed.op, "operation", help)
        if verb is Verb.REPLACE and not self._key:
            raise _refusal(
                record,
                f"`{word}` replaces the row that has a key, and the feed has no key",
                f"add a line like `key = [...]` to `[changes.{self._relation.name}]`",
            )
        if verb is Verb.DELETE and self._relation.kind is Kind.STREAM:
            raise _refusal(record, f"`{self._relation.name}` is a stream, and takes no deletes")
        return verb

    def _order(self, record: Record, values: Mapping[str, Any]) -> Order:
        name = self._feed.order
        if name is None:
            return _UNORDERED if record.order is None else (0, record.order)
        value = values.get(name)
        if value is None and self._feed.is_envelope:
            value = next((image[name] for image in _images(values) if image.get(name) is not None), None)
        order = order_of(value)
        if order is None:
            raise _bad_value(record, value, name, "order", "an order is a number, a text or a time")
        return order

    def _image(self, record: Record, values: Mapping[str, Any], which: str) -> Mapping[str, Any]:
        image = values.get(which)
        if not isinstance(image, Mapping):
            raise _refusal(record, f"the envelope has no `{which}`")
        return image

    def _row(self, record: Record, values: Mapping[str, Any]) -> Row:
        return self._values(record, values, range(len(self._relation.columns)))

    def _values(self, record: Record, values: Mapping[str, Any], places: Any) -> Row:
        return tuple(self._value(record, values, place) for place in places)

    def _value(self, record: Record, values: Mapping[str, Any], place: int) -> Any:
        column = self._relation.columns[place]
        if column.name in record.unchanged:
            return UNSENT
        if column.name not in values and not self._optional[place]:
            raise DataError(
                f"{record.place}: the record for `{self._relation.name}` lacks the column `{column.name}`",
                code=Code.WRONG_COLUMNS,
                help=columns_help(self._relation),
            )
        value = values.get(column.name)
        if isinstance(value, Decimal) and value == value.to_integral_value():
            value = int(value)  # Spark has no other type for all of `u64`
        try:
            if record.is_text and (value is None or isinstance(value, str)):
                return self._cells[place](value)
            return self._fitters[place](value)
        except UnfitError as error:
            raise misfit(record.place, self._relation, column, error) from None


def _bad_value(record: Record, value: Any, column: str | None, noun: str, help: str | None) -> DataError:
    """Makes the error for a column that should have the operation, or the order, and has another value or none."""
    if value is None:
        return _refusal(record, f"the column `{column}`, for the {noun}, is missing", help)
    return _refusal(record, f"`{quoted(value)}` is no {noun}, in the column `{column}`", help)


def _refusal(record: Record, message: str, help: str | None = None) -> DataError:
    return DataError(f"{record.place}: {message}", code=Code.BAD_OPERATION, help=help)


def order_of(value: Any) -> Order | None:
    """Returns a sort key: numbers (also as text) by size, then times (also as ISO 8601 text; in UTC without a zone) as
    moments, then other texts; None for a value without an order."""
    match value:
        case bool() | None:
            return None
        case int() | float() | Decimal():
            return (0, value) if value == value else None
        case datetime():
            return (1, _moment(value, Decimal(value.microsecond).scaleb(-6) + _nanoseconds(value)))
        case date():
            return (1, _moment(datetime(value.year, value.month, value.day), Decimal(0)))
        case str():
            return _order_of_text(value)
        case _:
            return None


def _order_of_text(text: str) -> Order | None:
    if _NUMBER.fullmatch(text):
        try:
            return (0, Decimal(text.strip()))
        except InvalidOperation:  # an exponent beyond everything
            return None
    found = _TIME.fullmatch(text.strip())
    if found is not None:
        fraction = Decimal(f"0.{found['fraction'] or 0}")
        offset = (found["offset"] or "").strip()
        try:
            moment = datetime.fromisoformat(f"{found['date']}T{found['clock'] or '00:00'}{offset.upper()}")
            return (1, _moment(moment, fraction))
        except (ValueError, OverflowError):
            pass  # the 30th of February is a text
    return (2, text)


def _moment(value: datetime, fraction: Decimal) -> tuple[int, Decimal]:
    """Returns whole seconds and the rest of a second, which may be finer than Python's times."""
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return (value.replace(microsecond=0) - _BEGINNING) // timedelta(seconds=1), fraction


def _nanoseconds(value: datetime) -> Decimal:
    """Returns the nanoseconds of a pandas time, beyond its microseconds."""
    return Decimal(getattr(value, "nanosecond", 0)).scaleb(-9)


def _images(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [image for image in (values.get("after"), values.get("before")) if isinstance(image, Mapping)]
