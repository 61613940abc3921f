"""Steps of a rule → a Python function that runs them row by row, with weights, as nested loops.

    P(x, z) :- A(x, y), B(y, z).    start at A:    for each of the given rows of A, each row of B with its y:  the end,
                                                   with x, z and the product of the two weights

The loops are written as Python text, in which variables of the rule are local variables; the text contains only numbers
and quoted names of the program. Strata run it over tables, with an end that emits heads (`strata.row_interpreter`);
queries and proofs run it over committed rows, with an end that yields, so that each instance is found when it is asked
for (`queries.match_rule`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import mul
from typing import Any

from tidelog.check import typed
from tidelog.engine.local.encoding.words import Values, is_its_word
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.runtime_errors import ROW_ERRORS, name_row
from tidelog.functions.scalar import compile_scalar
from tidelog.plan.variant import Antijoin, Filter, Join, Leap, Let, Step, Take
from tidelog.rules.ir import Atom, Constant, Rule, Term, Unfold, Variable, Wildcard
from tidelog.rules.lower.unfold import compile_unfold
from tidelog.rules.variables import variable_types
from tidelog.types import Type

Access = Callable[[Join | Antijoin], tuple[Callable[..., Any], str]]
"""Returns how a literal reads its relation: the function, and the text of its last argument (that may be empty).

For a join, the function takes columns and a key and returns rows with weights; for an antijoin it returns the weight of
a row.
"""
_COMBINED = {mul: "{0} * own", max: "{0} if {0} > own else own"}
_MOST_LOOPS = 15


@dataclass(frozen=True, slots=True)
class LeapfrogStep:
    """Steps that a kernel runs in one go. `ways` returns the words of `found`, for words of `given`, once per match."""

    given: tuple[str, ...]
    found: tuple[str, ...]
    ways: Callable[[Row], Iterable[Sequence[int]]]


@dataclass
class RuleLoops:
    """Writes the loops of one rule.

    `word` gives the words of constants. `combine`, `mul` or `max`, makes the weight of an instance from those of its
    rows. `pace` is called before each slow step.
    """

    rule: Rule
    access: Access
    values: Values
    functions: CompiledFunctions
    word: Callable[[Any, Type], int]
    combine: Callable[[int, int], int] = mul
    pace: Callable[[], None] | None = None

    def compile(
        self,
        start: Atom | None,
        steps: Sequence[Step | LeapfrogStep],
        end: str,
        given: tuple[str, ...] = (),
        **scope: object,
    ) -> Callable[..., Any]:
        """Returns the function of rows of `start`, with their weights, and of the `given` arguments.

        `end` is the statement for each instance, with names of `scope`; if it yields, the function is a generator.
        Its {head}, {words} (by the names of variables), {rows} (of the positive literals, in their order) and {weight}
        are replaced. An argument `tries` is told of each step that begins (`reach`), of the words there if that returns
        true, and of results that differ from known words (`miss`).
        """
        self._types = variable_types(self.rule)
        self._given = given
        self._names: dict[str, str] = {}
        self._bound_at: dict[str, int] = {}  # variable → the line that binds it
        failed = partial(_name_row, self._types, self._names, self._bound_at, self.values)
        self._scope: dict[str, Any] = {**scope, "pace": self.pace, "row_errors": ROW_ERRORS, "failed": failed}
        self._rows: dict[int, str] = {}
        self._weight = "weight"
        self._lines: list[str] = []
        self._depth = 0
        self._call = "yield from " if end.startswith("yield") else ""
        self._open(f"def run({', '.join(('rows', *given))}):")
        self._loop("row, weight", "rows")
        if start is not None:
            self._match(start, "row", ())
        for place, step in enumerate(steps):
            self._step(place, step)
        head = _tuple(map(self._read, self.rule.head.terms))
        rows = _tuple(self._rows[position] for position in sorted(self._rows))
        self._write(end.format(head=head, words=_dict(self._names), rows=rows, weight=self._weight))
        self._close()
        exec("\n".join(self._lines), self._scope)
        run: Callable[..., Any] = self._scope.pop("run")
        return run

    # Text

    def _write(self, line: str) -> None:
        self._lines.append(" " * self._depth + line)
        self._depth += line.endswith(":")

    def _open(self, function: str) -> None:
        self._write(function)
        self._write("try:")

    def _close(self) -> None:
        """Ends a function: an error that names its row learns the variables that are bound where it happened."""
        self._depth = 1
        self._write("except row_errors as error:")
        self._write("failed(error, locals())")
        self._write("raise")
        self._depth = 0

    def _loop(self, target: str, iterable: str) -> None:
        """Opens a loop around the following text; a step that does not match continues with the next element."""
        if self._depth > _MOST_LOOPS:
            # Python has a limit on loops inside one another: the rest is a function of its own.
            known = ", ".join((*self._given, self._weight, *self._names.values(), *self._rows.values()))
            name = self._name("rest", None)
            self._write(f"{self._call}{name}({known})")
            self._close()
            self._open(f"def {name}({known}):")
        self._write(f"for {target} in {iterable}:")
        self._is_paced = self.pace is None

    def _require(self, condition: str, otherwise: str = "") -> None:
        self._write(f"if not ({condition}): {otherwise}continue")

    def _name(self, kind: str, value: Any) -> str:
        """Returns a name for an object that the text needs."""
        name = f"{kind}{len(self._scope)}"
        self._scope[name] = value
        return name

    # Steps

    def _step(self, place: int, step: Step | LeapfrogStep) -> None:
        if "tries" in self._given:
            self._write(f"if tries.reach({place}): tries.words = {_dict(self._names)}")
        if not self._is_paced:
            self._write("pace()")
            self._is_paced = True
        match step:
            case Join(atom, position, keys):
                self._join(step, atom, position, keys)
            case Antijoin(atom):
                weigh, last = self.access(step)
                self._require(f"{self._name('weigh', weigh)}({_tuple(map(self._read, atom.terms))}, {last}) <= 0")
            case Filter(expression):
                self._require(self._called(expression))
            case Let(variable, expression, compare):
                value = self._called(expression)
                if compare:
                    self._write(f"way = {value}")
                self._take(place, {variable: "way" if compare else value}, (variable.name,) if compare else ())
            case Take(unfold, known):
                self._loop("way", self._called(unfold.expression, unfold))
                self._take(place, {each: f"way[{i}]" for i, each in enumerate(unfold.variables)}, known)
            case LeapfrogStep(given, found, leap):
                words = _tuple(self._names[name] for name in given)
                self._loop("way", f"{self._name('leap', leap)}({words})")
                self._write(f"{_tuple(map(self._bind, found))} = way")
            case Leap():
                raise AssertionError("Python runs leapfrog joins as a `LeapfrogStep`")

    def _join(self, step: Join, atom: Atom, position: int, keys: tuple[int, ...]) -> None:
        find, last = self.access(step)
        key = _tuple(self._read(atom.terms[column]) for column in keys)
        row = f"row_{len(self._lines)}"
        self._loop(f"{row}, own", f"{self._name('find', find)}({keys!r}, {key}, {last})")
        self._match(atom, row, keys)
        self._rows[position] = row
        before, self._weight = self._weight, f"weight_{len(self._lines)}"
        self._write(f"{self._weight} = {_COMBINED[self.combine].format(before)}")

    def _match(self, atom: Atom, row: str, known: tuple[int, ...]) -> None:
        """Binds the columns of a row that are not `known`, and compares those that are bound already."""
        for column, term in enumerate(atom.terms):
            if column in known or isinstance(term, Wildcard):
                continue
            if isinstance(term, Variable) and term.name not in self._names:
                self._write(f"{self._bind(term.name)} = {row}[{column}]")
            else:
                self._require(f"{row}[{column}] == {self._read(term)}")

    def _take(self, place: int, results: Mapping[Variable, str], known: Collection[str]) -> None:
        """Compares the results for variables that are known, and binds the other variables to theirs."""
        words = {each.name: self._encoded(value, each.type) for each, value in results.items()}
        if known:
            missed = f"tries.miss({place}, {_dict(words)}); " if "tries" in self._given else ""
            equal = (f"{words[name]} == {self._names[name]}" for name in words if name in known)
            self._require(" and ".join(equal), missed)
        for name, word in words.items():
            if name not in known:
                self._write(f"{self._bind(name)} = {word}")

    def _called(self, expression: typed.Expression, unfold: Unfold | None = None) -> str:
        """Returns a call of the expression, or of its unfolding, with the values of its variables."""
        names = sorted(typed.variables(expression))
        functions = self.functions
        scalar = compile_unfold(unfold, functions) if unfold else compile_scalar(expression, names, functions)
        return f"{self._name('call', scalar.call)}({', '.join(map(self._decoded, names))})"

    def _decoded(self, variable: str) -> str:
        name, type_ = self._names[variable], self._types[variable]
        return name if is_its_word(type_) else f"{self._name('decode', self.values.decoder(type_))}({name})"

    def _encoded(self, value: str, type_: Type) -> str:
        return value if is_its_word(type_) else f"{self._name('encode', self.values.encoder(type_))}({value})"

    def _bind(self, name: str) -> str:
        self._bound_at.setdefault(name, len(self._lines) + 1)
        return self._names.setdefault(name, f"v{len(self._names)}")

    def _read(self, term: Term) -> str:
        match term:
            case Variable(name):
                return self._names[name]
            case Constant(value, type_):
                return repr(int(self.word(value, type_)))
            case Wildcard():
                raise AssertionError("a wildcard has no value")


def _name_row(
    types: Mapping[str, Type],
    names: Mapping[str, str],
    bound_at: Mapping[str, int],
    values: Values,
    error: Exception,
    words: Mapping[str, Any],
) -> None:
    """Adds the values of the variables to an error of the loops; `words` are the local variables there."""
    trace = error.__traceback__
    line = 0 if trace is None else trace.tb_lineno
    # What is bound behind the line has the words of an earlier row.
    bound = [name for name, at in bound_at.items() if at < line]
    name_row(error, {name: values.decoder(types[name])(words[names[name]]) for name in bound})


def _tuple(parts: Iterable[str]) -> str:
    return f"({''.join(f'{part}, ' for part in parts)})"


def _dict(parts: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{key!r}: {part}' for key, part in parts.items())}}}"
