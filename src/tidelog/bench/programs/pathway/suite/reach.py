"""The program `reach.dl` for Pathway."""

from __future__ import annotations

from typing import Any


def results(pw: Any, given: dict[str, Any]) -> dict[str, Any]:
    source = given["Source"]

    def step(reach: Any, source: Any, edge: Any) -> dict[str, Any]:
        further = reach.join(edge, reach.node == edge.src).select(node=pw.right.dst)
        both = pw.Table.concat_reindex(source, further)
        return {"reach": both.groupby(both.node).reduce(both.node), "source": source, "edge": edge}

    found = pw.iterate(step, reach=pw.iterate_universe(source), source=source, edge=given["Edge"])
    return {"Reach": found["reach"]}
