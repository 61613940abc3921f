"""A case → commands for `tidelog shell`, and what it has to print for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from tests.oracle.case import Case
from tests.oracle.history import Transaction
from tests.oracle.program import Program, Relation
from tests.oracle.types import Row, Type, Weights
from tests.oracle.vocabulary import CONSTRUCTORS, FIELDS

ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def commands(case: Case) -> str:
    """One transaction after the other, each with its changes."""
    relations = {relation.name: relation for relation in case.program.relations}
    return "".join(_transaction(transaction, relations) for transaction in case.history)


def printed(program: Program, changes: Weights) -> str:
    """The changes of an epoch: relations by name, rows in the order of their values."""
    relations = {relation.name: relation for relation in program.relations}
    lines = []
    for name in sorted(changes):
        lines.append(f"{name}:\n")
        for row in sorted(changes[name]):
            lines.append(f"{_row(relations[name], row)}: {changes[name][row]:+d}\n")
    return "".join(lines)


def record(value: Any, type_: Type) -> str:
    """The text of a value, which the shell both prints and reads."""
    match type_.kind:
        case "bool":
            return "true" if value else "false"
        case "string":
            return '"' + "".join(ESCAPES.get(char, char) for char in value) + '"'
        case "double":
            return _digits(value)
        case "tuple":
            return f"({_list(value, type_.items)})"
        case "vec" | "set":
            return f"[{_list(value, type_.items * len(value))}]"
        case "map":
            return "[" + ", ".join(f"({_list(pair, type_.items)})" for pair in value) + "]"
    if type_ in CONSTRUCTORS:
        prefix = "ddlog_std::" if type_.kind == "option" else ""
        types = CONSTRUCTORS[type_][value.name]
        fields = zip(FIELDS.get(value.name, ()), map(record, value.fields, types))
        return f"{prefix}{value.name}{{{', '.join(f'.{name} = {text}' for name, text in fields)}}}"
    return str(value)


def _digits(number: float) -> str:
    """No exponent, and no point where nothing is behind it."""
    text = f"{Decimal(repr(number)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _transaction(transaction: Transaction, relations: dict[str, Relation]) -> str:
    lines = ["start;\n"]
    for write in transaction.writes:
        verb = "insert" if write.sign > 0 else "delete"
        for row in write.rows:
            texts = map(record, row, relations[write.relation].columns)
            lines.append(f"{verb} {write.relation}({', '.join(texts)}),\n")
    return "".join([*lines, "rollback;\n" if transaction.fails else "commit dump_changes;\n"])


def _row(relation: Relation, row: Row) -> str:
    texts = enumerate(map(record, row, relation.columns))
    return f"{relation.name}{{{', '.join(f'.c{place} = {text}' for place, text in texts)}}}"


def _list(values: Iterable[Any], types: Sequence[Type]) -> str:
    return ", ".join(map(record, values, types))
