"""The typed program, the result of `check`.

Names are resolved and fully qualified (`net::Host`; without a module in the main one), arguments stand in the order of
the columns (an omitted one is a wildcard), every expression is typed, and every variable is bound. The body of a rule
keeps its written order, except that a condition or a negated literal that stands before its variables are bound is
moved to behind the literal that binds the last of them. Imperative rules are plain rules here, `Aggregate` is a
`GroupBy`, and `group_by` inside an expression is a `GroupBy` before the literal that it stood in. A least or greatest
value over rows is that of a `GroupBy`, too.

`relations`, `types`, `functions` and the rest also hold the declarations of imported modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidelog.check.typed import Expression, Pattern, Var
from tidelog.diagnostics.report import Diagnostic
from tidelog.diagnostics.spans import Source, Span
from tidelog.types import Type

if TYPE_CHECKING:
    from tidelog.check.names.scope import Environment
    from tidelog.check.rule.recursion import Recursion, Tree
    from tidelog.check.rule.same_rule import RuleKey

# Types


@dataclass(frozen=True, slots=True)
class Attribute:
    """`#[name]` or `#[name = value]`; the value is a literal, or the text of a type."""

    name: str
    value: bool | int | float | str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a constructor; its type may mention the type's parameters."""

    name: str
    type: Type
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True, slots=True)
class Constructor:
    """A constructor by its qualified name."""

    name: str
    fields: tuple[Field, ...]
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True, slots=True)
class TypeDefinition:
    """A declared type: a struct (one constructor), a tagged union (several), or extern (`constructors` is None).

    Every relation with columns declares a struct of its own name. `item` is what a `for` loop or `FlatMap` takes out of
    a value, if it can; it mentions the parameters.
    """

    name: str
    parameters: tuple[str, ...]
    constructors: tuple[Constructor, ...] | None
    attributes: tuple[Attribute, ...]
    span: Span
    item: Type | None = None


# Functions


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: Type
    mutable: bool
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A declared function; an extern one has no body.

    `id` is its key in `TypedProgram.functions`: the qualified name, with the types of its parameters where the name has
    several functions. `type_parameters` are the type variables in the order of their first mention.
    """

    id: str
    name: str
    type_parameters: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    result: Type
    body: Expression | None
    attributes: tuple[Attribute, ...]
    span: Span

    @property
    def is_extern(self) -> bool:
        return self.body is None


# Relations


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class PrimaryKey:
    """`primary key (variable) expression`: the variable stands for the whole row."""

    variable: Var
    expression: Expression


@dataclass(frozen=True, slots=True)
class Relation:
    """`role` is `input`, `output`, or empty; `kind` is `relation`, `multiset` or `stream`; the span is its name's.

    `value` is the type of a row as one value: a struct named like the relation, whose fields are the columns. Where it
    was declared as `R[T]`, `value` is T, `explicit` is true, and the one column holds the whole value. Where it was
    declared with `&` (`reference`), variables that stand for rows have the type `Ref<value>`.
    """

    name: str
    role: str
    columns: tuple[Column, ...]
    span: Span
    kind: str = "relation"
    value: Type | None = None
    explicit: bool = False
    reference: bool = False
    key: PrimaryKey | None = None
    attributes: tuple[Attribute, ...] = ()


# Rules


@dataclass(frozen=True, slots=True)
class Wild:
    """`_`, or a column that a named atom leaves out."""

    span: Span


Term = Expression | Wild | Pattern


@dataclass(frozen=True, slots=True)
class Atom:
    """A declared relation and one term for each of its columns.

    In a positive literal of a body, a term that is only a variable binds it if nothing before has done so; what is
    taken apart is a pattern. In a negated literal patterns hold no new variables; in a head all terms are expressions.
    `row`, if there is one, is a variable for the whole row: `r in R(x, y)`. `delay` is the `n` of `R-n`; `latest` is
    the `'` behind a stream; `location` is what stands behind the `@` of a head.
    """

    relation: str
    terms: tuple[Term, ...]
    span: Span
    row: Var | None = None
    delay: int = 0
    latest: bool = False
    location: Expression | None = None


@dataclass(frozen=True, slots=True)
class Positive:
    atom: Atom
    span: Span


@dataclass(frozen=True, slots=True)
class Negative:
    atom: Atom
    span: Span


@dataclass(frozen=True, slots=True)
class Condition:
    expression: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Assign:
    """`var variable = expression`"""

    variable: str
    type: Type
    expression: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Destructure:
    """`pattern = expression`: the rule goes on where the value fits, with the pattern's variables bound."""

    pattern: Pattern
    expression: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class FlatMap:
    """`pattern = FlatMap(expression)`: the rule goes on once for each item that fits the pattern."""

    pattern: Pattern
    expression: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class GroupBy:
    """Binds `variable` to the group of all `value`s that have the same `key`, a variable or a tuple of variables.

    `keys` are those variables. Behind it only they and the group are bound.
    """

    variable: str
    type: Type
    value: Expression
    key: Expression
    keys: tuple[Var, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class RowAggregate:
    """One value over rows: `function` is `count`, `sum`, `avg`, `min` or `max`; `value` is None for `count()`."""

    function: str
    variable: str
    type: Type
    value: Expression | None


@dataclass(frozen=True, slots=True)
class RowAggregates:
    """Binds a variable to each of the `values`, over all rows before it that have the same keys.

    Behind it only these variables and the keys are bound.
    """

    values: tuple[RowAggregate, ...]
    keys: tuple[Var, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Inspect:
    """`Inspect expression`, run for every change; may read `ddlog_weight` and `ddlog_timestamp`."""

    expression: Expression
    span: Span


Literal = Positive | Negative | Condition | Assign | Destructure | FlatMap | GroupBy | RowAggregates | Inspect


@dataclass(frozen=True, slots=True)
class Rule:
    """The heads hold no wildcard; all their variables are bound by the body."""

    heads: tuple[Atom, ...]
    body: tuple[Literal, ...]
    span: Span
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True, slots=True)
class Index:
    """`index name(columns) on atom`: the atom's variables are the columns."""

    name: str
    columns: tuple[Column, ...]
    atom: Atom
    span: Span


# Transformers


@dataclass(frozen=True, slots=True)
class Transformer:
    """`extern transformer`: parameters are the types of rows (relations) or functions."""

    name: str
    inputs: tuple[tuple[str, Type], ...]
    outputs: tuple[tuple[str, Type], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Apply:
    """`apply transformer(inputs) -> (outputs)`: an input is a relation's name or a function."""

    transformer: str
    inputs: tuple[str | Expression, ...]
    outputs: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Trees:
    """Rules as they were parsed, each with its module, and how they and the applications depend on one another.

    `keys` say what each rule is (`check.same_rule`), in a program as it was compiled.
    """

    rules: tuple[Tree, ...] = ()
    recursion: Recursion | None = None
    keys: tuple[RuleKey, ...] = ()


@dataclass(frozen=True, slots=True)
class TypedProgram:
    """Everything by its qualified name, in the order of the text; what imported modules declare comes first.

    `warnings` are about a program that is right, and perhaps not as was meant. `environment` is what its names mean,
    for queries and rules that are checked later. `sources` are the texts that it was read from, by the names of their
    modules; that of the main one is empty. The library's are not among them. `trees` are what the rules were read from,
    one by one.
    """

    relations: Mapping[str, Relation]
    rules: tuple[Rule, ...]
    types: Mapping[str, TypeDefinition] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    indexes: Mapping[str, Index] = field(default_factory=dict)
    transformers: Mapping[str, Transformer] = field(default_factory=dict)
    applications: tuple[Apply, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    environment: Environment | None = field(default=None, compare=False, repr=False)
    sources: Mapping[str, Source] = field(default_factory=dict, compare=False)
    trees: Trees = field(default_factory=lambda: Trees(), compare=False, repr=False)
