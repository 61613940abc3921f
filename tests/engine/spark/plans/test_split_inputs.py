"""Input relations that rules derive too are split in two."""

from __future__ import annotations

from tests.engine.spark.programs import EDGES, LINEAR, rules_of

from tidelog.engine.spark.plans.split_inputs import split_inputs


def test_an_input_relation_with_rules_gets_a_relation_for_its_facts() -> None:
    program = rules_of(EDGES + "Edge(y, x) :- Edge(x, y), x > 3.")
    found = split_inputs(program)
    assert found.written == {"Edge": "Edge#input"}
    stratum = next(stratum for stratum in found.rules.strata if stratum.relations == ("Edge",))
    assert [atom.relation for rule in stratum.rules for atom in rule.positives] == ["Edge", "Edge#input"]
    assert found.rules.strata[0].relations == ("Edge#input",)
    assert len({rule.id for rule in found.rules.rules}) == len(found.rules.rules)


def test_a_program_without_such_relations_stays_as_it_is() -> None:
    program = rules_of(LINEAR)
    found = split_inputs(program)
    assert found.rules == program
    assert found.written == {"Edge": "Edge"}
