"""LUBM: one university as triples, from `lubm/lubm1.nt.gz` (ontology included), or a generated one of its shape."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random

from tidelog.bench.benchmark import Settings
from tidelog.bench.inputs.dataset import SEED, unreadable
from tidelog.diagnostics.errors import DataError
from tidelog.rdf.ontology import OWL, RDF, RDFS, TYPE
from tidelog.rdf.triples import Triple, read_triples

BASE = "http://example.org/university#"
_RANKS = ("FullProfessor", "AssociateProfessor", "AssistantProfessor", "Lecturer")


def lubm(settings: Settings) -> tuple[str, str, list[Triple]]:
    """Returns a name, the source, and the distinct triples, in a fixed order."""
    path = settings.file("lubm/lubm1.nt.gz")
    if path is None:
        departments = settings.pick(1, 4, 15)
        return f"a university of {departments} departments", "generated", sorted(set(_generated(departments)))
    try:
        return "LUBM, one university", str(path), sorted(set(read_triples(path)))
    except DataError as error:
        raise unreadable(path, error) from error


def is_schema(triple: Triple) -> bool:
    """True if a triple is about classes or properties; such triples are never deleted."""
    subject, property_, value = triple
    return (
        property_.startswith((RDFS, OWL, RDF)) and (property_ != TYPE or value.startswith((OWL, RDF, RDFS)))
    ) or subject.startswith("_:")


def _generated(departments: int) -> Iterator[Triple]:
    yield from _ontology()
    rng = Random(SEED)
    for number in range(departments):
        department = f"{BASE}d{number}"
        yield department, TYPE, f"{BASE}Department"
        yield department, f"{BASE}subOrganizationOf", f"{BASE}u"
        courses = [f"{department}/course{i}" for i in range(60)]
        staff = [f"{department}/staff{i}" for i in range(35)]
        yield from ((course, TYPE, f"{BASE}Course") for course in courses)
        for i, person in enumerate(staff):
            yield person, TYPE, BASE + _RANKS[i % len(_RANKS)]
            yield person, f"{BASE}{'headOf' if i == 0 else 'worksFor'}", department
            yield person, f"{BASE}doctoralDegreeFrom", f"{BASE}u{rng.randrange(100)}"
            yield from ((person, f"{BASE}teacherOf", course) for course in rng.sample(courses, 2))
        for i in range(500):
            student = f"{department}/student{i}"
            yield student, TYPE, f"{BASE}{'GraduateStudent' if i % 4 == 0 else 'UndergraduateStudent'}"
            yield student, f"{BASE}memberOf", department
            yield student, f"{BASE}advisor", rng.choice(staff)
            yield from ((student, f"{BASE}takesCourse", course) for course in rng.sample(courses, 3))


def _ontology() -> Iterator[Triple]:
    for chain in (
        ("FullProfessor", "Professor", "Faculty", "Employee", "Person"),
        ("AssociateProfessor", "Professor"),
        ("AssistantProfessor", "Professor"),
        ("Chair", "Professor"),
        ("Lecturer", "Faculty"),
        ("GraduateStudent", "Student", "Person"),
        ("UndergraduateStudent", "Student"),
        ("Department", "Organization"),
        ("University", "Organization"),
        ("Course", "Work"),
    ):
        yield from ((BASE + below, f"{RDFS}subClassOf", BASE + above) for below, above in pairwise(chain))
    for below, above in (("headOf", "worksFor"), ("worksFor", "memberOf"), ("doctoralDegreeFrom", "degreeFrom")):
        yield BASE + below, f"{RDFS}subPropertyOf", BASE + above
    for name, domain, range_ in (
        ("advisor", "Person", "Professor"),
        ("degreeFrom", "Person", "University"),
        ("takesCourse", "Student", "Course"),
        ("teacherOf", "Faculty", "Course"),
        ("subOrganizationOf", "Organization", "Organization"),
    ):
        yield BASE + name, f"{RDFS}domain", BASE + domain
        yield BASE + name, f"{RDFS}range", BASE + range_
    yield f"{BASE}subOrganizationOf", TYPE, f"{OWL}TransitiveProperty"
    yield f"{BASE}degreeFrom", f"{OWL}inverseOf", f"{BASE}hasAlumnus"
    yield f"{BASE}memberOf", f"{OWL}inverseOf", f"{BASE}member"
    yield f"{BASE}Chair", f"{OWL}intersectionOf", "_:chair1"
    yield "_:chair1", f"{RDF}first", f"{BASE}Person"
    yield "_:chair1", f"{RDF}rest", "_:chair2"
    yield "_:chair2", f"{RDF}first", "_:head"
    yield "_:chair2", f"{RDF}rest", f"{RDF}nil"
    yield "_:head", f"{OWL}onProperty", f"{BASE}headOf"
    yield "_:head", f"{OWL}someValuesFrom", f"{BASE}Department"
