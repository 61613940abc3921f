"""The points-to analysis of `programs/points-to.dl` without Tidelog: sets as bits of integers, and a worklist.

A node is a variable, a static field, a field of an object or the elements of an array; an edge propagates the objects
of its mask. Entering a method, or a new object at a base, adds edges. The worklist has the nodes with objects to
propagate.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

_ALL = -1
Rows = dict[str, list[tuple[Any, ...]]]
Index = Mapping[Any, list[tuple[Any, ...]]]


@dataclass(slots=True)
class PointsTo:
    """The result. Objects are bits, in the order of `heaps`; fields are keyed by (object, field)."""

    heaps: list[str]
    reachable: set[str] = field(default_factory=set)
    calls: set[tuple[str, str]] = field(default_factory=set)
    variables: dict[str, int] = field(default_factory=dict)
    fields: dict[tuple[int, str], int] = field(default_factory=dict)

    def rows(self) -> dict[str, Iterator[tuple[str, ...]]]:
        """Returns the rows of each result."""
        return {
            "Reachable": ((method,) for method in self.reachable),
            "Calls": iter(self.calls),
            "VarPointsTo": ((v, self.heaps[h]) for v, bits in self.variables.items() for h in _each(bits)),
            "FieldPointsTo": (
                (self.heaps[g], f, self.heaps[h]) for (g, f), bits in self.fields.items() for h in _each(bits)
            ),
        }


def andersen(tables: Mapping[str, pa.Table]) -> PointsTo:
    """Solves the facts. Types and methods are looked up as in Java: an own method before that of the superclass."""
    solver = _Solver({name: list(zip(*(c.to_pylist() for c in table.columns))) for name, table in tables.items()})
    solver.run()
    found = PointsTo(solver.heaps, solver.reachable, solver.calls)
    for node, bits in solver.points.items():
        match node:
            case ("variable", name) if bits:
                found.variables[name] = bits
            case ("field", heap, name) if bits:
                found.fields[heap, name] = bits
    return found


def _each(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _by(rows: list[tuple[Any, ...]], column: int) -> Index:
    found = defaultdict(list)
    for row in rows:
        found[row[column]].append(row)
    return found


class _Types:
    """The supertypes of a class, the methods it runs, and the element types of arrays."""

    def __init__(self, rows: Rows) -> None:
        self.above: dict[str, list[str]] = defaultdict(list)
        for lower, upper in rows["Extends"] + rows["Implements"]:
            self.above[lower].append(upper)
        self.components: dict[str, str] = dict(rows["Component"])
        self._arrays = _by(rows["Component"], 1)
        self._superclass: dict[str, str] = dict(rows["Extends"])
        concrete = {method for (method,) in rows["Concrete"]}
        self._own: dict[tuple[str, str, str], str] = {(n, d, t): m for m, n, d, t in rows["Method"] if m in concrete}
        self._supertypes: dict[str, frozenset[str]] = {}

    def supertypes(self, name: str) -> frozenset[str]:
        """Returns the class and all its supertypes."""
        known = self._supertypes.get(name)
        if known is None:
            found, waiting = {name}, [name]
            while waiting:
                one = waiting.pop()
                nearer = list(self.above.get(one, ()))
                if one in self.components:
                    held = self.supertypes(self.components[one])
                    nearer += [array for each in held for array, _ in self._arrays.get(each, ())]
                waiting += [each for each in nearer if each not in found]
                found.update(nearer)
            known = self._supertypes[name] = frozenset(found)
        return known

    def method(self, name: str, descriptor: str, of: str | None) -> str | None:
        """Returns the method that a call on an object of the class runs."""
        while of is not None:
            own = self._own.get((name, descriptor, of))
            if own is not None:
                return own
            of = self._superclass.get(of)
        return None


class _Solver:
    def __init__(self, rows: Rows) -> None:
        self._types = types = _Types(rows)
        self._entries = [method for (method,) in rows["Entry"]]
        self._type_of: dict[str, str] = dict(rows["HeapType"])
        self.heaps = list(dict.fromkeys([*self._type_of, *(heap for _, heap, _ in rows["New"])]))
        self._number = {heap: i for i, heap in enumerate(self.heaps)}
        self._of_type: dict[str, int] = defaultdict(int)
        for heap, name in self._type_of.items():
            for above in types.supertypes(name):
                self._of_type[above] |= 1 << self._number[heap]
        self._methods = {method: rest for method, *rest in rows["Method"]}
        self._initialiser: dict[str, str] = dict(rows["Initialiser"])
        self._field_class: dict[str, str] = dict(rows["StaticField"])
        self._new, self._static_calls = _by(rows["New"], 2), _by(rows["StaticCall"], 2)
        self._load_static, self._store_static = _by(rows["LoadStatic"], 2), _by(rows["StoreStatic"], 2)
        self._load, self._store = _by(rows["Load"], 1), _by(rows["Store"], 1)
        self._load_element, self._store_element = _by(rows["LoadElement"], 1), _by(rows["StoreElement"], 1)
        self._special, self._virtual = _by(rows["SpecialCall"], 2), _by(rows["VirtualCall"], 2)
        self._actual, self._formal = _by(rows["Actual"], 1), _by(rows["Formal"], 1)
        self._returned, self._result = _by(rows["Returned"], 1), _by(rows["Result"], 0)
        self._this = _by(rows["This"], 0)
        self.reachable: set[str] = set()
        self.calls: set[tuple[str, str]] = set()
        self.points: dict[Any, int] = defaultdict(int)
        self._initialised: set[str] = set()
        self._entered: deque[str] = deque()
        self._edges: dict[Any, dict[Any, int]] = defaultdict(dict)
        self._news: dict[Any, int] = {}  # objects that a node has to propagate; the worklist
        for source, target in rows["Move"]:
            self._edge(("variable", source), ("variable", target))
        for source, target, name in rows["Cast"]:
            self._edge(("variable", source), ("variable", target), self._of_type[name])

    def run(self) -> None:
        for method in self._entries:
            self._reach(method)
            if method in self._methods:
                self._initialise(self._methods[method][2])
        while self._entered or self._news:
            if self._entered:
                self._enter(self._entered.popleft())
                continue
            node = next(iter(self._news))
            bits = self._news.pop(node)
            for target, mask in list(self._edges[node].items()):
                self._add(target, bits & mask)
            if node[0] == "variable":
                self._meet(node[1], bits)

    def _add(self, node: Hashable, bits: int) -> None:
        bits &= ~self.points[node]
        if bits:
            self.points[node] |= bits
            self._news[node] = self._news.get(node, 0) | bits

    def _edge(self, source: Hashable, target: Hashable, mask: int = _ALL) -> None:
        edges = self._edges[source]
        known = edges.get(target, 0)
        if known | mask != known:
            edges[target] = known | mask
            self._add(target, self.points[source] & mask)

    def _reach(self, method: str) -> None:
        if method not in self.reachable:
            self.reachable.add(method)
            self._entered.append(method)

    def _initialise(self, name: str) -> None:
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in self._initialised:
                self._initialised.add(one)
                waiting += self._types.above.get(one, ())
                if one in self._initialiser:
                    self._reach(self._initialiser[one])

    def _enter(self, method: str) -> None:
        """Evaluates the statements of a method that need no object."""
        for variable, heap, _ in self._new.get(method, ()):
            self._add(("variable", variable), 1 << self._number[heap])
            if heap in self._type_of:
                self._initialise(self._type_of[heap])
        for variable, name, _ in self._load_static.get(method, ()):
            self._edge(("static", name), ("variable", variable))
        for variable, name, _ in self._store_static.get(method, ()):
            self._edge(("variable", variable), ("static", name))
        for _, name, _ in (*self._load_static.get(method, ()), *self._store_static.get(method, ())):
            if name in self._field_class:
                self._initialise(self._field_class[name])
        for call, callee, _ in self._static_calls.get(method, ()):
            if callee in self._methods:
                self._initialise(self._methods[callee][2])
            self._call(call, callee)

    def _meet(self, base: str, bits: int) -> None:
        """Evaluates the statements through a base variable for its new objects."""
        for heap in _each(bits):
            for to, _, name in self._load.get(base, ()):
                self._edge(("field", heap, name), ("variable", to))
            for source, _, name in self._store.get(base, ()):
                self._edge(("variable", source), ("field", heap, name))
            for to, _ in self._load_element.get(base, ()):
                self._edge(("element", heap), ("variable", to))
            own = self._type_of.get(self.heaps[heap])
            held = self._types.components.get(own) if own else None
            mask = self._of_type[held] if held else 0
            for source, _ in self._store_element.get(base, ()):
                self._edge(("variable", source), ("element", heap), mask)
            for call, callee, _ in self._special.get(base, ()):
                self._call_on(call, callee, heap)
            for call, signature, _ in self._virtual.get(base, ()) if own else ():
                if signature in self._methods:
                    name, descriptor, _ = self._methods[signature]
                    runs = self._types.method(name, descriptor, own)
                    if runs is not None:
                        self._call_on(call, runs, heap)

    def _call_on(self, call: str, method: str, heap: int) -> None:
        self._call(call, method)
        for _, this in self._this.get(method, ()):
            self._add(("variable", this), 1 << heap)

    def _call(self, call: str, method: str) -> None:
        if (call, method) in self.calls:
            return
        self.calls.add((call, method))
        self._reach(method)
        for index, _, actual in self._actual.get(call, ()):
            for other, _, formal in self._formal.get(method, ()):
                if index == other:
                    self._edge(("variable", actual), ("variable", formal))
        for returned, _ in self._returned.get(method, ()):
            for _, result in self._result.get(call, ()):
                self._edge(("variable", returned), ("variable", result))
