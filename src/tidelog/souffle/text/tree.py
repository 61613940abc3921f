"""The syntax tree of Soufflé's language. Every node has a span; names of components have dots in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from tidelog.diagnostics.spans import Span


@dataclass(frozen=True, slots=True)
class Node:
    """Anything that stands somewhere in a file."""

    span: Span = field(compare=False, repr=False, kw_only=True)


# Arguments


@dataclass(frozen=True, slots=True)
class Variable(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Unnamed(Node):
    """`_`"""


@dataclass(frozen=True, slots=True)
class Text(Node):
    value: str


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A constant as written, perhaps with a `-`; `kind` is `unsigned` or `float` where the text says so, else empty."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Nil(Node):
    pass


@dataclass(frozen=True, slots=True)
class Counter(Node):
    """`autoinc()`"""


@dataclass(frozen=True, slots=True)
class IterationCounter(Node):
    """`recursive_iteration_cnt()`"""


@dataclass(frozen=True, slots=True)
class Record(Node):
    """`[a, b]`"""

    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Branch(Node):
    """`$Name(a, b)`"""

    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """`as(argument, type)`"""

    argument: Argument
    type: str


@dataclass(frozen=True, slots=True)
class Functor(Node):
    """An operator or a functor of the language by its word: `+`, `band`, `cat`, `neg` for a minus sign."""

    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class UserFunctor(Node):
    """`@name(a, b)`"""

    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """`sum target : { body }`; a functor of the program is `@@name`, and starts with `first`."""

    function: str
    target: Argument | None
    body: Body
    first: Argument | None = None


Argument = (
    Variable
    | Unnamed
    | Text
    | Number
    | Nil
    | Counter
    | IterationCounter
    | Record
    | Branch
    | Cast
    | Functor
    | UserFunctor
    | Aggregate
)


# Bodies


@dataclass(frozen=True, slots=True)
class Atom(Node):
    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Negation(Node):
    """`!body`"""

    body: Body


@dataclass(frozen=True, slots=True)
class Constraint(Node):
    """`left operator right`; `match` and `contains` are operators, too, and so are `!match` and `!contains`."""

    operator: str
    left: Argument
    right: Argument


@dataclass(frozen=True, slots=True)
class Truth(Node):
    """`true` or `false`"""

    value: bool


@dataclass(frozen=True, slots=True)
class Conjunction(Node):
    parts: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Disjunction(Node):
    parts: tuple[Body, ...]


Body = Atom | Negation | Constraint | Truth | Conjunction | Disjunction


# Items


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """`name: type`; `lattice` where `<>` stands behind it."""

    name: str
    type: str
    lattice: bool = False


@dataclass(frozen=True, slots=True)
class TypeDeclaration(Node):
    """`form` is `subset`, `alias`, `union` (with `types`), `record` (with `attributes`) or `branches`."""

    name: str
    form: str
    types: tuple[tuple[str, Span], ...] = ()
    attributes: tuple[Attribute, ...] = ()
    branches: tuple[BranchDeclaration, ...] = ()


@dataclass(frozen=True, slots=True)
class BranchDeclaration(Node):
    name: str
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class RelationDeclaration(Node):
    """`.decl name(attributes) qualifiers choice-domain dependencies`; the span is that of the name.

    `delta_of` is the relation of `debug_delta`, or empty.
    """

    name: str
    attributes: tuple[Attribute, ...]
    qualifiers: tuple[str, ...] = ()
    dependencies: tuple[tuple[tuple[str, ...], Span], ...] = ()
    delta_of: str = ""


@dataclass(frozen=True, slots=True)
class FunctorDeclaration(Node):
    name: str
    parameters: tuple[Attribute, ...]
    result: str
    stateful: bool = False


@dataclass(frozen=True, slots=True)
class Plan(Node):
    """`.plan 0:(2,1)`: versions with their orders."""

    orders: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Clause(Node):
    """`heads :- body.`; a fact has no body. With `better` it is `heads[0] <= better :- body.`"""

    heads: tuple[Atom, ...]
    body: Body | None
    better: Atom | None = None
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class Directive(Node):
    """`.input name(parameters)`; `kind` is `input`, `output`, `printsize` or `limitsize`."""

    kind: str
    name: str
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pragma(Node):
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Lattice(Node):
    """`.lattice Name<> { operator -> argument }`"""

    name: str
    operators: tuple[tuple[str, Argument], ...]


@dataclass(frozen=True, slots=True)
class ComponentType(Node):
    """`Name<P, Q>`"""

    name: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Component(Node):
    type: ComponentType
    bases: tuple[ComponentType, ...]
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Instance(Node):
    """`.init name = type`"""

    name: str
    type: ComponentType


@dataclass(frozen=True, slots=True)
class Override(Node):
    name: str


Item = (
    TypeDeclaration
    | RelationDeclaration
    | FunctorDeclaration
    | Clause
    | Directive
    | Pragma
    | Lattice
    | Component
    | Instance
    | Override
)


@dataclass(frozen=True, slots=True)
class Program(Node):
    items: tuple[Item, ...]


def children(node: Node) -> Iterator[Node]:
    """Yields the nodes right inside a node, in the order of the text."""
    for each in fields(node):
        value = getattr(node, each.name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, Node):
                    yield item
                elif isinstance(item, tuple):
                    yield from (one for one in item if isinstance(one, Node))


def walk(node: Node, *, into_aggregates: bool = True) -> Iterator[Node]:
    """Yields a node and all nodes inside it, in the order of the text."""
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        if isinstance(found, Aggregate) and not into_aggregates:
            continue
        stack.extend(reversed([*children(found)]))
