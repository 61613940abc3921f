"""Small programs in Soufflé's language, one or two features each, with what they write."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    text: str
    expect: dict[str, str]
    facts: dict[str, str] = field(default_factory=dict)
    same_as_reference: bool = True


CASES = (
    Case(
        "blanks-in-aggregates-of-one-atom-and-of-several",
        """
        .decl e(a: number, b: number)
        e(1, 1). e(1, 2). e(2, 2).
        .decl f(a: number)
        f(1). f(2).
        .decl r(s: symbol, n: number)
        .output r
        r("one", n) :- n = count : { e(x, _), x < 3 }.
        r("two", n) :- n = count : { e(x, _), f(x) }.
        r("sum of one", n) :- n = sum x : { e(x, _) }.
        r("sum of two", n) :- n = sum x : { e(x, _), f(x) }.
        r("key", n) :- f(x), n = count : { e(x, _), f(x) }.
        """,
        {"r.csv": "one\t3\ntwo\t2\nsum of one\t4\nsum of two\t3\nkey\t1"},
    ),
    Case(
        "whether-there-is-a-row",
        """
        .decl e(a: number, b: number)
        e(1, 1). e(1, 2).
        .decl none(a: number)
        .decl r(s: symbol, x: number)
        .output r
        r("both", x) :- e(x, _), e(_, _), e(2, _) ; e(_, _), e(x, x), !none(_).
        r("none", x) :- e(x, _), none(_).
        """,
        {"r.csv": "both\t1"},
    ),
    Case(
        "recursion",
        """
        .decl road(a: symbol, b: symbol)
        .input road
        .decl trip(a: symbol, b: symbol)
        .output trip
        trip(a, b) :- road(a, b).
        trip(a, c) :- trip(a, b), road(b, c).
        """,
        {"trip.csv": "ulm\tbonn\nulm\tkiel\nbonn\tkiel"},
        {"road.facts": "ulm\tbonn\nbonn\tkiel\n"},
    ),
    Case(
        "negation-and-disjunction",
        """
        .decl n(x: number)
        n(1). n(2). n(3). n(4).
        .decl even(x: number)
        even(x) :- n(x), x % 2 = 0.
        .decl pick(x: number)
        .output pick
        pick(x) :- n(x), (x > 3 ; !even(x), x < 2).
        pick(-x) :- n(x), !(even(x) ; x > 2).
        """,
        {"pick.csv": "4\n1\n-1"},
    ),
    Case(
        "numbers-wrap-around",
        """
        .decl r(name: symbol, x: number)
        .output r
        r("sum", 2147483647 + 1).
        r("product", 65536 * 65536).
        r("least", -2147483648).
        r("shift", 1 bshl 33).
        r("right", -8 bshr 1).
        r("bare", -8 bshru 28).
        r("quotient", -7 / 2).
        r("rest", -7 % 2).
        r("power", 3 ^ 4).
        r("bits", (12 band 10) bor (1 bxor 3)).
        r("not", bnot 5).
        r("logic", (3 land 0) + (3 lor 0) * 10 + (1 lxor 1) * 100 + (lnot 0) * 1000).
        r("hex", 0xff + 0b11).
        r("most", max(3, 9, 4) - min(3, 9, 4)).
        """,
        {
            "r.csv": "sum\t-2147483648\nproduct\t0\nleast\t-2147483648\nshift\t2\nright\t-4\nbare\t15\nquotient\t-3\n"
            "rest\t-1\npower\t81\nbits\t10\nnot\t-6\nlogic\t1010\nhex\t258\nmost\t6"
        },
    ),
    Case(
        "unsigned-and-float",
        """
        .decl u(x: unsigned)
        .output u
        u(1 - 2).
        u(7 / 2).
        .decl f(x: float)
        .output f
        f(0.1 + 0.2).
        f(to_float("2.5") * 2).
        f(1.0 / 3.0).
        """,
        {"u.csv": "4294967295\n3", "f.csv": "0.300000012\n5\n0.333333343"},
    ),
    Case(
        "symbols",
        """
        .decl s(name: symbol, x: symbol)
        .output s
        s("cat", cat("a", "b", "c")).
        s("substr", substr("hello", 1, 3)).
        s("outside", substr("hello", 9, 3)).
        s("number", to_string(-12)).
        .decl n(name: symbol, x: number)
        .output n
        n("length", strlen("four")).
        n("read", to_number("-17")).
        .decl word(w: symbol)
        word("apple"). word("apricot"). word("plum").
        .decl found(w: symbol)
        .output found
        found(w) :- word(w), match("ap.*t", w).
        found(w) :- word(w), contains("lu", w).
        .decl smaller(a: symbol, b: symbol)
        .output smaller
        smaller(a, b) :- word(a), word(b), a < b.
        """,
        {
            "s.csv": "cat\tabc\nsubstr\tell\noutside\t\nnumber\t-12",
            "n.csv": "length\t4\nread\t-17",
            "found.csv": "apricot\nplum",
            "smaller.csv": "apple\tapricot\napple\tplum\napricot\tplum",
        },
    ),
    Case(
        "records",
        """
        .type List = [head: number, tail: List]
        .decl list(l: List, n: number)
        .output list
        list(nil, 0).
        list([n, l], n + 1) :- list(l, n), n < 3.
        .decl second(x: number)
        .output second
        second(x) :- list([_, [x, _]], _).
        """,
        {
            "list.csv": "nil\t0\n[0, nil]\t1\n[1, [0, nil]]\t2\n[2, [1, [0, nil]]]\t3",
            "second.csv": "0\n1",
        },
    ),
    Case(
        "joins-on-fields",
        """
        .type Pair = [left: number, right: number]
        .decl p(x: Pair, n: number)
        p([1, 2], 10). p([2, 3], 20). p([2, 4], 30). p(nil, 40).
        .decl chain(a: number, b: number, c: number, n: number)
        .output chain
        chain(a, m, c, n) :- p([a, b], _), p(q, n), q = [m, c], b = m.
        .decl same(a: number, n: number)
        .output same
        same(y, n) :- p([x, _], n), p([y, _], _), x = y, y > 1.
        """,
        {"chain.csv": "1\t2\t3\t20\n1\t2\t4\t30", "same.csv": "2\t20\n2\t30"},
    ),
    Case(
        "tagged-unions",
        """
        .type Shape = Circle { r: number } | Box { w: number, h: number } | Point {}
        .decl shape(s: Shape)
        .output shape
        shape($Circle(2)). shape($Box(3, 4)). shape($Point()).
        .decl area(s: Shape, a: number)
        .output area
        area(s, 3 * r * r) :- shape(s), s = $Circle(r).
        area($Box(w, h), w * h) :- shape($Box(w, h)).
        """,
        {
            "shape.csv": "$Circle(2)\n$Box(3, 4)\n$Point",
            "area.csv": "$Circle(2)\t12\n$Box(3, 4)\t12",
        },
    ),
    Case(
        "aggregates",
        """
        .decl sale(shop: symbol, item: symbol, cents: number)
        sale("a", "tea", 300). sale("a", "cup", 200). sale("b", "tea", 250). sale("b", "pot", 250).
        .decl shop(s: symbol)
        shop("a"). shop("b"). shop("c").
        .decl total(s: symbol, n: number, c: number)
        .output total
        total(s, n, c) :- shop(s), n = count : { sale(s, _, _) }, c = sum x : { sale(s, _, x) }.
        .decl ends(s: symbol, low: number, high: number)
        .output ends
        ends(s, l, h) :- shop(s), l = min x : { sale(s, _, x) }, h = max x : { sale(s, _, x) }.
        .decl above(s: symbol, n: number)
        .output above
        above(s, n) :- shop(s), n = count : { sale(t, _, x), t != s, x > 200 }.
        .decl whole(n: number)
        .output whole
        whole(count : { sale(_, _, _) } + 100 * sum x : { sale(_, "tea", x) }).
        """,
        {
            "total.csv": "a\t2\t500\nb\t2\t500\nc\t0\t0",
            "ends.csv": "a\t200\t300\nb\t250\t250",
            "above.csv": "a\t2\nb\t1\nc\t3",
            "whole.csv": "55004",
        },
    ),
    Case(
        "mean-and-witness",
        """
        .decl mark(who: symbol, m: float)
        mark("ann", 2.0). mark("bob", 4.0).
        .decl avg(m: float)
        .output avg
        avg(m) :- m = mean x : { mark(_, x) }.
        .decl points(who: symbol, p: number)
        points("ann", 3). points("bob", 9).
        .decl best(who: symbol, p: number)
        .output best
        best(w, p) :- p = max x : { points(w, x) }.
        """,
        {"avg.csv": "3", "best.csv": "bob\t9"},
    ),
    Case(
        "components",
        """
        .comp Graph<Node> {
            .decl edge(a: Node, b: Node)
            .decl reach(a: Node, b: Node) overridable
            reach(a, b) :- edge(a, b).
            reach(a, c) :- reach(a, b), edge(b, c).
        }
        .comp Both<Node> : Graph<Node> {
            edge(a, b) :- edge(b, a).
        }
        .comp Short<Node> : Graph<Node> {
            .override reach
            reach(a, b) :- edge(a, b), a != b.
        }
        .init one = Graph<symbol>
        .init two = Both<number>
        .init three = Short<number>
        one.edge("x", "y"). one.edge("y", "z").
        two.edge(1, 2).
        three.edge(1, 1). three.edge(1, 2). three.edge(2, 3).
        .output one.reach, two.reach, three.reach
        """,
        {
            "one.reach.csv": "x\ty\ny\tz\nx\tz",
            "two.reach.csv": "1\t2\n2\t1\n1\t1\n2\t2",
            "three.reach.csv": "1\t2\n2\t3",
        },
    ),
    Case(
        "inline",
        """
        .decl less(a: number, b: number) inline
        less(a, b) :- a < b.
        .decl n(x: number)
        n(1). n(2). n(3).
        .decl pair(a: number, b: number)
        .output pair
        pair(a, b) :- n(a), n(b), less(a, b).
        .decl rest(a: number, b: number)
        .output rest
        rest(a, b) :- n(a), n(b), !less(a, b), a != b.
        """,
        {"pair.csv": "1\t2\n1\t3\n2\t3", "rest.csv": "2\t1\n3\t1\n3\t2"},
    ),
    Case(
        "equivalence",
        """
        .decl same(a: number, b: number) eqrel
        .decl link(a: number, b: number)
        .input link
        same(a, b) :- link(a, b).
        .output same
        """,
        {"same.csv": "1\t1\n1\t2\n2\t1\n2\t2\n3\t3\n3\t4\n4\t3\n4\t4"},
        {"link.facts": "1\t2\n3\t4\n"},
    ),
    Case(
        "subsumption",
        """
        .decl arc(a: symbol, b: symbol, c: number)
        .input arc
        .decl cost(a: symbol, c: number)
        .output cost
        cost("s", 0).
        cost(b, c + d) :- cost(a, c), arc(a, b, d).
        cost(a, c) <= cost(a, d) :- d < c.
        """,
        {"cost.csv": "s\t0\na\t2\nb\t3"},
        {"arc.facts": "s\ta\t2\ns\tb\t9\na\tb\t1\nb\ta\t1\n"},
    ),
    Case(
        "choice",
        """
        .decl pair(a: number, b: number)
        pair(1, 10). pair(1, 11). pair(2, 10). pair(2, 12).
        .decl pick(a: number, b: number) choice-domain a, b
        pick(a, b) :- pair(a, b).
        .decl size(n: number)
        .output size
        size(count : { pick(_, _) }).
        """,
        {"size.csv": "2"},
    ),
    Case(
        "autoinc-and-range",
        """
        .decl w(s: symbol)
        w("a"). w("b"). w("c").
        .decl id(s: symbol, n: number)
        id(s, autoinc()) :- w(s).
        .decl used(n: number)
        .output used
        used(n) :- id(_, n).
        .decl count_up(n: number)
        .output count_up
        count_up(n) :- n = range(0, 6, 2).
        count_up(-n) :- n = range(3, 1).
        """,
        {"used.csv": "0\n1\n2", "count_up.csv": "0\n2\n4\n-3\n-2"},
    ),
    Case(
        "macros",
        """
        #define LIMIT 3
        #define BETWEEN(x, low, high) x >= low, x <= high
        #ifdef LIMIT
        .decl n(x: number)
        n(1). n(2). n(3). n(4).
        #else
        this is not read
        #endif
        .decl some(x: number)
        .output some
        some(x) :- n(x), BETWEEN(x, 2, LIMIT).
        """,
        {"some.csv": "2\n3"},
    ),
    Case(
        "subset-and-union-types",
        """
        .type City <: symbol
        .type Town <: symbol
        .type Place = City | Town
        .decl city(c: City)
        .decl town(t: Town)
        .decl place(p: Place)
        .output place
        city("Ulm"). town("Auing").
        place(c) :- city(c).
        place(t) :- town(t).
        .decl only(c: City)
        .output only
        only(as(p, City)) :- place(p), p != "Auing".
        """,
        {"place.csv": "Ulm\nAuing", "only.csv": "Ulm"},
    ),
    Case(
        "several-heads-and-nullary",
        """
        .decl a(x: number)
        .decl b(x: number)
        .decl c(x: number)
        .decl yes()
        .output a, b, yes
        c(1). c(2).
        a(x), b(x + 10) :- c(x).
        yes() :- c(2).
        """,
        {"a.csv": "1\n2", "b.csv": "11\n12", "yes.csv": "()"},
    ),
    Case(
        "the-target-of-an-aggregate-shares-no-variable",
        """
        .decl e(a: number, b: number)
        e(1, 5). e(1, 3). e(2, 7). e(3, 1).
        .decl r(s: symbol, a: number, n: number)
        .output r
        r("least", a, n) :- e(a, b), n = min b : { e(a, b) }.
        r("all", a, n) :- e(a, _), n = sum a : { e(a, _) }.
        r("both", a, n) :- e(a, b), n = sum a + b : { e(a, b) }.
        r("two", a, n) :- e(a, b), n = max a : { e(a, b), e(b, _) }.
        r("inner", a, n) :- e(a, _), n = sum x : { e(a, x), x > min y - a : { e(a, y) } }.
        """,
        {
            "r.csv": "least\t1\t3\nleast\t2\t7\nleast\t3\t1\nall\t1\t7\nall\t2\t7\nall\t3\t7\nboth\t1\t23\n"
            "both\t2\t23\nboth\t3\t23\ntwo\t1\t1\ntwo\t3\t3\ninner\t1\t8\ninner\t2\t7\ninner\t3\t1"
        },
    ),
    Case(
        "macros-with-any-number-of-arguments",
        """
        #define FAIL(message, ...) failed(message) :- __VA_ARGS__
        #define LIST_1(a) [a, nil]
        #define LIST_2(a, ...) [a, LIST_1(__VA_ARGS__)]
        #define LIST_3(a, ...) [a, LIST_2(__VA_ARGS__)]
        #define COUNT_4(a, b, c, n, ...) n
        #define COUNT(...) COUNT_4(__VA_ARGS__, 3, 2, 1)
        #define LIST_N2(n, ...) LIST_ ## n(__VA_ARGS__)
        #define LIST_N(n, ...) LIST_N2(n, __VA_ARGS__)
        #define LIST(...) LIST_N(COUNT(__VA_ARGS__), __VA_ARGS__)
        .type List = [head: number, tail: List]
        .decl p(x: number)
        p(1). p(2).
        .decl failed(s: symbol)
        FAIL("two", p(x), x > 1).
        FAIL("three", p(x), x > 2).
        .decl l(l: List)
        l(LIST(7)). l(LIST(8, 9)). l(LIST(1, 2, 3)).
        .output failed, l
        """,
        {"failed.csv": "two", "l.csv": "[1, [2, [3, nil]]]\n[7, nil]\n[8, [9, nil]]"},
    ),
    Case(
        "match-on-bytes",
        """
        .decl s(x: symbol)
        s("é"). s("aé"). s("b").
        .decl r(x: symbol, n: number)
        .output r
        r(x, 1) :- s(x), match(".", x).
        r(x, 2) :- s(x), match("..", x).
        r(x, 3) :- s(x), match("[[:alpha:]]+", x).
        r(x, 4) :- s(x), match("aé", x).
        """,
        {"r.csv": "b\t1\né\t2\nb\t3\naé\t4"},
    ),
    Case(
        "formats",
        """
        .decl t(s: symbol, n: number)
        .input t(delimiter=";", filename="rows.txt", headers=true)
        .output t(rfc4180=true, headers=true)
        """,
        {"t.csv": 's\tn\n"a b",1\n"c,d",2'},
        {"rows.txt": "name;number\na b;1\nc,d;2\n"},
    ),
)
