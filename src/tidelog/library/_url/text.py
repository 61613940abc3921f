"""URL text → its normal form by the WHATWG standard, and the normal form → its parts.

The package `ada-url` parses. It gives no reason for an error; this module finds it, in the words of Rust's `url` crate.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize
from urllib.parse import unquote

from ada_url import URL

PORTS = {"ftp": 21, "file": None, "http": 80, "https": 443, "ws": 80, "wss": 443}

_PARTS = re.compile(
    r"([^:]+):(?://(?:([^:@/?#]*)(?::([^@/?#]*))?@)?(\[[^]]*]|[^:/?#]*)(?::([0-9]+))?)?"
    r"([^?#]*)(?:\?([^#]*))?(?:#(.*))?",
    re.DOTALL,
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_HOST = re.compile(r"(?:\[[^]]*]?|[^:\[])*")
_AROUND = "".join(map(chr, range(0x21)))
_FORBIDDEN_IN_DOMAINS = re.compile(r"[\0-\x20#/:<>?@\[\\\]^|%\x7f]")


class BadUrlError(ValueError):
    """The reason why a text is no URL."""


class Url(NamedTuple):
    """The parts of a URL, percent-encoded; `host` is None without an authority."""

    scheme: str
    username: str
    password: str
    host: str | None
    port: int | None
    path: str
    query: str | None
    fragment: str | None

    @property
    def is_domain(self) -> bool:
        return not re.match(r"\[|[0-9]+(\.[0-9]+){3}$" if self.scheme in PORTS else r"\[", self.host or "")

    @property
    def cannot_be_a_base(self) -> bool:
        return self.host is None and not self.path.startswith("/")


@lru_cache(maxsize=4096)
def normal_url(text: str, base: str | None = None) -> str:
    """Returns the URL of a text, relative to the base if there is one; raises BadUrlError."""
    try:
        url = URL(text, base).href
    except ValueError:
        raise BadUrlError(_problem(text, base)) from None
    path_end = re.search(r"[?#]|$", url).start()  # type: ignore[union-attr]
    source = text if base is None or _SCHEME.match(text.lstrip(_AROUND)) else base
    if url[:path_end].endswith("%20") and url_parts(url).cannot_be_a_base and re.match(r"[^?#]* [\t\n\r]*[?#]", source):
        # The crate, unlike the newest standard, leaves the last space of such a path as it is.
        return f"{url[: path_end - 3]} {url[path_end:]}"
    return url


@lru_cache(maxsize=4096)
def url_parts(url: str) -> Url:
    """Splits a URL in normal form."""
    found = _PARTS.fullmatch(url)
    assert found is not None
    scheme, username, password, host, port, path, query, fragment = found.groups()
    if host is None and path.startswith("/.//"):
        # The dot only keeps the path from being read as an authority.
        path = path[2:]
    return Url(scheme, username or "", password or "", host, int(port) if port else None, path, query, fragment)


def _problem(text: str, base: str | None) -> str:
    """Returns the reason why a text that does not parse is no URL."""
    text = re.sub(r"[\t\n\r]", "", text.strip(_AROUND))
    if found := _SCHEME.match(text):
        scheme, text = found[1].lower(), text[found.end() :]
    elif base is None:
        return "relative URL without a base"
    elif url_parts(base).cannot_be_a_base:
        return "relative URL with a cannot-be-a-base base"
    else:
        scheme = url_parts(base).scheme
    is_special = scheme in PORTS
    authority = re.split(r"[/\\?#]" if is_special else "[/?#]", text.lstrip("/\\" if is_special else "/"))[0]
    host = authority if scheme == "file" else _HOST.match(authority.rpartition("@")[2])[0]  # type: ignore[index]
    if not host:
        return "empty host"
    if scheme != "file" and URL.can_parse(f"{scheme}://{host}/"):
        return "invalid port number"
    if host.startswith("["):
        return "invalid IPv6 address"
    name = normalize("NFKC", unquote(host)) if is_special else "/"
    if _FORBIDDEN_IN_DOMAINS.search(name):
        return "invalid domain character"
    if re.search(r"(^|\.)([0-9]+|0[xX][0-9a-fA-F]*)\.?$", name):
        return "invalid IPv4 address"
    return "invalid international domain name"
