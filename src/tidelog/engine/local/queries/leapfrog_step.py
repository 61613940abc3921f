"""The leapfrog joins of a query: steps of its plan that the join kernel runs in one go, as it runs those of rules.

    E(x, y), E(y, z), E(x, z), var t = "${z}"      leap x, leap y, leap z in the kernel; then Python, for each match

A query is planned as a rule is, so that a cyclic body is joined variable by variable. The steps from a leap on that the
kernel understands become one `LeapfrogStep` of the match. The step starts from the words that are known and yields the
words of the variables that it binds, a buffer at a time. The relations are copied, and tries of the copies are built,
when first needed (`private_rows`). Relations of the query itself and weighted relations are not joined by leapfrog.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np

from tidelog.check import typed
from tidelog.engine.local.encoding.words import Words
from tidelog.engine.local.execution.bytecode import BytecodeCompiler, VariantCompiler
from tidelog.engine.local.execution.rule_loops import LeapfrogStep
from tidelog.engine.local.execution.threads import SegmentExecutor
from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.queries.committed_view import CommittedView
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.functions.compile_functions import CompiledFunctions
from tidelog.plan.leapfrog import plan_leapfrog
from tidelog.plan.negation import with_complements
from tidelog.plan.plain import is_plain
from tidelog.plan.statistics import Statistics
from tidelog.plan.variant import Antijoin, DeltaKind, Filter, Join, Leap, Let, Step, Take, Variant, deltas
from tidelog.rules.ir import Atom, Rule, Variable
from tidelog.rules.variables import variable_types


class LeapfrogPlanner:
    """Plans the rules of a query, cyclic bodies by leapfrog, and compiles the steps that a kernel can run.

    `made` are the relations that only the query has. `found` counts the results of kernels, and `looked_at` the
    rows and words that they looked at; they are for tests.
    """

    def __init__(
        self,
        committed: CommittedView,
        made: Collection[str],
        functions: CompiledFunctions,
        look: Callable[[], None] | None = None,
    ) -> None:
        """`look` is called after each run of a kernel; it may raise."""
        self._look = look
        self._committed = committed
        self._apart = {*made, *committed.weighted}
        word = committed.values.temporary_word
        self._compiler = BytecodeCompiler(committed.numbers, committed.private.arrangement, word, functions)
        columns = max((len(relation.columns) for relation in committed.program.relations.values()), default=0)
        self._scratch: Words = np.zeros(columns + 1, dtype=np.int64)
        self.found = 0
        self.looked_at = 0

    def plan(self, rule: Rule, start: Atom, statistics: Statistics) -> tuple[Step | LeapfrogStep, ...]:
        """Returns the steps of the body, with the variables of `start` known; steps for the kernel are joined."""
        if any(atom.relation in self._apart for atom in rule.positives):
            rule = replace(rule, join="hash")
        delta = deltas(rule)[-1]
        if start.terms:
            # As a delta in the head would bind them, behind all literals of the body.
            delta = replace(delta, kind=DeltaKind.POSITIVE, atom=start)
        variant = plan_leapfrog(rule, delta, statistics, ())
        variant = with_complements(variant, statistics, self._apart, requested=rule.join == "leapfrog")
        bound = {term.name for term in start.terms if isinstance(term, Variable)}
        planned: list[Step | LeapfrogStep] = []
        for _, together in groupby(variant.steps, self._is_for_kernel):
            steps = tuple(together)
            is_leap = any(isinstance(step, Leap) for step in steps)
            planned += [self._compiled(variant, steps, bound)] if is_leap else steps
            bound.update(name for step in steps for name in _names(step))
        return tuple(planned)

    def _compiled(self, variant: Variant, steps: tuple[Step, ...], bound: set[str]) -> LeapfrogStep:
        """Returns the steps as one that the kernel runs, one run at a time; `bound` are the variables known before."""
        names = dict.fromkeys(name for step in steps for name in _names(step))
        given = tuple(name for name in names if name in bound)
        found = tuple(name for name in names if name not in bound)
        types = variable_types(variant.rule)
        compiler = VariantCompiler(self._compiler, variant, frozenset())
        segment = compiler.piece([Variable(name, types[name]) for name in given], steps, found)
        for relation, keys in dict.fromkeys(compiler.probes):
            self._committed.arrange(relation, keys)
        control: Words = np.zeros(k.CONTROL_FIELDS, dtype=np.int64)
        control[k.PHASE], control[k.THREADS], control[k.CHUNK] = k.INSERT, 1, k.ALL_ROWS
        executor = SegmentExecutor(segment, control, np.zeros((1, len(given) + 1), dtype=np.int64))

        def ways(words: Row) -> Iterator[list[int]]:
            executor.restart(words)
            status = k.FULL
            while status != k.DONE:
                status = executor.enumerate(self._committed.catalog, k.KIND_RULE, self._scratch)
                if status == k.DIVISION:
                    raise ZeroDivisionError
                if self._look is not None:
                    self._look()
                self.looked_at += executor.looked_at()
                rows = executor.take()[:, : len(found)].tolist()
                self.found += len(rows)
                yield from rows

        return LeapfrogStep(given, found, ways)

    def _is_for_kernel(self, step: Step) -> bool:
        match step:
            case Leap():
                return True
            case Join(atom) | Antijoin(atom):
                return atom.relation not in self._apart
            case Filter(expression) | Let(expression=expression):
                return is_plain(expression)
            case Take():
                return False


def _names(step: Step) -> Iterator[str]:
    """Yields the variables that a step reads or binds."""
    match step:
        case Join(atom) | Antijoin(atom):
            yield from (term.name for term in atom.terms if isinstance(term, Variable))
        case Leap(_, parts, without):
            for part in (*parts, *without):
                reached = (part.atom.terms[column] for column in part.order.columns[: part.level + 1])
                yield from (term.name for term in reached if isinstance(term, Variable))
        case Filter(expression):
            yield from sorted(typed.variables(expression))
        case Let(variable, expression):
            yield from (*sorted(typed.variables(expression)), variable.name)
        case Take(unfold):
            yield from (*sorted(typed.variables(unfold.expression)), *(each.name for each in unfold.variables))
