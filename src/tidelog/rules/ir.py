"""The rules of a program as engines see them: one small, flat form.

`lower` makes it from the typed program. What is gone by then: expressions inside atoms (each is a variable of its own
with an `Assign` before it), patterns (an `Unfold` behind the atom), wildcards under negation (the atom stands on a
hidden projection of the relation), `group_by` (a hidden relation and a rule that groups it), `Inspect` (a hidden
relation whose changes are shown), delays (a hidden relation that is fed), and facts (a fact is a rule with an empty
body). What stays: the order of the body as written, because an expression that may fail (a division)
must not run before the conditions that stand in front of it.

Every rule also has a hidden nullary fact as the last position of its body. It is not written here: a rule's presence
in the program *is* that fact. To add or remove a rule is to insert or delete it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tidelog.check.typed import Expression, Pattern
from tidelog.diagnostics.spans import Span
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import ScalarFunction
from tidelog.types import Type
from tidelog.values import Definitions


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of one rule; the name is unique within the rule."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Constant:
    """A value written in the program, in its Python form, that fits the type."""

    value: Any
    type: Type


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`_`: any value. Only in positive atoms of a body."""


Term = Variable | Constant | Wildcard


@dataclass(frozen=True, slots=True)
class Atom:
    """A relation applied to terms, one for each of its columns. A variable may stand more than once."""

    relation: str
    terms: tuple[Term, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Positive:
    """Holds for each row of the relation that matches."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Negative:
    """Holds while no row matches. The terms are constants and variables bound elsewhere in the body."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Condition:
    """Holds when the Boolean expression is true."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Assign:
    """Binds the variable, which no other literal binds, to the value of the expression."""

    variable: Variable
    expression: Expression


@dataclass(frozen=True, slots=True)
class Unfold:
    """Takes a value apart: goes on once where it fits the pattern, or (`each`) once for every item of it that fits.

    `variables` are those that the pattern declares, in its order; no other literal binds them. The pattern holds no
    expressions: what an atom compares is a `Condition` behind it. Where items are `numbered`, one more variable comes
    last: the number of the item among those that fit.
    """

    variables: tuple[Variable, ...]
    pattern: Pattern
    expression: Expression
    each: bool
    numbered: bool = False


class AggregateKind(Enum):
    """What is kept of a group; where it says `of`, of what an expression makes of each value.

    A `SUM` of integers wraps around; a `TOTAL` is exact, and must fit into its type.
    """

    COUNT = "count"
    COUNT_IF = "count_if"
    SUM = "sum"
    TOTAL = "total"
    MIN = "min"
    MAX = "max"
    ARG_MIN = "arg_min"
    ARG_MAX = "arg_max"
    JOIN = "join"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One value that is kept of a group, in the place of the group.

    `of` is an expression over `parameters`, which are the parts of one value of the group, and over the group's keys,
    and `read` is it as a function of those; None for the value itself. A `MIN` or `MAX` with an expression is that of
    one part of the values. Only a `JOIN` has a `separator`.
    """

    kind: AggregateKind
    variable: Variable
    parameters: tuple[Variable, ...]
    of: Expression | None = None
    read: ScalarFunction | None = None
    separator: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The only literal of a hidden rule `G(k, …, g) :- group of H(k, …, value)`: one row for each key that H has.

    With `aggregates` the rule is `G(k, …, a, …) :- a, … of H(k, …, value)`: the group itself is nowhere.

    `atom` has a variable for each key column and wildcards behind them. The last of those stands for the values; what
    stands before it only orders them and keeps equal ones apart. The group's own key is a tuple of the key columns, or
    the column itself where `plain` is true. `weighted`: somebody reads the weights of its values. `finer`: so many of
    the wildcards, right behind the keys, are keys of groups that share the members; values that differ in nothing else
    are one. `parts`: a value is a tuple of so many columns, the last ones, if there are several. `of_rows`: the members
    are combinations of rows (`lower.row_aggregates`), and `weighted` says that each counts as often as its weight says.
    """

    atom: Atom
    variable: Variable
    plain: bool
    weighted: bool = False
    aggregates: tuple[Aggregate, ...] | None = None
    finer: int = 0
    parts: int = 1
    of_rows: bool = False


@dataclass(frozen=True, slots=True)
class Transform:
    """The only literal of a hidden rule: its head is what a transformer makes of whole relations.

    `inputs` are atoms of the relations that it reads, all wildcards, or functions; `place` says which of its `outputs`.
    """

    name: str
    transformer: Callable[..., Any] = field(compare=False)
    inputs: tuple[Atom | ScalarFunction, ...]
    place: int
    span: Span
    outputs: int = 1


Literal = Positive | Negative | Condition | Assign | Unfold | Group | Transform


@dataclass(frozen=True, slots=True)
class Rule:
    """`head :- body`. `id` is its place in the program, `text` its source, for reports and errors.

    The head's terms are variables (bound by the body) and constants. `join`, `maintain` and `cycle` are the values of
    its attributes, or empty; `max_rounds` is that of its attribute, or 0. Of the body, `positives` and `negatives` are
    the atoms of such literals, `group` and `transform` the literal of a rule that does that, and `atoms` every atom:
    positive, negated, grouped, transformed.
    """

    id: int
    head: Atom
    body: tuple[Literal, ...]
    text: str
    span: Span
    join: str = ""
    maintain: str = ""
    cycle: str = ""
    max_rounds: int = 0

    positives: tuple[Atom, ...] = field(init=False, repr=False, compare=False)
    negatives: tuple[Atom, ...] = field(init=False, repr=False, compare=False)
    group: Group | None = field(init=False, repr=False, compare=False)
    transform: Transform | None = field(init=False, repr=False, compare=False)
    atoms: tuple[Atom, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        positives = tuple(literal.atom for literal in self.body if isinstance(literal, Positive))
        negatives = tuple(literal.atom for literal in self.body if isinstance(literal, Negative))
        first = self.body[0] if self.body else None
        group = first if isinstance(first, Group) else None
        transform = first if isinstance(first, Transform) else None
        grouped = () if group is None else (group.atom,)
        transformed = () if transform is None else tuple(each for each in transform.inputs if isinstance(each, Atom))
        # They are asked for at every turn of a rule's life, for every rule of a program.
        note = object.__setattr__
        note(self, "positives", positives)
        note(self, "negatives", negatives)
        note(self, "group", group)
        note(self, "transform", transform)
        note(self, "atoms", (*positives, *negatives, *grouped, *transformed))


class Role(Enum):
    """What a relation is to the user. A hidden relation was made by `lower` and has a `#` in its name."""

    INPUT = "input"
    OUTPUT = "output"
    INTERNAL = "internal"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: Type


class Kind(Enum):
    """A set, a multiset (each row has a weight), or a stream (its rows last for one epoch)."""

    SET = "relation"
    MULTISET = "multiset"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Relation:
    """A declared (or hidden) relation. It may have no column at all: then it holds at most the row `()`.

    `value` is the type of a row as one value: a struct named like the relation or, where `explicit` is true, the type
    of the one column. `key` gives the primary key of such a value, which has the type `key_type`. A hidden relation
    has none of these. `weighted`: somebody asks how often a row is derived, so that it has to be known
    (`rules.weights`). `functional`: it is a function of so many of its first columns; 0 where nobody says so.
    """

    name: str
    columns: tuple[Column, ...]
    role: Role
    span: Span
    kind: Kind = Kind.SET
    value: Type | None = None
    explicit: bool = False
    key: ScalarFunction | None = field(default=None, compare=False)
    key_type: Type | None = None
    weighted: bool = False
    functional: int = 0


@dataclass(frozen=True, slots=True)
class Index:
    """`index name(columns) on …`: the rows of `relation` by the columns in `keys`.

    `row` are the columns of the relation that is looked at; it may be a hidden one that also has the keys.
    """

    name: str
    target: str
    relation: str
    keys: tuple[int, ...]
    columns: tuple[Column, ...]
    row: tuple[int, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Feed:
    """A hidden relation whose rows come from the past of another: `R-n` has R's changes `delay` epochs later.

    `S'` (`latest`) is a relation of what the stream S brings in this epoch.
    """

    relation: str
    source: str
    delay: int
    latest: bool


@dataclass(frozen=True, slots=True)
class Inspection:
    """`Inspect`: `function` is called for every change of the hidden relation.

    Its arguments are the columns, then the weight and the time of the change where it takes them.
    """

    relation: str
    function: ScalarFunction
    takes_weight: bool
    time: Type | None


@dataclass(frozen=True, slots=True)
class Stratum:
    """Relations that depend on one another (or one that does not), with the rules that derive them.

    `recursive`: a rule's body mentions a relation of the stratum. A relation without rules is a stratum of its own
    with no rules.
    """

    relations: tuple[str, ...]
    rules: tuple[Rule, ...]
    recursive: bool


@dataclass(frozen=True, slots=True)
class RuleProgram:
    """A whole program. Strata are in order: each reads only itself and those before it, and negates only the latter.

    `functions` are those that expressions call, with the definitions of the program's types.
    """

    relations: Mapping[str, Relation]
    rules: tuple[Rule, ...]
    strata: tuple[Stratum, ...]
    functions: CompiledFunctions = field(default_factory=lambda: CompiledFunctions(Definitions()), compare=False)
    indexes: Mapping[str, Index] = field(default_factory=dict)
    feeds: tuple[Feed, ...] = ()
    inspections: tuple[Inspection, ...] = ()

    def row_value(self, relation: Relation, row: tuple[Any, ...]) -> Any:
        """Returns a row of a declared relation as one value."""
        return row[0] if relation.explicit else self.functions.definitions.class_of(relation.name)(*row)
