"""The extern functions of `url`. A URL is its text in normal form."""

from __future__ import annotations

from tidelog.library._runtime.extern import Externs, extern
from tidelog.library._runtime.option_result import NONE, Err, Ok, option
from tidelog.library._url.text import PORTS, BadUrlError, normal_url, url_parts
from tidelog.values.externs import itself
from tidelog.values.structs import Struct


@extern
def url_parse(text: str) -> Struct:
    return _parsed(text, None)


@extern
def join(url: str, other: str) -> Struct:
    return _parsed(other, url)


@extern
def scheme(url: str) -> str:
    return url_parts(url).scheme


@extern
def username(url: str) -> str:
    return url_parts(url).username


@extern
def password(url: str) -> Struct:
    return option(url_parts(url).password or None)


@extern
def host_str(url: str) -> Struct:
    return option(url_parts(url).host or None)


@extern
def domain(url: str) -> Struct:
    parts = url_parts(url)
    return option(parts.host or None) if parts.is_domain else NONE


@extern
def port(url: str) -> Struct:
    return option(url_parts(url).port)


@extern
def port_or_known_default(url: str) -> Struct:
    parts = url_parts(url)
    return option(PORTS.get(parts.scheme) if parts.port is None else parts.port)


@extern
def path(url: str) -> str:
    return url_parts(url).path


@extern
def query(url: str) -> Struct:
    return option(url_parts(url).query)


@extern
def fragment(url: str) -> Struct:
    return option(url_parts(url).fragment)


@extern
def has_authority(url: str) -> bool:
    return url_parts(url).host is not None


@extern
def cannot_be_a_base(url: str) -> bool:
    return url_parts(url).cannot_be_a_base


def _parsed(text: str, base: str | None) -> Struct:
    try:
        return Ok(normal_url(text, base))
    except BadUrlError as error:
        return Err(str(error))


EXTERNS: Externs = {"url_to_string": itself}
