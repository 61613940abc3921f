"""Short programs for tests of the checker."""

from __future__ import annotations

import pytest

from tidelog.check.check import check
from tidelog.check.program import TypedProgram
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.syntax.parse import parse

# Every construct of the language at least once.
WHOLE = r"""
import graph
typedef Point = Point{x: u8, y: u8}
typedef Shape<'A> = Circle{at: Point, tag: 'A} | Square{side: u32, tag: 'A} | Nothing
typedef Pair = (u8, string)
extern type Handle
extern function handle(x: string): Handle
function twice(x: mut u8, f: function(u8): u8): u8 {
    x = f(x);
    for (i in range_vec(0, 3, 1)) { if (i == x) { break } else { continue } };
    match (Some{x}) { Some{1} -> return 7, Some{y} -> y, None -> 0 }
}
function first(v: Vec<u8>): Option<u8> {
    var a = v.nth(0)?; var p = Point{a, 1}; p.x = 3; (var l, _) = (p.x, 2); Some{l + p.y}
}
function texts(): Map<string, Vec<string>> { ["a" -> ["x", "y"]] }
input relation &Host(id: u64, name: string) primary key (h) (h.id, h.name)
input relation Shapes[Shape<string>]
input stream Click(user: string, at: Ref<Point>)
output multiset Words[(string, u64)]
relation Edge(a: u64, b: u64)
output relation Label[(u64, u64)]
output relation Out(a: u64, t: string)
stream Clicks(user: string, n: u8)
function from(e: Edge): u64 { e.a }
function to(e: Edge): u64 { e.b }
index ByName(n: string) on Host(_, n)
apply graph::SCC(Edge, from, to) -> (Label)
Words[(t, 1)] :- Shapes[Circle{p, t}], p.x == 1.
Out(h.id, "${h.name}${i\"x\"}") :- h in &Host(.id = 3), not Edge(3, _), Label-1[(h.id, _)].
Clicks(u, p.x) :- Click(u, p), (var a, var b) = (p.x, p.y), a == b, var c = a as u16 ++ b, c > 3.
Out(n.count_distinct() as u64, t) :- Click'(t, _), var n = t.group_by(t).
Out(c, t) :- Host(id, t), var c = Aggregate((t), group_max(id)).
Out(1, x) :- Host(_, s), var x = FlatMap(s.split(",")), Inspect ().
Edge(1, 2), Edge(2, 3).
Out(~5 & 1 << 2, "a" ++ (3.5: double)) :- Edge(_, _), not (1 == 2), var f = |x: u8| x + 1, f(1) == 2.
for (h in Host if h.id > 1) {
    var y = h.name in if (y == "a") Out(1, y) else skip;
    match (h.id) { 1 -> Out(2, ""), _ -> Edge(h.id, 1) }
}
"""

DECLARATIONS = """
input relation Edge(src: string, dst: string)
input relation Num(a: u8, b: s16, c: bit<12>)
input relation Flag()
output relation Out(a: u8, t: string)
output relation Any(b: bool)
"""


def checked(rules: str) -> TypedProgram:
    return check(parse(Source("p.dl", DECLARATIONS + rules)))


def wrong(rules: str) -> list[str]:
    """The messages about the rules, each with its code."""
    with pytest.raises(ProgramError) as caught:
        checked(rules)
    return [f"{found.code} {found.message}" for found in caught.value.diagnostics]
