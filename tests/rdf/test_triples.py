"""RDF files are read as triples of texts, and what is wrong in them is pointed at."""

from __future__ import annotations

import gzip
import plistlib
from pathlib import Path

import pytest

import tidelog
from tidelog.diagnostics.errors import DataError
from tidelog.rdf.triples import read_triples

EXAMPLES = Path(__file__).parents[2] / "examples" / "rdf"
N_TRIPLES = r"""
# A comment
<http://a/x> <http://a/p> <http://a/y> .
_:b0 <http://a/p> "text"@en-GB.
<http://a/x> <http://a/p> "5"^^<http://www.w3.org/2001/XMLSchema#integer> . # five
  <http://a/x>	<http://a/p>	"a \"quoted\"\tline\nand ☃ \U0001F600" .
<http://a/x> <http://a/p> "plain"^^<http://www.w3.org/2001/XMLSchema#string> .
<http://a/sp> <http://a/p> _:b1.x .
"""
TRIPLES = [
    ("http://a/x", "http://a/p", "http://a/y"),
    ("_:b0", "http://a/p", '"text"@en-GB'),
    ("http://a/x", "http://a/p", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ("http://a/x", "http://a/p", '"a \\"quoted\\"\tline\\nand ☃ 😀"'),
    ("http://a/x", "http://a/p", '"plain"'),
    ("http://a/sp", "http://a/p", "_:b1.x"),
]


def test_n_triples(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.nt", tmp_path / "a.nt.gz"
    plain.write_text(N_TRIPLES)
    packed.write_bytes(gzip.compress(N_TRIPLES.encode()))
    assert list(read_triples(plain)) == list(read_triples(packed)) == TRIPLES


def test_turtle_and_xml_give_the_same_terms(tmp_path: Path) -> None:
    import rdflib

    turtle = tmp_path / "a.ttl"
    turtle.write_text(N_TRIPLES.replace("_:b1.x", "_:b1"))
    read = {triple for triple in read_triples(turtle) if "_:" not in "".join(triple)}
    assert read == {triple for triple in TRIPLES if "_:" not in "".join(triple)}
    graph = rdflib.Graph().parse(turtle)
    xml = tmp_path / "a.owl"
    xml.write_bytes(graph.serialize(format="xml", encoding="utf-8"))
    assert {t for t in read_triples(xml) if "_:" not in "".join(t)} == read
    saved = tmp_path / "saved.owl"
    saved.write_bytes(
        plistlib.dumps({"WebMainResource": {"WebResourceData": xml.read_bytes()}}, fmt=plistlib.FMT_BINARY)
    )
    assert {t for t in read_triples(saved) if "_:" not in "".join(t)} == read


@pytest.mark.parametrize(
    "line",
    [
        "<http://a/x> <http://a/p> .",
        "<http://a/x> <http://a/p> <http://a/y>",
        '"text" <http://a/p> <http://a/y> .',
        "<http://a/x> _:p <http://a/y> .",
        '<http://a/x> <http://a/p> "open .',
        r'<http://a/x> <http://a/p> "\q" .',
        r'<http://a/x> <http://a/p> "\ud800" .',
        "<http://a b/x> <http://a/p> <http://a/y> .",
    ],
)
def test_a_line_that_is_no_triple_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.nt"
    path.write_text(f"<http://a/x> <http://a/p> <http://a/y> .\n\n{line}\n")
    with pytest.raises(DataError, match=r"bad\.nt:3: .*is not a triple") as caught:
        list(read_triples(path))
    assert caught.value.code == "E507"


def test_other_files_are_refused(tmp_path: Path) -> None:
    for name, content, said in (
        ("a.ttl", b"<a> <b> ", "a.ttl: cannot be read"),
        ("a.owl", b"<rdf", "a.owl: cannot be read"),
        ("a.csv", b"", "the name does not say what kind of RDF file"),
        ("a.nt", b"\xff\xfe", "a.nt:1: the file is not UTF-8"),
        ("a.nt.gz", b"no gzip", "a.nt.gz: cannot be read"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=said):
            list(read_triples(tmp_path / name))


def test_a_folder_of_facts_may_hold_triples(tmp_path: Path) -> None:
    from tidelog.cli.main import main

    facts, out = tmp_path / "facts", tmp_path / "out"
    facts.mkdir()
    (facts / "T.nt").write_text(N_TRIPLES)
    program = tmp_path / "p.dl"
    program.write_text(
        "input relation T(s: string, p: string, o: string)\noutput relation O(o: string)\nO(o) :- T(_, _, o).\n"
    )
    assert main(["run", str(program), "-F", str(facts), "-D", str(out), "--format", "jsonl"]) == 0
    assert len((out / "O.jsonl").read_text().splitlines()) == len(TRIPLES)
    program.write_text("input relation T(s: string, p: u32)\n")
    assert main(["run", str(program), "-F", str(facts), "-D", str(out)]) == 3


def test_rdfs() -> None:
    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    rdfs = "http://www.w3.org/2000/01/rdf-schema#"
    with tidelog.compile(EXAMPLES / "rdfs.dl").open() as db:
        with db.transaction() as tx:
            tx.insert(
                "T",
                [
                    ("Cat", f"{rdfs}subClassOf", "Animal"),
                    ("Animal", f"{rdfs}subClassOf", "Being"),
                    ("chases", f"{rdfs}subPropertyOf", "follows"),
                    ("follows", f"{rdfs}domain", "Cat"),
                    ("follows", f"{rdfs}range", "Mouse"),
                    ("tom", "chases", "jerry"),
                ],
            )
        derived = {row for row, _ in tx.changes["Triple"]}
        assert ("tom", rdf_type, "Being") in derived
        assert ("jerry", rdf_type, "Mouse") in derived
        with db.transaction() as tx:
            tx.delete("T", [("follows", f"{rdfs}domain", "Cat")])
        assert {row for row, _ in tx.changes["Triple"]} == {
            ("follows", f"{rdfs}domain", "Cat"),
            *(("tom", rdf_type, each) for each in ("Cat", "Animal", "Being")),
        }
