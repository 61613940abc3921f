"""An absent row → how far each rule that could derive it matches, and why the rows that it misses are missing.

The rule is matched with its head's variables known, as for a proof; the literal at which the best of all tries ends is
the missing one. "Best" is the most steps, in the order of the plan: bound literals come first, so that a try does not
fail at a literal that has nothing to do with the row. Negated literals come last: if only one of those fails, it is the
one to name.

If rules derive the relation of that literal, they are matched in turn, with the columns known that the binding gives,
and so on down: to input relations, to conditions, to rows that a negated literal meets, or to the depth that was asked
for. Rows that are missing further up are not explained again, so that recursion ends.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.engine.local.queries.explain import Explainer, decoded
from tidelog.engine.local.queries.match_rule import Furthest, Matcher
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.proof import Absence, Cut, FailedMatch, Proof
from tidelog.rules.ir import Atom, Constant, Negative, Positive, Role, Rule, Variable

# Steps that the tries for one rule may take; some seconds of work.
MOST_STEPS = 1_000_000
MOST_STEPS_BELOW = 50_000
MOST_ABSENCES = 60
"""So many kinds of missing rows are explained; nobody reads more."""


def why_not(explainer: Explainer, relation: str, row: Row, depth: int = 1) -> tuple[FailedMatch, ...]:
    """Returns how far each rule of the relation matches, in the order of the program."""
    return _WhyNot(explainer, depth).attempts(relation, dict(enumerate(row)))


class _WhyNot:
    def __init__(self, explainer: Explainer, depth: int) -> None:
        self._explainer = explainer
        self._depth = depth
        self._level = 0
        self._seen: set[tuple[str, frozenset[tuple[int, int]]]] = set()

    def attempts(self, relation: str, given: Mapping[int, int]) -> tuple[FailedMatch, ...]:
        """Returns how far each rule of a relation matches, with the words of some columns."""
        self._seen.add((relation, frozenset(given.items())))
        self._level += 1
        found = []
        for rule in self._explainer.rules_of(relation):
            words = self._unified(rule, given)
            found.append(FailedMatch(rule, fits=False) if words is None else self._attempt(rule, words))
        self._level -= 1
        return tuple(found)

    def _unified(self, rule: Rule, given: Mapping[int, int]) -> dict[str, int] | None:
        """Returns the words that known columns give to the variables of a head; None if it cannot have them."""
        words: dict[str, int] = {}
        values = self._explainer.committed.values
        for column, word in given.items():
            term = rule.head.terms[column]
            if isinstance(term, Variable):
                if words.setdefault(term.name, word) != word:
                    return None
            elif isinstance(term, Constant) and values.temporary_word(term.value, term.type) != word:
                return None
        return words

    def _attempt(self, rule: Rule, words: Mapping[str, int]) -> FailedMatch:
        explainer = self._explainer
        if rule.group is not None:
            # The group of a key is missing because its members are: the rule of the members says why.
            terms = rule.group.atom.terms
            keys = {term.name: column for column, term in enumerate(terms) if isinstance(term, Variable)}
            (members,) = explainer.rules_of(rule.group.atom.relation)
            given = {column: words[name] for name, column in keys.items() if name in words}
            return self._attempt(members, _known(members, given))
        if rule.transform is not None:
            return FailedMatch(rule, fits=True, place=0)
        matcher = explainer.matcher(rule, words, absent_last=True)
        best, is_sure = matcher.furthest(words, MOST_STEPS if self._level == 1 else MOST_STEPS_BELOW)
        if best is None:
            return FailedMatch(rule, fits=True, done=tuple(range(len(rule.body))))
        values = explainer.committed.values
        inner = self._inner(matcher, best)
        return FailedMatch(
            rule,
            True,
            best.place,
            best.done,
            decoded(rule, best.words, values),
            decoded(rule, best.instead, values),
            inner,
            is_sure,
            None if inner is not None else self._below(matcher, best),
            self._present(matcher, best),
        )

    def _inner(self, matcher: Matcher, best: Furthest) -> FailedMatch | None:
        """Returns how far the hidden rule behind the literal matches, if there is one."""
        literal = matcher.rule.body[best.place]
        if not isinstance(literal, Positive):
            return None
        hidden = literal.atom.relation
        rules = self._explainer.rules_of(hidden)
        if not self._is_hidden(hidden) or len(rules) != 1 or "#" not in hidden:
            return None
        inner = self._attempt(rules[0], _known(rules[0], self._columns(literal.atom, best)))
        return inner if inner.place is not None else None

    def _below(self, matcher: Matcher, best: Furthest) -> Absence | None:
        """Returns why there is no row for the literal, if rules could derive one."""
        literal = matcher.rule.body[best.place]
        if not isinstance(literal, Positive) or self._depth == 1:
            return None
        relation = literal.atom.relation
        if self._is_hidden(relation) or not self._explainer.rules_of(relation):
            return None
        open_ = [term.name for term in literal.atom.terms if isinstance(term, Variable) and term.name not in best.words]
        if len(open_) != len(set(open_)):
            return None  # columns that must be equal, whatever they are
        given = self._columns(literal.atom, best)
        columns = self._explainer.committed.program.relations[relation].columns
        values = self._explainer.committed.values
        shown = {column: values.decoder(columns[column].type)(word) for column, word in given.items()}
        cut = self._cut(relation, given)
        return Absence(relation, shown, () if cut else self.attempts(relation, given), cut)

    def _cut(self, relation: str, given: Mapping[int, int]) -> Cut | None:
        if (relation, frozenset(given.items())) in self._seen:
            return Cut.AGAIN
        if self._level >= self._depth:
            return Cut.DEPTH
        return Cut.ENOUGH if len(self._seen) >= MOST_ABSENCES else None

    def _present(self, matcher: Matcher, best: Furthest) -> Proof | None:
        """Returns a proof of the row that a negated literal meets."""
        literal = matcher.rule.body[best.place]
        if not isinstance(literal, Negative) or self._depth == 1:
            return None
        given = self._columns(literal.atom, best)
        row = tuple([given[column] for column in range(len(literal.atom.terms)) if column in given])
        if len(row) != len(literal.atom.terms) or not self._explainer.committed.weight(literal.atom.relation, row):
            return None
        return self._explainer.explain(literal.atom.relation, row, shortest=False)

    def _columns(self, atom: Atom, best: Furthest) -> dict[int, int]:
        """Returns the words of the columns that are known under the binding."""
        given: dict[int, int] = {}
        for column, term in enumerate(atom.terms):
            if isinstance(term, Variable) and term.name in best.words:
                given[column] = best.words[term.name]
            elif isinstance(term, Constant):
                given[column] = self._explainer.committed.values.temporary_word(term.value, term.type)
        return given

    def _is_hidden(self, relation: str) -> bool:
        return self._explainer.committed.program.relations[relation].role is Role.HIDDEN


def _known(rule: Rule, given: Mapping[int, int]) -> dict[str, int]:
    """Returns the words of the variables in these columns of the head."""
    terms = rule.head.terms
    return {term.name: word for column, word in given.items() if isinstance(term := terms[column], Variable)}
