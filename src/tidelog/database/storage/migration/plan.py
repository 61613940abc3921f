"""Two programs and what the caller says → what a migration keeps, changes and loses: a plan that can be read.

    plan_migration(...)     nothing is written, and no fact is read: a function counts them
    plan.check(directory)   raises where the caller must say more

Facts are carried by the names of relations and columns. A column that is new needs a default, unless it is an `Option`.
A column that has another type must be wider. Whatever is lost must be in `drop`; a relation without facts loses
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelog.check.rule.same_rule import rule_key
from tidelog.database.program.meaning import OTHER_DECLARATIONS, Meaning, meaning, one_line
from tidelog.database.storage.migration.instructions import ADDED_RULES, EVERYTHING, Instructions
from tidelog.database.storage.migration.widen import widens
from tidelog.deep_recursion import deeply
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.diagnostics.shown import Shown, Table, fit
from tidelog.diagnostics.suggest import did_you_mean
from tidelog.diagnostics.wording import counted, listed
from tidelog.engine.storage_errors import Place
from tidelog.rules.ir import Column, Kind, Relation, Role, RuleProgram
from tidelog.rules.rule_changes.rule_set import RuleSet
from tidelog.rules.schema.arrow import is_nullable
from tidelog.types import BitType, BoolType, FloatType, SignedType, StringType, Type, written_type

_KEPT = "facts"
_NO_DEFAULT = object()


@dataclass(frozen=True, slots=True)
class CarriedColumn:
    """A column of the new relation: the place of its values in the old rows, or None and the value for all of them."""

    column: Column
    place: int | None
    default: Any = None


@dataclass(frozen=True, slots=True)
class CarriedRelation:
    """An input relation whose facts are kept: how rows of the old one become rows of the new one."""

    old: Relation
    new: Relation
    columns: tuple[CarriedColumn, ...]
    facts: int

    @property
    def is_same(self) -> bool:
        """True if the rows stay as they are, under the same name."""
        shapes = [[(each.name, each.type) for each in relation.columns] for relation in (self.old, self.new)]
        places = [each.place for each in self.columns]
        is_named_alike = (self.old.name, self.old.kind) == (self.new.name, self.new.kind)
        return is_named_alike and shapes[0] == shapes[1] and places == list(range(len(places)))


@dataclass(frozen=True, slots=True)
class Loss:
    """`name` is what `drop` must have; `is_said`: it has."""

    name: str
    text: str
    is_said: bool


@dataclass(frozen=True, slots=True)
class MigrationPlan(Shown):
    """What a migration does. `sections` are lines to read, by heading; `losses` are all, whether they are said or not.

    `problems` are what the caller must say beside losses, with the entry of `migrate` that says it.
    """

    sections: Mapping[str, list[str]]
    carried: tuple[CarriedRelation, ...]
    losses: tuple[Loss, ...] = ()
    problems: tuple[str, ...] = ()
    missing_defaults: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """True if both programs mean the same."""
        return not any(lines for heading, lines in self.sections.items() if heading != _KEPT)

    @property
    def unsaid(self) -> list[Loss]:
        """The losses that the caller has not accepted."""
        return [loss for loss in self.losses if not loss.is_said]

    def check(self, directory: Place) -> None:
        """Raises UsageError with everything that the caller must say before facts are carried."""
        wrong = [*(f"it would lose {loss.text}" for loss in self.unsaid), *self.problems]
        if wrong:
            lines = "".join(f"\n  - {line}" for line in wrong)
            raise UsageError(
                f"the database {directory} cannot be migrated before you say more:{lines}",
                code=Code.MIGRATION_NOT_SAID,
                help=self._help(),
            )

    def _help(self) -> str | None:
        entries = []
        if self.missing_defaults:
            defaults = ", ".join(f'"{name}": {value}' for name, value in self.missing_defaults.items())
            entries.append(f'"default": {{{defaults}}}')
        if self.unsaid:
            names = ", ".join(f'"{loss.name}"' for loss in self.unsaid)
            entries.append(f'"drop": [{names}]')
        said = f"`migrate={{{', '.join(entries)}}}`" if entries else ""
        return f'{said}; a name that has changed is said as `"rename": {{old: new}}`' if said else None

    def __str__(self) -> str:
        if self.is_empty:
            return "nothing to do: both programs mean the same"
        lines = []
        for heading, found in self.sections.items():
            if found:
                lines += [f"{heading}:", *(f"  {line}" for line in found)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<MigrationPlan: {counted(len(self.carried), 'relation')} kept, {counted(len(self.losses), 'loss')}>"

    def _tables(self) -> Iterator[Table]:
        """Yields the lines of the plan, each with its heading."""
        rows = [(heading, line) for heading, lines in self.sections.items() for line in lines]
        yield Table(str(self) if self.is_empty else "Migration", ("part", "change"), rows, len(rows))

    def _text(self, width: int) -> str:
        return fit(str(self).splitlines(), width)


def plan_migration(
    before: RuleSet,
    program: RuleProgram,
    after: Meaning,
    said: Instructions,
    count: Callable[[str], int],
    options: list[str],
) -> MigrationPlan:
    """Plans the migration of a state with the rules `before` to a program. `count` gives the facts of a relation.

    `after` is the meaning of the program, and `options` are the lines about its options that have changed.

    Raises UsageError for an instruction that does not fit the two programs.
    """
    planner = _Planner(before.rules, program, said, count)
    planner.check_names()
    for old in before.rules.relations.values():
        if old.role is Role.INPUT and old.kind is not Kind.STREAM:
            planner.carry(old)
    earlier = meaning(before.typed)
    planner.added_rules(before, after)
    sections = {
        "options": options,
        "relations": _relations(before.rules, program, said),
        "columns": planner.columns,
        "declarations": _declarations(earlier, after),
        "rules": _rules(earlier, after),
        _KEPT: [f"{_facts(each.facts, each.new.name)}: kept" for each in planner.carried if each.facts],
        "lost": [loss.text for loss in planner.losses],
    }
    return MigrationPlan(
        sections, tuple(planner.carried), tuple(planner.losses), tuple(planner.problems), planner.missing_defaults
    )


class _Planner:
    def __init__(self, old: RuleProgram, new: RuleProgram, said: Instructions, count: Callable[[str], int]) -> None:
        self._old, self._new, self._said, self._count = old, new, said, count
        self.carried: list[CarriedRelation] = []
        self.losses: list[Loss] = []
        self.problems: list[str] = []
        self.columns: list[str] = []
        self.missing_defaults: dict[str, str] = {}

    def check_names(self) -> None:
        """Raises UsageError for an instruction about a relation or a column that is not there."""
        old_names, new_names = _names(self._old), _names(self._new)
        for name in self._said.rename:
            _check_name(name, old_names, "rename", "old")
            alike = [each for each in new_names if ("." in each) == ("." in name)]
            _check_name(self._full_name(name), alike, "rename", "new")
        targets = [self._full_name(name) for name in self._said.rename]
        for name in self._said.rename:
            if targets.count(self._full_name(name)) > 1:
                message = f"`rename` gives two names of the old program the name `{self._full_name(name)}`"
                raise UsageError(message, code=Code.MIGRATION_NOT_SAID)
        for name in self._said.default:
            _check_name(name, [each for each in new_names if "." in each], "default", "new")
        for name in sorted(self._said.drop - {EVERYTHING, ADDED_RULES}):
            _check_name(name, old_names, "drop", "old")

    def _full_name(self, renamed: str) -> str:
        """Returns the new name of something old that is renamed; that of a column with its relation before it."""
        relation, is_column, _ = renamed.partition(".")
        new_name = self._said.rename[renamed]
        return f"{self._said.new_name(relation)}.{new_name}" if is_column else new_name

    def carry(self, old: Relation) -> None:
        """Adds how the facts of an input relation are carried, or that they are lost."""
        facts = self._count(old.name)
        new = self._new.relations.get(self._said.new_name(old.name))
        is_replaced = old.name not in self._said.rename and old.name in self._said.rename.values()
        reason = "another relation has this name now" if is_replaced else _no_place(old, new)
        if new is None or reason:
            if facts:
                self._lose(old.name, f"{_facts(facts, old.name)}: {reason}")
            return
        if old.name in self._said.drop:
            if facts:
                self._lose(old.name, f"{_facts(facts, old.name)}: dropped as asked")
            return
        places = self._places(old, new)
        found = [self._column(old, new, column, places.get(column.name), facts) for column in new.columns]
        used = {each.place for each in found}
        for place, column in enumerate(old.columns):
            if place not in used:
                name = f"{old.name}.{column.name}"
                self.columns.append(f"- {name}: {written_type(column.type)}")
                if facts:
                    self._lose(name, f"the column `{name}` in {counted(facts, 'fact')}")
        self.carried.append(CarriedRelation(old, new, tuple(found), facts))

    def added_rules(self, before: RuleSet, after: Meaning) -> None:
        """Notes the rules that were added at run time and that the new program does not have."""
        kept = {key for key, _ in after.rules}
        lost = [one_line(rule.span.text) for rule in before.added() if deeply(rule_key, rule) not in kept]
        if lost:
            self._lose(ADDED_RULES, f"{counted(len(lost), 'rule')} added at run time: {' '.join(lost)}")

    def _lose(self, name: str, text: str) -> None:
        self.losses.append(Loss(name, text, self._said.drops(name)))

    def _places(self, old: Relation, new: Relation) -> dict[str, int]:
        """Returns the places in old rows of the columns that stay, by their new names."""
        if old.explicit:
            return {new.columns[0].name: 0}
        places = {}
        renamed = {
            column.name: self._said.rename[name]
            for column in old.columns
            if (name := f"{old.name}.{column.name}") in self._said.rename
        }
        for place, column in enumerate(old.columns):
            if f"{old.name}.{column.name}" in self._said.drop:
                continue
            name = renamed.get(column.name, column.name)
            if column.name not in renamed and name in renamed.values():
                continue  # another column has its name now
            places[name] = place
        return places

    def _column(self, old: Relation, new: Relation, column: Column, place: int | None, facts: int) -> CarriedColumn:
        name = f"{new.name}.{column.name}"
        if place is None:
            return self._new_column(column, name, facts)
        source = old.columns[place]
        earlier = f"{old.name}.{source.name}"
        if source.name != column.name and not old.explicit:
            self.columns.append(f"~ {earlier} is now {name}")
        if name in self._said.default:
            self.problems.append(f"`{name}` is no new column, and takes no default")
        if source.type != column.type:
            self.columns.append(f"~ {name}: {written_type(source.type)} becomes {written_type(column.type)}")
            if facts and not widens(source.type, column.type):
                self.problems.append(
                    f"`{name}` would become {written_type(column.type)},"
                    f" which does not have every value of {written_type(source.type)};"
                    f' to give it other values, say `"drop": ["{earlier}"]` and `"default": {{"{name}": …}}`'
                )
        return CarriedColumn(column, place)

    def _new_column(self, column: Column, name: str, facts: int) -> CarriedColumn:
        default = self._said.default.get(name, _NO_DEFAULT)
        if default is _NO_DEFAULT and is_nullable(column.type, self._new.functions.definitions):
            default = None
        shown = "" if default is _NO_DEFAULT else f", {default!r} in {counted(facts, 'fact')}"
        self.columns.append(f"+ {name}: {written_type(column.type)}{shown if facts else ''}")
        if default is _NO_DEFAULT and facts:
            self.problems.append(f"`{name}` is new, and has no value in {counted(facts, 'fact')}")
            self.missing_defaults[name] = _example(column.type)
        return CarriedColumn(column, None, default)


def _no_place(old: Relation, new: Relation | None) -> str:
    """Says why facts cannot be kept; empty if they can."""
    if new is None:
        return "there is no such relation in the program"
    if new.role is not Role.INPUT:
        return f"`{new.name}` is no input relation any more"
    if new.kind is not old.kind and not (old.kind is Kind.SET and new.kind is Kind.MULTISET):
        return f"`{new.name}` is no {old.kind.value} any more, but a {new.kind.value}"
    if new.explicit is not old.explicit:
        return f"the rows of `{new.name}` have another form"
    return ""


def _relations(before: RuleProgram, after: RuleProgram, said: Instructions) -> list[str]:
    old, new = _declared(before), _declared(after)
    lines = []
    for name, relation in old.items():
        now = said.new_name(name)
        if now not in new or (now == name and name in said.rename.values()):
            lines.append(f"- {_heading(relation)}")
            continue
        if now != name:
            lines.append(f"~ {name} is now {now}")
        if (relation.role, relation.kind) != (new[now].role, new[now].kind):
            lines.append(f"~ {now}: {_role(relation)} becomes {_role(new[now])}")
        if relation.role is not Role.INPUT and _columns(relation) != _columns(new[now]):
            lines.append(f"~ {_heading(new[now])}")
    taken = {said.new_name(name) for name in old}
    return [*lines, *(f"+ {_heading(relation)}" for name, relation in new.items() if name not in taken)]


def _declarations(before: Meaning, after: Meaning) -> list[str]:
    lines = []
    for kind in OTHER_DECLARATIONS:
        old = {name: key for (found, name), key in before.declarations.items() if found == kind}
        new = {name: key for (found, name), key in after.declarations.items() if found == kind}
        lines += [f"- {kind} {name}" for name in old if name not in new]
        lines += [f"~ {kind} {name}" for name in old if name in new and old[name] != new[name]]
        lines += [f"+ {kind} {name}" for name in new if name not in old]
    if before.applications != after.applications:
        lines.append("~ applications of transformers")
    return lines


def _rules(before: Meaning, after: Meaning) -> list[str]:
    """Returns the rules that come and go; a rule whose text stays although its columns have moved is neither."""
    removed = {text for key, text in before.rules.items() if key not in after.rules}
    added = {text for key, text in after.rules.items() if key not in before.rules}
    lines = [f"- {text}" for text in before.rules.values() if text in removed - added]
    return [*lines, *(f"+ {text}" for text in after.rules.values() if text in added - removed)]


def _declared(program: RuleProgram) -> dict[str, Relation]:
    return {name: each for name, each in program.relations.items() if each.role is not Role.HIDDEN}


def _names(program: RuleProgram) -> list[str]:
    """Returns the names of relations, and of their columns behind them."""
    names = []
    for name, relation in _declared(program).items():
        names += [name, *(f"{name}.{column.name}" for column in relation.columns)]
    return names


def _check_name(name: str, known: Iterable[str], part: str, which: str) -> None:
    if name not in (names := list(known)):
        what = "column" if "." in name else "relation"
        alike = [each for each in names if ("." in each) == ("." in name)]
        help = did_you_mean(name, alike, f"it has {listed(alike)}")
        message = f"`{part}` has `{name}`, but the {which} program has no such {what}"
        raise UsageError(message, code=Code.MIGRATION_NOT_SAID, help=help)


def _columns(relation: Relation) -> list[tuple[str, Type]]:
    return [(column.name, column.type) for column in relation.columns]


def _role(relation: Relation) -> str:
    role = "" if relation.role is Role.INTERNAL else f"{relation.role.value} "
    return f"{role}{relation.kind.value}"


def _heading(relation: Relation) -> str:
    columns = ", ".join(f"{column.name}: {written_type(column.type)}" for column in relation.columns)
    return f"{_role(relation)} {relation.name}({columns})"


def _facts(count: int, relation: str) -> str:
    return f"{counted(count, 'fact')} of `{relation}`"


def _example(type_: Type) -> str:
    """Returns a value of the type as Python writes it, for a help that can be pasted."""
    match type_:
        case StringType():
            return '""'
        case BoolType():
            return "False"
        case BitType() | SignedType():
            return "0"
        case FloatType():
            return "0.0"
        case _:
            return "..."
