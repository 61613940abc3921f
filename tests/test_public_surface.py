"""The names that users see, and that to import them costs nothing."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import tidelog

SURFACE = {
    "compile": None,
    "open": None,
    "progress": None,
    "Program": {"graph", "migration", "open", "relations", "types", "warnings"},
    "Database": {
        "aquery",
        "backup",
        "batches",
        "cancel",
        "changes",
        "changes_since",
        "close",
        "dump_index",
        "explain",
        "initial",
        "migration",
        "on_change",
        "profile",
        "query",
        "query_index",
        "refresh",
        "relation",
        "relations",
        "report",
        "rules",
        "snapshot",
        "transaction",
        "why_not",
    },
    "Transaction": {
        "add_rules",
        "begin",
        "changes",
        "clear",
        "commit",
        "delete",
        "delete_key",
        "insert",
        "load",
        "modify",
        "remove_rules",
        "report",
        "rollback",
        "skipped",
        "upsert",
    },
    "Changes": {"get", "items", "keys", "values"},
    "Delta": {"batches", "deleted", "inserted", "to_arrow", "to_pandas", "to_polars", "to_spark"},
    "EpochReport": {"bytes", "compiling", "deleted", "epoch", "inserted", "rows", "seconds", "strata"},
    "TidelogError": {"exit_code"},
    "ProgramError": {"exit_code"},
    "EvaluationError": {"exit_code"},
    "UsageError": {"exit_code"},
    "MissingDependencyError": {"exit_code"},
    "DataError": {"exit_code"},
    "TransactionError": {"exit_code"},
    "InternalError": {"exit_code"},
}
TEXT = "input relation A(x: u8)\noutput relation B(x: u8)\nB(x) :- A(x)."
HEAVY = ("pyarrow", "numpy", "numba", "pyspark", "pandas", "rich", "click")


def test_the_module_exports_exactly_these_names() -> None:
    assert sorted(tidelog.__all__) == sorted(SURFACE)
    assert dir(tidelog) == sorted(SURFACE)


@pytest.mark.parametrize(("name", "members"), [item for item in SURFACE.items() if item[1] is not None])
def test_each_class_has_exactly_these_public_members(name: str, members: set[str]) -> None:
    found = {member for member in dir(getattr(tidelog, name)) if not member.startswith("_")}
    assert found - set(dir(Exception)) == members


def test_a_program_knows_its_name_and_its_stages() -> None:
    assert {name for name in vars(tidelog.compile(TEXT)) if not name.startswith("_")} == {"name", "stages"}


def test_the_parameters_of_the_entry_points_are_these() -> None:
    assert list(inspect.signature(tidelog.compile).parameters) == [
        "path_or_text",
        "externs",
        "search_path",
        "keep_duplicates",
        "output_internal",
        "overflow",
        "dialect",
        "word_bits",
        "macros",
    ]
    assert list(inspect.signature(tidelog.Program.open).parameters) == [
        "self",
        "engine",
        "spark",
        "strategy",
        "switch",
        "threads",
        "max_rounds",
        "max_rows",
        "deadline",
        "path",
        "durability",
        "read_only",
        "migrate",
        "keep_epochs",
        "keep_changes",
        "plans",
    ]
    assert list(inspect.signature(tidelog.Database.query).parameters) == ["self", "text", "params", "limit", "deadline"]
    assert list(inspect.signature(tidelog.open).parameters) == ["path", "externs", "options"]
    assert list(inspect.signature(tidelog.Transaction.insert).parameters) == ["self", "relation", "rows"]
    assert list(inspect.signature(tidelog.Transaction.delete).parameters) == ["self", "relation", "rows"]
    assert list(inspect.signature(tidelog.Transaction.delete_key).parameters) == ["self", "relation", "key"]
    assert list(inspect.signature(tidelog.Transaction.upsert).parameters) == ["self", "relation", "rows"]
    assert list(inspect.signature(tidelog.Transaction.modify).parameters) == ["self", "relation", "key", "fields"]
    assert list(inspect.signature(tidelog.Transaction.clear).parameters) == ["self", "relation"]
    assert list(inspect.signature(tidelog.Transaction.add_rules).parameters) == ["self", "text"]
    assert list(inspect.signature(tidelog.Transaction.remove_rules).parameters) == ["self", "text"]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Databse'"):
        tidelog.Databse  # noqa: B018


def loaded_after(statements: str) -> set[str]:
    script = f"import sys\n{statements}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split()) & set(HEAVY)


def test_importing_the_package_loads_no_heavy_library() -> None:
    assert loaded_after("import tidelog") == set()


def test_compiling_a_program_loads_no_heavy_library() -> None:
    assert loaded_after(f"import tidelog; tidelog.compile({TEXT!r})") == set()


def test_the_local_engine_does_not_load_spark() -> None:
    assert not loaded_after(f"import tidelog; tidelog.compile({TEXT!r}).open().close()") & {"pyspark", "pandas"}
