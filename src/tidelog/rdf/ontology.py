"""Triples of an ontology → its axioms, as far as OWL 2 RL has rules for them.

Class expressions stand on the left of a subsumption (they imply) or on the right (they are implied). OWL 2 RL allows on
each side only expressions that a rule's body, or its head, can say. The rest is named in `left_out`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tidelog.rdf.triples import Triple

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
TYPE, FIRST, REST, NIL = f"{RDF}type", f"{RDF}first", f"{RDF}rest", f"{RDF}nil"
THING, NOTHING = f"{OWL}Thing", f"{OWL}Nothing"


@dataclass(frozen=True, slots=True)
class Named:
    """A class with a name."""

    iri: str


@dataclass(frozen=True, slots=True)
class All:
    """An intersection."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """A union."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these individuals."""

    individuals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """Has a value of the property that is in the class; None: any value."""

    property: str
    filler: Expression | None


@dataclass(frozen=True, slots=True)
class Only:
    """Has values of the property only in the class."""

    property: str
    filler: Expression


@dataclass(frozen=True, slots=True)
class HasValue:
    property: str
    value: str


@dataclass(frozen=True, slots=True)
class AtMost:
    """Has at most so many (0 or 1) values of the property, in the class (None: in any)."""

    count: int
    property: str
    filler: Expression | None


@dataclass(frozen=True, slots=True)
class Not:
    part: Expression


Expression = Named | All | Any | OneOf | Some | Only | HasValue | AtMost | Not


@dataclass(frozen=True, slots=True)
class SubClass:
    sub: Expression
    above: Expression


@dataclass(frozen=True, slots=True)
class SubProperty:
    """A chain of properties implies a property; `inverse`: with subject and object exchanged."""

    chain: tuple[str, ...]
    above: str
    inverse: bool = False


@dataclass(frozen=True, slots=True)
class Functional:
    """No two values per subject; `inverse`: no two subjects per value."""

    property: str
    inverse: bool


@dataclass(frozen=True, slots=True)
class Excluded:
    """A forbidden pattern: `kind` is irreflexive, asymmetric or disjoint (of two properties)."""

    kind: str
    properties: tuple[str, ...]


Axiom = SubClass | SubProperty | Functional | Excluded


@dataclass(slots=True)
class Ontology:
    """`classes` and `properties` are the names, in order of appearance; `left_out` names the axioms without a rule."""

    iri: str = ""
    classes: list[str] = field(default_factory=list)
    properties: list[str] = field(default_factory=list)
    axioms: list[Axiom] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


class _Graph:
    """Triples by subject and property, and the axioms left out so far."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.triples = sorted(triples)
        self.left_out: list[str] = []
        self._objects: dict[tuple[str, str], list[str]] = {}
        for subject, property_, value in self.triples:
            self._objects.setdefault((subject, property_), []).append(value)

    def all(self, subject: str, property_: str) -> list[str]:
        return self._objects.get((subject, property_), [])

    def one(self, subject: str, property_: str) -> str | None:
        return next(iter(self.all(subject, property_)), None)

    def items(self, head: str) -> tuple[str, ...]:
        """Returns the items of a list."""
        found: list[str] = []
        seen = {NIL}
        while head not in seen:
            seen.add(head)
            found += self.all(head, FIRST)[:1]
            head = self.one(head, REST) or NIL
        return tuple(found)


class _UnsupportedError(Exception):
    pass


_CLASS_AXIOMS = (f"{RDFS}subClassOf", f"{OWL}equivalentClass", f"{OWL}disjointWith", f"{OWL}complementOf")
_PROPERTY_KINDS = tuple(
    f"{OWL}{kind}Property"
    for kind in (
        "Object", "Datatype", "Transitive", "Symmetric", "Functional", "InverseFunctional", "Irreflexive", "Asymmetric"
    )
)  # fmt: skip
_PROPERTY_AXIOMS = (
    f"{RDFS}subPropertyOf", f"{OWL}equivalentProperty", f"{OWL}inverseOf", f"{OWL}propertyDisjointWith",
    f"{RDFS}domain", f"{RDFS}range", f"{OWL}propertyChainAxiom",
)  # fmt: skip


def read_ontology(triples: Iterable[Triple]) -> Ontology:
    """Reads the axioms of an ontology, without the declarations of RDFS and OWL themselves."""
    graph = _Graph(triples)
    found = Ontology()
    for subject, property_, value in graph.triples:
        if property_ == TYPE and value == f"{OWL}Ontology":
            found.iri = subject
        _note_names(found, graph, subject, property_, value)
    for subject, property_, value in graph.triples:
        try:
            found.axioms += _axioms(graph, subject, property_, value)
        except _UnsupportedError as error:
            graph.left_out.append(str(error))
    found.axioms = list(dict.fromkeys(found.axioms))
    found.left_out = list(dict.fromkeys(graph.left_out))
    return found


def _note_names(found: Ontology, graph: _Graph, subject: str, property_: str, value: str) -> None:
    if property_ == TYPE and value in (f"{OWL}Class", f"{RDFS}Class"):
        _note(found.classes, subject)
    elif property_ == TYPE and value in (*_PROPERTY_KINDS, f"{RDF}Property"):
        _note(found.properties, subject)
    elif property_ in _CLASS_AXIOMS:
        _note(found.classes, subject)
        _note(found.classes, value)
    elif property_ in _PROPERTY_AXIOMS:
        _note(found.properties, subject)
        if property_ in (f"{RDFS}domain", f"{RDFS}range"):
            _note(found.classes, value)
        elif property_ == f"{OWL}propertyChainAxiom":
            for each in graph.items(value):
                _note(found.properties, each)
        else:
            _note(found.properties, value)
    elif property_ == f"{OWL}onProperty":
        _note(found.properties, value)
    elif property_ in (f"{OWL}someValuesFrom", f"{OWL}allValuesFrom", f"{OWL}onClass"):
        _note(found.classes, value)
    elif property_ in (f"{OWL}intersectionOf", f"{OWL}unionOf"):
        for each in (subject, *graph.items(value)):
            _note(found.classes, each)
    elif property_ == f"{OWL}oneOf":
        _note(found.classes, subject)


def _note(names: list[str], iri: str) -> None:
    is_own = not iri.startswith(("_:", '"', RDF, RDFS, OWL, "http://www.w3.org/2001/XMLSchema#"))
    if is_own and iri not in names:
        names.append(iri)


def _axioms(graph: _Graph, subject: str, property_: str, value: str) -> Iterator[Axiom]:
    if property_.startswith(OWL):
        yield from _owl_axioms(graph, subject, property_.removeprefix(OWL), value)
    elif property_ == f"{RDFS}subClassOf":
        yield from _sub_class(graph, subject, value)
    elif property_ == f"{RDFS}subPropertyOf":
        yield SubProperty((subject,), value)
    elif property_ == f"{RDFS}domain":
        yield SubClass(Some(subject, None), _implied(graph, value))
    elif property_ == f"{RDFS}range":
        yield SubClass(Named(THING), Only(subject, _implied(graph, value)))
    elif property_ == TYPE and value.startswith(OWL):
        yield from _characteristic(subject, value.removeprefix(OWL))


def _owl_axioms(graph: _Graph, subject: str, name: str, value: str) -> Iterator[Axiom]:
    match name:
        case "equivalentClass":
            yield from _sub_class(graph, subject, value)
            yield from _sub_class(graph, value, subject)
        case "intersectionOf" | "unionOf" | "oneOf" if not subject.startswith("_:"):
            # A named class that is defined in place: it is equivalent to the expression.
            expression = _expression(graph, subject, in_place=True)
            yield from _split(graph, Named(subject), expression)
            yield SubClass(_implying_form(expression), Named(subject))
        case "disjointWith":
            yield SubClass(All((_implying(graph, subject), _implying(graph, value))), Named(NOTHING))
        case "complementOf" if not subject.startswith("_:"):
            yield SubClass(All((Named(subject), _implying(graph, value))), Named(NOTHING))
        case "equivalentProperty":
            yield SubProperty((subject,), value)
            yield SubProperty((value,), subject)
        case "inverseOf":
            yield SubProperty((subject,), value, inverse=True)
            yield SubProperty((value,), subject, inverse=True)
        case "propertyChainAxiom":
            yield SubProperty(graph.items(value), subject)
        case "propertyDisjointWith":
            yield Excluded("disjoint", (subject, value))
        case "members" if f"{OWL}AllDisjointClasses" in graph.all(subject, TYPE):
            classes = [_implying(graph, each) for each in graph.items(value)]
            for place, first in enumerate(classes):
                for second in classes[place + 1 :]:
                    yield SubClass(All((first, second)), Named(NOTHING))
        case "hasKey":
            raise _UnsupportedError(f"the key of {local_name(subject)}: OWL 2 RL's rule for keys is not generated")


def _characteristic(subject: str, kind: str) -> Iterator[Axiom]:
    match kind:
        case "TransitiveProperty":
            yield SubProperty((subject, subject), subject)
        case "SymmetricProperty":
            yield SubProperty((subject,), subject, inverse=True)
        case "FunctionalProperty" | "InverseFunctionalProperty":
            yield Functional(subject, inverse=kind == "InverseFunctionalProperty")
        case "IrreflexiveProperty" | "AsymmetricProperty":
            yield Excluded(kind.removesuffix("Property").lower(), (subject,))


def _sub_class(graph: _Graph, sub: str, above: str) -> Iterator[SubClass]:
    try:
        yield from _split(graph, _implying(graph, sub), _expression(graph, above))
    except _UnsupportedError as error:
        graph.left_out.append(str(error))


def _split(graph: _Graph, sub: Expression, above: Expression) -> Iterator[SubClass]:
    """Yields one axiom per part of the implied expression; parts without a rule are left out."""
    if isinstance(above, All):
        for part in above.parts:
            yield from _split(graph, sub, part)
        return
    try:
        yield SubClass(sub, _implied_form(above))
    except _UnsupportedError as error:
        graph.left_out.append(str(error))


def _implying(graph: _Graph, node: str) -> Expression:
    return _implying_form(_expression(graph, node))


def _implied(graph: _Graph, node: str) -> Expression:
    return _implied_form(_expression(graph, node))


def _implying_form(expression: Expression) -> Expression:
    """Returns the expression, if a body can say it."""
    match expression:
        case All(parts) | Any(parts):
            for part in parts:
                _implying_form(part)
        case Some(_, filler) if filler is not None:
            _implying_form(filler)
        case Only() | AtMost() | Not():
            raise _UnsupportedError(f"{_described(expression)} implies nothing in OWL 2 RL")
        case _:
            pass
    return expression


def _implied_form(expression: Expression) -> Expression:
    """Returns the expression, if a head can say it."""
    match expression:
        case Only(_, filler):
            _implied_form(filler)
        case Not(part):
            _implying_form(part)
        case AtMost(_, _, filler) if filler is not None:
            _implying_form(filler)
        case All(parts):
            for part in parts:
                _implied_form(part)
        case Some() | Any() | OneOf():
            raise _UnsupportedError(f"{_described(expression)} is not implied in OWL 2 RL: it names no individual")
        case _:
            pass
    return expression


def _expression(graph: _Graph, node: str, *, in_place: bool = False) -> Expression:
    if not node.startswith("_:") and not in_place:
        return Named(node)
    for name, kind in (("intersectionOf", All), ("unionOf", Any)):
        head = graph.one(node, f"{OWL}{name}")
        if head is not None:
            return kind(tuple(_expression(graph, each) for each in graph.items(head)))
    head = graph.one(node, f"{OWL}oneOf")
    if head is not None:
        return OneOf(graph.items(head))
    complement = graph.one(node, f"{OWL}complementOf")
    if complement is not None:
        return Not(_expression(graph, complement))
    return _restriction(graph, node)


def _restriction(graph: _Graph, node: str) -> Expression:
    property_ = graph.one(node, f"{OWL}onProperty")
    if property_ is None or property_.startswith("_:"):
        raise _UnsupportedError(f"the class expression {node} has no property with a name")
    filler = graph.one(node, f"{OWL}someValuesFrom")
    if filler is not None:
        return Some(property_, None if filler == THING or _is_datatype(filler) else _expression(graph, filler))
    filler = graph.one(node, f"{OWL}allValuesFrom")
    if filler is not None:
        return Only(property_, _expression(graph, filler))
    value = graph.one(node, f"{OWL}hasValue")
    if value is not None:
        return HasValue(property_, value)
    for name in ("maxCardinality", "maxQualifiedCardinality"):
        count = graph.one(node, f"{OWL}{name}")
        if count is not None and count.startswith(('"0"', '"1"')):
            within = graph.one(node, f"{OWL}onClass")
            filler_ = None if within in (None, THING) else _expression(graph, within or "")
            return AtMost(int(count[1]), property_, filler_)
    raise _UnsupportedError(f"a restriction on {local_name(property_)} that OWL 2 RL has no rule for")


def _is_datatype(iri: str) -> bool:
    return iri.startswith("http://www.w3.org/2001/XMLSchema#") or iri == f"{RDFS}Literal"


def _described(expression: Expression) -> str:
    match expression:
        case Some(property_, filler):
            return f"`some {local_name(property_)}{f' {_described(filler)}' if filler else ''}`"
        case Only(property_):
            return f"`only {local_name(property_)}`"
        case AtMost(count, property_):
            return f"`at most {count} {local_name(property_)}`"
        case Named(iri):
            return local_name(iri)
        case Any():
            return "a union"
        case OneOf():
            return "an enumeration"
        case Not():
            return "a complement"
        case _:
            return "an expression"


def local_name(iri: str) -> str:
    """Returns the end of an IRI, after its last `#`, `/` or `:`."""
    return iri.rstrip("#/").replace("#", "/").replace(":", "/").rpartition("/")[2]
