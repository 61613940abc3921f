"""Scripts with mistakes in them, through the shell: an answer or an error with its exit code, never a crash."""

from __future__ import annotations

import contextlib
import io
import random
from pathlib import Path

import pytest

import tidelog
from tidelog.shell.run_commands import lines_of, run_script
from tidelog.shell.shell import Shell

PROGRAMS = Path(__file__).parent.parent / "programs"
# Not those that compute for as long as their input is large.
FOLDERS = (
    *("unions", "collections", "primary-keys", "indexes", "multisets", "streams-and-delays", "transactions"),
    *("references-and-interned-values", "text-by-bytes", "floating-point", "tuples-and-structs", "modules"),
)
TOKENS = (
    *("start;", "commit;", "commit dump_changes;", "rollback;", "dump;", "insert", "delete", "modify", "<-", "clear"),
    *("{", "}", "(", ")", "[", "]", ",", ";", '"', "\\", "0x", "-", "1e400", "9" * 30, "()", "_", "é", "\0", "\n", "#"),
    *('@json"{}"', '@json"[1,', "ddlog_std::Some{", "true", "delete_key", "insert_or_update", "query_index", "-0.0"),
    *(".x = ", "echo;", 'insert __import__("os")', '%"/no/such/file"', "__class__{}", "${x}"),
)
SCRIPTS = 25


def mutated(rng: random.Random, text: str) -> str:
    """The text with pieces left out, doubled, moved, and put in."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((1, 2, 5, 20, 80)))
        match rng.randrange(4):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:start] + rng.choice(TOKENS) + text[start:]
            case 2:
                text = text[:end] + text[start:end] + text[end:]
            case _:
                lines = text.splitlines(keepends=True)
                rng.shuffle(lines)
                text = "".join(lines) if rng.random() < 0.3 else text
    return text


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_script_with_mistakes_ends_with_an_answer_or_an_error(folder: str) -> None:
    program = tidelog.compile(PROGRAMS / folder / "program.dl")
    text = (PROGRAMS / folder / "script.dat").read_text(encoding="utf-8")
    rng = random.Random(folder)
    codes = set()
    for _ in range(SCRIPTS):
        script = mutated(rng, text)
        with contextlib.redirect_stderr(io.StringIO()), Shell(program, io.StringIO()) as shell:
            codes.add(run_script(shell, lines_of(io.BytesIO(script.encode())), lambda: None))
    assert codes <= {0, 1, 2, 3}
    assert len(codes) > 1
