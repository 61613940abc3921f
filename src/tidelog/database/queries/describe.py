"""Rows, literals and bindings of rules → the text of explanations.

    Reach("a", "c")      not Blocked("b", _)      c < 10 (c = 7)      d = 8 from c + 1      group by x = "a" of 2 values

The text shows a rule as it was written: the hidden relations that `lower` made (two for a `group_by`) do not appear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.check import typed
from tidelog.diagnostics.spans import Span
from tidelog.engine.proof import SHOWN_CONTRIBUTIONS
from tidelog.rules import ir
from tidelog.rules.schema.arrow import inside_option
from tidelog.types import Type
from tidelog.values import field_values, record_text
from tidelog.values.group import Group

Row = tuple[Any, ...]


class Describer:
    """Writes rows, literals and bindings of a program's rules as text."""

    def __init__(self, program: ir.RuleProgram) -> None:
        self._program = program
        self._definitions = program.functions.definitions

    def value(self, value: Any, type_: Type) -> str:
        """Writes a value as the shell prints it, an `Option` as a program has it: `None`, `Some{3}`."""
        inner = inside_option(type_)
        if inner is None:
            return record_text(value, type_, self._definitions)
        items = field_values(value)
        return f"Some{{{self.value(items[0], inner)}}}" if items else "None"

    def row(self, name: str, row: Row, members: int = 0, listed: int = 0) -> str:
        """Writes a row of any relation; for a hidden one, its meaning. `members` is the size of a group, of which so
        many are listed below it."""
        relation = self._program.relations[name]
        shown = [self.value(value, column.type) for value, column in zip(row, relation.columns, strict=True)]
        kind = hidden_kind(self._program, name)
        if kind == "members" and (of_rows := self._row_values(name, row)) is not None:
            return of_rows
        if kind == "members":
            parts = shown[len(shown) - self._parts(name) :]
            return f"value {parts[0]}" if len(parts) == 1 else f"value ({', '.join(parts)})"
        if kind == "groups":
            return self._group(name, row, shown, members, listed)
        if relation.explicit:
            return f"{name}[{shown[0]}]"
        return f"{name.partition('#')[0]}({', '.join(shown)})"

    def _parts(self, members: str) -> int:
        """Returns how many columns of its members make up a value of a group."""
        groups = (rule.group for rule in self._program.rules if rule.group is not None)
        return next(group.parts for group in groups if group.atom.relation == members)

    def _row_values(self, members: str, row: Row) -> str | None:
        """Writes what an aggregate over rows reads of a member, `price = 10`; None if it is the value of a group."""
        group = next(rule.group for rule in self._program.rules if rule.group and rule.group.atom.relation == members)
        if not group.of_rows:
            return None
        (rule,) = (rule for rule in self._program.rules if rule.head.relation == members)
        read = {name for each in group.aggregates or () for name in _read_by(each)}
        terms = zip(rule.head.terms, row, strict=True)
        shown = {term: value for term, value in terms if isinstance(term, ir.Variable) and term.name in read}
        types = {term.name: term.type for term in shown}
        return self.bindings({term.name: value for term, value in shown.items()}, types) or "row"

    def _group(self, name: str, row: Row, shown: Sequence[str], members: int, listed: int) -> str:
        (rule,) = (rule for rule in self._program.rules if rule.head.relation == name)
        assert rule.group is not None
        keys = [term.name for term in rule.group.atom.terms if isinstance(term, ir.Variable)]
        by = ", ".join(f"{key} = {value}" for key, value in zip(keys, shown)) or "()"
        if rule.group.of_rows:
            return self._of_rows(rule.group, shown, members, listed)
        group = row[-1] if row else None
        count = len(group.items) if isinstance(group, Group) else members
        decides = f", {_decides(listed)}" if 0 < listed < count else ""
        return f"group by {by} of {count} {'value' if count == 1 else 'values'}{decides}"

    def _of_rows(self, group: ir.Group, shown: Sequence[str], members: int, listed: int) -> str:
        """Writes an aggregate over rows: `var t = sum(p) by (shop), shop = "a": of 3 rows`."""
        keys = [term.name for term in group.atom.terms if isinstance(term, ir.Variable)]
        by = "".join(f", {key} = {value}" for key, value in zip(keys, shown))
        rows = "1 row" if members == 1 else f"{members} rows"
        if listed == SHOWN_CONTRIBUTIONS and members > listed:
            rows += f", the {SHOWN_CONTRIBUTIONS} largest contributions:"
        elif 0 < listed < members:
            rows += f", {_decides(listed)}"
        return f"{one_line(group.atom.span)}{by}: of {rows}"

    def bindings(self, values: Mapping[str, Any], types: Mapping[str, Type]) -> str:
        """Writes `x = 1, y = 2`, for the variables that the program names."""
        return ", ".join(
            f"{name} = {self.value(value, types[name])}" for name, value in values.items() if "#" not in name
        )

    def literal(self, literal: ir.Literal, values: Mapping[str, Any], types: Mapping[str, Type]) -> str | None:
        """Writes a literal under a binding, which may leave variables open; None if the program does not show it."""
        match literal:
            case ir.Positive(atom):
                return self._positive(atom, values)
            case ir.Negative(atom):
                return self._negative(atom, values)
            case ir.Condition(expression):
                return self._condition(expression, values, types)
            case ir.Assign(variable, expression):
                return self._assigned((variable,), expression, values)
            case ir.Unfold(variables, _, expression):
                return self._assigned(variables, expression, values)
            case ir.Group(atom):
                return f"group of {self._atom(atom, atom.relation, values)}"
            case ir.Transform(name):
                return f"result of the transformer `{name}`"

    def _positive(self, atom: ir.Atom, values: Mapping[str, Any]) -> str:
        kind = hidden_kind(self._program, atom.relation)
        if kind in ("groups", "inspect", "total"):
            return one_line(atom.span)
        return self._atom(atom, atom.relation.partition("#")[0], values)

    def _negative(self, atom: ir.Atom, values: Mapping[str, Any]) -> str:
        kind = hidden_kind(self._program, atom.relation)
        if kind == "groups":
            return f"no rows for {one_line(atom.span)}"
        if kind is None:
            return f"not {self._atom(atom, atom.relation, values)}"
        name, _, kept = atom.relation.partition("#")
        if kind != "projection":
            return one_line(atom.span)
        terms = ["_"] * len(self._program.relations[name].columns)
        for place, term in zip(filter(None, kept.split("_")), atom.terms):
            terms[int(place)] = self._term(term, values)
        return f"not {name}({', '.join(terms)})"

    def _condition(
        self, expression: typed.Expression, values: Mapping[str, Any], types: Mapping[str, Type]
    ) -> str | None:
        if (
            isinstance(expression, typed.Binary)
            and expression.op == "=="
            and isinstance(expression.left, typed.Var)
            and "#" in expression.left.name
        ):
            # An expression inside an atom, compared with the column.
            found = values.get(expression.left.name)
            value = f" = {self.value(found, expression.left.type)}" if expression.left.name in values else ""
            return f"{one_line(expression.right.span)}{value}"
        names = typed.variables(expression)
        if names and all("#" in name for name in names):
            return None  # whether the values of an average are all `None`
        read = {name: values[name] for name in sorted(names) if name in values}
        bound = self.bindings(read, types)
        return f"{one_line(expression.span)} ({bound})" if bound else one_line(expression.span)

    def _assigned(
        self, variables: Sequence[ir.Variable], expression: typed.Expression, values: Mapping[str, Any]
    ) -> str | None:
        source = one_line(expression.span)
        if isinstance(expression, typed.Construct) and expression.constructor in self._program.relations:
            return None  # the variable of a whole row, which is shown already
        if len(variables) == 1 and "#" in variables[0].name and variables[0].name in values:
            return f"{source} = {self.value(values[variables[0].name], variables[0].type)}"
        named = [each for each in variables if "#" not in each.name]
        if not named:
            return None
        bound = ", ".join(
            f"{each.name} = {self.value(values[each.name], each.type)}" if each.name in values else each.name
            for each in named
        )
        return f"{bound} from {source}"

    def _atom(self, atom: ir.Atom, name: str, values: Mapping[str, Any]) -> str:
        terms = [self._term(term, values) for term in atom.terms]
        relation = self._program.relations[atom.relation]
        return f"{name}[{terms[0]}]" if relation.explicit else f"{name}({', '.join(terms)})"

    def _term(self, term: ir.Term, values: Mapping[str, Any]) -> str:
        match term:
            case ir.Variable(name, type_):
                if name in values:
                    return self.value(values[name], type_)
                return "_" if "#" in name else name
            case ir.Constant(value, type_):
                return self.value(value, type_)
            case _:
                return "_"


def hidden_kind(program: ir.RuleProgram, name: str) -> str | None:
    """Returns the purpose of a hidden relation: `groups`, `members`, `total`, `inspect`, `apply`, `not`, `index`,
    `projection`; None for a declared relation, and for one that the engine feeds.
    """
    if program.relations[name].role is not ir.Role.HIDDEN or "#" not in name:
        return None
    letters = "".join(char for char in name.partition("#")[2] if char.isalpha())
    known = ("groups", "members", "total", "inspect", "apply", "not", "index")
    return next((kind for kind in known if letters.startswith(kind)), "projection")


def _decides(count: int) -> str:
    return "the one that decides:" if count == 1 else f"the {count} that decide:"


def _read_by(aggregate: ir.Aggregate) -> frozenset[str]:
    """Returns the parts of a member that an aggregate reads."""
    if aggregate.kind is ir.AggregateKind.COUNT:
        return frozenset()
    own = frozenset(each.name for each in aggregate.parameters)
    return own if aggregate.of is None else own & typed.variables(aggregate.of)


def one_line(span: Span) -> str:
    """Returns the source text of a span, on one line."""
    return " ".join(span.text.split())


def rule_text(rule: ir.Rule) -> str:
    """Returns the source text of a rule, on one line."""
    return " ".join(rule.text.split())
