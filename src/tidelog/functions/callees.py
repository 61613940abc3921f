"""The functions of a program as calls see them: which one is really meant, what it takes, and what it can reach.

A function that only passes its parameters on (`function len(s: string): usize { string_len(s) }`) is skipped: a call of
it is a call of what it calls. Functions of `Ref` and `Intern` that only change the type are skipped too.

A generic function is compiled once. Where something below it needs to know a type that a variable stands for (an
extern function that asks for types, a closure over a value of that type), the type is passed at run time, before the
arguments; `needed` says which variables those are. Most functions need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidelog.check.program import Function
from tidelog.check.typed import Call, Closure, Expression, FunctionValue, Var, walk
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import UsageError
from tidelog.library._runtime.extern import needs_types
from tidelog.types import Type, TypeVariable, parts
from tidelog.values.definitions import substitute

IDENTITIES = frozenset(("ddlog_std::ref_new", "ddlog_std::deref", "internment::intern", "internment::ival"))


@dataclass(frozen=True, slots=True)
class Signature:
    """What a caller has to know. `mutable` are the places of `mut` parameters; `needed` the variables it is passed.

    `needs_types` is true for an extern function that is given the context and all types of its variables.
    """

    id: str
    name: str
    type_parameters: tuple[str, ...]
    parameters: tuple[Type, ...]
    mutable: tuple[int, ...]
    needed: tuple[str, ...]
    needs_types: bool
    side_effects: bool

    def passed(self, type_arguments: Sequence[Type]) -> tuple[Type, ...]:
        """Returns those types of a call's type variables that are passed at run time."""
        return tuple(argument for name, argument in zip(self.type_parameters, type_arguments) if name in self.needed)


class Callees:
    """Finds signatures; those of everything that is reachable must have been made by `reach`."""

    def __init__(self, functions: Mapping[str, Function], externs: Mapping[str, Callable[..., Any]]) -> None:
        self._functions = functions
        self._externs = externs
        self.signatures: dict[str, Signature] = {}
        self._met: set[str] = set()

    def extended(
        self, functions: Mapping[str, Function]
    ) -> tuple[Mapping[str, Function], Mapping[str, Callable[..., Any]]]:
        """Returns all functions with these, and the Python functions of the extern ones."""
        return {**self._functions, **functions}, self._externs

    def go_on(self, before: Callees) -> None:
        """Takes over what is signed and what calls have named, from those of fewer functions."""
        self.signatures = dict(before.signatures)
        self._met = set(before._met)

    def resolve(self, id_: str, type_arguments: tuple[Type, ...]) -> tuple[str, tuple[Type, ...]]:
        """Returns the function that a call means in the end, and the types of its type variables."""
        seen = {id_}
        while True:
            function = self._functions[id_]
            body = function.body
            self._met.add(id_)
            if isinstance(body, Call):
                self._met.add(body.function)
            if not (
                isinstance(body, Call)
                and body.function not in seen
                and len(body.arguments) == len(function.parameters)
                and all(
                    isinstance(argument, Var) and argument.name == parameter.name
                    for argument, parameter in zip(body.arguments, function.parameters)
                )
                and _mutable(function) == _mutable(self._functions[body.function])
                and _has_effects(function) <= _has_effects(self._functions[body.function])
            ):
                return id_, type_arguments
            meaning = dict(zip(function.type_parameters, type_arguments))
            type_arguments = tuple(substitute(argument, meaning) for argument in body.type_arguments)
            id_ = body.function
            seen.add(id_)

    def met(self) -> dict[str, Function]:
        """Returns the functions that calls have named so far, which is all that is needed to compile the same calls
        again."""
        return {id_: self._functions[id_] for id_ in self._met}

    def knows(self, id_: str) -> bool:
        """True if there is a function of this id."""
        return id_ in self._functions

    def function(self, id_: str) -> Function:
        return self._functions[id_]

    def mutable_places(self, id_: str) -> tuple[int, ...]:
        """Returns the places of a function's `mut` parameters."""
        return _mutable(self._functions[id_])

    def is_identity(self, id_: str) -> bool:
        """True for extern functions between a type and a `Ref` or `Intern` of it, which do nothing."""
        return self._functions[id_].name in IDENTITIES and self._functions[id_].is_extern

    def find(self, name: str) -> tuple[str, ...]:
        """Returns the ids of all functions of this name, with or without its module."""
        return tuple(
            id_
            for id_, function in self._functions.items()
            if function.name == name or function.name.endswith(f"::{name}")
        )

    def reach(self, ids: Iterable[str]) -> tuple[Function, ...]:
        """Signs all functions that are called from the given ones, and returns those that were not signed before.

        Raises UsageError for extern functions without a Python function.
        """
        found: dict[str, Function] = {}
        pending = list(ids)
        while pending:
            id_ = pending.pop()
            if id_ in found or id_ in self.signatures:
                continue
            found[id_] = function = self._functions[id_]
            if function.body is not None:
                pending.extend(called for called, _ in self._calls(function.body))
        self._require_externs(function for function in found.values() if function.is_extern)
        self._sign(found)
        return tuple(found.values())

    def called(self, expression: Expression) -> tuple[str, ...]:
        """Returns the functions that an expression names, once each, in the order of mention."""
        return tuple(dict.fromkeys(id_ for id_, _ in self._calls(expression)))

    def has_side_effects(self, expressions: Iterable[Expression]) -> bool:
        """True where an expression can reach a function that says it has side effects, whether signed or not."""
        seen: set[str] = set()
        pending = [id_ for expression in expressions for id_ in self.called(expression)]
        while pending:
            id_ = pending.pop()
            if id_ in seen:
                continue
            seen.add(id_)
            signature = self.signatures.get(id_)
            if signature is None:
                function = self._functions[id_]
                pending.extend(() if function.body is None else self.called(function.body))
            if _has_effects(function) if signature is None else signature.side_effects:
                return True
        return False

    def needed_by(self, expression: Expression) -> set[str]:
        """Returns the type variables that must be known at run time to evaluate the expression."""
        found: set[str] = set()
        for id_, type_arguments in self._calls(expression):
            for type_ in self.signatures[id_].passed(type_arguments):
                found |= variables_of(type_)
        for node in walk(expression):
            if isinstance(node, Closure):
                for captured in node.captured:
                    found |= variables_of(captured.type)
        return found

    def extern(self, function: Function) -> Callable[..., Any] | None:
        """Returns the Python function of an extern one: by its id, or else by its name."""
        return self._externs.get(function.id) or self._externs.get(function.name)

    def _calls(self, expression: Expression) -> Iterator[tuple[str, tuple[Type, ...]]]:
        for node in walk(expression):
            if isinstance(node, Call | FunctionValue):
                yield self.resolve(node.function, node.type_arguments)

    def _require_externs(self, functions: Iterable[Function]) -> None:
        missing = [
            function.name
            for function in functions
            if self.extern(function) is None and not self.is_identity(function.id)
        ]
        if missing:
            raise missing_externs(missing)

    def _sign(self, functions: dict[str, Function]) -> None:
        for id_, function in functions.items():
            self.signatures[id_] = self._first_signature(function)
        # What a function needs grows with what those need that it calls, until nothing grows any more.
        changed = True
        while changed:
            changed = False
            for id_, function in functions.items():
                if function.body is None:
                    continue
                old, needed = self.signatures[id_], self.needed_by(function.body)
                new = replace(
                    old,
                    needed=tuple(name for name in old.type_parameters if name in needed),
                    side_effects=old.side_effects
                    or any(self.signatures[called].side_effects for called in self.called(function.body)),
                )
                if new != old:
                    self.signatures[id_] = new
                    changed = True

    def _first_signature(self, function: Function) -> Signature:
        """Returns the signature of a function as if it called no other."""
        types = function.is_extern and needs_types(self.extern(function))
        return Signature(
            function.id,
            function.name,
            function.type_parameters,
            tuple(parameter.type for parameter in function.parameters),
            _mutable(function),
            function.type_parameters if types else (),
            types,
            _has_effects(function),
        )


def _mutable(function: Function) -> tuple[int, ...]:
    return tuple(place for place, parameter in enumerate(function.parameters) if parameter.mutable)


def _has_effects(function: Function) -> bool:
    return any(attribute.name == "has_side_effects" for attribute in function.attributes)


def variables_of(type_: Type) -> set[str]:
    """Returns the names of the type variables in a type."""
    if isinstance(type_, TypeVariable):
        return {type_.name}
    return {name for part in parts(type_) for name in variables_of(part)}


def missing_externs(missing: Iterable[str]) -> UsageError:
    """Returns the error for extern functions without a Python function."""
    found = sorted(missing)
    names = ", ".join(f"`{name}`" for name in found)
    what = "function" if len(found) == 1 else "functions"
    return UsageError(
        f"extern {what} {names} {'has' if len(found) == 1 else 'have'} no Python function",
        code=Code.MISSING_EXTERN,
        help=f'give it when the program is compiled: externs={{"{found[0]}": ...}}',
    )
