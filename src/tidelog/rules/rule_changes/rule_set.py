"""The current rules of a database: those of its program, less the removed ones, plus those added at run time.

    base      the program as it was compiled; never changes
    layer     which rules of the base are removed, and the added texts, each less its own removed rules

A rule set is a frozen value: adding or removing rules returns another one. Rules are a set up to the names of their
variables (`check/rule/same_rule.py`): adding a rule that exists changes nothing, and removing one that does not exist
is an error. An added text keeps its number for good: errors, closures and hidden relations are named after it, and have
the same names when the layer is applied to the base again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from tidelog.check.check_rules import CheckedRule, check_added, check_removed, report_circles
from tidelog.check.program import Function, Negative, Positive, Trees, TypedProgram
from tidelog.check.program import Rule as TypedRule
from tidelog.check.rule.recursion import Tree
from tidelog.check.rule.same_rule import RuleKey, rule_key
from tidelog.deep_recursion import deeply
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import diagnostic
from tidelog.diagnostics.spans import Source
from tidelog.rules.analysis.group_warnings import group_warnings
from tidelog.rules.ir import RuleProgram
from tidelog.rules.lower.program import Options
from tidelog.rules.rule_changes.relower import relower
from tidelog.syntax import ast
from tidelog.syntax.parse import parse
from tidelog.syntax.parse_query import ParsedQuery, parse_query
from tidelog.values import Definitions

Know = Callable[[Mapping[str, Function], Definitions], None]
_BASE = -1


@dataclass(frozen=True, slots=True)
class Layer:
    """What was done to the rules of a program: `removed` are places among its rules; `texts` are the texts that came
    and still count, by their numbers, with the places of the rules that do not."""

    removed: frozenset[int] = frozenset()
    texts: Mapping[int, tuple[str, frozenset[int]]] = field(default_factory=dict)
    count: int = 0

    def document(self) -> dict[str, Any]:
        """Returns the layer as JSON has it."""
        texts = [[number, text, sorted(left_out)] for number, (text, left_out) in self.texts.items()]
        return {"removed": sorted(self.removed), "texts": texts, "count": self.count}

    @staticmethod
    def of_document(document: Mapping[str, Any]) -> Layer:
        texts = {number: (text, frozenset(left_out)) for number, text, left_out in document["texts"]}
        return Layer(frozenset(document["removed"]), texts, document["count"])


@dataclass(frozen=True, slots=True)
class _Member:
    """A rule that is there: its text's number (`_BASE` for the program) and its place in it, and its flat rules."""

    text: int
    place: int
    rule: TypedRule
    tree: Tree
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RuleSet:
    """`typed` and `rules` are the program with the rules of now; `layer` is what makes them of the base.

    `options` are those that the program was lowered with. `know` is told of the functions and types that come with
    rules. `read` and `read_query` parse texts in the program's language. Rules of relations for which `is_made` is true
    come with the rules that read them, and leave with the last one.
    """

    typed: TypedProgram
    rules: RuleProgram
    layer: Layer = field(default_factory=Layer)
    options: Options = field(default_factory=Options)
    know: Know | None = None
    read: Callable[[Source], ast.Program] = parse
    read_query: Callable[[Source], ParsedQuery] = parse_query
    is_made: Callable[[str], bool] | None = None
    _found: Mapping[RuleKey, _Member] | None = field(default=None, repr=False)

    @property
    def _members(self) -> Mapping[RuleKey, _Member]:
        """The rules by what they are; looked at only when somebody asks, as most programs never change."""
        if self._found is None:
            object.__setattr__(self, "_found", _base_members(self.typed))
        assert self._found is not None
        return self._found

    def add(self, text: str) -> RuleSet:
        """Returns the rule set with the rules and declarations of a text. Raises ProgramError with all errors,
        UsageError when an extern function has no Python function."""
        number = self.layer.count + 1
        return self._added(number, text, frozenset())

    def remove(self, text: str) -> RuleSet:
        """Without the rules of a text. Raises ProgramError where one is not there."""
        checked = check_removed(self._read_removed(text), self.typed)
        members = dict(self._members)
        removed: list[_Member] = []
        wrong = []
        for each in checked:
            if self._is_made(each.rule):
                continue
            key = deeply(rule_key, each.rule)
            found = members.pop(key, None)
            if found is not None:
                removed.append(found)
            elif key not in self._members:
                wrong.append(each)
        if wrong:
            raise ProgramError(tuple(self._not_there(each) for each in _by_span(wrong)))
        if removed and self.is_made is not None:
            removed += self._unread(members)
        return self._without(removed, members) if removed else self

    def with_layer(self, layer: Layer) -> RuleSet:
        """Returns the base with a layer on it."""
        leaving = [each for each in self._members.values() if each.text == _BASE and each.place in layer.removed]
        removed = {each.place for each in leaving}
        members = {key: each for key, each in self._members.items() if each.place not in removed}
        changed = self._without(leaving, members) if leaving else self
        for number, (text, left_out) in layer.texts.items():
            changed = changed._added(number, text, left_out)
        return replace(changed, layer=layer)

    def is_same(self, other: RuleSet) -> bool:
        """True if both have the same rules and declarations."""
        mine, others = self.typed, other.typed
        return (
            self._members.keys() == other._members.keys()
            and mine.relations.keys() == others.relations.keys()
            and mine.types.keys() == others.types.keys()
            and mine.environment is others.environment
        )

    def texts(self) -> list[str]:
        """Returns the rules as they were written, those of the program first, then in the order in which they came."""
        return [each.span.text for each in self._written(self._members.values())]

    def added(self) -> list[TypedRule]:
        """Returns the rules that were added at run time and are still there."""
        return self._written(each for each in self._members.values() if each.text != _BASE)

    def _written(self, members: Iterable[_Member]) -> list[TypedRule]:
        """Returns the rules that somebody has written: none that was made for another one."""
        rules = [each.rule for each in members]
        if self.is_made is None:
            return rules
        written = [each for each in rules if not self._is_made(each) and not _copies_facts(each)]
        by_place = {(id(each.span.source), each.span.start): each for each in written}
        return [*by_place.values()]

    def _is_made(self, rule: TypedRule) -> bool:
        return self.is_made is not None and all(self.is_made(head) for head in _heads(rule))

    def _unread(self, members: dict[RuleKey, _Member]) -> list[_Member]:
        """Takes the rules from `members` that were made for rules that are gone; returns them."""
        gone: list[_Member] = []
        while True:
            read = {
                literal.atom.relation
                for each in members.values()
                for literal in each.rule.body
                if isinstance(literal, Positive | Negative)
            }
            unread = [key for key, each in members.items() if self._is_made(each.rule) and not _heads(each.rule) & read]
            if not unread:
                return gone
            gone += [members.pop(key) for key in unread]

    def _added(self, number: int, text: str, left_out: frozenset[int]) -> RuleSet:
        tree = self.read(Source(f"<rules {number}>", text))
        if self.read is not parse:
            tree = _without_known(tree, self.typed)
        typed, checked = check_added(tree, self.typed, left_out)
        members = dict(self._members)
        new: dict[RuleKey, CheckedRule] = {}
        for each in checked:
            key = deeply(rule_key, each.rule)
            if key not in members:
                new.setdefault(key, each)
        is_declaring = typed.environment is not self.typed.environment
        if not new and not is_declaring:
            return self
        come = [_Member(number, 0, each.rule, each.tree, ()) for each in new.values()]
        typed = _with_rules(typed, [*members.values(), *come], [each.tree for each in come], ())
        names = {f"{number}.{each.place}": each.rule for each in new.values()}
        rules, ids = relower(self.rules, typed, self.options, names, ())
        if self.know is not None:
            self.know(typed.functions, rules.functions.definitions)
        for (key, each), flat in zip(new.items(), ids, strict=True):
            members[key] = _Member(number, each.place, each.rule, each.tree, flat)
        kept = {each.place for each in new.values()}
        without = left_out | {each.place for each in checked if each.place not in kept}
        texts = {**self.layer.texts, number: (text, without)}
        layer = replace(self.layer, texts=texts, count=max(number, self.layer.count))
        return replace(self, typed=group_warnings(typed, rules), rules=rules, layer=layer, _found=members)

    def _without(self, leaving: Sequence[_Member], members: Mapping[RuleKey, _Member]) -> RuleSet:
        typed = _with_rules(self.typed, members.values(), (), [each.tree for each in leaving])
        rules, _ = relower(self.rules, typed, self.options, {}, {id_ for each in leaving for id_ in each.ids})
        removed = set(self.layer.removed)
        texts = dict(self.layer.texts)
        for each in leaving:
            if each.text == _BASE:
                removed.add(each.place)
            else:
                text, left_out = texts[each.text]
                texts[each.text] = (text, left_out | {each.place})
        used = {each.text for each in members.values()}
        texts = {number: kept for number, kept in texts.items() if number in used or self._declares(kept[0])}
        layer = replace(self.layer, removed=frozenset(removed), texts=texts)
        return replace(self, typed=group_warnings(typed, rules), rules=rules, layer=layer, _found=members)

    def _read_removed(self, text: str) -> ast.Program:
        tree = self.read(Source("<rules>", text))
        return tree if self.read is parse else _without_known(tree, self.typed)

    def _declares(self, text: str) -> bool:
        items = self.read(Source("<rules>", text)).items
        return any(not isinstance(item, ast.Rule | ast.ForStatement) for item in items)

    def _not_there(self, absent: CheckedRule) -> Any:
        rule = absent.rule
        heads = {head.relation for head in rule.heads}
        written = {_one_line(each.rule.span.text): None for each in self._members.values() if heads & _heads(each.rule)}
        meant = get_close_matches(_one_line(rule.span.text), written, n=1, cutoff=0.0)
        names = ", ".join(f"`{name}`" for name in sorted(heads))
        return diagnostic(
            Code.NO_SUCH_RULE,
            "there is no such rule",
            rule.span,
            "not a rule of the program as it is now",
            help=f"did you mean `{meant[0]}`?" if meant else f"no rule derives {names} now",
        )


def _base_members(typed: TypedProgram) -> dict[RuleKey, _Member]:
    members = {}
    first = 0
    for place, (key, rule, tree) in enumerate(zip(typed.trees.keys, typed.rules, typed.trees.rules, strict=True)):
        ids = tuple(range(first, first + len(rule.heads)))
        first += len(rule.heads)
        members[key] = _Member(_BASE, place, rule, tree, ids)
    return members


def _with_rules(
    typed: TypedProgram, members: Iterable[_Member], added: Sequence[Tree], removed: Sequence[Tree]
) -> TypedProgram:
    """Returns the program with the rules of these members. Raises ProgramError where there is a circle that must not
    be."""
    members = list(members)
    assert typed.trees.recursion is not None, "a checked program has one"
    recursion = typed.trees.recursion.changed(added, removed)
    trees = Trees(tuple([each.tree for each in members]), recursion)
    return replace(typed, rules=tuple([each.rule for each in members]), trees=trees, warnings=report_circles(recursion))


def _without_known(tree: ast.Program, typed: TypedProgram) -> ast.Program:
    """Returns the tree without declarations of relations that are there already."""
    items = tuple(
        item
        for item in tree.items
        if not (isinstance(item, ast.RelationDeclaration) and item.name.text in typed.relations)
    )
    return replace(tree, items=items)


def _copies_facts(rule: TypedRule) -> bool:
    """True for the rule that a relation has the facts that are inserted into it, in Soufflé's language."""
    read = [each.atom.relation for each in rule.body if isinstance(each, Positive)]
    return len(rule.body) == 1 and read == [f"{head.relation}.facts" for head in rule.heads]


def _by_span(rules: Iterable[CheckedRule]) -> Iterable[CheckedRule]:
    """Returns the first rule of each place in a text."""
    return {each.rule.span.start: each for each in [*rules][::-1]}.values()


def _heads(rule: TypedRule) -> set[str]:
    return {head.relation for head in rule.heads}


def _one_line(text: str) -> str:
    return " ".join(text.split())
