"""The examples in the docstrings of the public names run exactly as they are printed."""

from __future__ import annotations

import doctest

import pytest

import tidelog
from tests.database.programs import REACH
from tidelog.diagnostics import errors

NAMES = ["Changes", "Database", "Delta", "Program", "Transaction", "compile"]


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_public_name_run_as_printed(name: str) -> None:
    program = tidelog.compile(REACH)
    found = doctest.DocTestFinder().find(getattr(tidelog, name), name, module=False)
    examples = [each for each in found if each.examples]
    assert examples, "there is one at least"
    for example in examples:
        with program.open() as db:
            with db.transaction() as tx:
                tx.insert("Edge", [("a", "b"), ("b", "c")])
            example.globs = {"tidelog": tidelog, "program": program, "db": db}
            result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
        assert result.failed == 0, example.name


def test_every_public_name_says_what_it_is() -> None:
    for name in tidelog.__all__:
        value = getattr(tidelog, name)
        if isinstance(value, type) and issubclass(value, Exception):
            assert name in (errors.__doc__ or "")  # where the tree of errors is drawn
            continue
        assert value.__doc__, name
        assert not value.__doc__.startswith(f"{name}("), f"{name} has the docstring that dataclasses make"
        for member in vars(value).values() if isinstance(value, type) else ():
            if callable(member) and getattr(member, "__name__", "_").startswith("_") is False:
                assert member.__doc__, f"{name}.{member.__name__}"
