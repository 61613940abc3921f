"""The program `closure.dl` for Pathway."""

from __future__ import annotations

from typing import Any


def results(pw: Any, given: dict[str, Any]) -> dict[str, Any]:
    edge = given["Edge"]

    def step(reach: Any, edge: Any) -> dict[str, Any]:
        further = reach.join(edge, reach.dst == edge.src).select(src=pw.left.src, dst=pw.right.dst)
        both = pw.Table.concat_reindex(edge, further)
        return {"reach": both.groupby(both.src, both.dst).reduce(both.src, both.dst), "edge": edge}

    return {"Reach": pw.iterate(step, reach=pw.iterate_universe(edge), edge=edge)["reach"]}
