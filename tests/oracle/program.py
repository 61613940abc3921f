"""The oracle's own form of a program.

It says what a rule means and nothing about how to run it. Terms of atoms are expressions: a variable that nothing has
bound yet is bound by the atom, everything else is compared. Values are plain Python: bool, int, str.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Value = bool | int | str
Row = tuple[Value, ...]
Relations = Mapping[str, frozenset[Row]]


@dataclass(frozen=True, slots=True)
class Type:
    """`kind` is bool, string, bit or signed; the last two have a width."""

    kind: str
    width: int = 0

    @property
    def is_integer(self) -> bool:
        return self.width > 0


BOOL = Type("bool")
STRING = Type("string")


def bit(width: int) -> Type:
    return Type("bit", width)


def signed(width: int) -> Type:
    return Type("signed", width)


@dataclass(frozen=True, slots=True)
class Var:
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Const:
    value: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`_`, in the atoms of a body."""


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator of the language on its operands; also `neg` (unary minus), `as` (cast), `text` (to_string), `if`."""

    op: str
    args: tuple[Expression, ...]
    type: Type


Expression = Var | Const | Apply
Term = Var | Const | Apply | Wildcard


@dataclass(frozen=True, slots=True)
class Atom:
    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Positive:
    atom: Atom


@dataclass(frozen=True, slots=True)
class Negative:
    atom: Atom


@dataclass(frozen=True, slots=True)
class Condition:
    expression: Expression


@dataclass(frozen=True, slots=True)
class Assign:
    variable: Var
    expression: Expression


Literal = Positive | Negative | Condition | Assign


@dataclass(frozen=True, slots=True)
class Rule:
    """A fact is a rule with an empty body."""

    head: Atom
    body: tuple[Literal, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """`role` is input, output or internal. Only input relations accept writes; only output relations report changes."""

    name: str
    columns: tuple[Type, ...]
    role: str


@dataclass(frozen=True, slots=True)
class Program:
    relations: tuple[Relation, ...]
    rules: tuple[Rule, ...]

    def named(self, role: str) -> tuple[Relation, ...]:
        """The relations of one role, in the order of the program."""
        return tuple(relation for relation in self.relations if relation.role == role)

    @property
    def derived(self) -> frozenset[str]:
        """The names of the relations that have rules."""
        return frozenset(rule.head.relation for rule in self.rules)


def variables(term: Term) -> Iterator[Var]:
    """Each variable in the term, as often as it stands there."""
    match term:
        case Var():
            yield term
        case Apply(args=args):
            for arg in args:
                yield from variables(arg)
