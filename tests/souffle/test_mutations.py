"""Programs with mistakes in them are refused with a readable error, or accepted: never with a traceback."""

from __future__ import annotations

import random

import pytest

from tests.souffle.programs import CASES
from tidelog.compile_program import check_source
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.spans import Source
from tidelog.rules.lower.program import Options
from tidelog.souffle.text.lex import lex

_PIECES = ("(", ")", "[", "]", "{", "}", ":-", ".", ",", ";", "!", "=", "_", "nil", "x", "1", '"s"', "count :", "$A(")


def mutated(text: str, chance: random.Random) -> str:
    """Returns a text with a few tokens gone, doubled, exchanged or replaced."""
    tokens = [token.span for token in lex(Source("<text>", text))[0][:-1]]
    parts = [text[span.start : span.end] for span in tokens]
    for _ in range(chance.randrange(1, 4)):
        if not parts:
            break
        place = chance.randrange(len(parts))
        match chance.randrange(5):
            case 0:
                del parts[place]
            case 1:
                parts.insert(place, parts[place])
            case 2:
                other = chance.randrange(len(parts))
                parts[place], parts[other] = parts[other], parts[place]
            case 3:
                parts[place] = chance.choice(_PIECES)
            case _:
                parts[place] = parts[chance.randrange(len(parts))]
    made = ""
    for part in parts:
        made += f"\n{part}\n" if part.startswith("#") else f"{part} "
    return made


def answered(text: str) -> bool:
    """Returns whether a text is accepted; its error, if it has one, can be shown."""
    shown = ""
    try:
        check_source(Source("<text>", text), (), Options(dialect="souffle"))
    except ProgramError as error:
        shown = str(error)
    assert not shown or shown.startswith("error[E")
    return not shown


@pytest.mark.parametrize("seed", range(4))
def test_a_mutated_program_is_answered(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        answered(mutated(chance.choice(CASES).text, chance))
