"""The rules of an ontology: axiom by axiom, and against an independent reasoner (owlrl)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tidelog
from tidelog.cli.main import main
from tidelog.rdf.ontology import OWL, RDF, RDFS, TYPE, read_ontology
from tidelog.rdf.owl_rules import RELATIONS, owl_program, relation_names
from tidelog.rdf.triples import Triple, read_triples

EXAMPLE = Path(__file__).parents[2] / "examples" / "rdf" / "university.ttl"
BASE = "http://example.org/university#"


def rules_of(turtle: str, tmp_path: Path) -> list[str]:
    path = tmp_path / "o.ttl"
    prefixes = f"@prefix : <{BASE}> . @prefix owl: <{OWL}> . @prefix rdfs: <{RDFS}> . @prefix rdf: <{RDF}> .\n"
    path.write_text(prefixes + turtle)
    text = owl_program(read_ontology(read_triples(path)), RELATIONS)
    tidelog.compile(text)
    return [line for line in text.splitlines() if (":-" in line and "Told" not in line) or line.startswith("// Left")]


@pytest.mark.parametrize(
    ("axioms", "rules"),
    [
        (":A rdfs:subClassOf :B .", ["B(x) :- A(x)."]),
        (":A owl:equivalentClass :B .", ["B(x) :- A(x).", "A(x) :- B(x)."]),
        (
            ":A owl:intersectionOf ( :B [ owl:onProperty :p ; owl:someValuesFrom :C ] ) .",
            [
                "A(x) :- B(x), P(x, y1), C(y1).",
                "B(x) :- A(x).",
                "// Left out: `some p C` is not implied in OWL 2 RL: it names no individual.",
            ],
        ),
        ("[ owl:unionOf ( :A :B ) ] rdfs:subClassOf :C .", ["C(x) :- A(x).", "C(x) :- B(x)."]),
        ("[ owl:oneOf ( :i ) ] rdfs:subClassOf :C .", [f'C(x) :- var x = "{BASE}i".']),
        (":p rdfs:domain :A ; rdfs:range :B .", ["A(x) :- P(x, _).", "B(y1) :- P(x, y1)."]),
        (":A rdfs:subClassOf [ owl:onProperty :p ; owl:allValuesFrom :B ] .", ["B(y1) :- A(x), P(x, y1)."]),
        (":A rdfs:subClassOf [ owl:onProperty :p ; owl:hasValue :i ] .", [f'P(x, "{BASE}i") :- A(x).']),
        ("[ owl:onProperty :p ; owl:hasValue :i ] rdfs:subClassOf :A .", [f'A(x) :- P(x, "{BASE}i").']),
        (":p rdfs:subPropertyOf :q .", ["Q(x, y) :- P(x, y)."]),
        (":p owl:inverseOf :q .", ["Q(y, x) :- P(x, y).", "P(y, x) :- Q(x, y)."]),
        (":p a owl:TransitiveProperty .", ["P(x, y) :- P(x, y1), P(y1, y)."]),
        (":p a owl:SymmetricProperty .", ["P(y, x) :- P(x, y)."]),
        (":p owl:propertyChainAxiom ( :q :r :q ) .", ["P(x, y) :- Q(x, y1), R(y1, y2), Q(y2, y)."]),
        (":p a owl:IrreflexiveProperty .", ['Inconsistent("irreflexive: p", x) :- P(x, x).']),
        (":p a owl:AsymmetricProperty .", ['Inconsistent("asymmetric: p", x) :- P(x, y), P(y, x).']),
        (":p owl:propertyDisjointWith :q .", ['Inconsistent("disjoint: p, q", x) :- P(x, y), Q(x, y).']),
        (":A owl:disjointWith :B .", ['Inconsistent("nothing may be in: A(x), B(x)", x) :- A(x), B(x).']),
        (
            ":A rdfs:subClassOf [ owl:complementOf :B ] .",
            ['Inconsistent("a class and its complement", x) :- A(x), B(x).'],
        ),
        (
            ":p a owl:FunctionalProperty .",
            [
                "SameAs(y, z) :- P(x, y), P(x, z), y != z.",
                "SameAs(y, x) :- SameAs(x, y).",
                "SameAs(x, z) :- SameAs(x, y), SameAs(y, z), x != z.",
                "P(z, y) :- P(x, y), SameAs(x, z).",
                "P(x, z) :- P(x, y), SameAs(y, z).",
            ],
        ),
        (
            ":A rdfs:subClassOf [ owl:onProperty :p ; owl:maxQualifiedCardinality 1 ; owl:onClass :B ] .",
            [
                "SameAs(y1, y2) :- A(x), P(x, y1), B(y1), P(x, y2), B(y2), y1 != y2.",
                "SameAs(y, x) :- SameAs(x, y).",
                "SameAs(x, z) :- SameAs(x, y), SameAs(y, z), x != z.",
                "A(y) :- A(x), SameAs(x, y).",
                "B(y) :- B(x), SameAs(x, y).",
                "P(z, y) :- P(x, y), SameAs(x, z).",
                "P(x, z) :- P(x, y), SameAs(y, z).",
            ],
        ),
        (
            "[ owl:onProperty :p ; owl:allValuesFrom :B ] rdfs:subClassOf :A .",
            ["// Left out: `only p` implies nothing in OWL 2 RL."],
        ),
    ],
)
def test_an_axiom_has_its_rules(axioms: str, rules: list[str], tmp_path: Path) -> None:
    assert sorted(rules_of(axioms, tmp_path)) == sorted(rules)


def test_names_that_would_be_the_same_are_numbered() -> None:
    ontology = read_ontology(
        [(f"http://{host}/o#thing-1", TYPE, f"{OWL}{kind}") for host in "ab" for kind in ("Class", "ObjectProperty")]
    )
    names = relation_names(ontology)
    assert list(names.classes.values()) == ["Thing_1", "Thing_12"]
    assert list(names.properties.values()) == ["Thing_13", "Thing_14"]


def reasoned(triples: list[Triple]) -> set[Triple]:
    """What owlrl derives."""
    import owlrl
    import rdflib

    def term(text: str) -> rdflib.term.Node:
        if text.startswith("_:"):
            return rdflib.BNode(text[2:])
        return rdflib.util.from_n3(text) if text.startswith('"') else rdflib.URIRef(text)

    graph = rdflib.Graph()
    for triple in triples:
        graph.add(tuple(term(each) for each in triple))
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    return {(str(s), str(p), str(o)) for s, p, o in graph}


@pytest.mark.parametrize("seed", range(4))
def test_the_rules_derive_what_an_independent_reasoner_derives(seed: int) -> None:
    told = list(read_triples(EXAMPLE))
    ontology = read_ontology(told)
    names = relation_names(ontology)
    rng = random.Random(seed)
    people = [f"{BASE}i{i}" for i in range(8)] + [f"{BASE}ada", f"{BASE}maths"]
    classes, properties = sorted(ontology.classes), sorted(set(ontology.properties) - {f"{BASE}email"})
    added = [(rng.choice(people), TYPE, rng.choice(classes)) for _ in range(6)]
    added += [(rng.choice(people), rng.choice(properties), rng.choice(people)) for _ in range(12)]
    with tidelog.compile(owl_program(ontology)).open() as db:
        for part in (told, added):
            with db.transaction() as tx:
                tx.insert("T", part)
        expected = reasoned(told + added)
        for iri, name in names.classes.items():
            wanted = {s for s, p, o in expected if p == TYPE and o == iri and s.startswith(BASE)}
            assert set(db.relation(name).rows()) == {(s,) for s in wanted}, name
        for iri, name in names.properties.items():
            wanted_pairs = {(s, o) for s, p, o in expected if p == iri and s.startswith(BASE)}
            assert {(s, o.strip('"')) for s, o in db.relation(name).rows()} == wanted_pairs, name
        with db.transaction() as tx:
            tx.delete("T", sorted(set(added) - set(told)))
        with tidelog.compile(owl_program(ontology)).open() as fresh:
            with fresh.transaction() as other:
                other.insert("T", told)
            for name in (*names.classes.values(), *names.properties.values(), "SameAs", "Inconsistent"):
                assert set(db.relation(name).rows()) == set(fresh.relation(name).rows())


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rdf", "rules", "--facts", "relations", str(EXAMPLE)]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("classes: ")
    program = tmp_path / "university.dl"
    program.write_text(said.out)
    assert main(["rdf", "facts", str(EXAMPLE), str(EXAMPLE), "-D", str(tmp_path / "facts")]) == 0
    out = tmp_path / "out"
    assert main(["run", str(program), "-F", str(tmp_path / "facts"), "-D", str(out)]) == 0
    assert (out / "Chair.csv").read_text().splitlines()[-1] == f"{BASE}ada2"
    assert (out / "TeacherOfStudent.csv").read_text().count("cleo") == 2
    assert main(["rdf", "rules", str(tmp_path / "missing.owl")]) == 2
