"""An ontology → a program: one relation per class and property, and a rule for each axiom (OWL 2 RL).

    GraduateStudent ⊑ Student               Student(x) :- GraduateStudent(x).
    Chair ≡ Person ⊓ ∃headOf.Department     Chair(x) :- Person(x), HeadOf(x, y1), Department(y1).
    hasAlumnus is the inverse of degreeFrom HasAlumnus(y, x) :- DegreeFrom(x, y).
    subOrganizationOf is transitive         SubOrganizationOf(x, z) :- SubOrganizationOf(x, y), SubOrganizationOf(y, z).

If an axiom may make two individuals equal, there is a relation `SameAs`, and each relation is closed under it.
Violations go to the relation `Inconsistent`, with the axiom and the individual. Rules that could derive nothing
(`owl:Thing` on the right) are not written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tidelog.rdf import ontology as owl
from tidelog.syntax.write.constants import write_string

TRIPLES, RELATIONS = "triples", "relations"
SAME, WRONG = "SameAs", "Inconsistent"


@dataclass(frozen=True, slots=True)
class Names:
    """The relation of each class and property. The same IRI may be both."""

    classes: dict[str, str]
    properties: dict[str, str]


def relation_names(ontology: owl.Ontology) -> Names:
    """Makes names for relations from the ends of IRIs; equal names are numbered."""
    used = {"T", SAME, WRONG}
    classes = {iri: _fresh(iri, used) for iri in ontology.classes}
    return Names(classes, {iri: _fresh(iri, used) for iri in ontology.properties})


def _fresh(iri: str, used: set[str]) -> str:
    name = re.sub(r"[^A-Za-z0-9_]", "_", owl.local_name(iri)) or "Name"
    name = f"N{name}" if not name[0].isalpha() else name[0].upper() + name[1:]
    number, wanted = 2, name
    while name in used or f"Told{name}" in used:
        name, number = f"{wanted}{number}", number + 1
    used.update((name, f"Told{name}"))
    return name


def owl_program(ontology: owl.Ontology, facts: str = TRIPLES) -> str:
    """Writes the program. `facts` are in one relation `T(s, p, o)`, or in one per class and property."""
    writer = _Writer(relation_names(ontology))
    rules = list(dict.fromkeys(rule for axiom in ontology.axioms for rule in writer.rules(axiom)))
    lines = [f"// The rules of OWL 2 RL for {ontology.iri or 'an ontology'}."]
    lines += [f"// Left out: {each}." for each in ontology.left_out]
    lines += ["", *_declarations(writer, facts), "", *_told(writer.names, facts), "", *rules]
    if writer.uses_same:
        lines += ["", *_same_rules(writer.names)]
    return "\n".join(lines) + "\n"


def _declarations(writer: _Writer, facts: str) -> Iterator[str]:
    names = writer.names
    if facts == TRIPLES:
        yield "input relation T(s: string, p: string, o: string)"
    else:
        yield from (f"input relation Told{name}(x: string)" for name in names.classes.values())
        yield from (f"input relation Told{name}(x: string, y: string)" for name in names.properties.values())
    yield from (f"output relation {name}(x: string)" for name in names.classes.values())
    yield from (f"output relation {name}(x: string, y: string)" for name in names.properties.values())
    if writer.uses_same:
        yield f"output relation {SAME}(x: string, y: string)"
    if writer.uses_wrong:
        yield f"output relation {WRONG}(axiom: string, x: string)"


def _told(names: Names, facts: str) -> Iterator[str]:
    type_ = write_string(owl.TYPE)
    for iri, name in names.classes.items():
        source = f"T(x, {type_}, {write_string(iri)})" if facts == TRIPLES else f"Told{name}(x)"
        yield f"{name}(x) :- {source}."
    for iri, name in names.properties.items():
        source = f"T(x, {write_string(iri)}, y)" if facts == TRIPLES else f"Told{name}(x, y)"
        yield f"{name}(x, y) :- {source}."


def _same_rules(names: Names) -> Iterator[str]:
    yield f"{SAME}(y, x) :- {SAME}(x, y)."
    yield f"{SAME}(x, z) :- {SAME}(x, y), {SAME}(y, z), x != z."
    for name in names.classes.values():
        yield f"{name}(y) :- {name}(x), {SAME}(x, y)."
    for name in names.properties.values():
        yield f"{name}(z, y) :- {name}(x, y), {SAME}(x, z)."
        yield f"{name}(x, z) :- {name}(x, y), {SAME}(y, z)."


@dataclass(slots=True)
class _Body:
    """A body as it grows; variables are numbered."""

    literals: list[str] = field(default_factory=list)
    variables: int = 0

    def fresh(self) -> str:
        self.variables += 1
        return f"y{self.variables}"

    def copy(self) -> _Body:
        return _Body(list(self.literals), self.variables)

    def also(self, literal: str) -> _Body:
        return _Body([*self.literals, literal], self.variables)


class _Writer:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.uses_same = self.uses_wrong = False

    def rules(self, axiom: owl.Axiom) -> Iterator[str]:
        match axiom:
            case owl.SubClass(sub, above):
                for body in self._bodies(sub, "x", _Body()):
                    yield from self._heads(above, "x", body)
            case owl.SubProperty(chain, above, inverse):
                variables = ["x", *(f"y{i + 1}" for i in range(len(chain) - 1)), "y"]
                literals = [self._property(each, *variables[i : i + 2]) for i, each in enumerate(chain)]
                head = self._property(above, "y", "x") if inverse else self._property(above, "x", "y")
                if literals != [head]:
                    yield f"{head} :- {', '.join(literals)}."
            case owl.Functional(property_, inverse):
                pair = [self._property(property_, *((v, "x") if inverse else ("x", v))) for v in ("y", "z")]
                yield self._same("y", "z", _Body(pair))
            case owl.Excluded(kind, properties):
                yield self._excluded(kind, properties)

    def _excluded(self, kind: str, properties: tuple[str, ...]) -> str:
        shown = f"{kind}: {', '.join(owl.local_name(each) for each in properties)}"
        first = self._property(properties[0], "x", "x" if kind == "irreflexive" else "y")
        other = {
            "irreflexive": [],
            "asymmetric": [self._property(properties[0], "y", "x")],
            "disjoint": [self._property(properties[-1], "x", "y")],
        }[kind]
        return self._wrong(shown, "x", _Body([first, *other]))

    def _bodies(self, expression: owl.Expression, variable: str, body: _Body) -> Iterator[_Body]:
        """Yields the bodies that put an individual in a class: literals added to a body."""
        match expression:
            case owl.Named(iri) if iri == owl.THING:
                yield body
            case owl.Named(iri):
                if iri in self.names.classes:
                    yield body.also(f"{self.names.classes[iri]}({variable})")
            case owl.All(parts):
                bodies = [body]
                for part in parts:
                    bodies = [longer for each in bodies for longer in self._bodies(part, variable, each)]
                yield from bodies
            case owl.Any(parts):
                for part in parts:
                    yield from self._bodies(part, variable, body.copy())
            case owl.OneOf(individuals):
                for each in individuals:
                    is_bound = bool(body.literals)
                    value = write_string(each)
                    yield body.also(f"{variable} == {value}" if is_bound else f"var {variable} = {value}")
            case owl.Some(property_, filler):
                if property_ in self.names.properties:
                    other = body.fresh() if filler is not None else "_"
                    longer = body.also(self._property(property_, variable, other))
                    yield from [longer] if filler is None else self._bodies(filler, other, longer)
            case owl.HasValue(property_, value):
                if property_ in self.names.properties:
                    yield body.also(self._property(property_, variable, write_string(value)))
            case owl.Only() | owl.AtMost() | owl.Not():
                raise AssertionError("not on this side")

    def _heads(self, expression: owl.Expression, variable: str, body: _Body) -> Iterator[str]:
        """Yields the rules by which a body puts an individual into a class."""
        match expression:
            case owl.Named(iri) if iri == owl.NOTHING:
                yield self._wrong(f"nothing may be in: {', '.join(body.literals)}", variable, body)
            case owl.Named(iri):
                if iri in self.names.classes and body.literals:
                    head = f"{self.names.classes[iri]}({variable})"
                    if body.literals != [head]:
                        yield f"{head} :- {', '.join(body.literals)}."
            case owl.All(parts):
                for part in parts:
                    yield from self._heads(part, variable, body)
            case owl.Only(property_, filler):
                if property_ in self.names.properties:
                    other = body.fresh()
                    yield from self._heads(filler, other, body.also(self._property(property_, variable, other)))
            case owl.HasValue(property_, value):
                if property_ in self.names.properties and body.literals:
                    yield f"{self._property(property_, variable, write_string(value))} :- {', '.join(body.literals)}."
            case owl.AtMost(count, property_, filler):
                yield from self._at_most(count, property_, filler, variable, body)
            case owl.Not(part):
                for longer in self._bodies(part, variable, body):
                    yield self._wrong("a class and its complement", variable, longer)
            case owl.Any() | owl.OneOf() | owl.Some():
                raise AssertionError("not on this side")

    def _at_most(
        self, count: int, property_: str, filler: owl.Expression | None, variable: str, body: _Body
    ) -> Iterator[str]:
        if property_ not in self.names.properties:
            return
        found: list[tuple[_Body, tuple[str, ...]]] = [(body, ())]
        for _ in range(count + 1):
            grown = []
            for each, values in found:
                value = each.fresh()
                longer = each.also(self._property(property_, variable, value))
                bodies = [longer] if filler is None else self._bodies(filler, value, longer)
                grown += [(one, (*values, value)) for one in bodies]
            found = grown
        for each, values in found:
            if count == 0:
                yield self._wrong(f"at most 0 {owl.local_name(property_)}", variable, each)
            else:
                yield self._same(values[0], values[1], each)

    def _property(self, iri: str, subject: str, value: str) -> str:
        return f"{self.names.properties[iri]}({subject}, {value})"

    def _same(self, first: str, second: str, body: _Body) -> str:
        self.uses_same = True
        return f"{SAME}({first}, {second}) :- {', '.join(body.literals)}, {first} != {second}."

    def _wrong(self, axiom: str, variable: str, body: _Body) -> str:
        self.uses_wrong = True
        return f"{WRONG}({write_string(axiom)}, {variable}) :- {', '.join(body.literals)}."
