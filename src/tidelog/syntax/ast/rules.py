"""Rules: atoms, the literals of a body, and the statements of imperative rules."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.syntax.ast.expressions import Argument, Attribute, Expression, Variable
from tidelog.syntax.ast.nodes import Name, Node
from tidelog.syntax.ast.types import Type


@dataclass(frozen=True, slots=True)
class Atom(Node):
    """`binding in &relation-delay'(arguments) @ location`, where only the relation must be there.

    Behind the relation stand arguments, or `[value]`, or nothing where `bare`. `prime` is the `'` behind a stream.
    """

    relation: Name
    arguments: tuple[Argument, ...] = ()
    value: Expression | None = None
    bare: bool = False
    binding: Name | None = None
    reference: bool = False
    delay: int = 0
    prime: bool = False
    location: Expression | None = None


# The literals of a body


@dataclass(frozen=True, slots=True)
class Positive(Node):
    atom: Atom


@dataclass(frozen=True, slots=True)
class Negative(Node):
    """`not Relation(arguments)`"""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Condition(Node):
    expression: Expression


@dataclass(frozen=True, slots=True)
class Assignment(Node):
    """`var variable: annotation = value`"""

    variable: Name
    annotation: Type | None
    value: Expression


@dataclass(frozen=True, slots=True)
class Destructuring(Node):
    """`pattern = value` for every pattern that is not one variable; the rule goes on where the value fits it."""

    pattern: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class FlatMap(Node):
    """`pattern = FlatMap(value)`: the pattern is made of `var x`, `_`, tuples, structs and annotations."""

    pattern: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """`var variable = Aggregate((keys), function(value))`: the older way to write a `group_by`."""

    variable: Name
    keys: tuple[Variable, ...]
    function: Name
    value: Expression


@dataclass(frozen=True, slots=True)
class RowAggregates(Node):
    """`pattern = value by (keys)`: the value is a call like `sum(e)`, or a tuple of such calls.

    A key is a variable, or an `Assign` of a new one. `check` refuses whatever else stands in these places.
    """

    pattern: Expression
    value: Expression
    keys: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Inspect(Node):
    """`Inspect expression`"""

    expression: Expression


Literal = Positive | Negative | Condition | Assignment | Destructuring | FlatMap | Aggregate | RowAggregates | Inspect


@dataclass(frozen=True, slots=True)
class Rule(Node):
    """`heads :- body.`; a fact has an empty body."""

    heads: tuple[Atom, ...]
    body: tuple[Literal, ...]
    attributes: tuple[Attribute, ...] = ()


# Imperative rules


@dataclass(frozen=True, slots=True)
class ForStatement(Node):
    """`for (atom if condition) body`; the outermost statement of an imperative rule is one."""

    atom: Atom
    condition: Expression | None
    body: Statement


@dataclass(frozen=True, slots=True)
class IfStatement(Node):
    """`if (condition) then else otherwise`"""

    condition: Expression
    then: Statement
    otherwise: Statement | None


@dataclass(frozen=True, slots=True)
class StatementArm(Node):
    """`pattern -> body`"""

    pattern: Expression
    body: Statement


@dataclass(frozen=True, slots=True)
class MatchStatement(Node):
    """`match (subject) {arms}`: at least one arm."""

    subject: Expression
    arms: tuple[StatementArm, ...]


@dataclass(frozen=True, slots=True)
class AssignStatement(Node):
    """`assignment in body`; the assignment is an Assign where the statement makes sense."""

    assignment: Expression
    body: Statement


@dataclass(frozen=True, slots=True)
class InsertStatement(Node):
    """`Relation(arguments)`: the head of a rule."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class BlockStatement(Node):
    """`{a; b}`"""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class SkipStatement(Node):
    """`skip`"""


Statement = (
    ForStatement | IfStatement | MatchStatement | AssignStatement | InsertStatement | BlockStatement | SkipStatement
)
