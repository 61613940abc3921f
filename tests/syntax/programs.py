"""Programs that more than one test reads."""

from __future__ import annotations

# Every form of the grammar at least once.
EVERYTHING = r"""
import net::ipv4 as v4
import graph
/* types /* nested */ here */
#[size = 8] #[custom] extern type Regex<'A>
typedef Name = string
typedef Price = decimal<10, 2>
typedef Callback = function(mut u8, Vec<'A>): bool
typedef Shape = Circle{#[rust = "x"] radius: u8,} | #[by_val] Square{side: bit<12>} | Point
typedef Tree<'A> = Leaf{value: 'A} | Fork{left: Ref<Tree<'A>>, right: Ref<Tree<'A>>}
typedef Fun = |(u8, string), mut Name|: ()
extern function hash(#[by_val] s: string, t: mut u8): u64
function one(): u8 = 1
function nothing() {}
#[return_by_ref]
function f(x: 'A, y: mut Vec<u8>): Result<u8, string> {
    var a = 1; var b: u8 = 'hff + 8'd10; (var c, _) = (a, b,);
    Circle{.radius = var r} = g(x); y.field = b; y.0.1 = -c;
    for ((k, Some{v}) in y.map(|z: u8|: u8 { z + 1 }).filter(net::odd)) { if (k == 1) break; continue };
    var m = match (x) { "a" -> 1, (true, 2) -> 2, net::Circle{.radius = 3: u8} -> {4; 5}, var q -> q, _ -> return E{} };
    var d = [1, 2, 3]; var t = date"2024-01-31";
    var e = ["a" -> 1, "b" -> 2]; var n = None; var w = function(h: u8, i): u8 { h };
    if (a > 1 and not b == 2 or a => b) { return } else if (~a & b ^ c | a) {()} else d.push(m? as u8);
    "x${a ++ \"${b}\"}" ++ i"interned" ++ [|raw ${x}|] ++ $[|t${x}|] ++ "two" "parts";
    x[7:0] ++ (&y).g(h@2, |_a| 1.5e3, 32'f1.5)(7) ; net::f(x).v4::g()?.h >= 2 << 1 >> 1 % 2;
}
input relation Host(id: u64, #[original = "n"] name: string,) primary key (h) (h.id, h.name)
output multiset Words[(string, u64)]
stream &Clicks(user: Ref<string>)
index ByName(n: string) on Host(_, n)
extern transformer SCC(Edges: relation['E], from: function(e: 'E): 'N) -> (Labels: relation[('N, 'N)])
apply graph::SCC(Host, one) -> (Words)
Host(1, "a"), Words[("x", 1)], &Clicks(y) @ place.
Out(x, f(y)) :- Host(x, y), not Words[(y, _)], h in &Host(.id = x), net::Host-1(_, x), Clicks'(u), Host(), x < 5,
    Some{var p} = g(x), (192, 168, _, _) = ip, var z: u8 = x + 1, var w = FlatMap(split(y)), (var k, _) = FlatMap(m),
    (var s, var n: u64) = (sum(z), count()) by (x, w = x + y),
    var c = Aggregate((x, y), count(z)), var t = (x, y).group_by((x)).sum(), Inspect print("${x}"), b@Book{} == &v.
#[maintain = "trace"] Empty() :- not Host(), .
for (h in Host if h.id > 1) { var x = h.name in if (x == "a") Out(x, 1) else skip;
    match (x) { "b" -> Out(x, 2), _ -> for (Words[w]) {Out(w); Empty} } }
"""
