"""`%load_ext tidelog`: programs and queries as cells of a notebook.

    %%datalog                      the first cell makes a database, `db`; later cells add rules, relations and types
    input relation Edge(src: string, dst: string)
    output relation Reach(src: string, dst: string)
    Reach(x, y) :- Edge(x, y).

    %datalog Reach($from, x)       a query; `$from` is the Python variable `from_`, or `from` of the session

    %%datalog -d other             the same for the database in the variable `other`
    %%datalog --new                begins again, with an empty database

A cell shows what it declared and which rows changed. It is one transaction: if anything is wrong with it, nothing has
changed, and the error shows the text of the cell with carets and no lines of Python. The module does not import
IPython, which hands itself over.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from tidelog.database.database import Database
from tidelog.database.program.program import compile_source
from tidelog.database.queries.query import Answer
from tidelog.database.transactions.changes import Changes
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import TidelogError, UsageError
from tidelog.diagnostics.shown import Shown, Table
from tidelog.diagnostics.spans import Source
from tidelog.diagnostics.wording import counted
from tidelog.rules.lower.program import Options

MAGIC = "datalog"
_DEFAULT = "db"
_USAGE = "`%%datalog [-d NAME] [--new]` with rules below it, or `%datalog [-d NAME] QUERY`"
_TEXT = re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
_PARAMETER = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")


def load(shell: Any) -> None:
    """Registers the magics with a shell of IPython."""
    shell.register_magic_function(Magics(shell.user_ns), magic_kind="line_cell", magic_name=MAGIC)


class Added(Shown):
    """What a cell has done: relations and rules that came, and the rows that changed."""

    def __init__(self, relations: list[str], rules: int, changes: Changes) -> None:
        self.relations = relations
        self.rules = rules
        self.changes = changes

    @property
    def _caption(self) -> str:
        names = f": {', '.join(self.relations)}" if self.relations else ""
        rules = "rule" if abs(self.rules) == 1 else "rules"
        return f"+{counted(len(self.relations), 'relation')}{names}; {self.rules:+d} {rules}"

    def _tables(self) -> Iterator[Table]:
        yield Table(self._caption, (), ())
        yield from self.changes._tables()

    def __repr__(self) -> str:
        return f"<{self._caption}; {counted(len(self.changes), 'relation')} changed>"


class Magics:
    """`%datalog` and `%%datalog` over the variables of a session."""

    # IPython must not paste the values of variables into a query: they are parameters.
    _ipython_magic_no_var_expand = True

    def __init__(self, variables: MutableMapping[str, Any]) -> None:
        self._variables = variables

    def __call__(self, line: str, cell: str | None = None) -> Added | Answer:
        """Runs a query, or the rules of a cell. Raises TidelogError, which IPython shows without a traceback."""
        try:
            return self._query(line) if cell is None else self._add(line, cell)
        except TidelogError as error:
            lines = [f"{type(error).__name__}:", *str(error).splitlines()]
            error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
            raise

    def _query(self, line: str) -> Answer:
        name, query = _DEFAULT, line.strip()
        if query.startswith("-d "):
            _, name, query = [*query.split(maxsplit=2), ""][:3]
        if not query:
            raise _usage("there is no query")
        return self._database(name).query(query, params=self._parameters(query))

    def _add(self, line: str, cell: str) -> Added:
        name, is_new = _options(line)
        present = self._variables.get(name)
        if is_new or present is None or (isinstance(present, Database) and present._locked.is_closed):
            if present is not None and not isinstance(present, Database):
                raise _no_database(name, present)
            program = compile_source(Source("<cell>", cell), (), Options())
            opened = program.open()
            if present is not None:
                present.close()
            self._variables[name] = opened
            return Added(list(program.relations), len(opened.rules()), opened.initial)
        db = self._database(name)
        relations, rules = set(db.relations), len(db.rules())
        with db.transaction() as tx:
            tx.add_rules(cell)
        return Added([each for each in db.relations if each not in relations], len(db.rules()) - rules, tx.changes)

    def _database(self, name: str) -> Database:
        present = self._variables.get(name)
        if present is None:
            raise UsageError(
                f"there is no database in the variable `{name}`",
                code=Code.NOT_A_DATABASE_VARIABLE,
                help=f"make one in a cell that begins with `%%{MAGIC}`, or with `program.open()`",
            )
        if not isinstance(present, Database):
            raise _no_database(name, present)
        return present

    def _parameters(self, query: str) -> Mapping[str, Any]:
        """Returns the values of the query's parameters among the variables; `from_` serves for `$from`."""
        names = dict.fromkeys(_PARAMETER.findall(_TEXT.sub('""', query)))
        found = {}
        for name in names:
            for variable in (name, f"{name}_"):
                if variable in self._variables:
                    found[name] = self._variables[variable]
                    break
        return found


def _options(line: str) -> tuple[str, bool]:
    """Returns the name of the database, and whether to begin again."""
    words = shlex.split(line)
    name, is_new = _DEFAULT, False
    while words:
        word = words.pop(0)
        if word == "--new":
            is_new = True
        elif word == "-d" and words:
            name = words.pop(0)
        else:
            raise _usage(f"{word!r} is no option of %%{MAGIC}")
    if not name.isidentifier():
        raise _usage(f"{name!r} is no name of a variable")
    return name, is_new


def _usage(message: str) -> UsageError:
    return UsageError(message, code=Code.NOT_A_DATABASE_VARIABLE, help=f"it is {_USAGE}")


def _no_database(name: str, value: object) -> UsageError:
    return UsageError(
        f"the variable `{name}` has no database in it, but a value of type {type(value).__name__}",
        code=Code.NOT_A_DATABASE_VARIABLE,
        help=f"name another one: `%%{MAGIC} -d NAME`",
    )
