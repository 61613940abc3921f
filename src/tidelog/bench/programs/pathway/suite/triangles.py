"""The program `triangles.dl` for Pathway."""

from __future__ import annotations

from typing import Any


def results(pw: Any, given: dict[str, Any]) -> dict[str, Any]:
    one, two, three = given["Edge"], given["Edge"].copy(), given["Edge"].copy()
    ways = one.join(two, one.dst == two.src).select(a=pw.left.src, b=pw.left.dst, c=pw.right.dst)
    found = ways.join(three, ways.a == three.src, ways.c == three.dst).select(pw.left.a, pw.left.b, pw.left.c)
    return {"Triangle": found}
