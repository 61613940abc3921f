"""The extern functions of `json`."""

from __future__ import annotations

from typing import Any

from tidelog.deep_recursion import at_any_depth
from tidelog.library._json.decode import Decoder
from tidelog.library._json.encode import Encoder, json_string
from tidelog.library._json.text import JsonError, parse_json
from tidelog.library._json.values import json_tree, json_value
from tidelog.library._runtime.extern import ExternContext, extern
from tidelog.library._runtime.option_result import Err, Ok
from tidelog.types import Type
from tidelog.values.structs import Struct


@extern(needs_types=True)
def _from_json_string(context: ExternContext, type_: Type, text: str) -> Struct:
    try:
        return Ok(Decoder(context).value(type_, parse_json(text)))
    except JsonError as error:
        return Err(error.text(text))


@extern(needs_types=True)
def _from_json_value(context: ExternContext, type_: Type, value: Struct) -> Struct:
    try:
        return Ok(at_any_depth(lambda: Decoder(context).value(type_, json_tree(value))))
    except JsonError as error:
        return Err(error.message)


@extern(needs_types=True)
def to_json_string(context: ExternContext, type_: Type, value: Any) -> Struct:
    try:
        return Ok(at_any_depth(lambda: json_string(Encoder(context).tree(type_, value))))
    except JsonError as error:
        return Err(error.message)


@extern(needs_types=True)
def to_json_value(context: ExternContext, type_: Type, value: Any) -> Struct:
    try:
        return Ok(at_any_depth(lambda: json_value(Encoder(context).tree(type_, value))))
    except JsonError as error:
        return Err(error.message)
