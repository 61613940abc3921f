"""One rule → a DataFrame of its heads, given a DataFrame for each of its positive and negated literals.

    Reach(x, z) :- Reach(x, y), Edge(y, z), x != z.

    Reach[c0→v0, c1→v1] ⋈ Edge[c0→v1, c1→v2], where v0 != v2, select v0, v2

A frame of bindings has one column per variable bound so far. The order of literals joins on shared variables and, if
possible, starts with the delta. Conditions and assignments keep their order in the rule, and one that may fail waits
for everything in front of it. Comparisons become Spark expressions only where columns compare as the values do (never
the order of a `u64`, of a wide integer or of an encoding); all others go to `python_step`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidelog.check import typed
from tidelog.engine.spark import column_functions as f
from tidelog.engine.spark.encoding.columns import constant_column
from tidelog.engine.spark.plans.frames.python_step import RulePlace, ScalarStep, TypedColumn, apply_steps
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.functions.scalar import compile_scalar
from tidelog.rules.ir import (
    Assign,
    Atom,
    Condition,
    Constant,
    Group,
    Literal,
    Negative,
    Positive,
    Rule,
    Term,
    Transform,
    Unfold,
    Variable,
)
from tidelog.rules.lower.unfold import compile_unfold
from tidelog.rules.schema.arrow import plain_type
from tidelog.types import (
    BOOL,
    S64,
    BitType,
    BoolType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    SignedType,
    StringType,
    TimestampType,
    Type,
    is_word,
)

_UNIT = "unit"  # a column that every frame of bindings has, so that none is ever without columns
_CHECK = "check"

RANK, LEVEL = "_rank", "_level"


def rule_frame(
    spark: Any,
    rule: Rule,
    frames: Mapping[int, Any],
    delta: int | None,
    stratum: str,
    ranked: Collection[int] = (),
    is_small: bool = False,
    *,
    functions: CompiledFunctions,
) -> Any:
    """Returns the heads of the rule's instances, one row for each instance, in columns `c0`, ..., with its level.

    `frames` has, for the place of each positive and negated literal in the body, a frame with the relation's columns
    `c0`, ... as `columns.to_frame` makes them; for the places in `ranked` also with the column `_rank`. The level is
    the highest of these ranks, 0 where there are none. `delta` is the place of the smallest frame, if it is known;
    `is_small`: it is small enough to be sent to every task.
    """
    order = literal_order(rule, delta)
    bindings = _Bindings(spark, RulePlace(rule.text, str(rule.span), stratum), functions)
    bindings.stays_small = is_small and bool(order) and order[0] == delta
    for place in order:
        match rule.body[place]:
            case Positive(atom):
                bindings.join(atom, frames[place], f"r{place}" if place in ranked else None)
            case Negative(atom):
                bindings.subtract(atom, frames[place])
            case Condition(expression):
                bindings.require(expression)
            case Assign(variable, expression):
                bindings.assign(variable, expression)
            case Unfold() as unfold:
                bindings.unfold(unfold)
    frame = bindings.finish()
    terms = [bindings.value(term).alias(f"c{i}") for i, term in enumerate(rule.head.terms)]
    return frame.select(*terms, bindings.level().alias(LEVEL))


def literal_order(rule: Rule, delta: int | None) -> list[int]:
    """Returns the places of the body's literals in the order in which they are joined.

    The delta stands first unless that would multiply relations which the written order joins.
    """
    written, crossings = _schedule(rule, None)
    if delta is None:
        return written
    first, other_crossings = _schedule(rule, delta)
    return first if other_crossings <= crossings else written


def _schedule(rule: Rule, first: int | None) -> tuple[list[int], int]:
    """Returns an order that begins with the literal `first`, and how many of its joins share no variable."""
    waiting = [place for place, literal in enumerate(rule.body) if isinstance(literal, Positive)]
    steps = [place for place, literal in enumerate(rule.body) if not isinstance(literal, Positive)]
    order: list[int] = []
    bound: set[str] = set()
    crossings = 0
    while waiting or steps:
        done = set(order)
        ready = next((p for p in steps if _is_ready(rule.body[p], bound, done.issuperset(range(p)))), None)
        if ready is None and not waiting:
            # Here a literal that may fail waits only for literals that wait for one behind it.
            ready = next(p for p in steps if _is_ready(rule.body[p], bound, True))
        if ready is not None:
            place = ready
            steps.remove(place)
        else:
            joined = next((p for p in waiting if _names(rule.body[p]) & bound), waiting[0])
            place = first if first in waiting else joined
            names = _names(rule.body[place])
            crossings += bool(bound and names and not names & bound)
            waiting.remove(place)
        order.append(place)
        bound |= _names(rule.body[place])
    return order, crossings


def _is_ready(literal: Literal, bound: set[str], all_in_front: bool) -> bool:
    match literal:
        case Condition(expression) | Assign(_, expression) | Unfold(expression=expression):
            return typed.variables(expression) <= bound and (all_in_front or not typed.may_fail(expression))
        case _:
            return _names(literal) <= bound


def _names(literal: Literal) -> set[str]:
    """Returns the variables that are bound once a literal has been joined."""
    match literal:
        case Positive(atom) | Negative(atom):
            return {term.name for term in atom.terms if isinstance(term, Variable)}
        case Condition():
            return set()
        case Assign(variable):
            return {variable.name}
        case Unfold(variables):
            return {variable.name for variable in variables}
        case Group() | Transform():
            raise AssertionError("a rule that groups or transforms is no join")


class _Bindings:
    """A frame of bindings as it grows; steps for Python are gathered and run in one pass."""

    def __init__(self, spark: Any, place: RulePlace, functions: CompiledFunctions) -> None:
        self._spark = spark
        self._place = place
        self._functions = functions
        self._frame: Any = None
        self._columns: dict[str, tuple[str, Type]] = {}
        self.stays_small = False
        self._joins = 0
        self._ranks: list[str] = []
        self._steps: list[ScalarStep] = []
        self._checks = 0

    def join(self, atom: Atom, relation: Any, rank: str | None = None) -> None:
        """Joins the rows of a literal; `rank` is the column that is to hold their ranks."""
        self._run_steps()
        right, names = self._matching(atom, relation, rank)
        shared = [column for column in names.values() if column in {name for name, _ in self._columns.values()}]
        if self._frame is None:
            self._frame = right
        elif shared:
            self._frame = self._hinted().join(right.drop(_UNIT), on=shared)
        else:
            self._frame = self._frame.crossJoin(right.drop(_UNIT))
        for variable, column in names.items():
            self._columns[variable.name] = (column, variable.type)
        if rank is not None:
            self._ranks.append(rank)
        self._joins += 1

    def subtract(self, atom: Atom, relation: Any) -> None:
        self._run_steps()
        right, names = self._matching(atom, relation)
        condition = list(names.values()) if names else f.lit(True)
        right = right.drop(_UNIT) if names else right.limit(1).select()
        self._frame = self._current().join(right, condition, "left_anti")

    def require(self, expression: typed.Expression) -> None:
        native = self._native(expression)
        if native is None:
            self._steps.append(self._step(expression))
        else:
            self._run_steps()
            self._frame = self._current().filter(native)

    def assign(self, variable: Variable, expression: typed.Expression) -> None:
        """Binds the variable, or compares with it where a literal has bound it already."""
        if isinstance(expression, typed.Var | typed.Lit):
            self._run_steps()
            value = self._operand(expression)
            ((target, known),) = self._targets((variable,))
            self._frame = self._current().withColumn(target, value)
        else:
            step = self._step(expression)
            ((target, known),) = self._targets((variable,))
            self._steps.append(replace(step, targets=((target, variable.type),)))
        self._require_equal([(target, known)])

    def unfold(self, unfold: Unfold) -> None:
        """Binds the variables of a pattern, or compares with those that a literal has bound already."""
        arguments = tuple(self._columns[name] for name in sorted(typed.variables(unfold.expression)))
        row = tuple(self._columns.items())
        targets = self._targets(unfold.variables)
        named = tuple((target, variable.type) for (target, _), variable in zip(targets, unfold.variables, strict=True))
        self._steps.append(ScalarStep(compile_unfold(unfold, self._functions), arguments, named, row))
        self._require_equal(targets)

    def _targets(self, variables: Sequence[Variable]) -> list[tuple[str, str | None]]:
        """Returns a column for each variable, and the column that it must equal if the variable is already bound."""
        targets: list[tuple[str, str | None]] = []
        for variable in variables:
            known = self._columns.get(variable.name)
            if known is None:
                self._columns[variable.name] = (f"v{len(self._columns)}", variable.type)
                targets.append((self._columns[variable.name][0], None))
            else:
                targets.append((f"{_CHECK}{self._checks}", known[0]))
                self._checks += 1
        return targets

    def _require_equal(self, targets: Sequence[tuple[str, str | None]]) -> None:
        """Drops the rows whose new columns differ from the columns that were there."""
        if any(known is not None for _, known in targets):
            self._run_steps()
        for target, known in targets:
            if known is not None:
                self._frame = self._frame.filter(self._frame[target] == self._frame[known]).drop(target)

    def finish(self) -> Any:
        self._run_steps()
        return self._current()

    def value(self, term: Term) -> Any:
        if isinstance(term, Constant):
            return constant_column(term, self._functions.definitions)
        assert isinstance(term, Variable)
        return f.col(self._columns[term.name][0])

    def _hinted(self) -> Any:
        """Returns the bindings with a hint for the join: broadcast a small delta, hash its joined rows in the tasks."""
        if not self.stays_small:
            return self._frame
        return self._frame.hint("broadcast" if self._joins == 1 else "shuffle_hash")

    def level(self) -> Any:
        """Returns the highest rank of the joined rows."""
        ranks = [f.col(rank) for rank in self._ranks]
        if not ranks:
            return f.lit(0).cast("long")
        return f.greatest(*ranks) if len(ranks) > 1 else ranks[0]

    def _current(self) -> Any:
        if self._frame is None:
            self._frame = self._spark.range(1).select(f.lit(True).alias(_UNIT))
        return self._frame

    def _matching(self, atom: Atom, relation: Any, rank: str | None = None) -> tuple[Any, dict[Variable, str]]:
        """Returns the rows that fit the atom's constants and repeated variables, and a column per variable."""
        first: dict[Variable, int] = {}
        for i, term in enumerate(atom.terms):
            if isinstance(term, Constant):
                relation = relation.filter(f.col(f"c{i}") == constant_column(term, self._functions.definitions))
            elif isinstance(term, Variable) and term in first:
                relation = relation.filter(f.col(f"c{i}") == f.col(f"c{first[term]}"))
            elif isinstance(term, Variable):
                first[term] = i
        new = (name for name in (f"v{i}" for i in range(len(self._columns), len(self._columns) + len(first))))
        names = {
            variable: self._columns[variable.name][0] if variable.name in self._columns else next(new)
            for variable in first
        }
        selected = [f.col(f"c{first[variable]}").alias(column) for variable, column in names.items()]
        ranks = [f.col(RANK).alias(rank)] if rank is not None else []
        return relation.select(f.lit(True).alias(_UNIT), *selected, *ranks), names

    def _step(self, expression: typed.Expression) -> ScalarStep:
        """Returns the step of a condition; with a target it would be an assignment."""
        parameters = sorted(typed.variables(expression))
        arguments = tuple(self._columns[name] for name in parameters)
        function = compile_scalar(expression, parameters, self._functions)
        return ScalarStep(function, arguments, (), tuple(self._columns.items()))

    def _run_steps(self) -> None:
        if not self._steps:
            return
        made = {target for step in self._steps for target, _ in step.targets}
        ranks: list[TypedColumn] = [(rank, S64) for rank in self._ranks]
        columns = [(_UNIT, BOOL), *ranks, *(column for column in self._columns.values() if column[0] not in made)]
        self._frame = apply_steps(self._current(), columns, self._steps, self._place, self._functions.definitions)
        self._steps = []

    def _native(self, expression: typed.Expression) -> Any | None:
        """Returns the Boolean expression as a Spark column if that is proven to be the same; else None."""
        match expression:
            case typed.Var() | typed.Lit():
                return self._operand(expression)
            case typed.Unary("not", operand):
                inner = self._native(operand)
                return None if inner is None else ~inner
            case typed.Binary("and" | "or" | "=>" as op, left, right):
                first, second = self._native(left), self._native(right)
                if first is None or second is None:
                    return None
                return first & second if op == "and" else (~first if op == "=>" else first) | second
            case typed.Binary(op, typed.Var() | typed.Lit() as left, typed.Var() | typed.Lit() as right):
                return self._compare(op, left, right)
            case _:
                return None

    def _compare(self, op: str, left: typed.Var | typed.Lit, right: typed.Var | typed.Lit) -> Any | None:
        first, second = self._operand(left), self._operand(right)
        if op in ("==", "!="):
            return first == second if op == "==" else first != second
        if not _orders_alike(left.type):
            return None
        return {"<": first < second, "<=": first <= second, ">": first > second, ">=": first >= second}.get(op)

    def _operand(self, expression: typed.Var | typed.Lit) -> Any:
        if isinstance(expression, typed.Var):
            return f.col(self._columns[expression.name][0])
        return constant_column(Constant(expression.value, expression.type), self._functions.definitions)


def _orders_alike(type_: Type) -> bool:
    """True if columns in frames have the order of their values.

    Spark orders strings, as we do, by their bytes, and NaN, as we do, above all other numbers.
    """
    match plain_type(type_):
        case BitType(width):
            return width < 64
        case SignedType() as signed:
            return is_word(signed)
        case BoolType() | StringType() | FloatType():
            return True
        case DateType() | TimestampType() | DurationType() | DecimalType() as scaled:
            return is_word(scaled)
        case _:
            return False
