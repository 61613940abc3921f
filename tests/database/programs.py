"""Small programs that the tests of the API share."""

from __future__ import annotations

REACH = """
input relation Edge(src: string, dst: string)
input relation Host(name: string)
output relation Reach(src: string, dst: string)
output relation Alone(name: string)
relation Touched(name: string)

Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
Touched(x) :- Edge(x, _).
Touched(y) :- Edge(_, y).
Alone(h) :- Host(h), not Touched(h).
"""

FACTS = """
input relation In(n: u8)
output relation Out(n: u8)
Out(1).
Out(n) :- In(n).
"""

TYPES = """
input relation In(flag: bool, odd: bit<12>, big: u64, below: s64, wide: u128, text: string)
output relation Out(flag: bool, odd: bit<12>, big: u64, below: s64, wide: u128, text: string)
Out(a, b, c, d, e, f) :- In(a, b, c, d, e, f).
"""

DIVIDE = """
input relation In(n: u32)
output relation Out(n: u32)
Out(x) :- In(n), var x = 12 / n.
"""

FLAG = """
input relation Set()
output relation Shown()
Shown() :- Set().
"""
