"""The extern functions of `url`. A URL is its text in normal form."""

from __future__ import annotations

from tidelog.library._runtime.extern import extern
from tidelog.library._runtime.option_result import NONE, Err, Ok, Some
from tidelog.library._url.text import PORTS, BadUrlError, Url, parse_url
from tidelog.values.structs import Struct


@extern
def url_parse(text: str) -> Struct:
    return _parsed(text, None)


@extern
def join(url: str, other: str) -> Struct:
    return _parsed(other, parse_url(url))


@extern
def url_to_string(url: str) -> str:
    return url


@extern
def scheme(url: str) -> str:
    return parse_url(url).scheme


@extern
def username(url: str) -> str:
    return parse_url(url).username


@extern
def password(url: str) -> Struct:
    return _if_any(parse_url(url).password)


@extern
def host_str(url: str) -> Struct:
    return _if_any(parse_url(url).host)


@extern
def domain(url: str) -> Struct:
    parts = parse_url(url)
    return _if_any(parts.host) if parts.is_domain else NONE


@extern
def port(url: str) -> Struct:
    number = parse_url(url).port
    return NONE if number is None else Some(number)


@extern
def port_or_known_default(url: str) -> Struct:
    parts = parse_url(url)
    number = PORTS.get(parts.scheme) if parts.port is None else parts.port
    return NONE if number is None else Some(number)


@extern
def path(url: str) -> str:
    return parse_url(url).path


@extern
def query(url: str) -> Struct:
    text = parse_url(url).query
    return NONE if text is None else Some(text)


@extern
def fragment(url: str) -> Struct:
    text = parse_url(url).fragment
    return NONE if text is None else Some(text)


@extern
def has_authority(url: str) -> bool:
    return parse_url(url).host is not None


@extern
def cannot_be_a_base(url: str) -> bool:
    return parse_url(url).opaque is not None


def _parsed(text: str, base: Url | None) -> Struct:
    try:
        return Ok(str(parse_url(text, base)))
    except BadUrlError as error:
        return Err(str(error))


def _if_any(text: str | None) -> Struct:
    return Some(text) if text else NONE
