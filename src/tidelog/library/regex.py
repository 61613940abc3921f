"""The extern functions of `regex`. A regular expression is its pattern, and is compiled when it is used."""

from __future__ import annotations

from functools import lru_cache

from tidelog.library._regex.automaton import TooLargeError
from tidelog.library._regex.parse import BadPatternError
from tidelog.library._regex.pattern import Pattern
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
    return _compiled(pattern).matches(text)


@extern
def regex_first_match(pattern: str, text: str) -> Struct:
    found = _compiled(pattern).find(text)
    return Some(text[slice(*found)]) if found else NONE


@extern
def regex_all_matches(pattern: str, text: str) -> Vec:
    return Vec(text[start:end] for start, end in _compiled(pattern).find_all(text))


@extern
def regex_set(patterns: Vec) -> Vec:
    return Vec() if any(_problem(pattern) for pattern in patterns) else patterns


@extern
def try_regex_set(patterns: Vec) -> Struct:
    problem = next(filter(None, map(_problem, patterns)), None)
    return Ok(patterns) if problem is None else Err(problem)


@extern
def regex_set_match(patterns: Vec, text: str) -> bool:
    return any(_compiled(pattern).matches(text) for pattern in patterns)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Pattern:
    """Compiles a pattern; an invalid one (from a record or a default value) matches nothing."""
    return Pattern(pattern if _problem(pattern) is None else _NEVER)


@lru_cache(maxsize=1024)
def _problem(pattern: str) -> str | None:
    try:
        Pattern(pattern)
    except (BadPatternError, TooLargeError) as error:
        return str(error)
    except RecursionError:
        return "regex parse error: the pattern is too large"
    return None
