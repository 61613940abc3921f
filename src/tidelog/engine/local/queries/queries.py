"""Explanations, why-not and queries of one commit of a local engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tidelog.engine.interface import Row
from tidelog.engine.local.epoch.functional_dependencies import deriving_rule
from tidelog.engine.local.queries.committed_view import CommittedView
from tidelog.engine.local.queries.derive_hidden import HiddenRows
from tidelog.engine.local.queries.evaluate import evaluate
from tidelog.engine.local.queries.explain import Explainer
from tidelog.engine.local.queries.why_not import why_not
from tidelog.engine.local.strata.joins import LocalStratum
from tidelog.engine.proof import FailedMatch, Proof
from tidelog.rules.ir import Rule
from tidelog.rules.lower.query import Query


class LocalQueries:
    """See `engine.interface.Queries`. Several threads may use it; plans are reused by later calls."""

    def __init__(self, committed: CommittedView, strata: Sequence[LocalStratum]) -> None:
        self.committed = self._committed = committed
        self._strata = strata
        self._unused: list[Explainer] = []
        committed.derive = HiddenRows(committed).find

    def plan_for(self, sizes: Mapping[str, int]) -> None:
        """Sets the sizes to plan for, where this engine has only some rows of these relations."""
        self._committed.sizes = sizes

    @contextmanager
    def _explainer(self) -> Iterator[Explainer]:
        """Yields an explainer that no other thread uses meanwhile."""
        try:
            explainer = self._unused.pop()
        except IndexError:
            explainer = Explainer(self._committed, self._strata)
        try:
            yield explainer
        finally:
            self._unused.append(explainer)

    def explain(self, relation: str, row: Row, *, shortest: bool = False) -> Proof | None:
        words = self._words(relation, row)
        if self._committed.weight(relation, words) == 0:
            return None
        with self._explainer() as explainer:
            return explainer.explain(relation, words, shortest=shortest)

    def why_not(self, relation: str, row: Row, *, depth: int = 1) -> tuple[FailedMatch, ...] | None:
        words = self._words(relation, row)
        if self._committed.weight(relation, words) > 0:
            return None
        with self._explainer() as explainer:
            return why_not(explainer, relation, words, depth)

    def evaluate(
        self,
        query: Query,
        *,
        limit: int | None = None,
        deadline: float | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> list[Row]:
        return evaluate(query, self._committed, limit, deadline, is_cancelled)

    def bytes(self) -> int:
        """Returns the memory of the copies made for queries."""
        return self._committed.private.bytes()

    def rule_of(self, relation: str, row: Row) -> Rule | None:
        """Returns a rule that derives a row; None if there is none."""
        committed = self._committed
        return deriving_rule(committed.program, relation, self._words(relation, row), committed, committed.values)

    def _words(self, relation: str, row: Row) -> tuple[int, ...]:
        """Encodes a row. A value that is in no row gets a word, too: rules may compute it."""
        columns = self._committed.program.relations[relation].columns
        encoder = self._committed.values.encoder
        return tuple(encoder(column.type)(value) for value, column in zip(row, columns, strict=True))
