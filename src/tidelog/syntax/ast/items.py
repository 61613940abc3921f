"""The items of a program: declarations and rules."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.syntax.ast.expressions import Attribute, Expression
from tidelog.syntax.ast.nodes import Name, Node
from tidelog.syntax.ast.rules import Atom, ForStatement, Rule
from tidelog.syntax.ast.types import ArgumentType, Type


@dataclass(frozen=True, slots=True)
class Import(Node):
    """`import module as alias`; both may be paths, `a::b`."""

    module: Name
    alias: Name | None


# Types


@dataclass(frozen=True, slots=True)
class Field(Node):
    """`name: type`, in a constructor."""

    name: Name
    type: Type
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True, slots=True)
class Constructor(Node):
    """`Name{fields}`, or only `Name` beside others."""

    name: Name
    fields: tuple[Field, ...]
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True, slots=True)
class Constructors(Node):
    """`A{x: u8} | B`: a struct where there is one, a tagged union where there are several."""

    constructors: tuple[Constructor, ...]


@dataclass(frozen=True, slots=True)
class TypeDeclaration(Node):
    """`typedef name<'A> = definition`, or `extern type name<'A>` where there is none. A Type makes it an alias."""

    name: Name
    parameters: tuple[Name, ...]
    definition: Type | Constructors | None
    attributes: tuple[Attribute, ...] = ()


# Functions


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """`name: type` or `name: mut type`"""

    name: Name
    type: ArgumentType
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionDeclaration(Node):
    """`function name(parameters): result {body}`, or `… = body` where `equals`, or extern where there is no body.

    In braces the body is a Block. Without a result it is `()`.
    """

    name: Name
    parameters: tuple[Parameter, ...]
    result: Type | None
    body: Expression | None
    equals: bool = False
    attributes: tuple[Attribute, ...] = ()


# Relations


@dataclass(frozen=True, slots=True)
class Column(Node):
    name: Name
    type: Type
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True, slots=True)
class PrimaryKey(Node):
    """`primary key (variable) expression`"""

    variable: Name
    expression: Expression


@dataclass(frozen=True, slots=True)
class RelationDeclaration(Node):
    """`role kind &name(columns) primary key (x) …`, or `role kind &name[type] …`: then `type` is not None.

    `role` is `input`, `output`, or empty; `kind` is `relation`, `multiset` or `stream`. The span is that of the whole
    declaration.
    """

    role: str
    name: Name
    columns: tuple[Column, ...]
    kind: str = "relation"
    reference: bool = False
    type: Type | None = None
    key: PrimaryKey | None = None
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexDeclaration(Node):
    """`index name(columns) on atom`"""

    name: Name
    columns: tuple[Column, ...]
    atom: Atom


# Transformers


@dataclass(frozen=True, slots=True)
class RelationType(Node):
    """`relation[type]`"""

    type: Type


@dataclass(frozen=True, slots=True)
class FunctionSignature(Node):
    """`function(parameters): result`, with the names of the parameters."""

    parameters: tuple[Parameter, ...]
    result: Type


@dataclass(frozen=True, slots=True)
class TransformerParameter(Node):
    """`name: relation[T]` or `name: function(x: T): U`"""

    name: Name
    type: RelationType | FunctionSignature


@dataclass(frozen=True, slots=True)
class TransformerDeclaration(Node):
    """`extern transformer name(inputs) -> (outputs)`"""

    name: Name
    inputs: tuple[TransformerParameter, ...]
    outputs: tuple[TransformerParameter, ...]


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """`apply transformer(inputs) -> (outputs)`; an input is a relation or a function."""

    transformer: Name
    inputs: tuple[Name, ...]
    outputs: tuple[Name, ...]


Item = (
    Import
    | TypeDeclaration
    | FunctionDeclaration
    | RelationDeclaration
    | IndexDeclaration
    | TransformerDeclaration
    | Apply
    | Rule
    | ForStatement
)


@dataclass(frozen=True, slots=True)
class Program(Node):
    items: tuple[Item, ...]
