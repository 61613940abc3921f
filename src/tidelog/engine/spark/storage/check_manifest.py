"""What a manifest must look like before anything of it is used: somebody else may have written it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tidelog.engine.kept_changes import Retention

_FILE = re.compile(r"epoch-\d{1,18}/[^/\0]{1,300}(/[^/\0]{1,300})?")
_LARGEST = (1 << 62) - 1
_OPTIONS = {
    "keep_duplicates": bool,
    "output_internal": bool,
    "layout": int,
    "identity": str,
    "overflow": str,
    "dialect": str,
    "word_bits": int,
}


class ShapeError(ValueError):
    """A value in a manifest is not what Tidelog writes."""


def check_body(body: Mapping[str, Any]) -> None:
    """Raises ShapeError for the first thing that is wrong."""
    _number(body["version"], "version")
    _number(body["epoch"], "epoch")
    basis = _fields(body["basis"], "basis", {"program", "digest", "externs", "layer"})
    _text(basis["digest"], "basis/digest")
    _texts(basis["externs"], "basis/externs")
    _program(basis["program"])
    _layer(basis["layer"])
    for name, stored in _object(body["relations"], "relations").items():
        _stored(stored, f"relations/{name}")
    _object(body["marks"], "marks")
    epochs = set()
    for epoch, names in _list(body["retired"], "retired"):
        epochs.add(_number(epoch, "retired"))
        _files(names, "retired")
    _need(len(epochs) == len(body["retired"]), "retired")
    for name, queue in _object(body["waiting"], "waiting").items():
        for changed in _list(queue, f"waiting/{name}"):
            if changed is not None:
                _changed(changed, f"waiting/{name}")

    if kept := _object(body.get("kept", {}), "kept"):
        _fields(kept, "kept", {"retention", "since"})
        Retention.of_document(_object(kept["retention"], "kept/retention"))
        _need(type(kept["since"]) is int and -1 <= kept["since"] <= body["epoch"], "kept/since")


def check_list(body: Any) -> None:
    """Raises ShapeError for the first thing that is wrong in a list of kept changes."""
    found = _fields(body, "list", {"epoch", "time", "changes"})
    _number(found["epoch"], "list/epoch")
    _need(type(found["time"]) in (int, float) and 0 <= found["time"] < 1e11, "list/time")
    for name, changed in _object(found["changes"], "list/changes").items():
        _changed(changed, f"list/changes/{name}")


def _program(value: Any) -> None:
    program = _object(value, "basis/program")
    if program:
        _need("texts" in program and "names" in program, "basis/program")
        _texts(program["texts"], "basis/program/texts")
        _texts(program["names"], "basis/program/names")
        _need(program["texts"].keys() == program["names"].keys() and "" in program["texts"], "basis/program/names")
        for name, kind in _OPTIONS.items():
            _need(name not in program or type(program[name]) is kind, f"basis/program/{name}")
        _need(program.keys() <= {"texts", "names", *_OPTIONS}, "basis/program")


def _layer(value: Any) -> None:
    layer = _object(value, "basis/layer")
    if layer:
        _fields(layer, "basis/layer", {"texts", "removed", "count"})
        _number(layer["count"], "basis/layer/count")
        for number in _list(layer["removed"], "basis/layer/removed"):
            _number(number, "basis/layer/removed")
        for text in _list(layer["texts"], "basis/layer/texts"):
            _need(len(_list(text, "basis/layer/texts")) == 3, "basis/layer/texts")
            _number(text[0], "basis/layer/texts")
            _text(text[1], "basis/layer/texts")
            for place in _list(text[2], "basis/layer/texts"):
                _number(place, "basis/layer/texts")


def _stored(value: Any, place: str) -> None:
    stored = _fields(value, place, {"label", "counted", "column", "buckets"})
    _text(stored["label"], f"{place}/label")
    _need(type(stored["counted"]) is bool, f"{place}/counted")
    buckets = _list(stored["buckets"], f"{place}/buckets")
    if stored["column"] is None:
        _need(len(buckets) <= 1, f"{place}/buckets")
    else:
        _number(stored["column"], f"{place}/column")
    for bucket in buckets:
        fields = {"rows", "base", "base_rows", "delta", "delta_rows", "keys"}
        if isinstance(bucket, dict) and "written" in bucket:  # earlier versions did not write it
            fields.add("written")
        _fields(bucket, f"{place}/buckets", fields)
        for name in ("rows", "base_rows", "delta_rows", "written"):
            _number(bucket.get(name, 0), f"{place}/buckets/{name}")
        _files(bucket["base"], f"{place}/buckets/base")
        for name in ("delta", "keys"):
            _files([bucket[name]] if bucket[name] is not None else [], f"{place}/buckets/{name}")
        _need(bucket["rows"] <= bucket["base_rows"] + bucket["delta_rows"], f"{place}/buckets/rows")


def _changed(value: Any, place: str) -> None:
    changed = _fields(value, place, {"files", "inserted", "deleted", "weighted"})
    _files(changed["files"], f"{place}/files")
    _number(changed["inserted"], f"{place}/inserted")
    _number(changed["deleted"], f"{place}/deleted")
    _need(type(changed["weighted"]) is bool, f"{place}/weighted")


def _files(value: Any, place: str) -> None:
    """Names of files inside the directory."""
    for name in _list(value, place):
        _need(isinstance(name, str) and bool(_FILE.fullmatch(name)) and ".." not in name.split("/"), place)


def _texts(value: Any, place: str) -> None:
    for text in _object(value, place).values():
        _text(text, place)


def _fields(value: Any, place: str, names: set[str]) -> dict[str, Any]:
    found = _object(value, place)
    _need(found.keys() == names, place)
    return found


def _object(value: Any, place: str) -> dict[str, Any]:
    _need(isinstance(value, dict), place)
    found: dict[str, Any] = value
    return found


def _list(value: Any, place: str) -> list[Any]:
    _need(isinstance(value, list), place)
    found: list[Any] = value
    return found


def _text(value: Any, place: str) -> None:
    _need(isinstance(value, str), place)


def _number(value: Any, place: str) -> int:
    _need(type(value) is int and 0 <= value <= _LARGEST, place)
    number: int = value
    return number


def _need(is_right: bool, place: str) -> None:
    if not is_right:
        raise ShapeError(f"`{place}` is not what Tidelog writes")
