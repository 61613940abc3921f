"""Random functions of the language: of every type, with branches, loops, assignments, `return`, `?` and recursion."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

TYPES = (
    *("string", "s64", "u8", "u64", "bool", "double", "float", "bigint", "u128", "Vec<s64>", "Vec<string>"),
    *("Set<string>", "Set<s64>", "Map<string, s64>", "Option<s64>", "Shape", "(string, s64)", "Vec<Shape>", "Walk"),
)
DECLARED = """
    typedef Shape = Dot{name: string, size: u8} | Line{from: s64, to: s64, name: string} | Weight{w: double} | Nothing
    typedef Walk = Nil | Step{at: s64, rest: Ref<Walk>}
    function shout(s: string): string { var upper = to_uppercase(s); upper ++ "!" }
    function title(s: Shape): string {
        match (s) { Dot{n, 3} -> "three " ++ n, Dot{n, k} -> n ++ "${k}", Line{f, t, _} -> "${t - f}",
                    Weight{w} -> "${w}", Nothing -> "" }
    }
    function half(n: s64): Option<s64> { if (n % 2 == 0) Some{n / 2} else None }
    function quarter(n: s64): Option<s64> { var once = half(n)?; var twice = half(once)?; Some{twice + 0} }
    function total(v: Vec<s64>): s64 { var sum = 0; for (x in v) { sum = sum + x }; sum }
    function long_walk(w: Walk): s64 { match (w) { Nil -> 0, Step{_, r} -> 1 + long_walk(deref(r)) } }
    function climb(n: u8): Walk { if (n == 0) Nil else Step{n as u64 as s64, ref_new(climb(n - 1))} }
    function bumped(x: mut s64, by: s64) { x = x + by }
    function moved(p: mut (string, s64), by: s64) { p.1 = p.1 + by; p.0 = p.0 ++ "${by}" }
    function first_even(v: Vec<s64>): Option<s64> { for (x in v) { if (x % 2 == 0) { return Some{x} } }; None }
    function counts(v: Vec<string>): Map<string, s64> {
        var found: Map<string, s64> = map_empty();
        for (x in v) { found.insert(x, unwrap_or(found.get(x), 0) + 1) };
        found
    }
"""
COLUMNS = {"s": "string", "t": "string", "n": "s64", "k": "u8", "b": "bool", "z": "double", "v": "Vec<s64>"}
_INTEGERS = ("+", "-", "*", "&", "|", "^")


class Writer:
    """Writes functions and expressions; `functions` are those written so far: name, parameters, result."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.functions: list[tuple[str, list[str], str]] = []
        self._names = 0

    def expression(self, type_: str, names: dict[str, str], depth: int) -> str:
        """Returns an expression over variables of the types in `names`."""
        random = self.random
        known = [name for name, own in names.items() if own == type_]
        if known and random.random() < (0.9 if depth <= 0 else 0.25):
            return random.choice(known)
        if depth <= 0:
            return random.choice(LEAVES[type_] if "z" in names else CONSTANTS[type_])

        def of(wanted: str) -> str:
            return self.expression(wanted, names, depth - 1)

        kind = random.random()
        if kind < 0.10:
            return f"(if ({of('bool')}) {{ {of(type_)} }} else {{ {of(type_)} }})"
        if kind < 0.14:
            own = self._name()
            return (
                f"(match ({of('Option<s64>')}) {{ Some{{var {own}}} -> "
                f"{self.expression(type_, {**names, own: 's64'}, depth - 1)}, None -> {of(type_)} }})"
            )
        if kind < 0.18:
            a, c = self._name(), self._name()
            both = {**names, a: "string", c: "s64"}
            return (
                f"(match ({of('Shape')}) {{ Dot{{var {a}, _}} -> "
                f"{self.expression(type_, {**names, a: 'string'}, depth - 1)}, "
                f"Line{{var {c}, 3, var {a}}} -> {self.expression(type_, both, depth - 1)}, _ -> {of(type_)} }})"
            )
        if kind < 0.24:
            own, wanted = self._name(), random.choice(TYPES)
            return (
                f"{{ var {own}: {wanted} = {of(wanted)}; {self.expression(type_, {**names, own: wanted}, depth - 1)} }}"
            )
        callable_ = [each for each in self.functions if each[2] == type_]
        if callable_ and kind < 0.36:
            name, parameters, _ = random.choice(callable_)
            return f"{name}({', '.join(map(of, parameters))})"
        return random.choice(FORMS[type_])(of, random)

    def _name(self) -> str:
        self._names += 1
        return f"x{self._names}"

    def function(self) -> str:
        """Returns a new function."""
        random = self.random
        name, result = f"f{len(self.functions)}", random.choice(TYPES)
        parameters = random.choices(TYPES, k=random.randint(1, 3))
        names = {f"p{place}": type_ for place, type_ in enumerate(parameters)}
        declared = ", ".join(f"{each}: {type_}" for each, type_ in names.items())
        body = self._body(result, dict(names), 3)
        self.functions.append((name, parameters, result))
        return f"function {name}({declared}): {result} {{ {body} }}\n"

    def recursive_function(self) -> str:
        """Returns a new function that calls itself, at most seven deep."""
        name, result = f"f{len(self.functions)}", self.random.choice(TYPES)
        names = {"p0": "u8", "p1": result}
        last = self.expression(result, names, 2)
        deeper = f"{name}_({'(p0 & 7) - 1'}, {self.expression(result, names, 2)})"
        inner = self.expression(result, {**names, "below": result}, 2)
        self.functions.append((name, ["u8", result], result))
        return (
            f"function {name}_(p0: u8, p1: {result}): {result} {{ if ((p0 & 7) == 0) {{ {last} }} "
            f"else {{ var below = {deeper}; {inner} }} }}\n"
            f"function {name}(p0: u8, p1: {result}): {result} {{ {name}_(p0, p1) }}\n"
        )

    def _body(self, result: str, names: dict[str, str], size: int) -> str:
        """Returns statements and a last expression."""
        statements = []
        for _ in range(self.random.randint(0, size)):
            statements.append(self._statement(result, names, 2, in_loop=False))
        return "; ".join((*statements, self.expression(result, names, 2)))

    def _statement(self, result: str, names: dict[str, str], depth: int, *, in_loop: bool) -> str:
        random = self.random
        own = [name for name in names if name.startswith("x")]
        kind = random.random()
        if kind < 0.35 or not own or depth <= 0:
            if own and in_loop:
                return self._set(names, random.choice(own))
            name, type_ = self._name(), random.choice(TYPES)
            value = self.expression(type_, names, 1)
            names[name] = type_
            return f"var {name}: {type_} = {value}"
        if kind < 0.55:
            return self._set(names, random.choice(own))
        if kind < 0.72:
            inner = dict(names)
            then = self._statement(result, inner, depth - 1, in_loop=in_loop)
            return f"if ({self.expression('bool', names, 1)}) {{ {then}; () }} else {{ () }}"
        if kind < 0.8:
            return f"if ({self.expression('bool', names, 1)}) {{ return {self.expression(result, names, 1)} }}"
        if in_loop and kind < 0.86:
            return f"if ({self.expression('bool', names, 1)}) {{ {random.choice(['break', 'continue'])} }}"
        over, item = random.choice(
            [("Vec<s64>", "s64"), ("Vec<string>", "string"), ("Set<string>", "string"), ("Map<string, s64>", "")]
        )
        pattern, inner = self._name(), dict(names)
        if item:
            # Not one of the variables that statements set.
            pattern = f"i{pattern}"
            inner[pattern] = item
        else:
            key, value = f"i{pattern}", f"j{pattern}"
            pattern = f"({key}, {value})"
            inner |= {key: "string", value: "s64"}
        body = "; ".join(
            self._statement(result, inner, depth - 1, in_loop=True) for _ in range(self.random.randint(1, 2))
        )
        return f"for ({pattern} in {self.expression(over, names, 1)}) {{ {body}; () }}"

    def _set(self, names: dict[str, str], name: str) -> str:
        type_ = names[name]

        def of(wanted: str) -> str:
            return self.expression(wanted, names, 1)

        changes = {
            "Vec<s64>": [f"{name}.push({of('s64')})", f"{name}.append({of('Vec<s64>')})", f"{name}.sort()"],
            "Vec<string>": [f"{name}.push({of('string')})", f"{name}.reverse()"],
            "Set<string>": [f"{name}.insert({of('string')})"],
            "Map<string, s64>": [
                f"{name}.insert({of('string')}, {of('s64')})",
                f"{{{name}.remove({of('string')}); ()}}",
            ],
            "(string, s64)": [f"{name}.1 = {of('s64')}", f"{name}.0 = {of('string')}", f"moved({name}, {of('s64')})"],
            "s64": [f"bumped({name}, {of('s64')})"],
        }.get(type_, [])
        return self.random.choice([*changes, f"{name} = {of(type_)}"])


Of = Callable[[str], str]
Form = Callable[[Of, Random], str]


def _arithmetic(type_: str, *more: Form) -> list[Form]:
    return [
        lambda of, random: f"({of(type_)} {random.choice(_INTEGERS)} {of(type_)})",
        lambda of, random: f"({of(type_)} {random.choice(['/', '%'])} ({of(type_)} | 1))",
        lambda of, random: f"({of(type_)} {random.choice(['<<', '>>'])} ({of('u8')} as u32 & 31))",
        lambda of, random: f"(~{of(type_)})",
        lambda of, random: f"min({of(type_)}, {of(type_)})",
        *more,
    ]


def _real(type_: str, *more: Form) -> list[Form]:
    return [
        lambda of, random: f"({of(type_)} {random.choice('+-*/%')} {of(type_)})",
        lambda of, random: f"(-{of(type_)})",
        lambda of, random: f"({of('s64')} as {type_})",
        lambda of, random: f"({of('bigint')} as {type_})",
        lambda of, random: f"max({of(type_)}, {of(type_)})",
        *more,
    ]


def _plain(*texts: str) -> list[Form]:
    """Returns forms in which `@type@` stands for an expression of the type."""

    def form(text: str) -> Form:
        def write(of: Of, random: Random) -> str:
            # Between two marks stands a type, then text, and so on.
            return "".join(of(part) if place % 2 else part for place, part in enumerate(text.split("@")))

        return write

    return [form(text) for text in texts]


def _comparison(of: Of, random: Random) -> str:
    type_ = random.choice(TYPES)
    return f"({of(type_)} {random.choice(['==', '!=', '<', '<=', '>', '>='])} {of(type_)})"


LEAVES: dict[str, list[str]] = {
    "string": ["s", "t", '"ab"', '"é"', '""'],
    "s64": ["n", "1", "(-3)", "9223372036854775807"],
    "u8": ["k", "7"],
    "u64": ["(k as u64)", "18446744073709551615", "0"],
    "bool": ["b", "(n > 0)", "(s == t)"],
    "double": ["z", "1.5", "0.0", "(-2.25)"],
    "float": ["(z as float)", "0.1", "(1.0 / 3.0)"],
    "bigint": ["(n as bigint)", "1", "340282366920938463463374607431768211456"],
    "u128": ["(k as u128)", "3", "18446744073709551616"],
    "Vec<s64>": ["v", "[n, 2]", "vec_empty()"],
    "Vec<string>": ["[s, t]", 'split(s, t ++ "a")'],
    "Set<string>": ["vec_to_set([s, t])", "set_empty()"],
    "Set<s64>": ["vec_to_set(v)", "set_singleton(n)"],
    "Map<string, s64>": ["[s -> n]", "map_empty()", "[s -> 1, t -> n]"],
    "Option<s64>": ["Some{n}", "None"],
    "Shape": ["Dot{s, k}", "Line{n, 3, t}", "Nothing", "Weight{z}"],
    "(string, s64)": ["(s, n)"],
    "Vec<Shape>": ["[Dot{s, k}, Nothing]", "vec_empty()"],
    "Walk": ["Nil", "climb(k & 3)"],
}
CONSTANTS: dict[str, list[str]] = {
    "string": ['"ab"', '"é"', '""', '"12"'],
    "s64": ["1", "(-3)", "9223372036854775807"],
    "u8": ["200", "7"],
    "u64": ["18446744073709551615", "0"],
    "bool": ["true", "false"],
    "double": ["1.5", "0.0", "(-2.25)"],
    "float": ["0.1", "3.0"],
    "bigint": ["1", "(-340282366920938463463374607431768211456)"],
    "u128": ["3", "18446744073709551616"],
    "Vec<s64>": ["[1, 2]", "vec_empty()"],
    "Vec<string>": ['["a", "b"]'],
    "Set<string>": ['set_singleton("a")', "set_empty()"],
    "Set<s64>": ["set_singleton(4)"],
    "Map<string, s64>": ['["a" -> 1]', "map_empty()"],
    "Option<s64>": ["Some{4}", "None"],
    "Shape": ['Dot{"d", 3}', "Nothing", "Weight{0.5}"],
    "(string, s64)": ['("p", 4)'],
    "Vec<Shape>": ["[Nothing]", "vec_empty()"],
    "Walk": ["Nil", "climb(2)"],
}
FORMS: dict[str, list[Form]] = {
    "string": _plain(
        "(@string@ ++ @string@)",
        '"<${@s64@}|${@u8@}>"',
        "substr(@string@, @u8@ as usize, @u8@ as usize)",
        "shout(@string@)",
        "to_lowercase(@string@)",
        "trim(@string@)",
        "to_string(@s64@)",
        "to_string(@double@)",
        "to_string(@float@)",
        "to_string(@bigint@)",
        "to_string(@u128@)",
        "title(@Shape@)",
        "join(@Vec<string>@, @string@)",
        "replace(@string@, @string@, @string@)",
        "string_reverse(@string@)",
        "hex(@u64@)",
        "@(string, s64)@.0",
        "min(@string@, @string@)",
        'unwrap_or(vec_nth(@Vec<string>@, @u8@ as usize), "none")',
    ),
    "s64": _arithmetic(
        "s64",
        *_plain(
            "(len(@string@) as s64)",
            "(vec_len(@Vec<s64>@) as s64)",
            "total(@Vec<s64>@)",
            "pow32(@s64@, @u8@ as u32)",
            "long_walk(@Walk@)",
            "unwrap_or(@Option<s64>@, @s64@)",
            "unwrap_or(vec_nth(@Vec<s64>@, @u8@ as usize), 5)",
            "unwrap_or(map_get(@Map<string, s64>@, @string@), @s64@)",
            "@(string, s64)@.1",
            "(hash32(@Shape@) as u64 as s64)",
            "(@bigint@ as s64)",
            "unwrap_or(parse_dec_i64(@string@), @s64@)",
            "(map_size(@Map<string, s64>@) as s64)",
            "(set_size(@Set<string>@) as s64)",
        ),
    ),
    "u8": _arithmetic("u8", *_plain("(@s64@ as u64 as u8)", "(@u128@ as u8)")),
    "u64": _arithmetic(
        "u64",
        *_plain("(@s64@ as u64)", "hash64(@Vec<string>@)", "hash64(@Walk@)", "hash64(@Map<string, s64>@)"),
    ),
    "bool": [
        _comparison,
        _comparison,
        lambda of, random: f"({of('bool')} {random.choice(['and', 'or', '=>'])} {of('bool')})",
        *_plain(
            "(not @bool@)",
            "contains(@string@, @string@)",
            "vec_contains(@Vec<s64>@, @s64@)",
            "set_contains(@Set<string>@, @string@)",
            "map_contains_key(@Map<string, s64>@, @string@)",
            "vec_contains(@Vec<Shape>@, @Shape@)",
            "is_some(@Option<s64>@)",
        ),
    ],
    "double": _real("double", *_plain("(@float@ as double)", "(@u64@ as double)", "(@u128@ as double)")),
    "float": _real("float", *_plain("(@double@ as float)", "(@u8@ as float)")),
    "bigint": _arithmetic("bigint", *_plain("(@s64@ as bigint)", "(@u64@ as bigint)", "(-@bigint@)"))[1:]
    + _arithmetic("bigint")[:1],
    "u128": _arithmetic("u128", *_plain("(@u64@ as u128)", "hash128(@string@)", "(@u64@ ++ @u64@)")),
    "Vec<s64>": _plain(
        "[@s64@, @s64@]",
        "push_imm(@Vec<s64>@, @s64@)",
        "sort_imm(@Vec<s64>@)",
        "set_to_vec(@Set<s64>@)",
        "map_values(@Map<string, s64>@)",
        "range_vec(0, @s64@ & 7, 2)",
        "reverse_imm(@Vec<s64>@)",
    ),
    "Vec<string>": _plain(
        "[@string@]",
        "split(@string@, @string@)",
        "push_imm(@Vec<string>@, @string@)",
        "map_keys(@Map<string, s64>@)",
        "set_to_vec(@Set<string>@)",
    ),
    "Set<string>": _plain(
        "vec_to_set(@Vec<string>@)",
        "set_insert_imm(@Set<string>@, @string@)",
        "set_union(@Set<string>@, @Set<string>@)",
        "set_difference(@Set<string>@, @Set<string>@)",
        "set_intersection(@Set<string>@, @Set<string>@)",
    ),
    "Set<s64>": _plain("vec_to_set(@Vec<s64>@)", "set_insert_imm(@Set<s64>@, @s64@)"),
    "Map<string, s64>": _plain(
        "[@string@ -> @s64@, @string@ -> @s64@]",
        "map_insert_imm(@Map<string, s64>@, @string@, @s64@)",
        "map_union(@Map<string, s64>@, @Map<string, s64>@)",
        "counts(@Vec<string>@)",
    ),
    "Option<s64>": _plain(
        "Some{@s64@}",
        "half(@s64@)",
        "quarter(@s64@)",
        "vec_nth(@Vec<s64>@, @u8@ as usize)",
        "map_get(@Map<string, s64>@, @string@)",
        "first_even(@Vec<s64>@)",
        "set_nth(@Set<s64>@, @u8@ as usize)",
    ),
    "Shape": _plain(
        "Dot{@string@, @u8@}",
        "Line{@s64@, @s64@, @string@}",
        "Weight{@double@}",
        "min(@Shape@, @Shape@)",
        "unwrap_or(vec_nth(@Vec<Shape>@, 0), @Shape@)",
    ),
    "(string, s64)": _plain("(@string@, @s64@)", "max(@(string, s64)@, @(string, s64)@)"),
    "Vec<Shape>": _plain("[@Shape@]", "push_imm(@Vec<Shape>@, @Shape@)", "sort_imm(@Vec<Shape>@)"),
    "Walk": _plain("climb(@u8@ & 7)", "Step{@s64@, ref_new(@Walk@)}", "min(@Walk@, @Walk@)"),
}


def random_program(seed: int) -> str:
    """Returns a program with random functions and a rule for each of several types."""
    random = Random(seed)
    writer = Writer(random)
    functions = [writer.recursive_function() if random.random() < 0.3 else writer.function() for _ in range(4)]
    rules = []
    for place in range(3):
        type_ = random.choice(TYPES)
        if place == 2:
            over, type_ = random.choice([("Vec<s64>", "s64"), ("Set<string>", "string"), ("Vec<Shape>", "Shape")])
            value = f"var x = FlatMap({writer.expression(over, COLUMNS, 2)})"
        else:
            value = f"{writer.expression('bool', COLUMNS, 1)}, var x = {writer.expression(type_, COLUMNS, 3)}"
        rules.append(f"output relation Out{place}(s: string, n: s64, x: {type_})\n")
        rules.append(f"Out{place}(s, n, x) :- In(s, t, n, k, b, z, v), {value}.\n")
    columns = ", ".join(f"{name}: {type_}" for name, type_ in COLUMNS.items())
    return f"{DECLARED}\n{''.join(functions)}input relation In({columns})\n{''.join(rules)}"
