"""An absent row → how far each rule that could derive it matches.

The rule is matched with its head's variables known, as for a proof; the literal at which the best of all tries ends is
the missing one. "Best" is the most steps, in the order of the plan: bound literals come first, so that a try does not
fail at a literal that has nothing to do with the row. Negated literals come last: if only one of those fails, it is the
one to name.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.engine.local.queries.explain import Explainer, decoded
from tidelog.engine.local.queries.match_rule import Furthest, Matcher, unify
from tidelog.engine.local.storage.weighted_table import Row
from tidelog.engine.proof import FailedMatch
from tidelog.rules.ir import Constant, Positive, Role, Rule, Variable

# Steps that the tries for one rule may take; some seconds of work.
MOST_STEPS = 1_000_000


def why_not(explainer: Explainer, relation: str, row: Row) -> tuple[FailedMatch, ...]:
    """Returns how far each rule of the relation matches, in the order of the program."""
    found = []
    for rule in explainer.rules_of(relation):
        words = unify(rule.head, row, explainer.committed.values)
        found.append(FailedMatch(rule, fits=False) if words is None else _attempt(explainer, rule, words))
    return tuple(found)


def _attempt(explainer: Explainer, rule: Rule, words: Mapping[str, int]) -> FailedMatch:
    if rule.group is not None:
        # The group of a key is missing because its members are: the rule of the members says why.
        keys = {term.name: column for column, term in enumerate(rule.group.atom.terms) if isinstance(term, Variable)}
        (members,) = explainer.rules_of(rule.group.atom.relation)
        given = {column: words[name] for name, column in keys.items() if name in words}
        return _attempt(explainer, members, _known(members, given))
    if rule.transform is not None:
        return FailedMatch(rule, fits=True, place=0)
    matcher = explainer.matcher(rule, words, absent_last=True)
    best, is_sure = matcher.furthest(words, MOST_STEPS)
    if best is None:
        return FailedMatch(rule, fits=True, done=tuple(range(len(rule.body))))
    values = explainer.committed.values
    return FailedMatch(
        rule,
        True,
        best.place,
        best.done,
        decoded(rule, best.words, values),
        decoded(rule, best.instead, values),
        _inner(explainer, matcher, best),
        is_sure,
    )


def _inner(explainer: Explainer, matcher: Matcher, best: Furthest) -> FailedMatch | None:
    """Returns how far the hidden rule behind the literal matches, if there is one."""
    literal = matcher.rule.body[best.place]
    if not isinstance(literal, Positive):
        return None
    hidden = literal.atom.relation
    rules = explainer.rules_of(hidden)
    if explainer.committed.program.relations[hidden].role is not Role.HIDDEN or len(rules) != 1 or "#" not in hidden:
        return None
    given: dict[int, int] = {}
    for column, term in enumerate(literal.atom.terms):
        if isinstance(term, Variable) and term.name in best.words:
            given[column] = best.words[term.name]
        elif isinstance(term, Constant):
            given[column] = explainer.committed.values.temporary_word(term.value, term.type)
    inner = _attempt(explainer, rules[0], _known(rules[0], given))
    return inner if inner.place is not None else None


def _known(rule: Rule, given: Mapping[int, int]) -> dict[str, int]:
    """Returns the words of the variables in these columns of the head."""
    terms = rule.head.terms
    return {term.name: word for column, word in given.items() if isinstance(term := terms[column], Variable)}
