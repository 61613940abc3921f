"""The extern functions of `regex`. A regular expression is its pattern, and is compiled when it is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tidelog.library._regex.translate import BadPatternError, translate
from tidelog.library._runtime.extern import extern
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some
from tidelog.values.structs import Struct
from tidelog.values.vec import Vec

# A pattern that matches nothing, for invalid ones.
_NEVER = "a^"


@extern
def regex(pattern: str) -> str:
    return pattern if _problem(pattern) is None else _NEVER


@extern
def try_regex(pattern: str) -> Struct:
    problem = _problem(pattern)
    return Ok(pattern) if problem is None else Err(problem)


@extern
def regex_match(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


@extern
def regex_first_match(pattern: str, text: str) -> Struct:
    found = _compiled(pattern).search(text)
    return Some(found[0]) if found else NONE


@extern
def regex_all_matches(pattern: str, text: str) -> Vec:
    return Vec(_all_matches(_compiled(pattern), text))


@extern
def regex_set(patterns: Vec) -> Vec:
    return Vec() if any(_problem(pattern) for pattern in patterns) else patterns


@extern
def try_regex_set(patterns: Vec) -> Struct:
    problem = next(filter(None, map(_problem, patterns)), None)
    return Ok(patterns) if problem is None else Err(problem)


@extern
def regex_set_match(patterns: Vec, text: str) -> bool:
    return any(_compiled(pattern).search(text) for pattern in patterns)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern; an invalid one (from a record or a default value) matches nothing."""
    try:
        return re.compile(translate(pattern))
    except (BadPatternError, re.error, RecursionError, OverflowError):
        return re.compile("(?!)")


@lru_cache(maxsize=1024)
def _problem(pattern: str) -> str | None:
    try:
        re.compile(translate(pattern))
    except (BadPatternError, re.error) as error:
        return str(error)
    except (RecursionError, OverflowError):
        return "regex parse error: the pattern is too large"
    return None


def _all_matches(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    """Yields the matches that do not overlap, without empty ones directly after another."""
    last = -1
    for found in pattern.finditer(text):
        if found.end() > found.start() or found.start() != last:
            yield found[0]
        last = found.end()
