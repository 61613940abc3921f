"""Random small programs in Soufflé's language, each as text and as what it derives by a naive evaluation.

Relations of facts, then layers of derived relations. The clauses of a layer read all lower layers, negate and aggregate
over them, and read their own layer in a recursion that has an end: there, a head takes values as they are, or modulo a
small number. The literals of a body stand in the text in any order; the evaluation has one that binds before it reads.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tidelog.cli.run_souffle import text_of
from tidelog.souffle.front_end import SouffleProgram

Value = Any
Row = tuple[Value, ...]
Bound = dict[str, Value]
Binary = Callable[[Any, Any], Any]
_TEXTS = ("", "a", "b", "ab", "ba", "abc", "x y", "Z", "10", "-3", "é")
_NUMBERS = (-7, -2, -1, 0, 1, 2, 3, 5, 8, 2147483647, -2147483648)


@dataclass(frozen=True, slots=True)
class Term:
    """A term as text, and the function of the bindings that computes it."""

    text: str
    value: Callable[[Bound], Value]


@dataclass(slots=True)
class Relation:
    name: str
    types: tuple[str, ...]
    rows: set[Row] = field(default_factory=set)
    clauses: list[Clause] = field(default_factory=list)


@dataclass(slots=True)
class Clause:
    """`steps` extend bindings, in an order that works; `body` is what they are in the text."""

    head: list[Term]
    steps: list[Callable[[Bound], Iterator[Bound]]]
    body: list[str]


def signed(number: int) -> int:
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def unsigned(number: int) -> int:
    return number % (1 << 32)


class Generated:
    """A program whose names begin with `prefix`; `relations` have the rows that it derives.

    In a `careful` one, aggregates share with their surroundings only what is a column of an atom there, and take
    nothing apart: Soufflé 2.5 stops at assertions of its own for some others.
    """

    def __init__(self, chance: random.Random, prefix: str = "", layers: int = 3, *, careful: bool = False) -> None:
        self._chance, self._prefix, self._careful = chance, prefix, careful
        self._columns: set[str] = set()
        self._fresh = 0
        self.facts: list[Relation] = []
        self.layers: list[list[Relation]] = []
        self._records = {
            f"{prefix}Pair": (("number", "symbol"),),
            f"{prefix}List": (("number", f"{prefix}List"),),
            f"{prefix}Shape": (("number",), ("symbol", "number"), ()),
        }
        for place in range(chance.randint(2, 3)):
            relation = Relation(f"{prefix}e{place}", self._types(2))
            relation.rows = {tuple(map(self._value, relation.types)) for _ in range(chance.randint(0, 7))}
            self.facts.append(relation)
        for layer in range(layers):
            made = [Relation(f"{prefix}p{layer}_{place}", self._types(2)) for place in range(chance.randint(1, 2))]
            self.layers.append(made)
            for relation in made:
                relation.clauses = [self._clause(relation, layer) for _ in range(chance.randint(1, 3))]
        self.evaluate()

    # Values and text

    def _types(self, least: int) -> tuple[str, ...]:
        wanted = ["number", "number", "symbol", "unsigned", *self._records]
        return ("number", *(self._chance.choice(wanted) for _ in range(self._chance.randint(least - 1, 2))))

    def _value(self, type_: str) -> Value:
        match type_:
            case "number":
                return self._chance.choice(_NUMBERS)
            case "unsigned":
                return self._chance.choice((0, 1, 2, 3, 4294967295))
            case "symbol":
                return self._chance.choice(_TEXTS)
        if type_.endswith("List"):
            made: Value = ()
            for _ in range(self._chance.randrange(3)):
                made = ("", self._chance.randrange(3), made)
            return made
        place = self._chance.randrange(len(self._records[type_]))
        fields = self._records[type_][place]
        if type_.endswith("Pair"):
            return ("", *map(self._value, fields))
        return (f"{self._prefix}S{place}", *map(self._value, fields))

    def _branches(self, type_: str) -> list[tuple[str, tuple[str, ...]]]:
        """Returns names and fields of the branches that a value of a type can be taken apart into."""
        if type_.endswith("Shape"):
            return [(f"{self._prefix}S{place}", fields) for place, fields in enumerate(self._records[type_])]
        return [("", self._records[type_][0])]

    def text(self, *, inputs: bool = False) -> str:
        """Returns the program; with `inputs`, the facts are not in it, and their relations are inputs."""
        p = self._prefix
        parts = [
            f".type {p}Pair = [a: number, b: symbol]",
            f".type {p}List = [head: number, tail: {p}List]",
            f".type {p}Shape = {p}S0 {{x: number}} | {p}S1 {{s: symbol, n: number}} | {p}S2 {{}}",
        ]
        for relation in self.relations:
            columns = ", ".join(f"c{place}: {type_}" for place, type_ in enumerate(relation.types))
            parts += [f".decl {relation.name}({columns})", f".output {relation.name}"]
        for relation in self.facts:
            if inputs:
                parts.append(f".input {relation.name}")
                continue
            for row in sorted(relation.rows, key=repr):
                written = ", ".join(map(self._literal, row, relation.types))
                parts.append(f"{relation.name}({written}).")
        parts += [text for layer in self.layers for relation in layer for text in self.clause_texts(relation)]
        return "\n".join(parts) + "\n"

    def clause_texts(self, relation: Relation) -> list[str]:
        found = []
        for clause in relation.clauses:
            head = ", ".join(each.text for each in clause.head)
            found.append(f"{relation.name}({head}) :- {', '.join(clause.body)}.")
        return found

    def _literal(self, value: Value, type_: str) -> str:
        match type_:
            case "symbol":
                return f'"{value}"'
            case "number":
                return str(value)
            case "unsigned":
                return f"{value}u"
        if value == ():
            return "nil"
        fields = next(fields for name, fields in self._branches(type_) if name == value[0])
        inside = ", ".join(map(self._literal, value[1:], fields))
        if not value[0]:
            return f"[{inside}]"
        return f"${value[0]}({inside})" if fields else f"${value[0]}()"

    @property
    def relations(self) -> list[Relation]:
        return [*self.facts, *(relation for layer in self.layers for relation in layer)]

    def lines(self) -> dict[str, list[str]]:
        """Returns the sorted lines of each file that Soufflé writes."""
        return {
            f"{relation.name}.csv": sorted("\t".join(map(self._written, row, relation.types)) for row in relation.rows)
            for relation in self.relations
        }

    def rows_for(self, program: SouffleProgram, relation: Relation) -> dict[Row, Row]:
        """Returns the rows of a relation, and what Tidelog is given for each."""
        texts = text_of(program)
        kinds = program.declared.kinds(relation.name)
        return {
            row: tuple(
                texts.read(self._written(value, type_), kind)
                for value, type_, kind in zip(row, relation.types, kinds, strict=True)
            )
            for row in relation.rows
        }

    def _written(self, value: Value, type_: str) -> str:
        if type_ in ("symbol", "number", "unsigned"):
            return str(value)
        if value == ():
            return "nil"
        fields = next(fields for name, fields in self._branches(type_) if name == value[0])
        inside = ", ".join(map(self._written, value[1:], fields))
        if not value[0]:
            return f"[{inside}]"
        return f"${value[0]}({inside})" if fields else f"${value[0]}"

    # Evaluation

    def evaluate(self) -> None:
        """Derives all rows anew from the facts, layer by layer, until nothing is new."""
        for layer in self.layers:
            for relation in layer:
                relation.rows = set()
            is_new = True
            while is_new:
                is_new = False
                for relation in layer:
                    for clause in relation.clauses:
                        new = {*_derived(clause)} - relation.rows
                        relation.rows |= new
                        is_new = is_new or bool(new)

    # Clauses

    def _clause(self, relation: Relation, layer: int) -> Clause:
        chance = self._chance
        lower = [*self.facts, *(each for made in self.layers[:layer] for each in made)]
        is_recursive = chance.random() < 0.35 and any(each.clauses for each in self.layers[layer])
        known: dict[str, str] = {}
        clause = Clause([], [], [])
        readable = [*lower, *self.layers[layer]] if is_recursive else lower
        for _ in range(chance.randint(1, 3)):
            self._atom(chance.choice(readable), known, clause)
        if is_recursive:
            self._atom(chance.choice([each for each in self.layers[layer] if each.clauses]), known, clause)
        for _ in range(chance.randint(0, 3)):
            choice = chance.random()
            if choice < 0.25:
                self._negation(chance.choice(lower), known, clause)
            elif choice < 0.5:
                self._comparison(known, clause)
            elif choice < 0.75 and not is_recursive:
                self._assignment(known, clause)
            elif not is_recursive:
                self._aggregate(chance.choice(lower), known, clause)
        clause.head = [self._head(type_, known, is_recursive=is_recursive) for type_ in relation.types]
        chance.shuffle(clause.body)
        return clause

    def _new(self) -> str:
        self._fresh += 1
        return f"v{self._fresh}"

    def _atom(self, relation: Relation, known: dict[str, str], clause: Clause, *, inside: bool = False) -> None:
        """Adds an atom whose columns are new or known variables, blanks, constants, or values taken apart."""
        parts = [self._pattern(type_, known, inside=inside) for type_ in relation.types]
        matchers = [matcher for _, matcher in parts]

        def step(bound: Bound) -> Iterator[Bound]:
            for row in [*relation.rows]:
                found = dict(bound)
                if all(matcher(value, found) for matcher, value in zip(matchers, row, strict=True)):
                    yield found

        clause.steps.append(step)
        clause.body.append(f"{relation.name}({', '.join(text for text, _ in parts)})")

    def _pattern(
        self, type_: str, known: dict[str, str], depth: int = 0, *, inside: bool = False
    ) -> tuple[str, Callable[[Value, Bound], bool]]:
        chance = self._chance
        choice = chance.random()
        same = [name for name, each in known.items() if each == type_]
        if choice < 0.15:
            return "_", lambda value, bound: True
        if choice < 0.2 and type_ in ("number", "symbol", "unsigned"):
            constant = self._value(type_)
            return self._literal(constant, type_), lambda value, bound: bool(value == constant)
        if choice < 0.45 and same:
            name = chance.choice(same)
            return name, lambda value, bound: bool(bound[name] == value)
        if type_ in self._records and choice < 0.75 and depth < 2 and not (self._careful and inside):
            branch, fields = chance.choice(self._branches(type_))
            parts = [self._pattern(each, known, depth + 1, inside=inside) for each in fields]
            inner = ", ".join(text for text, _ in parts)

            def match(value: Value, bound: Bound) -> bool:
                if value == () or value[0] != branch:
                    return False
                return all(matcher(one, bound) for (_, matcher), one in zip(parts, value[1:], strict=True))

            return (f"[{inner}]" if not branch else f"${branch}({inner})"), match
        name = self._new()
        known[name] = type_
        if depth == 0 and not inside:
            self._columns.add(name)

        def bind(value: Value, bound: Bound) -> bool:
            bound[name] = value
            return True

        return name, bind

    def _negation(self, relation: Relation, known: dict[str, str], clause: Clause) -> None:
        texts: list[str] = []
        wanted: list[str | None] = []
        for type_ in relation.types:
            same = [name for name, each in known.items() if each == type_]
            name = self._chance.choice(same) if same and self._chance.random() < 0.8 else None
            texts.append(name or "_")
            wanted.append(name)

        def step(bound: Bound) -> Iterator[Bound]:
            if not any(
                all(name is None or bound[name] == value for name, value in zip(wanted, row, strict=True))
                for row in relation.rows
            ):
                yield bound

        clause.steps.append(step)
        clause.body.append(f"!{relation.name}({', '.join(texts)})")

    def _comparison(self, known: dict[str, str], clause: Clause) -> None:
        type_ = self._chance.choice(["number", "symbol", "unsigned"])
        left, right = self._expression(type_, known), self._expression(type_, known)
        operators: list[tuple[str, Binary]] = [
            ("<", lambda a, b: a < b),
            ("<=", lambda a, b: a <= b),
            ("!=", lambda a, b: a != b),
            ("=", lambda a, b: a == b),
            (">", lambda a, b: a > b),
        ]
        operator, holds = self._chance.choice(operators)
        text = f"{left.text} {operator} {right.text}"
        if type_ == "symbol" and self._chance.random() < 0.4:
            kind, is_not = self._chance.choice(["contains", "match"]), self._chance.random() < 0.3
            if kind == "contains":
                holds = lambda a, b: a in b  # noqa: E731
            else:
                pattern = self._chance.choice(["a.*", "[ab]+", ".*b", "x y|Z", ".?"])
                left = Term(f'"{pattern}"', lambda bound: pattern)
                holds = lambda a, b: re.fullmatch(a.encode(), b.encode()) is not None  # noqa: E731
            text = f"{'!' if is_not else ''}{kind}({left.text}, {right.text})"
            if is_not:
                positive = holds
                holds = lambda a, b: not positive(a, b)  # noqa: E731

        def step(bound: Bound) -> Iterator[Bound]:
            if holds(left.value(bound), right.value(bound)):
                yield bound

        clause.steps.append(step)
        clause.body.append(text)

    def _assignment(self, known: dict[str, str], clause: Clause) -> None:
        type_ = self._chance.choice(["number", "number", "symbol", "unsigned"])
        term = self._expression(type_, known)
        name = self._new()
        known[name] = type_
        self._bind(name, term, clause)
        clause.body.append(f"{name} = {term.text}")

    def _bind(self, name: str, term: Term, clause: Clause) -> None:
        def step(bound: Bound) -> Iterator[Bound]:
            yield {**bound, name: term.value(bound)}

        clause.steps.append(step)

    def _aggregate(self, relation: Relation, known: dict[str, str], clause: Clause) -> None:
        """Adds a variable with the count, sum, least or greatest value of a body with variables of its own."""
        chance = self._chance
        inner = Clause([], [], [])
        inside = {
            name: type_
            for name, type_ in known.items()
            if chance.random() < 0.5 and (not self._careful or name in self._columns)
        }
        before = set(inside)
        self._atom(relation, inside, inner, inside=True)
        if chance.random() < 0.3:
            self._atom(chance.choice(self.facts), inside, inner, inside=True)
        if chance.random() < 0.3:
            self._comparison(inside, inner)
        function = chance.choice(["count", "sum", "min", "max"])
        targets = [name for name, type_ in inside.items() if type_ == "number" and name not in before]
        if function != "count" and not targets:
            function = "count"
        target = chance.choice(targets) if targets else ""
        name = self._new()
        known[name] = "number"

        atoms = [part for part in inner.body if part.startswith((f"{self._prefix}e", f"{self._prefix}p"))]
        names = re.findall(r"\bv\d+", atoms[0])
        is_distinct = len(atoms) > 1 or len(set(names)) < len(names)

        def step(bound: Bound) -> Iterator[Bound]:
            found = [*_solutions(inner.steps, bound)]
            if is_distinct:
                # Rows that differ only in a blank are told apart only where one atom stands alone.
                found = [*{tuple(sorted(each.items(), key=_first)): each for each in found}.values()]
            values = [each[target] if function != "count" else 1 for each in found]
            if function in ("count", "sum"):
                yield {**bound, name: signed(sum(values))}
            elif values:
                yield {**bound, name: (min if function == "min" else max)(values)}

        clause.steps.append(step)
        shown = f" {target}" if function != "count" else ""
        clause.body.append(f"{name} = {function}{shown} : {{ {', '.join(inner.body)} }}")

    def _head(self, type_: str, known: dict[str, str], *, is_recursive: bool) -> Term:
        chance = self._chance
        same = [name for name, each in known.items() if each == type_]
        if is_recursive:
            if type_ == "number" and same and chance.random() < 0.3:
                name = chance.choice(same)
                return Term(f"({name} + 1) % 5", lambda bound: _rest(signed(bound[name] + 1), 5))
            return self._variable(chance.choice(same)) if same else self._constant(type_)
        if type_ in self._records and chance.random() < 0.6:
            branch, fields = chance.choice(self._branches(type_))
            parts = [self._head(each, known, is_recursive=is_recursive) for each in fields]
            inside = ", ".join(each.text for each in parts)
            text = f"[{inside}]" if not branch else f"${branch}({inside})"
            return Term(text, lambda bound: (branch, *(each.value(bound) for each in parts)))
        if same and chance.random() < 0.6:
            return self._variable(chance.choice(same))
        return self._expression(type_, known) if type_ not in self._records else self._constant(type_)

    def _variable(self, name: str) -> Term:
        return Term(name, lambda bound: bound[name])

    def _constant(self, type_: str) -> Term:
        value = self._value(type_)
        return Term(self._literal(value, type_), lambda bound: value)

    def _expression(self, type_: str, known: dict[str, str], depth: int = 0) -> Term:
        chance = self._chance
        same = [name for name, each in known.items() if each == type_]
        if depth > 1 or chance.random() < 0.4:
            return self._variable(chance.choice(same)) if same and chance.random() < 0.85 else self._constant(type_)
        if type_ == "symbol":
            return self._text_expression(known, depth)
        wrap = signed if type_ == "number" else unsigned
        suffix = "" if type_ == "number" else "u"
        one, other = (self._expression(type_, known, depth + 1) for _ in range(2))
        few = chance.randint(1, 7)
        choice = chance.randrange(12)
        if choice < 3:
            sums: list[tuple[str, Binary]] = [
                ("+", lambda a, b: a + b),
                ("-", lambda a, b: a - b),
                ("*", lambda a, b: a * b),
            ]
            operator, function = sums[choice]
            return Term(f"({one.text} {operator} {other.text})", lambda b: wrap(function(one.value(b), other.value(b))))
        if choice == 3:
            return Term(f"({one.text} / {few}{suffix})", lambda b: wrap(_quotient(one.value(b), few)))
        if choice == 4:
            return Term(f"({one.text} % {few}{suffix})", lambda b: _rest(one.value(b), few))
        if choice == 5:
            by_bits: list[tuple[str, Binary]] = [
                ("band", lambda a, b: a & b),
                ("bor", lambda a, b: a | b),
                ("bxor", lambda a, b: a ^ b),
            ]
            operator, bits = chance.choice(by_bits)
            return Term(f"({one.text} {operator} {other.text})", lambda b: wrap(bits(one.value(b), other.value(b))))
        if choice == 6:
            return Term(f"({one.text} bshl {few}{suffix})", lambda b: wrap(one.value(b) << few))
        if choice == 7:
            return Term(f"({one.text} bshr {few}{suffix})", lambda b: wrap(one.value(b) >> few))
        if choice == 8:
            return Term(f"({one.text} bshru {few}{suffix})", lambda b: wrap(unsigned(one.value(b)) >> few))
        if choice == 9:
            word, chosen = chance.choice((("min", min), ("max", max)))
            return Term(f"{word}({one.text}, {other.text})", lambda b: chosen(one.value(b), other.value(b)))
        if choice == 10:
            opposite = self._expression("unsigned" if type_ == "number" else "number", known, depth + 1)
            return Term(f"to_{type_}({opposite.text})", lambda b: wrap(opposite.value(b)))
        if type_ == "number":
            text = self._expression("symbol", known, depth + 1)
            return Term(f"strlen({text.text})", lambda b: len(text.value(b).encode()))
        return Term(f"bnot ({one.text})", lambda b: wrap(~one.value(b)))

    def _text_expression(self, known: dict[str, str], depth: int) -> Term:
        one, other = (self._expression("symbol", known, depth + 1) for _ in range(2))
        choice = self._chance.randrange(3)
        if choice == 0:
            return Term(f"cat({one.text}, {other.text})", lambda b: one.value(b) + other.value(b))
        number = self._expression("number", known, depth + 1)
        if choice == 1:
            return Term(f"to_string({number.text})", lambda b: str(number.value(b)))
        name = self._chance.choice(["a", "bc", "xyz"])
        start, length = self._chance.randint(0, 3), self._chance.randint(0, 3)
        return Term(
            f'substr(cat("{name}", to_string({number.text})), {start}, {length})',
            lambda b: _part(name + str(number.value(b)), start, length),
        )


def _derived(clause: Clause) -> Iterator[Row]:
    for bound in _solutions(clause.steps, {}):
        yield tuple(term.value(bound) for term in clause.head)


def _solutions(steps: list[Callable[[Bound], Iterator[Bound]]], bound: Bound, place: int = 0) -> Iterator[Bound]:
    if place == len(steps):
        yield bound
        return
    for found in steps[place](bound):
        yield from _solutions(steps, found, place + 1)


def _first(item: tuple[str, Value]) -> str:
    return item[0]


def _quotient(one: int, other: int) -> int:
    return abs(one) // other * (1 if one >= 0 else -1)


def _rest(one: int, other: int) -> int:
    return one - other * _quotient(one, other)


def _part(text: str, start: int, length: int) -> str:
    return text[start : start + length] if start <= len(text) else ""
