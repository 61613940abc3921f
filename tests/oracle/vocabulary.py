"""Types, functions and patterns of the wider language, each in its text and beside it in Python.

A random program picks from these tables. Declared functions use loops, `match`, mutation, closures, recursion and `?`;
what they mean is said again here in plain Python.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tests.oracle.types import BOOL, STRING, Function, Grouped, Made, Shape, Type, Value, bit

N = bit(8)
U64 = bit(64)
BIG = Type("bigint")
DOUBLE = Type("double")
OPTION = Type("option", items=(N,), text="Option<u8>")
OPTION_DOUBLE = Type("option", items=(DOUBLE,), text="Option<double>")
OPTION_TEXT = Type("option", items=(STRING,), text="Option<string>")
PAIR = Type("tuple", items=(N, STRING), text="(u8, string)")
VEC = Type("vec", items=(N,), text="Vec<u8>")
WORDS = Type("vec", items=(STRING,), text="Vec<string>")
SET = Type("set", items=(N,), text="Set<u8>")
MAP = Type("map", items=(N, STRING), text="Map<u8, string>")
FIGURE = Type("Figure", declaration="typedef Figure = Dot | Circle{r: u8} | Box{w: u8, h: u8}")
POINT = Type("Point", declaration="typedef Point = Point{x: u8, tag: Option<u8>}")
INTERNED = Type("string", text="istring")
SHARED = Type("shared point", items=(POINT,), text="Ref<Point>")
TREE = Type("Tree", declaration="typedef Tree = Leaf{v: u8} | Fork{left: Ref<Tree>, right: Ref<Tree>}")

# The constructors of each declared type, in order, with the types of their fields.
CONSTRUCTORS: dict[Type, dict[str, tuple[Type, ...]]] = {
    OPTION: {"None": (), "Some": (N,)},
    OPTION_DOUBLE: {"None": (), "Some": (DOUBLE,)},
    OPTION_TEXT: {"None": (), "Some": (STRING,)},
    FIGURE: {"Dot": (), "Circle": (N,), "Box": (N, N)},
    POINT: {"Point": (N, OPTION)},
    SHARED: {"Point": (N, OPTION)},
    TREE: {"Leaf": (N,), "Fork": (TREE, TREE)},
}
# The names of the fields of each constructor that has some.
FIELDS = {
    "Some": ("x",),
    "Circle": ("r",),
    "Box": ("w", "h"),
    "Point": ("x", "tag"),
    "Leaf": ("v",),
    "Fork": ("left", "right"),
}
NONE = Made(0, "None", ())
DOT = Made(0, "Dot", ())


def some(x: Value) -> Made:
    return Made(1, "Some", (x,))


def _made(type_: Type, name: str, *fields: Value) -> Made:
    return Made(list(CONSTRUCTORS[type_]).index(name), name, fields)


def _leaf(v: Value) -> Made:
    return _made(TREE, "Leaf", v)


SAMPLES: dict[Type, list[Value]] = {
    N: [0, 1, 2, 3, 7, 128, 255],
    U64: [0, 1, 2, 3, 2**63, 2**64 - 1],
    BIG: [0, 1, -1, 2**70, -(2**70)],
    DOUBLE: [0.0, 0.5, -1.25, 1e300, 3.0],
    BOOL: [False, True],
    STRING: ["", "a", "b", "é", "a b", 'q"{x}', "b a b"],
    OPTION: [NONE, some(0), some(1), some(7)],
    OPTION_TEXT: [NONE, some(""), some("a")],
    PAIR: [(0, ""), (0, "a"), (1, "a"), (7, "é"), (255, "b")],
    VEC: [(), (0,), (1, 1), (3, 1, 3), (7, 2, 0)],
    WORDS: [(), ("a",), ("b", "a", "b")],
    SET: [(), (0,), (1, 3), (0, 1, 255)],
    MAP: [(), ((0, "a"),), ((1, "a"), (3, "b")), ((0, ""), (1, "é"), (255, "a"))],
    FIGURE: [DOT, _made(FIGURE, "Circle", 0), _made(FIGURE, "Circle", 3), _made(FIGURE, "Box", 3, 1)],
    POINT: [_made(POINT, "Point", x, tag) for x, tag in ((0, NONE), (0, some(1)), (3, some(3)), (7, NONE))],
    INTERNED: ["", "a", "é", "b a b"],
    SHARED: [_made(POINT, "Point", x, tag) for x, tag in ((0, NONE), (3, some(3)), (7, some(1)))],
    TREE: [_leaf(1), _leaf(3), _made(TREE, "Fork", _leaf(1), _made(TREE, "Fork", _leaf(3), _leaf(1)))],
}


def group_of(values: Type) -> Type:
    """Groups of such values, under whatever key."""
    return Type("group", items=(values,))


def _wrap(number: int) -> int:
    return number % 256


def _area(figure: Made) -> int:
    match figure.name, figure.fields:
        case "Circle", (r,):
            return _wrap(3 * r * r)
        case "Box", (w, h):
            return _wrap(w * h)
    return 0


def _grown(figure: Made, n: int) -> Made:
    match figure.name, figure.fields:
        case "Circle", (r,):
            return _made(FIGURE, "Circle", _wrap(r + n))
        case "Box", (w, h):
            return _made(FIGURE, "Box", _wrap(w + n), h)
    return figure


def _odd_sum(values: tuple[int, ...]) -> int:
    total = 0
    for x in values:
        if x == 255:
            break
        if x % 2 == 1:
            total += x
    return total


def _depth(tree: Made) -> int:
    return 0 if tree.name == "Leaf" else 1 + max(map(_depth, tree.fields))


def _both(left: Made, right: Made) -> Made:
    return NONE if NONE in (left, right) else some(_wrap(left.fields[0] + right.fields[0]))


def _put(map_: tuple[Any, ...], key: int, text: str) -> tuple[Any, ...]:
    return tuple(sorted({**dict(map_), key: text}.items()))


def _found(map_: tuple[Any, ...], key: int) -> Made:
    return some(dict(map_)[key]) if key in dict(map_) else NONE


def _sorted(values: Any) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))


MAKERS = [
    Function("Circle{{{0}}}", (N,), FIGURE, lambda r: _made(FIGURE, "Circle", r)),
    Function("Box{{.h = {1}, .w = {0}}}", (N, N), FIGURE, lambda w, h: _made(FIGURE, "Box", w, h)),
    Function("Point{{{0}, {1}}}", (N, OPTION), POINT, lambda x, tag: _made(POINT, "Point", x, tag)),
    Function("Leaf{{{0}}}", (N,), TREE, _leaf),
    Function("Fork{{ref_new({0}), ref_new({1})}}", (TREE, TREE), TREE, lambda a, b: _made(TREE, "Fork", a, b)),
    Function("Some{{{0}}}", (N,), OPTION, some),
    Function("Some{{{0}}}", (STRING,), OPTION_TEXT, some),
    Function("({0}, {1})", (N, STRING), PAIR, lambda x, y: (x, y)),
    Function("[{0}, {1}]", (N, N), VEC, lambda x, y: (x, y)),
    Function("[{0}]", (STRING,), WORDS, lambda x: (x,)),
    Function("set_singleton({0})", (N,), SET, lambda x: (x,)),
    Function("[{0} -> {1}]", (N, STRING), MAP, lambda k, v: ((k, v),)),
    Function("intern({0})", (STRING,), INTERNED, lambda x: x),
    Function("ref_new({0})", (POINT,), SHARED, lambda x: x),
    Function("({0} as bigint)", (N,), BIG, lambda x: x),
    Function("({0} as double)", (N,), DOUBLE, float),
    Function("({0} as u64)", (N,), U64, lambda x: x),
]

# Their results are no larger than what they are made from, so that a recursion through them ends.
SHRINKING = [
    Function("{0}.0", (PAIR,), N, lambda p: p[0]),
    Function("{0}.1", (PAIR,), STRING, lambda p: p[1]),
    Function("{0}.x", (POINT,), N, lambda p: p.fields[0]),
    Function("{0}.tag", (POINT,), OPTION, lambda p: p.fields[1]),
    Function("ival({0})", (INTERNED,), STRING, lambda x: x),
    Function("deref({0})", (SHARED,), POINT, lambda x: x),
    Function("{0}.x", (SHARED,), N, lambda p: p.fields[0]),
    Function("({0} == {1})", (SHARED, SHARED), BOOL, lambda a, b: a == b),
    Function("{0}.unwrap_or({1})", (OPTION, N), N, lambda o, x: o.fields[0] if o.fields else x),
    Function("{0}.is_some()", (OPTION,), BOOL, lambda o: o != NONE),
    Function("{0}.contains({1})", (VEC, N), BOOL, lambda v, x: x in v),
    Function("{0}.contains({1})", (SET, N), BOOL, lambda v, x: x in v),
    Function("{0}.contains_key({1})", (MAP, N), BOOL, lambda m, k: k in dict(m)),
    Function("{0}.get({1})", (MAP, N), OPTION_TEXT, _found),
    Function("{0}.nth(64'd1)", (VEC,), OPTION, lambda v: some(v[1]) if len(v) > 1 else NONE),
    Function("min({0}, {1})", (N, N), N, min),
    Function("max({0}, {1})", (FIGURE, FIGURE), FIGURE, max),
    Function("({0} & {1})", (N, N), N, lambda x, y: x & y),
    Function("{0}.intersection({1})", (SET, SET), SET, lambda a, b: _sorted(set(a) & set(b))),
    Function("{0}.difference({1})", (SET, SET), SET, lambda a, b: _sorted(set(a) - set(b))),
    Function(
        "area({0})",
        (FIGURE,),
        N,
        _area,
        "function area(f: Figure): u8 { match (f) { Circle{r} -> 3 * r * r, Box{w, h} -> w * h, Dot -> 0 } }",
    ),
    Function("({0} == {1})", (FIGURE, FIGURE), BOOL, lambda a, b: a == b),
    Function("({0} < {1})", (POINT, POINT), BOOL, lambda a, b: a < b),
    Function("({0} <= {1})", (MAP, MAP), BOOL, lambda a, b: a <= b),
]

GROWING = [
    Function("({0} + {1})", (N, N), N, lambda x, y: _wrap(x + y)),
    Function("({0} * {1})", (BIG, BIG), BIG, lambda x, y: x * y),
    Function("({0} - {1})", (BIG, BIG), BIG, lambda x, y: x - y),
    Function("({0} + {1})", (DOUBLE, DOUBLE), DOUBLE, lambda x, y: x + y),
    Function("({0} < {1})", (DOUBLE, DOUBLE), BOOL, lambda x, y: x < y),
    Function("({0} ++ {1})", (STRING, STRING), STRING, lambda x, y: x + y),
    Function('"<${{{0}}}>"', (N,), STRING, lambda x: f"<{x}>"),
    Function("{0}.len()", (STRING,), U64, lambda s: len(s.encode())),
    Function('{0}.split(" ")', (STRING,), WORDS, lambda s: tuple(s.split(" "))),
    Function('{0}.join("-")', (WORDS,), STRING, lambda v: "-".join(v)),
    Function("{0}.push_imm({1})", (VEC, N), VEC, lambda v, x: (*v, x)),
    Function("{0}.sort_imm()", (VEC,), VEC, lambda v: tuple(sorted(v))),
    Function("{0}.reverse_imm()", (VEC,), VEC, lambda v: v[::-1]),
    Function("{0}.to_set()", (VEC,), SET, _sorted),
    Function("{0}.to_vec()", (SET,), VEC, lambda s: s),
    Function("{0}.len()", (VEC,), U64, len),
    Function("{0}.len()", (INTERNED,), U64, lambda s: len(s.encode())),
    Function("{0}.size()", (MAP,), U64, len),
    Function("{0}.union({1})", (SET, SET), SET, lambda a, b: _sorted(a + b)),
    Function("{0}.insert_imm({1})", (SET, N), SET, lambda s, x: _sorted((*s, x))),
    Function("{0}.insert_imm({1}, {2})", (MAP, N, STRING), MAP, _put),
    Function("{0}.keys()", (MAP,), VEC, lambda m: tuple(k for k, _ in m)),
    Function("{0}.map(|x| x + {1})", (VEC, N), VEC, lambda v, n: tuple(_wrap(x + n) for x in v), "import vec"),
    Function("{0}.filter(|x| x > {1})", (VEC, N), VEC, lambda v, n: tuple(x for x in v if x > n), "import vec"),
    Function(
        "grown({0}, {1})",
        (FIGURE, N),
        FIGURE,
        _grown,
        """function grow(f: mut Figure, n: u8) { match (f) { Circle{r} -> r = r + n, Box{w, _} -> w = w + n, _ -> () } }
function grown(f: Figure, n: u8): Figure { var g = f; grow(g, n); g }""",
    ),
    Function(
        "odd_sum({0})",
        (VEC,),
        U64,
        _odd_sum,
        """function odd_sum(values: Vec<u8>): u64 {
    var total: u64 = 0;
    for (x in values) {
        if (x == 255) { break };
        if (x % 2 == 0) { continue };
        total = total + (x as u64)
    };
    total
}""",
    ),
    Function(
        "both({0}, {1})",
        (OPTION, OPTION),
        OPTION,
        _both,
        "function both(x: Option<u8>, y: Option<u8>): Option<u8> { Some{x? + y?} }",
    ),
    Function(
        "depth({0})",
        (TREE,),
        U64,
        _depth,
        """function depth(t: Tree): u64 {
    match (t) { Leaf{_} -> 0, Fork{l, r} -> 1 + max(depth(deref(l)), depth(deref(r))) }
}""",
    ),
]


def _bytes(text: str) -> int:
    return len(text.encode())


def _value(group: Grouped) -> list[Any]:
    return [value for value, _ in group.items]


GROUPED = [
    function
    for type_ in (N, STRING, PAIR, FIGURE, OPTION, INTERNED, SHARED)
    for function in (
        Function("{0}.count_distinct()", (group_of(type_),), U64, lambda g: len(g.items)),
        Function("{0}.min()", (group_of(type_),), type_, lambda g: _value(g)[0]),
        Function("{0}.max()", (group_of(type_),), type_, lambda g: _value(g)[-1]),
        Function("{0}.first()", (group_of(type_),), type_, lambda g: _value(g)[0]),
    )
] + [
    Function("{0}.to_vec()", (group_of(N),), VEC, lambda g: tuple(_value(g))),
    Function("{0}.to_set()", (group_of(N),), SET, lambda g: tuple(_value(g))),
    Function("{0}.to_vec()", (group_of(STRING),), WORDS, lambda g: tuple(_value(g))),
]
_SMALL_FUNCTIONS = """import group

function mean(g: Group<'K, u8>): u64 { g.sum_of(|x| x as u64) / g.count_distinct() }

function spread(g: Group<'K, u8>, least: u8): u8 { if (g.max() > least) { g.max() - g.min() } else { least } }"""


def _exact(numbers: list[float]) -> float:
    """The nearest number to the exact sum; the samples have no infinities."""
    exact = sum(map(Fraction, numbers), Fraction())
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _least(values: list[Any], read: Any) -> Any:
    return next(each for each in values if read(each) == min(map(read, values)))


def _most(values: list[Any], read: Any) -> Any:
    return next(each for each in values if read(each) == max(map(read, values)))


# What is kept up to date value by value. Results may be larger than what was grouped.
AGGREGATED = [
    Function(template, (group_of(type_),), result, meaning, declaration)
    for template, type_, result, meaning, declaration in (
        ("{0}.sum_of(|x| x)", N, N, lambda g: _wrap(sum(_value(g))), "import group"),
        ("{0}.sum_of(|x| x as u64)", N, U64, lambda g: sum(_value(g)), "import group"),
        ("{0}.count(|x| x > 2)", N, U64, lambda g: sum(x > 2 for x in _value(g)), "import group"),
        ("{0}.arg_min(|x| x & 3)", N, N, lambda g: _least(_value(g), lambda x: x & 3), "import group"),
        ("{0}.arg_max(|x| x & 3)", N, N, lambda g: _most(_value(g), lambda x: x & 3), "import group"),
        ('{0}.map(|x| "<${{x}}>").join("")', N, STRING, lambda g: "".join(f"<{x}>" for x in _value(g)), "import group"),
        ("mean({0})", N, U64, lambda g: sum(_value(g)) // len(_value(g)), _SMALL_FUNCTIONS),
        (
            "spread({0}, 3)",
            N,
            N,
            lambda g: _value(g)[-1] - _value(g)[0] if _value(g)[-1] > 3 else 3,
            _SMALL_FUNCTIONS,
        ),
        ("{0}.min()", U64, U64, lambda g: _value(g)[0], ""),
        ("{0}.max()", U64, U64, lambda g: _value(g)[-1], ""),
        ("{0}.sum_of(|x| x)", U64, U64, lambda g: sum(_value(g)) % 2**64, "import group"),
        ("{0}.arg_max(|x| x)", U64, U64, lambda g: _value(g)[-1], "import group"),
        ("{0}.arg_min(|x| x & 1)", U64, U64, lambda g: _least(_value(g), lambda x: x & 1), "import group"),
        ("{0}.sum_of(|x| x)", BIG, BIG, lambda g: sum(_value(g)), "import group"),
        ("{0}.max()", BIG, BIG, lambda g: _value(g)[-1], ""),
        ("{0}.sum_of(|x| x)", DOUBLE, DOUBLE, lambda g: _exact(_value(g)), "import group"),
        ("{0}.sum_of(|x| x / 3.0)", DOUBLE, DOUBLE, lambda g: _exact([x / 3 for x in _value(g)]), "import group"),
        ("{0}.min()", DOUBLE, DOUBLE, lambda g: _value(g)[0], ""),
        ("{0}.max()", DOUBLE, DOUBLE, lambda g: _value(g)[-1], ""),
        ('{0}.to_vec().join("; ")', STRING, STRING, lambda g: "; ".join(_value(g)), ""),
        (
            '{0}.map(|s| s ++ "!").join("")',
            STRING,
            STRING,
            lambda g: "".join(f"{s}!" for s in _value(g)),
            "import group",
        ),
        ("{0}.arg_max(|s| s.len())", STRING, STRING, lambda g: _most(_value(g), _bytes), "import group"),
        ("{0}.sum_of(|s| s.len())", STRING, U64, lambda g: sum(map(_bytes, _value(g))), "import group"),
        ('{0}.count(|s| s == "a")', STRING, U64, lambda g: _value(g).count("a"), "import group"),
        ("{0}.arg_min(|p| p.1)", PAIR, PAIR, lambda g: _least(_value(g), lambda p: p[1]), "import group"),
        ("{0}.arg_max(|p| p.0)", PAIR, PAIR, lambda g: _most(_value(g), lambda p: p[0]), "import group"),
        ("{0}.sum_of(|p| p.0)", PAIR, N, lambda g: _wrap(sum(p[0] for p in _value(g))), "import group"),
    )
]
WEIGHED = Function(
    "weighed({0})",
    (group_of(N),),
    U64,
    lambda g: sum(value * weight for value, weight in g.items),
    """function weighed(g: Group<'K, u8>): u64 {
    var total: u64 = 0;
    for ((value, weight) in g) { total = total + (value as u64) * (weight as u64) };
    total
}""",
)


def _fields_of(type_: Type, name: str) -> Any:
    return lambda value: value.fields if value.name == name else None


SHAPES = [
    Shape("({0}, {1})", PAIR, (N, STRING), lambda pair: pair),
    Shape("Point{{{0}, {1}}}", POINT, (N, OPTION), lambda point: point.fields),
    Shape("Point{{.tag = {0}}}", POINT, (OPTION,), lambda point: point.fields[1:]),
    Shape("&Point{{{0}, {1}}}", SHARED, (N, OPTION), lambda point: point.fields),
    Shape("Circle{{{0}}}", FIGURE, (N,), _fields_of(FIGURE, "Circle")),
    Shape("Box{{{0}, {1}}}", FIGURE, (N, N), _fields_of(FIGURE, "Box")),
    Shape("Dot{{}}", FIGURE, (), _fields_of(FIGURE, "Dot")),
    Shape("Some{{{0}}}", OPTION, (N,), _fields_of(OPTION, "Some")),
    Shape("None", OPTION, (), _fields_of(OPTION, "None")),
    Shape("Some{{{0}}}", OPTION_TEXT, (STRING,), _fields_of(OPTION_TEXT, "Some")),
]
ITERABLES: dict[Type, Type] = {VEC: N, SET: N, WORDS: STRING, MAP: PAIR}
