"""`tidelog rdf`: ontologies → rules, triples → facts."""

from __future__ import annotations

from pathlib import Path

import click

from tidelog.cli import options
from tidelog.diagnostics.wording import counted


@click.group(short_help="Rules from an ontology, facts from triples.")
def rdf() -> None:
    """Converts RDF and OWL: an ontology becomes rules, triples become facts.

    \b
    Example:
      tidelog rdf rules univ-bench.owl > univ.dl
      tidelog run univ.dl -F facts -D out          # with the triples in facts/T.nt

    Wherever fact files are read, a relation `T(s: string, p: string, o: string)` can be read from `T.nt` or `T.ttl`. An
    IRI becomes its text, a literal its N-Triples form: `"5"^^<http://...>`.
    """


@rdf.command(short_help="Print the OWL 2 RL rules of an ontology.")
@click.argument("ontology", type=options.FILE)
@click.option(
    "--facts",
    type=click.Choice(("triples", "relations")),
    default="triples",
    show_default=True,
    help="The input relations of the program: one relation T(s, p, o), or one per class and property (ToldStudent).",
)
@options.debug
def rules(ontology: Path, facts: str) -> None:
    """Prints a program with the rules of OWL 2 RL for ONTOLOGY (.owl, .rdf, .xml, .ttl or .nt).

    Each class becomes a relation with one column, each property a relation with two. Axioms for which OWL 2 RL has no
    rule are listed in comments, and counted on standard error.
    """
    from tidelog.rdf.ontology import read_ontology
    from tidelog.rdf.owl_rules import owl_program
    from tidelog.rdf.triples import read_triples

    found = read_ontology(read_triples(ontology))
    click.echo(owl_program(found, facts), nl=False)
    names = f"classes: {len(found.classes)}, properties: {len(found.properties)}"
    click.echo(f"{names}, axioms: {len(found.axioms)}, skipped: {len(found.left_out)}", err=True)


@rdf.command(short_help="Write triples as files, one per class and property.")
@click.argument("ontology", type=options.FILE)
@click.argument("data", type=options.FILE, nargs=-1, required=True)
@click.option(
    "-D",
    "out",
    type=options.NEW_FOLDER,
    required=True,
    help="Directory for the files. Created if missing.",
)
@options.debug
def facts(ontology: Path, data: tuple[Path, ...], out: Path) -> None:
    """Writes the triples of DATA as Parquet files for the program of `tidelog rdf rules --facts relations ONTOLOGY`.

    \b
    Example:
      tidelog rdf rules --facts relations univ-bench.owl > univ.dl
      tidelog rdf facts univ-bench.owl lubm1.nt.gz -D facts
      tidelog run univ.dl -F facts -D out
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tidelog.rdf.by_property import by_property
    from tidelog.rdf.ontology import read_ontology
    from tidelog.rdf.owl_rules import relation_names
    from tidelog.rdf.triples import read_triples

    names = relation_names(read_ontology(read_triples(ontology)))
    rows, strangers = by_property((triple for path in data for triple in read_triples(path)), names)
    out.mkdir(parents=True, exist_ok=True)
    for name, found in rows.items():
        columns = ("x", "y") if name.removeprefix("Told") in names.properties.values() else ("x",)
        arrays = [pa.array([row[i] for row in found], pa.string()) for i in range(len(columns))]
        pq.write_table(pa.table(dict(zip(columns, arrays))), out / f"{name}.parquet")
    written = sum(map(len, rows.values()))
    click.echo(f"{counted(written, 'row')} in {counted(len(rows), 'file')}; {strangers} other triples", err=True)
