"""Variant → a Python function that runs it over tables, row by row, with weights.

    P(x, z) :- A(x, y), B(y, z).    delta at A:    for each row of the delta, each row of B with its y:  emit (x, z)
                                                   with the product of the two weights

Steps become the source text of nested loops, in which variables of the rule are local variables; the text contains only
numbers of the program. Literals before the delta in the body are read with the epoch's changes, those after it without:
so every combination counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import mul
from typing import Any, Protocol

from tidelog.check import typed
from tidelog.engine.local.encoding.words import Values, is_its_word
from tidelog.engine.local.storage.weighted_table import Row, Table
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import compile_scalar
from tidelog.plan.variant import Antijoin, DeltaKind, Filter, Join, Leap, Let, Step, Take, Variant
from tidelog.rules.ir import Atom, Constant, Rule, Term, Variable, Wildcard
from tidelog.rules.lower.unfold import compile_unfold
from tidelog.types import Type

Emit = Callable[[Row, int], None]
Run = Callable[[Iterable[tuple[Row, int]]], None]
_COMBINED = {mul: "{0} * own", max: "{0} if {0} > own else own"}
_MOST_LOOPS = 15


class Readable(Protocol):
    """The part of a relation's interface that a run needs; see `Table`."""

    def weight(self, row: Row, *, new: bool) -> int: ...

    def find(self, columns: tuple[int, ...], key: Row, *, new: bool) -> Iterable[tuple[Row, int]]: ...


class Interpreter:
    """Makes runs from variants, for one engine. `combine`, `mul` or `max`, makes the weight of a combination from those
    of its rows. `pace` returns the function that the run of a rule calls before each slow step (`Watch.pace`).
    """

    def __init__(
        self,
        tables: Mapping[str, Readable],
        values: Values,
        functions: CompiledFunctions,
        combine: Callable[[int, int], int] = mul,
        pace: Callable[[Rule], Callable[[], None]] | None = None,
    ) -> None:
        self.tables = tables
        self.values = values
        self.functions = functions
        self.combine = combine
        self.pace = pace

    def run(
        self, variant: Variant, emit: Emit, *, all_new: bool | None = None
    ) -> Callable[[Iterable[tuple[Row, int]]], None]:
        """Returns a function that takes the rows of the delta with their weights and emits heads with theirs.

        With `all_new` everything but the delta is read with the epoch's changes; if it is false, without them. The
        delta of a rule's own hidden fact is `[((), 1)]`.
        """
        return _Run(self, variant, emit, all_new).start()


class _Run:
    """Writes the text of one run. `scope` has the objects that it names; variables of the rule are `v0`, `v1`, …."""

    def __init__(self, interpreter: Interpreter, variant: Variant, emit: Emit, all_new: bool | None) -> None:
        self._interpreter = interpreter
        self._values = interpreter.values
        self._variant = variant
        self._all_new = all_new
        self._names: dict[str, str] = {}
        self._scope: dict[str, Any] = {"emit": emit}
        if interpreter.pace is not None:
            self._scope["pace"] = interpreter.pace(variant.rule)
        self._weight = "weight"
        self._is_paced = False
        self._lines: list[str] = []
        self._depth = 0

    def start(self) -> Run:
        self._write("def run(rows):")
        self._loop("row, weight", "rows")
        delta = self._variant.delta
        if delta.atom is not None:
            self._match(delta.atom, ())
        for step in self._variant.steps:
            self._step(step)
        head = _tuple(self._read(term) for term in self._variant.rule.head.terms)
        self._write(f"emit({head}, {self._weight})")
        exec("\n".join(self._lines), self._scope)
        run: Run = self._scope["run"]
        return run

    # Text

    def _write(self, line: str) -> None:
        self._lines.append(" " * self._depth + line)
        self._depth += line.endswith(":")

    def _loop(self, target: str, iterable: str) -> None:
        """Opens a loop around the following text; a step that does not match continues with the next element."""
        if self._depth > _MOST_LOOPS:
            # Python has a limit on loops inside one another: the rest is a function of its own.
            given = ", ".join((self._weight, *self._names.values()))
            name = self._name("rest", None)
            self._write(f"{name}({given})")
            self._depth = 0
            self._write(f"def {name}({given}):")
        self._write(f"for {target} in {iterable}:")
        self._is_paced = False

    def _require(self, condition: str) -> None:
        self._write(f"if not ({condition}): continue")

    def _name(self, kind: str, value: Any) -> str:
        """Returns a name for an object that the text needs."""
        name = f"{kind}{len(self._scope)}"
        self._scope[name] = value
        return name

    # Steps

    def _step(self, step: Step) -> None:
        if self._interpreter.pace is not None and not self._is_paced:
            self._write("pace()")
            self._is_paced = True
        match step:
            case Join(atom, position, keys):
                self._join(atom, keys, self._is_new(position))
            case Antijoin(atom, position):
                weight = self._name("weigh", self._interpreter.tables[atom.relation].weight)
                row = _tuple(map(self._read, atom.terms))
                self._require(f"{weight}({row}, new={self._is_new(position)}) <= 0")
            case Filter(expression):
                self._require(self._called(expression, self._scalar(expression)))
            case Let(variable, expression, compare):
                value = self._encoded(self._called(expression, self._scalar(expression)), variable.type)
                if compare:
                    self._require(f"{value} == {self._names[variable.name]}")
                else:
                    self._write(f"{self._bind(variable.name)} = {value}")
            case Take(unfold, known):
                ways = compile_unfold(unfold, self._interpreter.functions).call
                called = self._called(unfold.expression, ways)
                self._loop("way", called)
                for place, variable in enumerate(unfold.variables):
                    value = self._encoded(f"way[{place}]", variable.type)
                    if variable.name in known:
                        self._require(f"{value} == {self._names[variable.name]}")
                    else:
                        self._write(f"{self._bind(variable.name)} = {value}")
            case Leap():
                raise AssertionError("plans for Python have no leapfrog joins")

    def _is_new(self, position: int) -> bool:
        return position < self._variant.delta.position if self._all_new is None else self._all_new

    def _join(self, atom: Atom, keys: tuple[int, ...], new: bool) -> None:
        find = self._name("find", self._interpreter.tables[atom.relation].find)
        key = _tuple(self._read(atom.terms[column]) for column in keys)
        self._loop("row, own", f"{find}({keys!r}, {key}, new={new})")
        self._match(atom, keys)
        before, self._weight = self._weight, f"weight_{len(self._lines)}"
        self._write(f"{self._weight} = {_COMBINED[self._interpreter.combine].format(before)}")

    def _match(self, atom: Atom, known: tuple[int, ...]) -> None:
        """Binds the columns of a row that are not `known`, and compares those that are bound already."""
        for column, term in enumerate(atom.terms):
            if column in known or isinstance(term, Wildcard):
                continue
            if isinstance(term, Variable) and term.name not in self._names:
                self._write(f"{self._bind(term.name)} = row[{column}]")
            else:
                self._require(f"row[{column}] == {self._read(term)}")

    def _scalar(self, expression: typed.Expression) -> Callable[..., Any]:
        names = sorted(typed.variables(expression))
        return compile_scalar(expression, names, self._interpreter.functions).call

    def _called(self, expression: typed.Expression, function: Callable[..., Any]) -> str:
        """Returns a call with the values of the expression's variables."""
        types = _types(expression)
        given = ", ".join(self._decoded(name, types[name]) for name in sorted(typed.variables(expression)))
        return f"{self._name('call', function)}({given})"

    def _decoded(self, variable: str, type_: Type) -> str:
        name = self._names[variable]
        return name if is_its_word(type_) else f"{self._name('decode', self._values.decoder(type_))}({name})"

    def _encoded(self, value: str, type_: Type) -> str:
        return value if is_its_word(type_) else f"{self._name('encode', self._values.encoder(type_))}({value})"

    def _bind(self, name: str) -> str:
        return self._names.setdefault(name, f"v{len(self._names)}")

    def _read(self, term: Term) -> str:
        match term:
            case Variable(name):
                return self._names[name]
            case Constant(value, type_):
                return repr(int(self._values.word(value, type_)))
            case Wildcard():
                raise AssertionError("a wildcard has no value")


def _tuple(parts: Iterable[str]) -> str:
    return f"({''.join(f'{part}, ' for part in parts)})"


def delta_rows(variant: Variant, tables: Mapping[str, Table]) -> list[tuple[Row, int]]:
    """Returns the changed rows that a variant starts from. A row inserted into a negated relation removes instances."""
    delta = variant.delta
    if delta.atom is None:
        return [((), 1)]
    table = tables[delta.atom.relation]
    if delta.kind is DeltaKind.POSITIVE:
        return list(table.delta.items())
    inserted, deleted = table.presence_changes()
    return [(row, -1) for row in inserted] + [(row, 1) for row in deleted]


def _types(expression: typed.Expression) -> dict[str, Type]:
    """Returns the types of the variables in an expression."""
    found = {node.name: node.type for node in typed.walk(expression) if isinstance(node, typed.Var)}
    for node in typed.walk(expression):
        if isinstance(node, typed.SetPlace):
            found.setdefault(node.place.variable.name, node.place.variable.type)
    return found
