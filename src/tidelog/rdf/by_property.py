"""Triples → the rows of one relation per class and property, as `owl_rules` declares them."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.rdf.ontology import TYPE
from tidelog.rdf.owl_rules import Names
from tidelog.rdf.triples import Triple

Rows = dict[str, list[tuple[str, ...]]]


def by_property(triples: Iterable[Triple], names: Names) -> tuple[Rows, int]:
    """Returns the rows by relation (`ToldStudent`, ...), and the number of triples without a relation."""
    rows: Rows = {f"Told{name}": [] for name in (*names.classes.values(), *names.properties.values())}
    strangers = 0
    for subject, property_, value in triples:
        if property_ == TYPE and value in names.classes:
            rows[f"Told{names.classes[value]}"].append((subject,))
        elif property_ in names.properties:
            rows[f"Told{names.properties[property_]}"].append((subject, value))
        else:
            strangers += 1
    return rows, strangers
