"""The oracle's own form of a program.

It says what a rule means and nothing about how to run it. Terms of atoms are expressions: a variable that nothing has
bound yet is bound by the atom, everything else is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from tests.oracle.types import Function, Shape, Type, Value


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


@dataclass(frozen=True, slots=True)
class Call:
    function: Function
    args: tuple[Expression, ...]

    @property
    def type(self) -> Type:
        return self.function.result


@dataclass(frozen=True, slots=True)
class Apart:
    """A pattern: a value of the shape whose parts fit the terms."""

    shape: Shape
    terms: tuple[Term, ...]


Expression = Var | Const | Apply | Call
Term = Var | Const | Apply | Call | Wildcard | Apart


@dataclass(frozen=True, slots=True)
class Atom:
    """`moment` is `-1`, `-2`, ... for what the relation was, `'` for the rows of a stream as a relation."""

    relation: str
    terms: tuple[Term, ...]
    moment: str = ""

    @property
    def source(self) -> str:
        return self.relation + self.moment


@dataclass(frozen=True, slots=True)
class Positive:
    """`row` is the variable of `row in R(...)`."""

    atom: Atom
    row: Var | None = None


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


@dataclass(frozen=True, slots=True)
class Unpack:
    """`pattern = expression`, for the values that fit; `each`: `pattern = FlatMap(expression)`, for each such item."""

    pattern: Term
    expression: Expression
    each: bool = False


@dataclass(frozen=True, slots=True)
class GroupBy:
    """`var variable = expression.group_by(keys)`: afterwards only the variable and the keys are bound."""

    variable: Var
    expression: Expression
    keys: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Over:
    """One aggregate over rows: `function` is count, sum, avg, min or max; `count()` has no expression."""

    variable: Var
    function: str
    expression: Expression | None = None


@dataclass(frozen=True, slots=True)
class OverRows:
    """`(var x, var y) = (sum(e), count()) by (keys)`: afterwards only the new variables and the keys are bound."""

    values: tuple[Over, ...]
    keys: tuple[Var, ...]


Literal = Positive | Negative | Condition | Assign | Unpack | GroupBy | OverRows


@dataclass(frozen=True, slots=True)
class Rule:
    """A fact is a rule with an empty body. `as_statement`: it is written with `for` and `if`."""

    head: Atom
    body: tuple[Literal, ...] = ()
    as_statement: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """`role` is input, output or internal. Only input relations accept writes; only output relations report changes.

    `kind` is relation, multiset or stream.
    """

    name: str
    columns: tuple[Type, ...]
    role: str
    kind: str = "relation"


@dataclass(frozen=True, slots=True)
class Program:
    """Rules are a set, up to the names of their variables; `repeated` are some that are written once more."""

    relations: tuple[Relation, ...]
    rules: tuple[Rule, ...]
    repeated: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        unique: dict[object, Rule] = {}
        for rule in self.rules:
            unique.setdefault(nameless(rule), rule)
        object.__setattr__(self, "rules", tuple(unique.values()))

    def named(self, role: str) -> tuple[Relation, ...]:
        """The relations of one role, in the order of the program."""
        return tuple(relation for relation in self.relations if relation.role == role)

    @property
    def derived(self) -> frozenset[str]:
        """The names of the relations that have rules."""
        return frozenset(rule.head.relation for rule in self.rules)


def nameless(rule: Rule) -> Rule:
    """The rule with numbers in the place of its variables' names: equal for rules that are the same."""
    return replace(renamed(rule, lambda number: f"v{number}"), as_statement=False)


def renamed(rule: Rule, name: Callable[[int], str]) -> Rule:
    """The rule with other names for its variables, in the order of their first mention."""
    found: dict[str, str] = {}

    def change(node: Any) -> Any:
        if isinstance(node, Var):
            return Var(found.setdefault(node.name, name(len(found))), node.type)
        if isinstance(node, tuple):
            return tuple(map(change, node))
        if isinstance(node, _NODES):
            return replace(node, **{each.name: change(getattr(node, each.name)) for each in fields(node)})
        return node

    changed: Rule = change(rule)
    return changed


_NODES = (Rule, Atom, Positive, Negative, Condition, Assign, Unpack, GroupBy, Over, OverRows, Apply, Call, Apart)


def variables(term: Term) -> Iterator[Var]:
    """Each variable in the term, as often as it stands there."""
    match term:
        case Var():
            yield term
        case Apply(args=parts) | Call(args=parts) | Apart(terms=parts):
            for part in parts:
                yield from variables(part)


def terms_of(literal: Literal) -> tuple[Term, ...]:
    """The terms and expressions of a literal."""
    match literal:
        case Positive(atom) | Negative(atom):
            return atom.terms
        case Condition(expression) | Assign(_, expression):
            return (expression,)
        case Unpack(pattern, expression):
            return (pattern, expression)
        case GroupBy(_, expression, keys):
            return (expression, *keys)
        case OverRows(values, keys):
            return (*(each.expression for each in values if each.expression is not None), *keys)
