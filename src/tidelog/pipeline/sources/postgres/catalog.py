"""A table of a Postgres server as its catalog describes it now, and the types of the server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tidelog.pipeline.sources.postgres.types import PostgresType

_TABLE = """
SELECT c.oid, n.nspname, c.relname, c.relkind::text, c.relpersistence::text, c.relreplident::text, c.relispartition
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)
"""
_COLUMNS = """
SELECT attname, atttypid, atttypmod, attnotnull, attgenerated <> '' FROM pg_attribute
WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_KEYS = """
SELECT i.indisprimary, i.indisreplident, ARRAY(
    SELECT a.attname::text FROM generate_series(0, i.indnkeyatts - 1) AS place
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[place]
    ORDER BY place
)
FROM pg_index i
WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
    AND i.indexprs IS NULL
ORDER BY i.indisprimary DESC, i.indexrelid
"""
_TYPE = """
SELECT typname, typtype::text, typbasetype, typtypmod, CASE WHEN typcategory = 'A' THEN typelem ELSE 0 END
FROM pg_type WHERE oid = %s
"""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table. `is_generated` is set if its value is computed from others, and so never sent."""

    name: str
    type_oid: int
    modifier: int
    is_required: bool
    is_generated: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `identity` is `d`, `n`, `f` or `i`; `keys` are the columns of unique indexes without nulls, the primary
    key first; `identity_columns` those that the server sends of a row that is deleted, None if it sends none."""

    oid: int
    schema: str
    name: str
    kind: str
    persistence: str
    identity: str
    is_partition: bool
    columns: tuple[TableColumn, ...]
    keys: tuple[tuple[str, ...], ...]
    identity_columns: frozenset[str] | None

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def quoted(self) -> str:
        return ".".join(quoted(each) for each in (self.schema, self.name))

    def column(self, name: str) -> TableColumn | None:
        return next((each for each in self.columns if each.name == name), None)


def quoted(name: str) -> str:
    """Returns a name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def read_table(cursor: Any, name: str) -> Table | None:
    """Returns the table of a name as SQL writes it; None if there is none."""
    cursor.execute(_TABLE, (name,))
    found = cursor.fetchone()
    if found is None:
        return None
    oid, schema, table, kind, persistence, identity, is_partition = found
    cursor.execute(_COLUMNS, (oid,))
    columns = tuple(TableColumn(*row) for row in cursor.fetchall())
    required = {each.name for each in columns if each.is_required}
    cursor.execute(_KEYS, (oid,))
    indexes = [(is_primary, is_identity, tuple(names)) for is_primary, is_identity, names in cursor.fetchall()]
    keys = tuple(names for _, _, names in indexes if names and required.issuperset(names))
    sent = None
    if identity == "f":
        sent = frozenset(each.name for each in columns)
    elif identity in "di":
        place = 0 if identity == "d" else 1
        sent = next((frozenset(each[2]) for each in indexes if each[place]), None)
    return Table(oid, schema, table, kind, persistence, identity, is_partition, columns, keys, sent)


@dataclass(slots=True)
class TypeCatalog:
    """The types of a server; each is read once."""

    known: dict[int, tuple[str, str, int, int, int]] = field(default_factory=dict)

    def type_of(self, cursor: Any, oid: int, modifier: int) -> PostgresType:
        """Returns the type with an oid; of a domain, the type that it is made of."""
        if oid not in self.known:
            cursor.execute(_TYPE, (oid,))
            self.known[oid] = cursor.fetchone() or (f"type {oid}", "b", 0, -1, 0)
        name, kind, base, base_modifier, element = self.known[oid]
        if kind == "d":
            return self.type_of(cursor, base, base_modifier)
        if element:
            return PostgresType(name, -1, element=self.type_of(cursor, element, modifier))
        return PostgresType(name, modifier, is_enum=kind == "e")
