"""Time of the front end: `python -m tidelog.bench.front_end`.

Prints, for generated programs of a given number of lines, the seconds from the text to the typed program: the best of
several runs, by the clock and by processor time, and the first run of the process, which also reads the library. The
four programs are: tables and rules of a network controller, functions that compute, matches on unions, and a mix.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from time import perf_counter, process_time

from tidelog.check.program import TypedProgram
from tidelog.compile_program import check_source
from tidelog.diagnostics.spans import Source

_HEAD = """\
import vec
import set

typedef uuid = bit<128>
"""

_TABLES = """\
// The ports of switch table @, and what is known of each of them.
input relation Port_@(
    id: uuid,
    switch_id: uuid,
    name: string,
    parent: Option<string>,
    tag: Option<u16>,
    up: bool
)
primary key (p) p.id
input relation Port_@_option(port: uuid, key: string, value: string)
input relation Switch_@(id: uuid, name: string, addresses: Set<string>)
relation Active_@(port: uuid, switch_name: string, label: string)
output relation Reach_@(from: uuid, to: uuid)
output relation Load_@(switch_id: uuid, ports: u64, names: string)
output relation Orphan_@(name: string)
index Port_@_by_switch(s: uuid) on Port_@(_, s, _, _, _, _)
Active_@(id, sname, "${sname}/${pname}") :-
    Port_@(.id = id, .switch_id = s, .name = pname, .up = true),
    Switch_@(s, sname, _),
    not Port_@_option(id, "disabled", "true").
Reach_@(x, y) :-
    Port_@(.id = x, .switch_id = s),
    Port_@(.id = y, .switch_id = s),
    x != y.
Reach_@(x, z) :- Reach_@(x, y), Reach_@(y, z).
Load_@(s, g.count_distinct(), g.to_vec().join(",")) :-
    Port_@(.switch_id = s, .name = name),
    var g = name.group_by(s).
Orphan_@(address) :-
    Switch_@(.id = s, .addresses = addresses),
    var address = FlatMap(addresses),
    not Port_@(.switch_id = s).
"""

_FUNCTIONS = """\
function weight_@(text: string, base: u64): u64 {
    var sum = base;
    for (word in text.split(" ")) {
        if (word.len() == 0) {
            continue
        };
        sum = sum + (word.len() as u64) * @;
        if (sum > 1000000) {
            break
        }
    };
    sum
}
function first_@(items: Vec<Option<string>>): Option<string> {
    for (item in items) {
        match (item) {
            Some{text} -> return Some{text ++ "@"},
            None -> ()
        }
    };
    None
}
function both_@(left: Option<u32>, right: Option<u32>): Option<u32> {
    var a = left?;
    var b = right?;
    Some{a * b + @}
}
function spread_@(items: Vec<u32>): Vec<u64> {
    var scale = 2 + items.len();
    items.filter(|x| x % 2 == 0).map(|x| (x as u64) * scale)
}
"""

_UNIONS = """\
typedef Shape_@ = Circle_@{center: (u32, u32), radius: u32}
                | Square_@{corner: (u32, u32), side: u32}
                | Group_@{name: string, members: Vec<Ref<Shape_@>>}
typedef Scene_@ = Scene_@{title: string, shapes: Vec<Shape_@>, tags: Map<string, u32>}
function area_@(shape: Shape_@): u64 {
    match (shape) {
        Circle_@{_, radius} -> (radius as u64) * (radius as u64) * 3,
        Square_@{.side = 0} -> 0,
        Square_@{(_, _), side} -> (side as u64) * (side as u64),
        Group_@{_, members} -> {
            var sum: u64 = 0;
            for (member in members) {
                sum = sum + area_@(member.deref())
            };
            sum
        }
    }
}
input relation Scenes_@[Scene_@]
output relation Large_@(title: string, area: u64, tag: Option<u32>)
Large_@(scene.title, area, scene.tags.get("large")) :-
    scene in Scenes_@(),
    var shape = FlatMap(scene.shapes),
    var area = area_@(shape),
    area > 100.
Large_@(title, side as u64, None) :-
    Scenes_@[Scene_@{.title = title, .shapes = shapes}],
    Square_@{(var x, var y), var side} = shapes.nth(0).unwrap_or(Circle_@{(0, 0), 0}),
    x == y.
"""

KINDS = {
    "tables": (_TABLES,),
    "functions": (_FUNCTIONS,),
    "unions": (_UNIONS,),
    "everything": (_TABLES, _FUNCTIONS, _UNIONS),
}


def program(blocks: Sequence[str], lines: int) -> str:
    """Returns the blocks repeated and numbered, until the program has as many lines."""
    return "".join(_pieces(blocks, lines))


def _pieces(blocks: Sequence[str], lines: int) -> Iterator[str]:
    yield _HEAD
    written = _HEAD.count("\n")
    for number in count():
        piece = blocks[number % len(blocks)].replace("@", str(number))
        written += piece.count("\n")
        if written > lines:
            return
        yield piece


def run(lines: int, times: int, say: Callable[[str], None]) -> None:
    """Measures the programs and prints the times."""
    first = True
    for kind, blocks in KINDS.items():
        text = program(blocks, lines)
        seconds, worked, typed = _measured(text, times)
        size = f"{text.count(chr(10)):,} lines, {len(typed.rules):,} rules, {len(typed.functions):,} functions"
        start = f"  first run with the library {seconds[0]:.2f} s" if first else ""
        say(f"{kind:<12} {min(seconds):5.2f} s, processor {min(worked):5.2f} s   {size}{start}")
        first = False


def _measured(text: str, times: int) -> tuple[list[float], list[float], TypedProgram]:
    seconds, worked = [], []
    for _ in range(times):
        started, began = perf_counter(), process_time()
        typed = check_source(Source("<bench>", text))
        seconds.append(perf_counter() - started)
        worked.append(process_time() - began)
    return seconds, worked, typed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--lines", type=int, default=4_000, help="lines of each program")
    parser.add_argument("--times", type=int, default=3, help="runs of each program")
    options = parser.parse_args()
    run(options.lines, max(1, options.times), print)


if __name__ == "__main__":
    main()
